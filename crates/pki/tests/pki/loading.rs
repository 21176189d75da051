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
fn one_bad_certificate_and_none_is_added() {
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

#[test]
fn what_is_wrong_with_a_file_is_said_without_quoting_it() {
    let encrypted =
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert_eq!(load_key_pem(encrypted).unwrap_err(), PemError::EncryptedKey);
    assert_eq!(load_key_pem(b"").unwrap_err(), PemError::NothingFound);
    assert_eq!(load_certs_pem(b"").unwrap_err(), PemError::NothingFound);
    let not_base64 = b"-----BEGIN PRIVATE KEY-----\n!secret!\n-----END PRIVATE KEY-----\n";
    assert_eq!(load_key_pem(not_base64).unwrap_err(), PemError::NotBase64);
    let cut = b"-----BEGIN CERTIFICATE-----\nAAAA\n";
    assert_eq!(load_certs_pem(cut).unwrap_err(), PemError::Malformed);
}

#[test]
fn an_anchor_need_not_be_in_time_or_well_signed() {
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
fn the_compiled_roots_are_many_and_refuse_a_stranger() {
    use tercel_pki::RefusalReason;
    let roots = Roots::webpki();
    assert!(roots.len() > 50);
    let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
    let refusal = verify(&verifier, &Pki::new().chain(&service())).unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::UnknownIssuer);
}

#[cfg(feature = "native-roots")]
#[test]
fn native_roots_are_there_or_said_to_be_missing() {
    match Roots::native() {
        Ok(native) => assert!(!native.roots.is_empty()),
        Err(error) => assert_eq!(error, RootsError::NothingFound),
    }
}
