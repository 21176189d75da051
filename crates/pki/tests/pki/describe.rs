//! Summaries of certificates.

use pki_types::CertificateDer;
use rcgen::{DnType, SanType, SerialNumber, SignatureAlgorithm};
use tercel_pki::{CertificateSummary, RefusalReason, end_entity_public_key};

use crate::support::{Authority, Pki, at, key, leaf_params, service};

#[test]
fn a_summary_has_every_field() {
    let pki = Pki::new();
    let mut leaf = leaf_params(&["service.example", "*.b.example", "192.0.2.7", "2001:db8::7"]);
    leaf.distinguished_name.push(DnType::OrganizationName, "Example, Inc.");
    leaf.serial_number = Some(SerialNumber::from_slice(&[0x12, 0x34]));
    let chain = pki.chain(&leaf);
    let summary = CertificateSummary::new(&chain[0]).unwrap();
    assert_eq!(summary.subject, "O=Example\\, Inc.,CN=leaf");
    assert_eq!(summary.issuer, "CN=Intermediate");
    assert_eq!(summary.serial_number, "1234");
    assert_eq!(summary.not_before, at(1_577_836_800));
    assert_eq!(summary.not_after, at(2_208_988_800));
    assert_eq!(summary.key, "ECDSA P-256");
    assert_eq!(summary.signature_algorithm, "ECDSA with SHA-256");
    assert_eq!(summary.dns_names, ["service.example", "*.b.example"]);
    let addresses: Vec<String> = summary.ip_addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["192.0.2.7", "2001:db8::7"]);
    assert_eq!(
        summary.to_string(),
        "subject  O=Example\\, Inc.,CN=leaf\n\
         issuer   CN=Intermediate\n\
         valid    2020-01-01 00:00:00 UTC to 2040-01-01 00:00:00 UTC\n\
         key      ECDSA P-256, signed ECDSA with SHA-256\n\
         names    service.example, *.b.example, 192.0.2.7, 2001:db8::7"
    );
}

/// RFC 5280 4.2.1.6
#[test]
fn all_names_are_listed_without_control_characters() {
    let mut leaf = leaf_params(&["service.example", "192.0.2.7"]);
    let text = |text: &str| text.try_into().unwrap();
    leaf.subject_alt_names.extend([
        SanType::URI(text("spiffe://example/\u{1b}[2J")),
        SanType::Rfc822Name(text("me@example\r\nnames x")),
    ]);
    let summary = CertificateSummary::new(&Pki::new().chain(&leaf)[0]).unwrap();
    assert_eq!(summary.uris, ["spiffe://example/\\u{1b}[2J"]);
    assert_eq!(summary.email_addresses, ["me@example\\u{d}\\u{a}names x"]);
    let [uri, address] = [&summary.uris[0], &summary.email_addresses[0]];
    assert_eq!(summary.names(), ["service.example", "192.0.2.7", uri, address]);
}

/// RFC 8017 A.1
#[test]
fn keys_of_every_kind_are_described() {
    let kinds: [(&'static SignatureAlgorithm, &str, &str); 5] = [
        (&rcgen::PKCS_RSA_SHA256, "RSA 2048", "RSA PKCS#1 with SHA-256"),
        (&rcgen::PKCS_ECDSA_P256_SHA256, "ECDSA P-256", "ECDSA with SHA-256"),
        (&rcgen::PKCS_ECDSA_P384_SHA384, "ECDSA P-384", "ECDSA with SHA-384"),
        (&rcgen::PKCS_ECDSA_P521_SHA512, "ECDSA P-521", "ECDSA with SHA-512"),
        (&rcgen::PKCS_ED25519, "Ed25519", "Ed25519"),
    ];
    for (kind, name, signature) in kinds {
        let certificate = Authority::self_signed(service(), key(kind)).unwrap();
        let summary = CertificateSummary::new(certificate.der()).unwrap();
        assert_eq!((summary.key.as_str(), summary.signature_algorithm.as_str()), (name, signature));
        end_entity_public_key(&[certificate.der().clone()]).unwrap();
    }
}

#[test]
fn malformed_certificates_have_no_summary() {
    let refused = CertificateSummary::new(&CertificateDer::from(vec![0x30, 0]));
    assert_eq!(refused.unwrap_err(), RefusalReason::BadEncoding);
}
