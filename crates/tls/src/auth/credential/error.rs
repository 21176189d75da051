//! The reasons why a credential cannot be created.

use core::fmt;

use tercel_pki::{PemError, RefusalReason, Usage};

/// The reason why a credential cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialError {
    /// The PEM of the chain cannot be parsed.
    ChainPem(PemError),
    /// The PEM of the private key cannot be parsed.
    KeyPem(PemError),
    /// The chain contains no certificate.
    EmptyChain,
    /// The leaf certificate cannot be parsed.
    BadCertificate,
    /// The validity of the leaf certificate is malformed.
    BadValidity,
    /// No handshake can be signed with the leaf certificate: its key usage does not permit that, or
    /// its key is not supported.
    UnusableCertificate(RefusalReason),
    /// The extended key usage of the leaf certificate does not allow this use, so that peers refuse
    /// it. RFC 5280 4.2.1.12
    NotForUsage(Usage),
    /// Another certificate of the chain cannot be parsed: its position, where the leaf has 1.
    BadIssuer(usize),
    /// The private key matches a later certificate of the chain: its position, where the leaf has
    /// 1. The order of the chain is wrong.
    LeafNotFirst(usize),
    /// The private key cannot be parsed, or its type or size is not supported.
    BadKey,
    /// The private key does not match the leaf certificate or raw public key.
    KeyMismatch,
    /// The list of signed certificate timestamps is malformed or empty.
    BadTimestamps,
    /// The raw public key cannot be parsed, or its type or size is not supported.
    BadPublicKey,
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ChainPem(error) => return write!(f, "certificate chain: {error}"),
            Self::KeyPem(error) => return write!(f, "private key: {error}"),
            Self::EmptyChain => "the certificate chain is empty",
            Self::BadCertificate => "the leaf certificate cannot be parsed",
            Self::BadValidity => "the validity dates of the leaf certificate are malformed",
            Self::UnusableCertificate(reason) => {
                return write!(f, "the leaf certificate cannot be used: {reason}");
            }
            Self::NotForUsage(usage) => {
                let users = match usage {
                    Usage::Server => "servers",
                    Usage::Client => "clients",
                };
                return write!(
                    f,
                    "the extended key usage of the leaf certificate does not allow {users}"
                );
            }
            Self::BadIssuer(position) => {
                return write!(f, "certificate {position} of the chain cannot be parsed");
            }
            Self::LeafNotFirst(position) => {
                return write!(
                    f,
                    "the private key matches certificate {position} of the chain: its leaf must be \
                     the first"
                );
            }
            Self::BadKey => "the private key cannot be parsed, or its type is not supported",
            Self::KeyMismatch => "the private key does not match the certificate or public key",
            Self::BadPublicKey => "the public key cannot be parsed, or its type is not supported",
            Self::BadTimestamps => {
                "the list of signed certificate timestamps is malformed or empty"
            }
        })
    }
}

impl std::error::Error for CredentialError {}
