//! Certificates, keys and other sections from PEM files. RFC 7468
//!
//! This is the only reader of PEM in these crates. A program that overlooks a section serves an
//! incomplete chain or trusts fewer authorities than its operator believes. So whatever looks like
//! a section is read, or is counted by [`PemContents`] as skipped, or is an error.
//!
//! | in a file | result |
//! |---|---|
//! | a byte order mark (UTF-8) before a begin line, indentation, spaces at line ends | read |
//! | a begin line directly after an end line, without a line break | read |
//! | text outside of sections; lines that begin with `#` | skipped |
//! | a section of a kind that the caller does not use | skipped and counted |
//! | a begin or end line in small letters, with other hyphens, or with other text | error |
//! | a begin or end line in the middle of a line, before base64 or an escaped line break | error |
//! | a section without its end line, an end line without a section | error |
//! | UTF-16 | error |
//! | where certificates are read: another form of certificates, such as `PKCS7` | error |
//!
//! The DER contents are parsed by [`crate::Roots`] and by the signing key's type.

mod contents;
mod sections;

use std::fmt;

use pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer,
    SubjectPublicKeyInfoDer,
};

pub use contents::{PemContents, PemUse};
pub use sections::{PemSection, pem_sections};

/// Every certificate of a PEM file, in order. Sections of other kinds are skipped, but other forms
/// of certificates are an error ([`PemError::UnsupportedForm`]), and so is a file without
/// certificates.
pub fn load_certs_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let mut certificates = Vec::new();
    for section in pem_sections(pem)? {
        if PemUse::Certificates.is_of(section.label()) {
            certificates.push(CertificateDer::from(section.decode()?));
        } else if has_certificates(section.label()) {
            return Err(PemError::UnsupportedForm);
        }
    }
    if certificates.is_empty() {
        return Err(PemError::NothingFound);
    }
    Ok(certificates)
}

/// The certificates of a file of the system's store, and the problems of its other sections with
/// their lines. One bad section does not take the others away. Sections with a label in `skipped`
/// are no problems.
#[cfg(feature = "native-roots")]
pub(crate) fn readable_certs(
    pem: &[u8],
    skipped: &[&str],
) -> (Vec<Vec<u8>>, Vec<(usize, PemError)>) {
    let (sections, mut problems) = sections::divide(pem);
    let mut certificates = Vec::new();
    for section in sections {
        let read = match section.label() {
            label if PemUse::Certificates.is_of(label) => section.decode(),
            label if skipped.contains(&label) || !has_certificates(label) => continue,
            _ => Err(PemError::UnsupportedForm),
        };
        match read {
            Ok(der) => certificates.push(der),
            Err(error) => problems.push((section.line(), error)),
        }
    }
    (certificates, problems)
}

/// The first private key of a PEM file: PKCS#8, PKCS#1 or SEC1. Encrypted keys are not supported.
pub fn load_key_pem(pem: &[u8]) -> Result<PrivateKeyDer<'static>, PemError> {
    let sections = pem_sections(pem)?;
    let is_key = |section: &&PemSection<'_>| PemUse::PrivateKey.is_of(section.label());
    let Some(section) = sections.iter().find(is_key) else {
        let is_encrypted = sections.iter().any(|section| section.label() == ENCRYPTED_KEY);
        return Err(if is_encrypted { PemError::EncryptedKey } else { PemError::NothingFound });
    };
    let der = section.decode()?;
    Ok(match section.label() {
        "RSA PRIVATE KEY" => PrivatePkcs1KeyDer::from(der).into(),
        "EC PRIVATE KEY" => PrivateSec1KeyDer::from(der).into(),
        _ => PrivatePkcs8KeyDer::from(der).into(),
    })
}

/// Every public key (`SubjectPublicKeyInfo`) of a PEM file, in order. A file without public keys is
/// an error.
pub fn load_public_keys_pem(pem: &[u8]) -> Result<Vec<SubjectPublicKeyInfoDer<'static>>, PemError> {
    let sections = pem_sections(pem)?;
    let keys = sections.iter().filter(|section| PemUse::PublicKeys.is_of(section.label()));
    let keys = keys.map(|section| Ok(SubjectPublicKeyInfoDer::from(section.decode()?)));
    let keys = keys.collect::<Result<Vec<_>, PemError>>()?;
    if keys.is_empty() { Err(PemError::NothingFound) } else { Ok(keys) }
}

/// The reason why a PEM file could not be read. [`PemContents::problem`] has the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PemError {
    /// The file has no section of the requested kind.
    NothingFound,
    /// The private key is protected by a password.
    EncryptedKey,
    /// A line looks like the begin or end line of a section, and is none.
    Malformed,
    /// A section is not base64.
    NotBase64,
    /// A section has no end line, or an end line with another label.
    NoEnd,
    /// An end line has no begin line.
    NoBegin,
    /// A section has certificates in a form that is not read.
    UnsupportedForm,
    /// The text is encoded in UTF-16.
    Utf16,
}

impl PemError {
    /// The text of `Display`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NothingFound => "the PEM data has no section of the wanted kind",
            Self::EncryptedKey => "the private key is encrypted; decrypt it first",
            Self::Malformed => {
                "a line of the PEM data looks like the begin or end of a section, but is not \
                 exactly -----BEGIN LABEL----- or -----END LABEL----- in capital letters"
            }
            Self::NotBase64 => "a section of the PEM data is not base64",
            Self::NoEnd => "a section of the PEM data has no end line of its label",
            Self::NoBegin => "the PEM data has an end line without a begin line",
            Self::UnsupportedForm => {
                "the PEM data has certificates in a section that is not CERTIFICATE (such as \
                 PKCS7 or TRUSTED CERTIFICATE); convert them with openssl"
            }
            Self::Utf16 => "the PEM data is UTF-16 text; save it as ASCII or UTF-8",
        }
    }
}

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for PemError {}

/// The label of an encrypted PKCS#8 key. RFC 7468 11
const ENCRYPTED_KEY: &str = "ENCRYPTED PRIVATE KEY";

/// Whether a section that is not read may contain certificates. A request and an attribute
/// certificate contain none.
fn has_certificates(label: &str) -> bool {
    matches!(label, "PKCS7" | "PKCS #7 SIGNED DATA" | "CMS")
        || label.contains("CERT") && !label.ends_with("REQUEST") && label != "ATTRIBUTE CERTIFICATE"
}
