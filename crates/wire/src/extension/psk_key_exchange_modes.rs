//! psk_key_exchange_modes: whether a pre-shared key may stand alone. RFC 9846 4.3.9
//!
//! Next: `pre_shared_key`, which may not come without it.

use crate::{DecodeError, List, PskKeyExchangeMode, Reader, Writer};

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

    #[test]
    fn at_least_one_mode_is_needed() {
        assert_eq!(Reader::all(&[0], read), Err(DecodeError::EmptyList));
        assert!(Reader::all(&[1, 1], read).is_ok());
    }
}
