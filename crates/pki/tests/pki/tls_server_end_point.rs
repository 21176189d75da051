//! The channel binding `tls-server-end-point`: a digest of the server's certificate. RFC 5929 4.1

use pki_types::CertificateDer;
use tercel_pki::{RefusalReason, common_name, load_certs_pem, tls_server_end_point};

use crate::support::{key, leaf_params};

/// The digest uses the hash of the signature algorithm, and SHA-256 in place of MD5 and SHA-1.
/// OpenSSL prints the same value as the fingerprint. RFC 5929 4.1
#[test]
fn the_digest_is_the_fingerprint_with_the_hash_of_the_signature() {
    let mut seen = 0;
    let file = include_str!("tls_server_end_point.pem");
    for section in file.split_inclusive("-----END CERTIFICATE-----\n") {
        let line = section.lines().find(|line| line.contains(": ") && !line.ends_with('.'));
        let (name, expected) = line.unwrap().split_once(": ").unwrap();
        let certificates = load_certs_pem(section.as_bytes()).unwrap();
        let [certificate] = &certificates[..] else { panic!("{name}") };
        assert_eq!(common_name(certificate).unwrap().as_deref(), Some(name));
        let digest = tls_server_end_point(certificate).unwrap();
        let digest = digest.map_or("undefined".to_owned(), |digest| hex(&digest));
        assert_eq!(digest, expected, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 15);
}

/// The digest covers the whole certificate. The hash function is that of the certificate's
/// signature algorithm. The kind of the certificate's key does not matter. RFC 5929 4.1
#[test]
fn the_issuers_algorithm_decides_and_each_byte_counts() {
    let issuer = rcgen::Issuer::new(leaf_params(&[]), key(&rcgen::PKCS_ECDSA_P384_SHA384));
    let leaf = leaf_params(&["a.example"]).signed_by(&key(&rcgen::PKCS_ED25519), &issuer).unwrap();
    let digest = tls_server_end_point(leaf.der()).unwrap().unwrap();
    assert_eq!(digest.len(), 48);
    let mut changed = leaf.der().to_vec();
    *changed.last_mut().unwrap() ^= 1;
    assert_ne!(tls_server_end_point(&changed.into()), Ok(Some(digest)));
}

/// RFC 5929 4.1
#[test]
fn algorithms_without_a_single_hash_have_no_binding() {
    for algorithm in [&rcgen::PKCS_ED25519, &rcgen::PKCS_ML_DSA_65] {
        let certificate = leaf_params(&["a.example"]).self_signed(&key(algorithm)).unwrap();
        assert_eq!(tls_server_end_point(certificate.der()), Ok(None));
    }
}

#[test]
fn bytes_that_are_no_certificate_are_an_error() {
    let certificate = leaf_params(&["a.example"]).self_signed(&key(&rcgen::PKCS_ED25519)).unwrap();
    let whole = certificate.der();
    for length in [0, 1, 10, whole.len() - 1] {
        let cut = CertificateDer::from(whole[..length].to_vec());
        assert_eq!(tls_server_end_point(&cut), Err(RefusalReason::BadEncoding), "{length}");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
