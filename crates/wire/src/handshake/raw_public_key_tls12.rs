//! Certificate of TLS 1.2 where a raw public key was agreed on: one key, no list. RFC 7250 3
//!
//! The key is DER and not opened here. Next: [`crate::CertificateTls12`], the usual form.

use crate::{DecodeError, HandshakeMessage, HandshakeType, Reader, Writer};

/// A raw public key in place of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawPublicKeyTls12<'a> {
    /// A SubjectPublicKeyInfo in DER; empty from a client that has none to show.
    pub subject_public_key_info: &'a [u8],
}

impl<'a> HandshakeMessage<'a> for RawPublicKeyTls12<'a> {
    const TYPE: HandshakeType = HandshakeType::CERTIFICATE;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { subject_public_key_info: reader.opaque24()? })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.opaque24(self.subject_public_key_info);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_alone() {
        let key = RawPublicKeyTls12 { subject_public_key_info: b"key" };
        let mut out = Vec::new();
        key.encode(&mut out).unwrap();
        assert_eq!(out, [11, 0, 0, 6, 0, 0, 3, b'k', b'e', b'y']);
        assert_eq!(RawPublicKeyTls12::parse(&out[4..]), Ok(key));
        assert_eq!(RawPublicKeyTls12::parse(&[0, 0, 1, 1, 1]), Err(DecodeError::TrailingData));
    }

    #[test]
    fn a_client_may_show_none() {
        let none = RawPublicKeyTls12::parse(&[0, 0, 0]).unwrap();
        assert!(none.subject_public_key_info.is_empty());
    }
}
