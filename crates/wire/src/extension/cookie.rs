//! cookie: a value of the HelloRetryRequest that the second ClientHello echoes. RFC 9846 4.3.2
//!
//! Only the server interprets the value.

use crate::error::DecodeError;
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    not_empty(reader.opaque16()?)
}

pub(super) fn write(cookie: &&[u8], w: &mut Writer<'_>) {
    w.opaque16(cookie);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9846 4.3.2
    #[test]
    fn an_empty_cookie_is_refused() {
        assert_eq!(Reader::parse_all(&[0, 0], read), Err(DecodeError::InvalidLength));
        assert_eq!(Reader::parse_all(&[0, 1, 9], read), Ok(&[9][..]));
    }
}
