//! Pinned leaves: accepted with any issuer, but not outside their validity and not for another
//! name.

use std::sync::Arc;

use pki_types::CertificateDer;
use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};
use tercel_pki::{ChainVerifier, RefusalReason, Roots, Trust, Usage};

use crate::support::{P256, Pki, at, key, leaf_params, name, now, reason, service, verify};
use crate::support::{patch, verify_name};

fn pinning(leaf: &CertificateDer<'static>) -> ChainVerifier {
    ChainVerifier::builder(Arc::new(Roots::new())).pin(leaf.clone()).build().unwrap()
}

/// A certificate like those of `openssl req -x509`: self-signed, with the CA flag.
fn self_signed_authority(mut params: CertificateParams) -> CertificateDer<'static> {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.self_signed(&key(P256)).unwrap().der().clone()
}

#[test]
fn a_pinned_authority_is_accepted_as_a_leaf() {
    let leaf = self_signed_authority(service());
    assert_eq!(verify(&pinning(&leaf), &[leaf]).unwrap(), Trust::Pin);
}

#[test]
fn other_certificates_in_the_chain_are_ignored() {
    let leaf = self_signed_authority(service());
    let chain = [leaf.clone(), vec![1, 2, 3].into()];
    assert_eq!(verify(&pinning(&leaf), &chain).unwrap(), Trust::Pin);
}

#[test]
fn a_pin_is_for_the_leaf_only() {
    let pinned = self_signed_authority(service());
    let other = self_signed_authority(service());
    let refused = reason(verify(&pinning(&pinned), &[other, pinned]));
    assert_eq!(refused, RefusalReason::SelfSigned);
}

#[test]
fn a_pin_does_not_match_after_a_bit_flip() {
    let leaf = self_signed_authority(service());
    let mut bytes = leaf.to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    assert!(verify(&pinning(&leaf), &[bytes.into()]).is_err());
    let renamed = patch(&leaf, b"service.example", b"another.example", 1);
    assert!(verify_name(&pinning(&leaf), &[renamed], "another.example").is_err());
}

#[test]
fn a_pinned_leaf_expires() {
    let mut params = service();
    params.not_after = date_time_ymd(2025, 3, 4);
    let leaf = self_signed_authority(params);
    let refused = reason(verify(&pinning(&leaf), &[leaf]));
    assert_eq!(refused, RefusalReason::Expired { not_after: at(1_741_046_400) });
}

#[test]
fn a_pinned_leaf_is_not_used_early() {
    let mut params = service();
    params.not_before = date_time_ymd(2030, 1, 1);
    let leaf = self_signed_authority(params);
    let refused = reason(verify(&pinning(&leaf), &[leaf]));
    assert_eq!(refused, RefusalReason::NotYetValid { not_before: at(1_893_456_000) });
}

#[test]
fn a_pinned_leafs_validity_has_the_limits_of_any_other() {
    let leaf = self_signed_authority(service());
    let verifier = pinning(&leaf);
    let chain = [leaf];
    let accepted =
        |seconds| verifier.verify(Usage::Server, &chain, None, None, at(seconds)).is_ok();
    let (first, last) = (1_577_836_800, 2_208_988_800);
    assert!(accepted(first) && accepted(last));
    assert!(!accepted(first - 1) && !accepted(last + 1));
}

#[test]
fn a_pinned_leaf_is_valid_for_its_names_only() {
    let leaf = self_signed_authority(leaf_params(&["service.example", "192.0.2.7"]));
    let verifier = pinning(&leaf);
    let chain = [leaf];
    verify_name(&verifier, &chain, "192.0.2.7").unwrap();
    let refusal = verify_name(&verifier, &chain, "wrong.example").unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::NameMismatch);
    assert_eq!(refusal.names, ["service.example", "192.0.2.7"]);
}

#[test]
fn a_pin_does_not_affect_other_chains() {
    let pki = Pki::new();
    let pinned = self_signed_authority(service());
    let verifier = ChainVerifier::builder(pki.roots()).pin(pinned.clone()).build().unwrap();
    let wanted = name("service.example");
    let verified = |chain: &[CertificateDer<'_>]| {
        verifier.verify(Usage::Server, chain, Some(&wanted), None, now())
    };
    assert_eq!(verified(&pki.chain(&service())).unwrap(), Trust::Anchor);
    assert_eq!(verified(&[pinned]).unwrap(), Trust::Pin);
    assert!(verified(&Pki::new().chain(&service())).is_err());
}

/// No path is built for a certificate that is trusted as itself, so its extensions are examined
/// without one. OpenSSL and Go refuse the certificate, too. RFC 5280 4.2
#[test]
fn a_trusted_leaf_with_an_unknown_critical_extension_is_refused() {
    for is_ca in [IsCa::NoCa, IsCa::Ca(BasicConstraints::Unconstrained)] {
        let mut params = service();
        params.is_ca = is_ca;
        let known = params.self_signed(&key(P256)).unwrap().der().clone();
        let mut unknown = rcgen::CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        unknown.set_criticality(true);
        params.custom_extensions = vec![unknown];
        let leaf = params.self_signed(&key(P256)).unwrap().der().clone();
        let mut roots = Roots::new();
        roots.add_der(&known).unwrap();
        roots.add_der(&leaf).unwrap();
        let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
        assert_eq!(verify(&verifier, &[known]).unwrap(), Trust::Pin);
        for usage in [Usage::Server, Usage::Client] {
            let refusal =
                verifier.verify(usage, std::slice::from_ref(&leaf), None, None, now()).unwrap_err();
            let expected = match usage {
                Usage::Server => RefusalReason::UnsupportedCriticalExtension,
                Usage::Client => RefusalReason::NotForThisUsage,
            };
            assert_eq!(refusal.reason, expected, "{refusal}");
        }
    }
}
