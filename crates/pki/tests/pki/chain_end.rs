//! A refusal says where the chain ended, and which trust anchor was nearest.

use rcgen::KeyPair;
use tercel_pki::{ChainVerifier, NearestAnchor, Refusal, RefusalReason, Usage};

use crate::support::{Authority, Chain, P256, Pki, ca_params, key, leaf_params, now, roots};

fn refusal(trusted: &[&Authority], chain: &Chain) -> Box<Refusal> {
    let verifier = ChainVerifier::builder(roots(trusted)).build().unwrap();
    verifier.verify(Usage::Server, chain, None, None, now()).unwrap_err()
}

/// The parts of [`tercel_pki::ChainEnd`].
fn end(refusal: &Refusal) -> Option<(usize, &str, &str, NearestAnchor)> {
    let end = refusal.chain_end.as_ref()?;
    Some((end.position, &end.subject, &end.issuer, end.nearest))
}

fn authority(name: &str, key: KeyPair) -> Authority {
    Authority::self_signed(ca_params(name), key).unwrap()
}

const ROOT: &str = "CN=Root";
const INTERMEDIATE: &str = "CN=Intermediate";

#[test]
fn the_authority_is_in_no_store() {
    let (pki, other) = (Pki::new(), authority("Other", key(P256)));
    let mut chain = pki.chain(&leaf_params(&["a.example"]));
    let refused = refusal(&[&other], &chain);
    assert_eq!(refused.reason, RefusalReason::UnknownIssuer);
    assert_eq!(end(&refused), Some((1, INTERMEDIATE, ROOT, NearestAnchor::None)));
    let text = refused.to_string();
    let expected = "; the chain ends at \"CN=Intermediate\", issued by \"CN=Root\", which is in \
                    no trusted store";
    assert!(text.ends_with(expected), "{text}");

    // The root is sent, too.
    chain.push(pki.root.der().clone());
    let refused = refusal(&[&other], &chain);
    assert_eq!(end(&refused), Some((2, ROOT, ROOT, NearestAnchor::None)));
    let text = refused.to_string();
    let expected = "; the chain ends at \"CN=Root\", which is in no trusted store";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn an_intermediate_is_missing() {
    let pki = Pki::new();
    let mut chain = pki.chain(&leaf_params(&["a.example"]));
    chain.truncate(1);
    let refused = refusal(&[&pki.root], &chain);
    assert_eq!(refused.reason, RefusalReason::UnknownIssuer);
    let (position, _, issuer, nearest) = end(&refused).unwrap();
    assert_eq!((position, issuer, nearest), (0, INTERMEDIATE, NearestAnchor::None));
}

/// A renewed authority with another key, of the same kind and of another one. RFC 5280 4.1.1
#[test]
fn a_trusted_authority_has_the_name_but_another_key() {
    for algorithm in [P256, &rcgen::PKCS_ED25519] {
        let (pki, renewed) = (Pki::new(), authority("Root", key(algorithm)));
        let mut chain = pki.chain(&leaf_params(&["a.example"]));
        let refused = refusal(&[&renewed], &chain);
        let expected = Some((1, INTERMEDIATE, ROOT, NearestAnchor::OtherSigner));
        assert_eq!(end(&refused), expected, "{refused}");
        let text = refused.to_string();
        assert!(text.ends_with("but its key did not sign the certificate"), "{text}");

        chain.push(pki.root.der().clone());
        let refused = refusal(&[&renewed], &chain);
        assert_eq!(end(&refused), Some((2, ROOT, ROOT, NearestAnchor::OtherKey)), "{refused}");
        let text = refused.to_string();
        assert!(text.ends_with("a trusted authority has this name but another key"), "{text}");
    }
}

/// The wrong signature is below the trusted authority, which is not at fault.
#[test]
fn a_path_that_reaches_an_anchor_has_no_end() {
    let pki = Pki::new();
    let mut chain = pki.chain(&leaf_params(&["a.example"]));
    let mut leaf = chain[0].to_vec();
    *leaf.last_mut().unwrap() ^= 1;
    chain[0] = leaf.into();
    let refused = refusal(&[&pki.root], &chain);
    assert_eq!(refused.reason, RefusalReason::BadSignature);
    assert_eq!(end(&refused), None);
    assert_eq!(refused.to_string(), RefusalReason::BadSignature.to_string());
}

/// The best path is the one that comes nearest to an anchor, not the first one.
#[test]
fn the_best_of_several_paths_is_explained() {
    let pki = Pki::new();
    let renewed = authority("Root", key(P256));
    // A bridge: the intermediate's key is certified by another authority, too.
    let stranger = authority("Stranger", key(P256));
    let cross = ca_params("Intermediate").signed_by(pki.intermediate.key(), &stranger).unwrap();
    let mut chain = pki.chain(&leaf_params(&["a.example"]));
    chain.insert(1, cross.der().clone());
    chain.push(stranger.der().clone());
    let refused = refusal(&[&renewed], &chain);
    let expected = Some((2, INTERMEDIATE, ROOT, NearestAnchor::OtherSigner));
    assert_eq!(end(&refused), expected, "{refused}");
    // Without an anchor of either name, the longest path is explained.
    let other = authority("Other", key(P256));
    let refused = refusal(&[&other], &chain);
    let expected = Some((3, "CN=Stranger", "CN=Stranger", NearestAnchor::None));
    assert_eq!(end(&refused), expected, "{refused}");
}

/// Names of the peer are printed on one line, and not in full.
#[test]
fn hostile_names_are_escaped_and_shortened() {
    let name = format!("a\n\u{1b}[2J{}", "x".repeat(5_000));
    let hostile = authority(&name, key(P256));
    let leaf = leaf_params(&["a.example"]).signed_by(&key(P256), &hostile).unwrap();
    let other = authority("Other", key(P256));
    let refused = refusal(&[&other], &vec![leaf.der().clone()]);
    let text = refused.to_string();
    assert!(text.len() < 600 && !text.contains(['\n', '\u{1b}']), "{text}");
}
