//! Certificates and private keys from PEM files.
//!
//! Text to DER, nothing more: what the DER holds is the concern of [`crate::Roots`] and of the signing key's type.

use std::fmt;

use pki_types::pem::{self, PemObject};
use pki_types::{CertificateDer, PrivateKeyDer};

/// Every certificate of a PEM file, in order; other sections are passed over. A file without one is an error.
pub fn load_certs_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if certificates.is_empty() {
        return Err(PemError::NothingFound);
    }
    Ok(certificates)
}

/// The first private key of a PEM file: PKCS#8, PKCS#1 or SEC1. Encrypted keys are not read.
pub fn load_key_pem(pem: &[u8]) -> Result<PrivateKeyDer<'static>, PemError> {
    match PrivateKeyDer::from_pem_slice(pem) {
        Err(pem::Error::NoItemsFound) if is_encrypted(pem) => Err(PemError::EncryptedKey),
        other => Ok(other?),
    }
}

/// Why a PEM file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PemError {
    /// The file has no section of the wanted kind.
    NothingFound,
    /// The private key is protected by a password.
    EncryptedKey,
    /// A section begins or ends wrongly, or is too large.
    Malformed,
    /// A section is not base64.
    NotBase64,
}

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NothingFound => "the PEM data has no section of the wanted kind",
            Self::EncryptedKey => "the private key is encrypted; decrypt it first",
            Self::Malformed => "the PEM data is malformed",
            Self::NotBase64 => "a section of the PEM data is not base64",
        })
    }
}

impl std::error::Error for PemError {}

// The source's error quotes lines of the file, which may be a private key: they are dropped here.
impl From<pem::Error> for PemError {
    fn from(error: pem::Error) -> Self {
        match error {
            pem::Error::NoItemsFound => Self::NothingFound,
            pem::Error::Base64Decode(_) => Self::NotBase64,
            _ => Self::Malformed,
        }
    }
}

/// PKCS#8's encrypted form has a section name of its own. RFC 7468 11
fn is_encrypted(pem: &[u8]) -> bool {
    pem.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED)
}

const ENCRYPTED: &[u8] = b"-----BEGIN ENCRYPTED PRIVATE KEY-----";
