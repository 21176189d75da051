//! EncryptedExtensions: the server's extensions that need not be in the clear. RFC 9846 4.4.1
//!
//! The body is a single extension block; its table is in `extension::message_extensions`.

use crate::code_points::HandshakeType;
use crate::error::DecodeError;
use crate::extension::EncryptedExtensions;
use crate::handshake::HandshakeMessage;
use crate::reader::Reader;
use crate::writer::Writer;

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

    /// RFC 9846 4.4.1
    #[test]
    fn the_block_is_never_left_out() {
        assert_eq!(EncryptedExtensions::parse(&[]), Err(DecodeError::Truncated));
        assert_eq!(EncryptedExtensions::parse(&[0, 0]), Ok(EncryptedExtensions::default()));
        assert_eq!(EncryptedExtensions::parse(&[0, 0, 0]), Err(DecodeError::TrailingData));
    }

    #[test]
    fn a_body_in_an_empty_response_is_refused() {
        let body = [0, 5, 0, 0, 0, 1, 9];
        assert_eq!(EncryptedExtensions::parse(&body), Err(DecodeError::TrailingData));
    }
}
