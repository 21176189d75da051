//! psk_key_exchange_modes: whether a pre-shared key may be used without (EC)DHE. RFC 9846 4.3.9

use crate::code_points::PskKeyExchangeMode;
use crate::error::DecodeError;
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;

pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
) -> Result<List<'a, PskKeyExchangeMode>, DecodeError> {
    List::read8(reader)?.not_empty()
}

pub(super) fn write(modes: &List<'_, PskKeyExchangeMode>, w: &mut Writer<'_>) {
    modes.write8(w);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9846 4.3.9
    #[test]
    fn at_least_one_mode_is_needed() {
        assert_eq!(Reader::parse_all(&[0], read), Err(DecodeError::EmptyList));
        assert!(Reader::parse_all(&[1, 1], read).is_ok());
    }
}
