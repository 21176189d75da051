//! Which chains are in the signature cache. See tests/pki for the verification of cached chains.

use std::sync::Arc;
use std::time::Duration;

use crate::ServerName;
use pki_types::{CertificateDer, UnixTime};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose};
use rcgen::{DnType, IsCa, KeyPair, date_time_ymd};

use crate::{CertificateAlgorithm, ChainVerifier, ChainVerifierBuilder, OcspPolicy, Roots, Usage};

/// A server's leaf for `service.example`, issued by an intermediate, and the root.
fn chain() -> ([CertificateDer<'static>; 2], Arc<Roots>) {
    let params = |name: &str, is_ca| {
        let mut params = CertificateParams::new(vec!["service.example".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = is_ca;
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2040, 1, 1));
        params
    };
    let authority = || IsCa::Ca(BasicConstraints::Unconstrained);
    let key = || KeyPair::generate().unwrap();
    let root = CertifiedIssuer::self_signed(params("root", authority()), key()).unwrap();
    let intermediate =
        CertifiedIssuer::signed_by(params("intermediate", authority()), key(), &root).unwrap();
    let mut leaf = params("leaf", IsCa::NoCa);
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let leaf = leaf.signed_by(&key(), &intermediate).unwrap();
    let mut roots = Roots::new();
    roots.add_der(root.der()).unwrap();
    ([leaf.der().clone(), intermediate.der().clone()], Arc::new(roots))
}

#[test]
fn a_chain_is_cached_only_after_every_check() {
    let ([leaf, intermediate], roots) = chain();
    let whole = [leaf.clone(), intermediate];
    let name = |name| ServerName::try_from(name).unwrap();
    let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let (ours, other, now) = (name("service.example"), name("other.example"), at(1_780_000_000));
    let signature_cache =
        |verifier: &ChainVerifier| verifier.trusted.signature_cache.as_ref().unwrap().len();

    let verifier = ChainVerifier::builder(Arc::clone(&roots)).build().unwrap();
    for (usage, chain, name, moment) in [
        (Usage::Server, &whole[..], &other, now),
        (Usage::Client, &whole[..], &ours, now),
        (Usage::Server, &whole[..], &ours, at(2_300_000_000)),
        (Usage::Server, &whole[..1], &ours, now),
    ] {
        verifier.verify(usage, chain, Some(name), None, moment).unwrap_err();
        assert_eq!(signature_cache(&verifier), 0);
    }
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap();
    assert_eq!(signature_cache(&verifier), 2);

    let with = |change: fn(ChainVerifierBuilder) -> ChainVerifierBuilder| {
        change(ChainVerifier::builder(Arc::clone(&roots))).build().unwrap()
    };
    // The OCSP response is verified last, so all signatures of the chain were valid.
    let verifier = with(|builder| builder.ocsp_policy(OcspPolicy::Require));
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap_err();
    assert_eq!(signature_cache(&verifier), 0);
    let verifier = with(|builder| builder.cache_signatures(false));
    assert!(verifier.trusted.signature_cache.is_none());
    // A pin does not verify a signature.
    let verifier = ChainVerifier::builder(roots).pin(leaf).build().unwrap();
    verifier.verify(Usage::Server, &whole, Some(&ours), None, now).unwrap();
    assert_eq!(signature_cache(&verifier), 0);
}

#[test]
fn duplicate_algorithms_are_removed_at_any_address() {
    let (chain, roots) = chain();
    let copied_elsewhere: Vec<_> =
        CertificateAlgorithm::ALL.iter().map(|each| each.copied_elsewhere()).collect();
    let twice = [CertificateAlgorithm::ALL, &copied_elsewhere].concat();
    for remember in [true, false] {
        let builder = ChainVerifier::builder(Arc::clone(&roots)).algorithms(&twice);
        let verifier = builder.cache_signatures(remember).build().unwrap();
        assert_eq!(verifier.trusted.algorithms.len(), CertificateAlgorithm::ALL.len());
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_780_000_000));
        verifier.verify(Usage::Server, &chain, None, None, now).unwrap();
    }
}

#[test]
fn a_cached_chain_needs_no_signature_verification_unless_the_cache_is_off() {
    let (chain, roots) = chain();
    let verified = |verifier: &ChainVerifier| {
        let before = CertificateAlgorithm::verified();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_780_000_000));
        verifier.verify(Usage::Server, &chain, None, None, now).unwrap();
        CertificateAlgorithm::verified() - before
    };
    for (remember, again) in [(true, 0), (false, 2)] {
        let builder = ChainVerifier::builder(Arc::clone(&roots)).cache_signatures(remember);
        let verifier = builder.build().unwrap();
        assert_eq!([verified(&verifier), verified(&verifier)], [2, again]);
    }
}
