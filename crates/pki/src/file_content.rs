//! What a file contains, for messages about a certificate or key file that cannot be used.

use std::fmt;

/// The content of a file that was meant to contain certificates or a private key.
///
/// It is found from the first bytes and the PEM labels, and is meant for error messages: nothing is
/// parsed, and nothing of the file is shown. `Display` completes the sentence "the file contains".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileContent {
    /// Nothing.
    Empty,
    /// A certificate in PEM, as the first section.
    Certificate,
    /// A private key in PEM, as the first section.
    PrivateKey,
    /// An encrypted private key in PEM, as the first section.
    EncryptedPrivateKey,
    /// A private key in OpenSSH's format, which is not PKCS#8.
    OpenSshKey,
    /// A public key in PEM.
    PublicKey,
    /// A certificate request in PEM.
    CertificateRequest,
    /// A revocation list in PEM.
    RevocationList,
    /// Parameters in PEM, such as those that `openssl ecparam` prints before a key.
    Parameters,
    /// Another PEM section.
    OtherPem,
    /// A PKCS#12 archive (`.p12`, `.pfx`).
    Pkcs12,
    /// Binary DER, not PEM.
    Der,
    /// A Java key store.
    JavaKeyStore,
    /// Text without a PEM section.
    Text,
    /// Other binary data.
    Binary,
}

impl FileContent {
    /// Finds out what a file contains.
    #[must_use]
    pub fn of(file: &[u8]) -> Self {
        if file.iter().all(u8::is_ascii_whitespace) {
            return Self::Empty;
        }
        if let Some(label) = first_label(file) {
            return Self::labelled(label);
        }
        match file {
            // A PFX is a SEQUENCE that begins with the version 3; a certificate and a key do not.
            [0x30, rest @ ..] if begins_with_version_3(rest) => Self::Pkcs12,
            [0x30, 0x80..=0x84, ..] => Self::Der,
            [0x30, length, rest @ ..] if usize::from(*length) == rest.len() => Self::Der,
            [0xfe, 0xed, 0xfe, 0xed, ..] => Self::JavaKeyStore,
            _ if file.contains(&0) || std::str::from_utf8(file).is_err() => Self::Binary,
            _ => Self::Text,
        }
    }

    fn labelled(label: &[u8]) -> Self {
        match label {
            b"CERTIFICATE" | b"TRUSTED CERTIFICATE" | b"X509 CERTIFICATE" => Self::Certificate,
            b"ENCRYPTED PRIVATE KEY" => Self::EncryptedPrivateKey,
            b"OPENSSH PRIVATE KEY" => Self::OpenSshKey,
            b"CERTIFICATE REQUEST" | b"NEW CERTIFICATE REQUEST" => Self::CertificateRequest,
            b"X509 CRL" => Self::RevocationList,
            _ if label.ends_with(b"PRIVATE KEY") => Self::PrivateKey,
            _ if label.ends_with(b"PUBLIC KEY") => Self::PublicKey,
            _ if label.ends_with(b"PARAMETERS") => Self::Parameters,
            _ => Self::OtherPem,
        }
    }
}

/// The label of the first PEM section. RFC 7468 2
fn first_label(file: &[u8]) -> Option<&[u8]> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    let at = file.windows(BEGIN.len()).position(|window| window == BEGIN)?;
    let rest = file.get(at.checked_add(BEGIN.len())?..)?;
    let end = rest.iter().position(|byte| *byte == b'-')?;
    rest.get(..end)
}

/// Whether the content of a SEQUENCE begins with INTEGER 3. RFC 7292 4
fn begins_with_version_3(length_and_content: &[u8]) -> bool {
    let length_bytes = match length_and_content.first() {
        Some(long @ 0x81..=0x84) => usize::from(long & 0x0f).saturating_add(1),
        _ => 1,
    };
    length_and_content.get(length_bytes..).is_some_and(|rest| rest.starts_with(&[0x02, 0x01, 0x03]))
}

impl FileContent {
    /// The name with its article, such as "a certificate".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "nothing",
            Self::Certificate => "a certificate",
            Self::PrivateKey => "a private key",
            Self::EncryptedPrivateKey => "an encrypted private key",
            Self::OpenSshKey => "an OpenSSH private key",
            Self::PublicKey => "a public key",
            Self::CertificateRequest => "a certificate request",
            Self::RevocationList => "a revocation list",
            Self::Parameters => "parameters of a key",
            Self::OtherPem => "a PEM section of another kind",
            Self::Pkcs12 => "a PKCS#12 archive",
            Self::Der => "binary DER, not PEM",
            Self::JavaKeyStore => "a Java key store",
            Self::Text => "text without a PEM section",
            Self::Binary => "binary data",
        }
    }
}

impl fmt::Display for FileContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_distinguished_by_label() {
        let of = |label: &str| FileContent::of(format!("x\n-----BEGIN {label}-----\n").as_bytes());
        assert_eq!(of("CERTIFICATE"), FileContent::Certificate);
        assert_eq!(of("PRIVATE KEY"), FileContent::PrivateKey);
        assert_eq!(of("RSA PRIVATE KEY"), FileContent::PrivateKey);
        assert_eq!(of("ENCRYPTED PRIVATE KEY"), FileContent::EncryptedPrivateKey);
        assert_eq!(of("OPENSSH PRIVATE KEY"), FileContent::OpenSshKey);
        assert_eq!(of("PUBLIC KEY"), FileContent::PublicKey);
        assert_eq!(of("CERTIFICATE REQUEST"), FileContent::CertificateRequest);
        assert_eq!(of("X509 CRL"), FileContent::RevocationList);
        assert_eq!(of("EC PARAMETERS"), FileContent::Parameters);
        assert_eq!(of("PKCS7"), FileContent::OtherPem);
    }

    #[test]
    fn other_files_are_distinguished_by_their_first_bytes() {
        assert_eq!(FileContent::of(b""), FileContent::Empty);
        assert_eq!(FileContent::of(b" \r\n"), FileContent::Empty);
        assert_eq!(FileContent::of(b"hello\n"), FileContent::Text);
        assert_eq!(FileContent::of(b"-----BEGIN CERTIFICATE"), FileContent::Text);
        assert_eq!(FileContent::of(b"0 apples\n"), FileContent::Text);
        assert_eq!(FileContent::of(&[0x30, 0x82, 0x01, 0x00, 0x30]), FileContent::Der);
        assert_eq!(FileContent::of(&[0x30, 0x02, 0x05, 0x00]), FileContent::Der);
        let pfx = [0x30, 0x82, 0x01, 0x00, 0x02, 0x01, 0x03, 0x30];
        assert_eq!(FileContent::of(&pfx), FileContent::Pkcs12);
        assert_eq!(FileContent::of(&[0xfe, 0xed, 0xfe, 0xed, 0]), FileContent::JavaKeyStore);
        assert_eq!(FileContent::of(&[0, 1, 2]), FileContent::Binary);
    }
}
