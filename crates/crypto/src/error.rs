//! The error type of this crate.
//!
//! The error type distinguishes the outcomes that a protocol must treat differently. The protocol
//! maps them to alerts. See `backend/mod.rs` for the conversion of return codes.

use core::fmt;

/// The reason why a cryptographic operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CryptoError {
    /// An AEAD tag or a signature did not verify.
    Rejected,
    /// A key could not be parsed, has a wrong length or is too weak.
    InvalidKey,
    /// A peer's public value is malformed, is not on its curve, or gives an all-zero secret.
    InvalidShare,
    /// The key cannot be used with this algorithm, or the algorithm is unknown.
    Unsupported,
    /// The output buffer cannot hold the result.
    BufferTooSmall,
    /// The input is longer than the algorithm allows.
    LimitExceeded,
    /// AWS-LC failed for an internal reason, such as a lack of memory.
    Internal,
}

impl fmt::Display for CryptoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rejected => "authentication failed",
            Self::InvalidKey => "invalid key",
            Self::InvalidShare => "invalid public value from the peer",
            Self::Unsupported => "algorithm not supported by this key",
            Self::BufferTooSmall => "output buffer too small",
            Self::LimitExceeded => "input exceeds the algorithm's limit",
            Self::Internal => "internal failure of the cryptographic library",
        })
    }
}

impl core::error::Error for CryptoError {}

/// The reason why a PKCS#12 file cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pkcs12Error {
    /// The MAC does not verify: the password is wrong, or the file was modified.
    WrongPassword,
    /// The file is not PKCS#12, is incomplete, or has a form that is not supported.
    Malformed,
    /// The file has no MAC, so that nothing shows whether it was modified.
    NoMac,
    /// The file has several private keys.
    SeveralKeys,
    /// The file uses an algorithm that is not supported.
    Unsupported,
    /// The password has a character beyond U+FFFF, which AWS-LC does not encode.
    UnsupportedCharacter,
    /// The file asks for this many iterations of a hash: more than ten million for its MAC or for
    /// one of its encryptions, or more than a hundred million for all together.
    TooManyIterations(u64),
    /// The private key cannot be used.
    Key(CryptoError),
    /// AWS-LC failed for an internal reason, such as a lack of memory.
    Internal,
}

impl fmt::Display for Pkcs12Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongPassword => "the password is wrong, or the file was modified",
            Self::Malformed => "the file is malformed, or has a form that is not supported",
            Self::NoMac => "the file has no MAC",
            Self::SeveralKeys => "the file contains several private keys",
            Self::Unsupported => "the file uses an algorithm that is not supported",
            Self::UnsupportedCharacter => {
                "the password has a character beyond U+FFFF, which is not supported"
            }
            Self::TooManyIterations(count) => {
                return write!(
                    f,
                    "the file asks for {count} iterations of a hash, which are too many"
                );
            }
            Self::Key(error) => return write!(f, "the private key cannot be used: {error}"),
            Self::Internal => return CryptoError::Internal.fmt(f),
        })
    }
}

impl core::error::Error for Pkcs12Error {}

/// Errors that have nothing to do with the file.
impl From<CryptoError> for Pkcs12Error {
    fn from(_: CryptoError) -> Self {
        Self::Internal
    }
}
