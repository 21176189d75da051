//! Tests of chains that were verified before. Only their signatures are cached.

use pki_types::CertificateDer;
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber};
use rcgen::{RevocationReason, date_time_ymd};
use tercel_pki::{ChainVerifier, RefusalReason, Usage};

use crate::support::verify_name;
use crate::support::{Pki, at, leaf_params, name, now, patch, reason, roots, service, verify};

/// A time at which the leaf has expired.
const LATER: u64 = 2_300_000_000;

#[test]
fn dates_names_and_usage_of_a_cached_chain_are_still_checked() {
    let pki = Pki::new();
    let (verifier, chain) = (pki.verifier(), pki.chain(&service()));
    for _ in 0..2 {
        verify(&verifier, &chain).unwrap();
        let service = name("service.example");
        let expired = verifier.verify(Usage::Server, &chain, Some(&service), None, at(LATER));
        assert!(matches!(reason(expired), RefusalReason::Expired { .. }));
        let early = verifier.verify(Usage::Server, &chain, Some(&service), None, at(0));
        assert!(matches!(reason(early), RefusalReason::NotYetValid { .. }));
        let other = verify_name(&verifier, &chain, "other.example");
        assert_eq!(reason(other), RefusalReason::NameMismatch);
        let client = verifier.verify(Usage::Client, &chain, None, None, now());
        assert_eq!(reason(client), RefusalReason::NotForThisUsage);
    }
}

#[test]
fn a_cached_chain_with_a_changed_signature_is_refused() {
    let pki = Pki::new();
    let (verifier, chain) = (pki.verifier(), pki.chain(&service()));
    verify(&verifier, &chain).unwrap();
    for position in 0..chain.len() {
        let der = &chain[position];
        // The last bytes of the certificate belong to the signature.
        for byte in der.len() - 60..der.len() {
            let mut forged = der.to_vec();
            forged[byte] ^= 1;
            let mut presented = chain.clone();
            presented[position] = CertificateDer::from(forged);
            verify(&verifier, &presented).unwrap_err();
        }
    }
    verify(&verifier, &chain).unwrap();
}

#[test]
fn a_cached_signature_is_not_valid_for_other_content() {
    let pki = Pki::new();
    let (verifier, chain) = (pki.verifier(), pki.chain(&service()));
    verify(&verifier, &chain).unwrap();
    let forged = patch(&chain[0], b"service.example", b"serviss.example", 1);
    let presented = [forged, chain[1].clone()];
    let refused = verify_name(&verifier, &presented, "serviss.example");
    assert_eq!(reason(refused), RefusalReason::BadSignature);
}

#[test]
fn the_cache_belongs_to_one_verifier() {
    let (pki, stranger) = (Pki::new(), Pki::new());
    let chain = pki.chain(&service());
    verify(&pki.verifier(), &chain).unwrap();
    verify(&stranger.verifier(), &chain).unwrap_err();
    // The signatures of the path are cached, but the path has no anchor, so it is still refused.
    let verifier = ChainVerifier::builder(roots(&[&stranger.root])).build().unwrap();
    for _ in 0..2 {
        verify(&verifier, &chain).unwrap_err();
    }
}

#[test]
fn a_cached_chain_can_be_revoked() {
    let pki = Pki::new();
    let mut leaf = service();
    leaf.serial_number = Some(SerialNumber::from(7_u64));
    let chain = pki.chain(&leaf);
    let list = CertificateRevocationListParams {
        this_update: date_time_ymd(2026, 1, 1),
        next_update: date_time_ymd(2027, 1, 1),
        crl_number: SerialNumber::from(1_u64),
        issuing_distribution_point: None,
        revoked_certs: vec![RevokedCertParams {
            serial_number: SerialNumber::from(7_u64),
            revocation_time: date_time_ymd(2026, 2, 1),
            reason_code: Some(RevocationReason::KeyCompromise),
            invalidity_date: None,
        }],
        key_identifier_method: KeyIdMethod::Sha256,
    };
    let list = list.signed_by(&pki.intermediate).unwrap();
    let policy = tercel_pki::RevocationPolicy { end_entity_only: true, ..Default::default() };
    let verifier = ChainVerifier::builder(pki.roots()).crl(list.der()).unwrap();
    let verifier = verifier.revocation_policy(policy).build().unwrap();
    // Verifying another leaf puts the intermediate's signature into the cache.
    let mut good = leaf_params(&["service.example"]);
    good.serial_number = Some(SerialNumber::from(8_u64));
    for _ in 0..2 {
        verify(&verifier, &pki.chain(&good)).unwrap();
        assert_eq!(reason(verify(&verifier, &chain)), RefusalReason::Revoked);
    }
}
