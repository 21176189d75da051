//! Leaves that require a stapled OCSP response. RFC 7633

use pki_types::CertificateDer;
use rcgen::{CertificateParams, CustomExtension};
use tercel_pki::{ChainVerifier, Refusal, RefusalReason, Staple, Trust, Usage};

use crate::support::{Chain, Pki, der, name, now, service};

/// A leaf for `service.example` whose TLS feature extension has these bytes.
fn leaf(features: &[u8]) -> CertificateParams {
    let mut params = service();
    let oid = [1, 3, 6, 1, 5, 5, 7, 1, 24];
    params.custom_extensions.push(CustomExtension::from_oid_content(&oid, features.to_vec()));
    params
}

/// The value of the TLS feature extension for these features, each the content of an INTEGER.
fn features(numbers: &[&[u8]]) -> Vec<u8> {
    let integers: Vec<Vec<u8>> = numbers.iter().map(|number| der::wrap(2, number)).collect();
    der::wrap(0x30, &integers.concat())
}

fn verify(
    verifier: &ChainVerifier,
    chain: &[CertificateDer<'_>],
    staple: Option<Staple<'_>>,
) -> Result<Trust, Box<Refusal>> {
    verifier.verify(Usage::Server, chain, Some(&name("service.example")), staple, now())
}

fn outcomes(pki: &Pki, chain: &Chain) -> [Option<RefusalReason>; 3] {
    let verifier = pki.verifier();
    [None, Some(Staple::Missing), Some(Staple::Response(b"response"))]
        .map(|staple| verify(&verifier, chain, staple).err().map(|refusal| refusal.reason))
}

/// RFC 7633 4.3.3
#[test]
fn a_missing_or_bad_staple_is_refused_if_required_and_requested() {
    let pki = Pki::new();
    let refused = Some(RefusalReason::MissingStaple);
    let unread = Some(RefusalReason::StapleMalformed);
    // status_request alone, and before and after other features.
    for required in [&[&[5][..]][..], &[&[17], &[5]], &[&[5], &[17]], &[&[1, 0], &[5], &[35]]] {
        let chain = pki.chain(&leaf(&features(required)));
        assert_eq!(outcomes(&pki, &chain), [None, refused, unread], "{required:?}");
    }
}

/// RFC 6066 1.1
/// RFC 7633 4.1, RFC 7633 4.2.2
#[test]
fn other_tls_features_do_not_require_a_staple() {
    let pki = Pki::new();
    assert_eq!(outcomes(&pki, &pki.chain(&service())), [None; 3]);
    for other in [&[][..], &[&[17][..]], &[&[1, 5]], &[&[35], &[23]]] {
        let chain = pki.chain(&leaf(&features(other)));
        assert_eq!(outcomes(&pki, &chain), [None; 3], "{other:?}");
    }
}

#[test]
fn a_malformed_tls_feature_extension_is_refused() {
    let pki = Pki::new();
    for malformed in
        [&[][..], &[0x30], &[0x30, 1, 2], &[2, 1, 5], &[0x30, 3, 4, 1, 5], &[0x30, 0, 0]]
    {
        let refused = Some(RefusalReason::BadEncoding);
        assert_eq!(outcomes(&pki, &pki.chain(&leaf(malformed))), [None, refused, refused]);
    }
}

#[test]
fn a_pinned_leaf_needs_no_staple() {
    let pki = Pki::new();
    let chain = pki.chain(&leaf(&features(&[&[5]])));
    let verifier = ChainVerifier::builder(pki.roots()).pin(chain[0].clone()).build().unwrap();
    assert_eq!(verify(&verifier, &chain, Some(Staple::Missing)).unwrap(), Trust::Pin);
}

#[test]
fn other_faults_are_reported_before_a_missing_staple() {
    let pki = Pki::new();
    let chain = pki.chain(&leaf(&features(&[&[5]])));
    let stranger = Pki::new();
    let refusal = verify(&stranger.verifier(), &chain[..1], Some(Staple::Missing)).unwrap_err();
    assert_ne!(refusal.reason, RefusalReason::MissingStaple);
    let refusal = verify(&pki.verifier(), &chain, Some(Staple::Missing)).unwrap_err();
    assert!(refusal.to_string().contains("stapled OCSP response"), "{refusal}");
}

/// An extension occurs once: a second one must not hide the requirement. RFC 5280 4.2
#[test]
fn a_repeated_tls_feature_is_refused() {
    let pki = Pki::new();
    let mut params = leaf(&features(&[&[17]]));
    params.custom_extensions.extend(leaf(&features(&[&[5]])).custom_extensions);
    let chain = pki.chain(&params);
    let refused = Some(RefusalReason::BadEncoding);
    assert_eq!(outcomes(&pki, &chain), [refused; 3]);
}
