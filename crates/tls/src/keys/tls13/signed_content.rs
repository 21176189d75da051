//! The content that a TLS 1.3 CertificateVerify signs. RFC 9846 4.5.2

use tercel_crypto::Digest;

/// The signed content of a `CertificateVerify`. RFC 9846 4.5.2
pub(crate) struct SignedContent {
    bytes: [u8; PADDING + CONTEXT + 1 + Digest::MAX_LEN],
    length: usize,
}

const PADDING: usize = 64;
const CONTEXT: usize = 33;

impl SignedContent {
    pub(crate) fn new(context: &[u8; CONTEXT], transcript_hash: &Digest) -> Self {
        let mut bytes = [0x20; PADDING + CONTEXT + 1 + Digest::MAX_LEN];
        let behind = context.iter().chain(&[0]).chain(transcript_hash.iter());
        bytes.iter_mut().skip(PADDING).zip(behind).for_each(|(to, from)| *to = *from);
        Self { bytes, length: (PADDING + CONTEXT + 1_usize).saturating_add(transcript_hash.len()) }
    }
}

impl core::ops::Deref for SignedContent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The context string of a server's `CertificateVerify`.
pub(crate) const SERVER_CONTEXT: &[u8; 33] = b"TLS 1.3, server CertificateVerify";

/// The context string of a client's `CertificateVerify`.
pub(crate) const CLIENT_CONTEXT: &[u8; 33] = b"TLS 1.3, client CertificateVerify";
