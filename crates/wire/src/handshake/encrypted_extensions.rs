//! EncryptedExtensions: the server's answers that need not be in the clear. RFC 9846 4.4.1
//!
//! The message is its extensions; their table is in `extension::sets`. Next: [`crate::CertificateRequest`].

use crate::{DecodeError, EncryptedExtensions, HandshakeMessage, HandshakeType, Reader, Writer};

impl<'a> HandshakeMessage<'a> for EncryptedExtensions<'a> {
    const TYPE: HandshakeType = HandshakeType::ENCRYPTED_EXTENSIONS;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        EncryptedExtensions::parse_block(reader.opaque16()?)
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        self.write(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_never_left_out() {
        assert_eq!(EncryptedExtensions::parse(&[]), Err(DecodeError::Truncated));
        assert_eq!(EncryptedExtensions::parse(&[0, 0]), Ok(EncryptedExtensions::default()));
        assert_eq!(EncryptedExtensions::parse(&[0, 0, 0]), Err(DecodeError::TrailingData));
    }

    #[test]
    fn an_answer_that_must_be_empty_is() {
        let body = [0, 5, 0, 0, 0, 1, 9];
        assert_eq!(EncryptedExtensions::parse(&body), Err(DecodeError::TrailingData));
    }
}
