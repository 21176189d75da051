//! EncryptedExtensions: the server's extensions that need not be in the clear. RFC 9846 4.4.1
//!
//! The body is a single extension block; its table is in `extension::message_extensions`.

use super::message;
use crate::extension::EncryptedExtensions;

message! { EncryptedExtensions<'a> = ENCRYPTED_EXTENSIONS }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, HandshakeMessage};

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
