//! cookie: what a HelloRetryRequest wants back in the second ClientHello. RFC 9846 4.3.2
//!
//! Its contents are the server's. Next: `key_share`, the other reason to retry.

use crate::reader::not_empty;
use crate::{DecodeError, Reader, Writer};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    not_empty(reader.opaque16()?)
}

pub(super) fn write(cookie: &&[u8], w: &mut Writer<'_>) {
    w.opaque16(cookie);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cookie_is_refused() {
        assert_eq!(Reader::all(&[0, 0], read), Err(DecodeError::InvalidLength));
        assert_eq!(Reader::all(&[0, 1, 9], read), Ok(&[9][..]));
    }
}
