//! Certificate of TLS 1.2 after negotiation of raw public keys: one key, no list. RFC 7250 3
//!
//! The key is DER and is not parsed here.

use super::message;
use crate::structure::{Vector, structure};

structure! {
    /// A Certificate message with a raw public key instead of a chain.
    RawPublicKeyTls12 {
        /// A SubjectPublicKeyInfo in DER; empty if a client has no key.
        subject_public_key_info: &'a [u8] as Vector<3, 0>,
    }
}
message! { RawPublicKeyTls12<'a> = CERTIFICATE }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, HandshakeMessage};

    #[test]
    fn a_key_is_not_in_a_list() {
        let key = RawPublicKeyTls12 { subject_public_key_info: b"key" };
        let mut out = Vec::new();
        key.encode(&mut out).unwrap();
        assert_eq!(out, [11, 0, 0, 6, 0, 0, 3, b'k', b'e', b'y']);
        assert_eq!(RawPublicKeyTls12::parse(&out[4..]), Ok(key));
        assert_eq!(RawPublicKeyTls12::parse(&[0, 0, 1, 1, 1]), Err(DecodeError::TrailingData));
    }

    #[test]
    fn a_client_may_send_an_empty_key() {
        let none = RawPublicKeyTls12::parse(&[0, 0, 0]).unwrap();
        assert!(none.subject_public_key_info.is_empty());
    }
}
