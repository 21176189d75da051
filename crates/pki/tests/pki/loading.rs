//! Trust anchors and PEM files.

use pki_types::{CertificateDer, PrivateKeyDer};
use rcgen::DnType;
use tercel_pki::{ChainVerifier, PemError, Roots, RootsError, load_certs_pem, load_key_pem};

use crate::support::{Authority, P256, Pki, ca_params, key, service, verify};

#[test]
fn roots_from_pem_verify_chains() {
    let (one, other) = (Pki::new(), Authority::self_signed(ca_params("Other"), key(P256)).unwrap());
    let mut roots = Roots::new();
    assert!(roots.is_empty());
    assert_eq!(roots.add_pem(format!("{}{}", other.pem(), one.root.pem()).as_bytes()), Ok(2));
    assert_eq!(roots.len(), 2);
    let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
    verify(&verifier, &one.chain(&service())).unwrap();
}

#[test]
fn an_anchor_is_kept_once() {
    let pki = Pki::new();
    let mut roots = Roots::new();
    roots.add_der(pki.root.der()).unwrap();
    assert_eq!(roots.add_pem(pki.root.pem().as_bytes()), Ok(1));
    assert_eq!(roots.len(), 1);
}

#[test]
fn one_malformed_certificate_fails_the_whole_file() {
    let pki = Pki::new();
    let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let mut roots = Roots::new();
    let refused = roots.add_pem(format!("{}{bad}", pki.root.pem()).as_bytes());
    assert!(matches!(refused, Err(RootsError::Certificate(_))));
    assert!(roots.is_empty());
    assert_eq!(roots.add_pem(b"no PEM"), Err(RootsError::Pem(PemError::NothingFound)));
}

#[test]
fn subjects_are_whole_distinguished_names() {
    let mut params = ca_params("Root");
    let long = "o".repeat(200);
    params.distinguished_name.push(DnType::OrganizationName, long.as_str());
    let root = Authority::self_signed(params, key(P256)).unwrap();
    let mut roots = Roots::new();
    roots.add_der(root.der()).unwrap();
    let subjects: Vec<Vec<u8>> = roots.subjects().collect();
    let [subject] = &subjects[..] else { panic!("{} subjects", subjects.len()) };
    assert_eq!(subject[0], 0x30);
    let found = root.der().windows(subject.len()).filter(|window| window == subject).count();
    assert_eq!(found, 2, "as issuer and as subject");
}

#[test]
fn certificates_and_keys_from_one_file() {
    let pki = Pki::new();
    let file = format!(
        "subject: something\n{}{}{}",
        key(P256).serialize_pem(),
        pki.intermediate.pem(),
        pki.root.pem()
    );
    let certificates = load_certs_pem(file.as_bytes()).unwrap();
    assert_eq!(certificates, [pki.intermediate.der().clone(), pki.root.der().clone()]);
    assert!(matches!(load_key_pem(file.as_bytes()), Ok(PrivateKeyDer::Pkcs8(_))));
}

/// Both forms in which OpenSSL writes encrypted keys. RFC 7468 11, RFC 1421 4.6.1.1
#[test]
fn an_encrypted_key_is_named_as_such() {
    let pkcs8 =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let traditional = |kind: &str, header: &str| {
        format!("-----BEGIN {kind}-----\n{header}\n\nAAAA\n-----END {kind}-----\n")
    };
    let header = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF";
    for file in [
        pkcs8.to_owned(),
        traditional("RSA PRIVATE KEY", header),
        traditional("EC PRIVATE KEY", &header.replace('\n', "\r\n")),
    ] {
        assert_eq!(load_key_pem(file.as_bytes()).unwrap_err(), PemError::EncryptedKey, "{file}");
    }
    let other = traditional("RSA PRIVATE KEY", "Comment: not encrypted");
    assert_eq!(load_key_pem(other.as_bytes()).unwrap_err(), PemError::NotBase64);
}

/// RFC 7468 11
#[test]
fn pem_errors_do_not_quote_the_file() {
    let encrypted =
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert_eq!(load_key_pem(encrypted).unwrap_err(), PemError::EncryptedKey);
    assert_eq!(load_key_pem(b"").unwrap_err(), PemError::NothingFound);
    assert_eq!(load_certs_pem(b"").unwrap_err(), PemError::NothingFound);
    let not_base64 = b"-----BEGIN PRIVATE KEY-----\n!secret!\n-----END PRIVATE KEY-----\n";
    assert_eq!(load_key_pem(not_base64).unwrap_err(), PemError::NotBase64);
    let cut = b"-----BEGIN CERTIFICATE-----\nAAAA\n";
    assert_eq!(load_certs_pem(cut).unwrap_err(), PemError::NoEnd);
}

/// RFC 5280 6.1.1
#[test]
fn an_anchors_signature_is_not_checked() {
    let pki = Pki::new();
    let mut bytes = pki.root.der().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    let mut roots = Roots::new();
    roots.add_der(&CertificateDer::from(bytes)).unwrap();
    let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
    verify(&verifier, &pki.chain(&service())).unwrap();
}

#[cfg(feature = "webpki-roots")]
#[test]
fn the_webpki_roots_refuse_an_unknown_authority() {
    use tercel_pki::RefusalReason;
    let roots = Roots::webpki();
    assert!(roots.len() > 50);
    let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
    let refusal = verify(&verifier, &Pki::new().chain(&service())).unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::UnknownIssuer);
}

#[cfg(feature = "native-roots")]
#[test]
fn native_roots_are_loaded_or_reported_missing() {
    match Roots::native() {
        Ok(native) => assert!(!native.roots.is_empty()),
        Err(error) => assert_eq!(error, RootsError::NothingFound),
    }
}
