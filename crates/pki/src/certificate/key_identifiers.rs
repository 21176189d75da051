//! Key identifiers, which say in which order issuers are tried. RFC 5280 4.2.1.1, 4.2.1.2
//!
//! They are hints: a malformed one counts as absent, and one that differs excludes no issuer.

use super::Certificate;
use crate::der::{self, Reader};

/// Whether the key identifier of an issuer is the one that a certificate, or a revocation list,
/// states for its issuer. The best is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyFit {
    /// The identifiers are equal.
    Fits,
    /// One of them is absent.
    Unknown,
    /// They differ.
    Other,
}

impl KeyFit {
    /// Compares the identifier that is stated for the issuer's key with the issuer's own.
    pub(crate) fn new(stated: Option<&[u8]>, own: Option<&[u8]>) -> Self {
        match (stated, own) {
            (Some(stated), Some(own)) if stated == own => Self::Fits,
            (Some(_), Some(_)) => Self::Other,
            _ => Self::Unknown,
        }
    }
}

/// The keyIdentifier in the value of an authorityKeyIdentifier extension. RFC 5280 4.2.1.1
pub(crate) fn authority_key(value: &[u8]) -> Option<&[u8]> {
    let fields = der::single(value, der::SEQUENCE).ok()?;
    Reader::new(fields).optional(der::context(0)).ok()?
}

/// The value of a subjectKeyIdentifier extension. RFC 5280 4.2.1.2
pub(super) fn subject_key(value: &[u8]) -> Option<&[u8]> {
    der::single(value, der::OCTET_STRING).ok()
}

impl<'a> Certificate<'a> {
    /// The identifier of the certificate's key.
    pub(crate) fn key_identifier(&self) -> Option<&'a [u8]> {
        subject_key(self.extension(SUBJECT_KEY_IDENTIFIER).ok()??)
    }

    /// The identifier of the issuer's key.
    pub(crate) fn issuer_key_identifier(&self) -> Option<&'a [u8]> {
        authority_key(self.extension(AUTHORITY_KEY_IDENTIFIER).ok()??)
    }
}

/// id-ce-subjectKeyIdentifier, 2.5.29.14
const SUBJECT_KEY_IDENTIFIER: &[u8] = &[0x55, 0x1d, 14];

/// id-ce-authorityKeyIdentifier, 2.5.29.35
const AUTHORITY_KEY_IDENTIFIER: &[u8] = &[0x55, 0x1d, 35];

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5280 4.2.1.1, 4.2.1.2
    #[test]
    fn an_absent_or_malformed_identifier_says_nothing() {
        assert_eq!(KeyFit::new(Some(b"a"), Some(b"a")), KeyFit::Fits);
        assert_eq!(KeyFit::new(Some(b"a"), Some(b"b")), KeyFit::Other);
        for (stated, own) in [(None, Some(&b"a"[..])), (Some(&b"a"[..]), None), (None, None)] {
            assert_eq!(KeyFit::new(stated, own), KeyFit::Unknown);
        }
        assert!(KeyFit::Fits < KeyFit::Unknown && KeyFit::Unknown < KeyFit::Other);
        assert_eq!(authority_key(&[0x30, 3, 0x80, 1, 7]), Some(&[7][..]));
        assert_eq!(subject_key(&[4, 1, 7]), Some(&[7][..]));
        for malformed in [&[][..], &[0x30, 0], &[0x30, 3, 0x81, 1, 7], &[4, 2, 7]] {
            assert_eq!((authority_key(malformed), subject_key(malformed)), (None, None));
        }
    }
}
