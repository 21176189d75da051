//! Chains that must be accepted, as servers and as clients.

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, SignatureAlgorithm};
use tercel_pki::{ChainVerifier, RefusalReason, Trust, Usage, end_entity_public_key};

use crate::support::{Authority, P256, Pki, ca_params, key, name, now, reason, roots, service};
use crate::support::{verify, verify_name};

#[test]
fn chains_of_every_key_kind_are_accepted() {
    let kinds: [&'static SignatureAlgorithm; 5] = [
        &rcgen::PKCS_RSA_SHA256,
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_ECDSA_P521_SHA512,
        &rcgen::PKCS_ED25519,
    ];
    for kind in kinds {
        let pki = Pki::with_keys(kind);
        let leaf_key = key(kind);
        let chain = pki.chain_for_key(&service(), &leaf_key);
        assert_eq!(verify(&pki.verifier(), &chain).unwrap(), Trust::Anchor, "{kind:?}");
        end_entity_public_key(&chain).unwrap();
    }
}

#[test]
fn a_leaf_directly_under_the_root_is_accepted() {
    let pki = Pki::new();
    let leaf = service().signed_by(&key(P256), &pki.root).unwrap();
    verify(&pki.verifier(), &[leaf.der().clone()]).unwrap();
}

#[test]
fn order_and_surplus_of_intermediates_do_not_matter() {
    let pki = Pki::new();
    let other = Pki::new();
    let second = Authority::signed_by(ca_params("Second"), key(P256), &pki.intermediate).unwrap();
    let leaf = service().signed_by(&key(P256), &second).unwrap();
    let chain = [
        leaf.der().clone(),
        pki.root.der().clone(),
        other.root.der().clone(),
        pki.intermediate.der().clone(),
        second.der().clone(),
    ];
    verify(&pki.verifier(), &chain).unwrap();
}

#[test]
fn a_cross_signed_intermediate_is_accepted_by_either_root() {
    let old = Pki::new();
    let new = Authority::self_signed(ca_params("New root"), key(P256)).unwrap();
    let shared_key = key(P256);
    let under_old = ca_params("Shared").signed_by(&shared_key, &old.root).unwrap();
    let shared = Authority::signed_by(ca_params("Shared"), shared_key, &new).unwrap();
    let leaf = service().signed_by(&key(P256), &shared).unwrap();
    let chain = [leaf.der().clone(), under_old.der().clone(), shared.der().clone()];
    for trusted in [&old.root, &new] {
        let verifier = ChainVerifier::builder(roots(&[trusted])).build().unwrap();
        verify(&verifier, &chain).unwrap();
    }
}

#[test]
fn a_trusted_intermediate_is_an_anchor() {
    let pki = Pki::new();
    let verifier = ChainVerifier::builder(roots(&[&pki.intermediate])).build().unwrap();
    verify(&verifier, &pki.chain(&service())).unwrap();
}

/// RFC 5280 4.2.1.12
#[test]
fn a_clients_chain_is_accepted_as_a_clients_only() {
    let pki = Pki::new();
    let verifier = pki.verifier();
    let mut client = CertificateParams::default();
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let chain = pki.chain(&client);
    verifier.verify(Usage::Client, &chain, None, None, now()).unwrap();
    let as_server = verifier.verify(Usage::Server, &chain, None, None, now());
    assert_eq!(reason(as_server), RefusalReason::NotForThisUsage);

    let server = pki.chain(&service());
    let as_client = verifier.verify(Usage::Client, &server, None, None, now());
    assert_eq!(reason(as_client), RefusalReason::NotForThisUsage);
}

#[test]
fn without_extended_key_usage_both_uses_are_allowed() {
    let pki = Pki::new();
    let mut leaf = service();
    leaf.extended_key_usages.clear();
    let chain = pki.chain(&leaf);
    let wanted = name("service.example");
    for usage in [Usage::Server, Usage::Client] {
        pki.verifier().verify(usage, &chain, Some(&wanted), None, now()).unwrap();
    }
}

#[test]
fn a_trusted_self_signed_leaf_that_is_no_authority_is_accepted() {
    // A self-signed leaf that is its own anchor has an issuer like any other leaf.
    let own = Authority::self_signed(service(), key(P256)).unwrap();
    let verifier = ChainVerifier::builder(roots(&[&own])).build().unwrap();
    verify_name(&verifier, &[own.der().clone()], "service.example").unwrap();
}
