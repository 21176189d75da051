//! server_padding: a client's request to lengthen the server's first flight by a number of bytes.
//!
//! This is BoringSSL's experiment to measure the cost of larger certificates. The code point is not
//! registered. The response in EncryptedExtensions has the requested number of padding bytes.

use crate::error::DecodeError;
use crate::reader::Reader;

/// The number of padding bytes that the body of a client's extension requests.
pub(super) fn requested(body: &[u8]) -> Result<u16, DecodeError> {
    Reader::parse_all(body, Reader::u16)
}

#[cfg(test)]
mod tests {
    use crate::{ClientExtensions, DecodeError};

    #[test]
    fn a_request_is_two_bytes_and_is_read_only_when_it_is_asked_for() {
        let requested = |body: &'static [u8]| {
            let block = [&[0x12, 0xe0, 0, u8::try_from(body.len()).unwrap()], body].concat();
            ClientExtensions::parse_block(&block).unwrap().requested_server_padding()
        };
        assert_eq!(requested(&[1, 0]), Ok(Some(256)));
        assert_eq!(requested(&[1]), Err(DecodeError::Truncated));
        assert_eq!(requested(&[1, 0, 0]), Err(DecodeError::TrailingData));
        assert_eq!(ClientExtensions::default().requested_server_padding(), Ok(None));
    }
}
