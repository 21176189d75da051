//! Descriptions of a peer's certificates: rows for people, JSON for programs, PEM.
//!
//! Any bytes have a description, because the certificates may come from a server that was refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tercel::crypto::HashAlgorithm;
use tercel::pki::{CertificateSummary, ReadableTime};
use tercel::pki_types::CertificateDer;
use tercel_crypto::Hash;

/// The description of a certificate. The keys of its JSON are stable.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CertificateDescription {
    /// `None` if the certificate cannot be parsed.
    #[serde(flatten)]
    pub(crate) fields: Option<Fields>,
    pub(crate) sha256: String,
    pem: String,
}

/// The fields of a certificate. Texts from the certificate were escaped when they were parsed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fields {
    pub(crate) subject: String,
    pub(crate) issuer: String,
    pub(crate) serial: String,
    pub(crate) valid_from: String,
    pub(crate) valid_until: String,
    pub(crate) key: String,
    pub(crate) signed_with: String,
    pub(crate) names: Vec<String>,
}

/// The description of a public key that is used without a certificate. RFC 7250
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PublicKeyDescription {
    pub(crate) sha256: String,
    pub(crate) pem: String,
}

/// Describes each certificate of a chain.
pub(crate) fn describe_chain(chain: &[CertificateDer<'_>]) -> Vec<CertificateDescription> {
    chain.iter().map(CertificateDescription::new).collect()
}

impl CertificateDescription {
    pub(crate) fn new(certificate: &CertificateDer<'_>) -> Self {
        let fields = CertificateSummary::new(certificate).ok().map(|summary| Fields {
            names: summary.names(),
            subject: summary.subject,
            issuer: summary.issuer,
            serial: summary.serial_number,
            valid_from: ReadableTime(summary.not_before).to_string(),
            valid_until: ReadableTime(summary.not_after).to_string(),
            key: summary.key,
            signed_with: summary.signature_algorithm,
        });
        Self { fields, sha256: sha256(certificate), pem: pem("CERTIFICATE", certificate) }
    }

    /// The rows of a report.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        match &self.fields {
            None => rows.push(("subject", "unreadable".to_owned())),
            Some(fields) => {
                for (key, value) in [
                    ("subject", &fields.subject),
                    ("issuer", &fields.issuer),
                    ("valid-from", &fields.valid_from),
                    ("valid-until", &fields.valid_until),
                    ("key", &fields.key),
                    ("signed-with", &fields.signed_with),
                    ("serial", &fields.serial),
                ] {
                    rows.push((key, value.clone()));
                }
            }
        }
        rows.push(("sha256", self.sha256.clone()));
        if let Some(fields) = self.fields.as_ref().filter(|fields| !fields.names.is_empty()) {
            rows.push(("names", fields.names.join(", ")));
        }
        rows
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }
}

impl PublicKeyDescription {
    /// Describes a SubjectPublicKeyInfo.
    pub(crate) fn new(public_key: &[u8]) -> Self {
        Self { sha256: sha256(public_key), pem: pem("PUBLIC KEY", public_key) }
    }
}

/// The SHA-256 fingerprint in hexadecimal.
fn sha256(der: &[u8]) -> String {
    let digest = Hash::digest(HashAlgorithm::Sha256, &[der]);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// DER as PEM with lines of 64 characters. RFC 7468 2
fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    for (index, character) in STANDARD.encode(der).chars().enumerate() {
        if index > 0 && index % LINE == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text.push_str(&format!("\n-----END {label}-----\n"));
    text
}

const LINE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use tercel::pki::load_certs_pem;

    /// RFC 7468 2
    #[test]
    fn pem_is_read_back() {
        for length in [1, 2, 3, 47, 48, 49, 96, 1000] {
            let bytes: Vec<u8> = (0..length).map(|n: u32| n.to_le_bytes()[0]).collect();
            let text = pem("CERTIFICATE", &bytes);
            assert!(text.lines().all(|line| line.len() <= 64), "{text}");
            assert_eq!(load_certs_pem(text.as_bytes()).unwrap(), [CertificateDer::from(bytes)]);
        }
    }

    #[test]
    fn bytes_that_are_no_certificate_are_described() {
        let description = CertificateDescription::new(&CertificateDer::from(b"abc".to_vec()));
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let expected = [("subject", "unreadable".to_owned()), ("sha256", digest.to_owned())];
        assert_eq!(description.rows(), expected);
        let json = serde_json::to_string(&description).unwrap();
        let pem = r"-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";
        assert_eq!(json, format!(r#"{{"sha256":"{digest}","pem":"{pem}"}}"#));
    }
}
