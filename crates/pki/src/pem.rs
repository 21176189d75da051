//! Certificates and private keys from PEM files.
//!
//! The DER contents are parsed by [`crate::Roots`] and by the signing key's type.

use std::fmt;

use pki_types::pem::{self, PemObject};
use pki_types::{CertificateDer, PrivateKeyDer};

/// Every certificate of a PEM file, in order; sections with other labels are skipped. A file
/// without certificates is an error, and so is a file with something that looks like a certificate
/// and is not read: a begin line that is indented, after a byte order mark or after another end
/// line, and the labels `X509 CERTIFICATE` and `TRUSTED CERTIFICATE`.
pub fn load_certs_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    check_begin_lines(pem)?;
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if certificates.is_empty() {
        return Err(PemError::NothingFound);
    }
    Ok(certificates)
}

/// The first private key of a PEM file: PKCS#8, PKCS#1 or SEC1. Encrypted keys are not supported.
pub fn load_key_pem(pem: &[u8]) -> Result<PrivateKeyDer<'static>, PemError> {
    match PrivateKeyDer::from_pem_slice(pem) {
        Err(pem::Error::NoItemsFound) if contains(pem, ENCRYPTED_SECTION) => {
            Err(PemError::EncryptedKey)
        }
        // The parser reports the header line of an encrypted key as wrong base64.
        Err(pem::Error::Base64Decode(_)) if contains(pem, ENCRYPTED_HEADER) => {
            Err(PemError::EncryptedKey)
        }
        other => Ok(other?),
    }
}

/// The reason why a PEM file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PemError {
    /// The file has no section of the requested kind.
    NothingFound,
    /// The private key is protected by a password.
    EncryptedKey,
    /// A section's begin or end line is malformed, its label is that of an unsupported form of
    /// certificates, or the section is too large.
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

// The source error quotes lines of the file, which may be a private key: they are dropped.
impl From<pem::Error> for PemError {
    fn from(error: pem::Error) -> Self {
        match error {
            pem::Error::NoItemsFound => Self::NothingFound,
            pem::Error::Base64Decode(_) => Self::NotBase64,
            _ => Self::Malformed,
        }
    }
}

/// Refuses a begin line that the parser would skip, because a certificate of a chain would be lost
/// without an error. Comments, which begin with `#`, are skipped, and so is text that continues
/// after the label, such as a description of a certificate. RFC 7468 3
fn check_begin_lines(pem: &[u8]) -> Result<(), PemError> {
    for line in pem.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let ends_with_label = line.trim_ascii_end().ends_with(b"-----");
        let is_skipped = !line.starts_with(BEGIN) && contains(line, BEGIN) && ends_with_label;
        let is_comment = line.trim_ascii_start().starts_with(b"#");
        let is_unsupported = UNSUPPORTED_LABELS.iter().any(|label| contains(line, label));
        if (is_skipped || is_unsupported) && !is_comment {
            return Err(PemError::Malformed);
        }
    }
    Ok(())
}

const BEGIN: &[u8] = b"-----BEGIN ";

/// Begin lines of certificates in forms that are not read; the second has OpenSSL's trust settings
/// after the certificate.
const UNSUPPORTED_LABELS: [&[u8]; 2] =
    [b"-----BEGIN X509 CERTIFICATE-----", b"-----BEGIN TRUSTED CERTIFICATE-----"];

fn contains(pem: &[u8], text: &[u8]) -> bool {
    pem.windows(text.len()).any(|window| window == text)
}

/// The section of an encrypted PKCS#8 key. RFC 7468 11
const ENCRYPTED_SECTION: &[u8] = b"-----BEGIN ENCRYPTED PRIVATE KEY-----";

/// The first line in the section of an encrypted PKCS#1 or SEC1 key. RFC 1421 4.6.1.1
const ENCRYPTED_HEADER: &[u8] = b"\nProc-Type: 4,ENCRYPTED";
