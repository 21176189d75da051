//! server_padding: how much longer a client would like a server's first flight to be.
//!
//! BoringSSL's, to measure what larger certificates would cost; its number is not assigned. The answer in
//! EncryptedExtensions has so many bytes of no meaning. Next: `padding`, which lengthens a ClientHello.

use crate::{ClientExtensions, DecodeError, Reader};

impl ClientExtensions<'_> {
    /// How many bytes the client would like, for a server that takes part: the field itself is left unopened.
    ///
    /// # Errors
    /// If it is not two bytes.
    pub fn requested_server_padding(&self) -> Result<Option<u16>, DecodeError> {
        self.server_padding.map(|body| Reader::all(body, Reader::u16)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
