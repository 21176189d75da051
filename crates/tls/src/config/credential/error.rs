//! Why a credential cannot be used.
//!
//! Must not know: how it would have been used. Next: [`super::Credential`].

use core::fmt;

/// Why a credential cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialError {
    /// There is no certificate in the chain.
    EmptyChain,
    /// The leaf certificate cannot be read.
    BadCertificate,
    /// The private key cannot be read, or is of a kind or size that is not supported.
    BadKey,
    /// The private key does not belong to the leaf certificate or raw public key.
    KeyMismatch,
    /// The list of signed certificate timestamps is malformed or empty.
    BadTimestamps,
    /// The raw public key cannot be read, or is of a kind or size that is not supported.
    BadPublicKey,
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyChain => "the certificate chain is empty",
            Self::BadCertificate => "the leaf certificate cannot be read",
            Self::BadKey => "the private key cannot be read or is not supported",
            Self::KeyMismatch => "the private key does not belong to the certificate or public key",
            Self::BadPublicKey => "the public key cannot be read or is not supported",
            Self::BadTimestamps => "the list of signed certificate timestamps is malformed",
        })
    }
}

impl std::error::Error for CredentialError {}
