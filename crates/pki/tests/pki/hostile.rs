//! Chains made to cost time or to break the parser.

use pki_types::CertificateDer;
use rcgen::{CertificateParams, DnType};
use tercel_pki::{CertificateSummary, ChainVerifier, RefusalReason, Usage, end_entity_public_key};

use crate::support::{
    Authority, Chain, P256, Pki, ca_params, key, now, reason, roots, service, verify,
};

/// The reason for which a chain is refused. `crates/tls/tests/work` counts the work until then.
fn refused(verifier: &ChainVerifier, chain: &[CertificateDer<'_>]) -> RefusalReason {
    reason(verify(verifier, chain))
}

/// A leaf and this number of intermediates, each issued by the next one.
fn path(pki: &Pki, intermediates: usize) -> Chain {
    let mut chain: Chain = Vec::new();
    let mut issuer = Authority::signed_by(ca_params("0"), key(P256), &pki.root).unwrap();
    for number in 1..intermediates {
        chain.insert(0, issuer.der().clone());
        let params = ca_params(&number.to_string());
        issuer = Authority::signed_by(params, key(P256), &issuer).unwrap();
    }
    chain.insert(0, issuer.der().clone());
    chain.insert(0, service().signed_by(&key(P256), &issuer).unwrap().der().clone());
    chain
}

#[test]
fn a_path_has_at_most_thirty_two_intermediates() {
    let pki = Pki::new();
    let chain = path(&pki, 32);
    verify(&pki.verifier(), &chain).unwrap();
    let reversed = [&chain[..1], &chain[1..].iter().rev().cloned().collect::<Chain>()].concat();
    verify(&pki.verifier(), &reversed).unwrap();
    assert_eq!(refused(&pki.verifier(), &path(&pki, 33)), RefusalReason::PathTooDeep);
    assert_eq!(refused(&pki.verifier(), &path(&pki, 100)), RefusalReason::PathTooDeep);
}

/// RFC 4158 2.4.2
#[test]
fn a_loop_of_issuers_is_refused() {
    let (left_key, right_key) = (key(P256), key(P256));
    let left = rcgen::Issuer::new(ca_params("Left"), &left_key);
    let right = rcgen::Issuer::new(ca_params("Right"), &right_key);
    let left_by_right = ca_params("Left").signed_by(&left_key, &right).unwrap();
    let right_by_left = ca_params("Right").signed_by(&right_key, &left).unwrap();
    let leaf = service().signed_by(&key(P256), &left).unwrap();
    let chain = [leaf, left_by_right, right_by_left].map(|certificate| certificate.der().clone());
    assert_eq!(refused(&Pki::new().verifier(), &chain), RefusalReason::UnknownIssuer);
}

#[test]
fn many_certificates_with_one_subject_are_refused() {
    let crowd = |above: &str| {
        let mut chain = same_subject("Crowd", above, 100);
        let issuer = Authority::self_signed(ca_params("Crowd"), key(P256)).unwrap();
        chain.insert(0, service().signed_by(&key(P256), &issuer).unwrap().der().clone());
        chain
    };
    let verifier = Pki::new().verifier();
    // No way leads to an anchor, which the names say.
    assert_eq!(refused(&verifier, &crowd("Crowd")), RefusalReason::UnknownIssuer);
    // By name, each is issued by the anchor, and each has another key.
    assert_eq!(refused(&verifier, &crowd("Root")), RefusalReason::PathLimits);
}

#[test]
fn names_that_lead_nowhere_cost_nothing() {
    // Each of seven names has three certificates, issued by the next name.
    let mut chain = Chain::new();
    let issuer = Authority::self_signed(ca_params("0"), key(P256)).unwrap();
    chain.push(service().signed_by(&key(P256), &issuer).unwrap().der().clone());
    for level in 0..7 {
        chain.extend(same_subject(&level.to_string(), &(level + 1).to_string(), 3));
    }
    assert_eq!(refused(&Pki::new().verifier(), &chain), RefusalReason::UnknownIssuer);
}

/// All signatures are valid except those by the root, so every path is tried.
#[test]
fn a_mesh_of_cross_signed_authorities_is_refused() {
    let pki = Pki::new();
    let impostor = Pki::new();
    let keys: Vec<_> = (0..8).map(|_| key(P256)).collect();
    let name = |index: usize| ca_params(&format!("Mesh {index}"));
    let mut chain = Chain::new();
    for (index, own) in keys.iter().enumerate() {
        for (above, other) in keys.iter().enumerate().filter(|(above, _)| *above != index) {
            let issuer = rcgen::Issuer::new(name(above), other);
            chain.push(name(index).signed_by(own, &issuer).unwrap().der().clone());
        }
    }
    let bad = name(7).signed_by(&keys[7], &impostor.root).unwrap();
    chain.push(bad.der().clone());
    let issuer = rcgen::Issuer::new(name(0), &keys[0]);
    chain.insert(0, service().signed_by(&key(P256), &issuer).unwrap().der().clone());
    let reason = refused(&pki.verifier(), &chain);
    let expected = [RefusalReason::BadSignature, RefusalReason::PathLimits];
    assert!(expected.contains(&reason), "{reason:?}");
    // With a valid one, the way is found.
    let good = name(7).signed_by(&keys[7], &pki.root).unwrap();
    chain.push(good.der().clone());
    verify(&pki.verifier(), &chain).unwrap();
}

#[test]
fn paths_with_invalid_root_signatures_are_refused() {
    // Every path ends in an invalid signature by the root.
    let pki = Pki::new();
    let mut chain = Chain::new();
    let issuer = Authority::self_signed(ca_params("0"), key(P256)).unwrap();
    chain.push(service().signed_by(&key(P256), &issuer).unwrap().der().clone());
    for level in 0..5 {
        let above = if level == 4 { "Root".to_owned() } else { (level + 1).to_string() };
        chain.extend(same_subject(&level.to_string(), &above, 3));
    }
    let reason = refused(&pki.verifier(), &chain);
    assert!(matches!(reason, RefusalReason::BadSignature | RefusalReason::PathLimits));
}

/// The work of path building is limited, not the number of certificates: only issuers of issuers of
/// the leaf cause work.
#[test]
fn any_number_of_surplus_certificates_is_accepted() {
    let pki = Pki::new();
    let mut chain = pki.chain(&service());
    for number in 0..70 {
        chain.extend(same_subject(&format!("surplus {number}"), "Nobody", 1));
        // Repeated certificates do not count, either.
        chain.push(pki.intermediate.der().clone());
        chain.push(CertificateDer::from(vec![number]));
    }
    verify(&pki.verifier(), &chain).unwrap();
    chain.swap(1, 200);
    verify(&pki.verifier(), &chain).unwrap();
}

/// The bridge of several hierarchies has a certificate by each of them.
#[test]
fn many_certificates_of_one_authority_are_accepted() {
    let pki = Pki::new();
    let mut chain = pki.chain(&service());
    let intermediate = chain.pop().unwrap();
    let bridge = |number: usize| same_subject("Intermediate", &format!("Other {number}"), 1);
    chain.extend((0..31).flat_map(bridge));
    chain.push(intermediate);
    verify(&pki.verifier(), &chain).unwrap();
}

/// The number of signatures is limited. The issuer with the right key identifier, and then the one
/// below an anchor, is tried first. RFC 4158 3.5, RFC 5280 4.2.1.1
#[test]
fn of_many_issuers_the_best_is_tried_first() {
    let pki = Pki::new();
    for (with_identifier, above, count) in
        [(false, "Root", 90), (true, "Root", 200), (false, "Intermediate", 200)]
    {
        let mut leaf = service();
        leaf.use_authority_key_identifier_extension = with_identifier;
        let mut chain = pki.chain(&leaf);
        chain.extend(same_subject("Intermediate", above, count));
        verify(&pki.verifier(), &chain).unwrap();
        let last = chain.len() - 1;
        chain.swap(1, last);
        verify(&pki.verifier(), &chain).unwrap();
    }
    let mut chain = pki.chain(&service());
    chain.extend(same_subject("Intermediate", "Root", 100));
    let last = chain.len() - 1;
    chain.swap(1, last);
    assert_eq!(refused(&pki.verifier(), &chain), RefusalReason::PathLimits);
}

/// Certificates with one subject and one issuer, and different keys.
fn same_subject(subject: &str, issuer: &str, count: usize) -> Chain {
    let issuer = Authority::self_signed(ca_params(issuer), key(P256)).unwrap();
    (0..count)
        .map(|_| ca_params(subject).signed_by(&key(P256), &issuer).unwrap().der().clone())
        .collect()
}

#[test]
fn no_truncation_and_no_flipped_bit_is_accepted_or_panics() {
    let pki = Pki::new();
    let verifier = pki.verifier();
    let chain = pki.chain(&service());
    let original = &chain[0];
    let try_all = |bytes: Vec<u8>| {
        let changed = [CertificateDer::from(bytes), chain[1].clone()];
        let _ = CertificateSummary::new(&changed[0]).map(|summary| summary.to_string());
        let _ = end_entity_public_key(&changed);
        let refusal = verify(&verifier, &changed).unwrap_err();
        assert!(!refusal.to_string().is_empty());
    };
    for length in 0..original.len() {
        try_all(original[..length].to_vec());
    }
    for position in 0..original.len() {
        for bit in 0..8 {
            let mut bytes = original.to_vec();
            bytes[position] ^= 1 << bit;
            try_all(bytes);
        }
    }
}

#[test]
fn control_characters_in_names_are_escaped() {
    let escape = "evil\u{1b}[2J\u{202e}\r\n";
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, escape);
    let own = Authority::self_signed(params, key(P256)).unwrap();
    let text = CertificateSummary::new(own.der()).unwrap().to_string();
    assert!(text.contains("CN=evil\\u{1b}[2J\\u{202e}\\u{d}\\u{a}"), "{text}");

    let verifier = ChainVerifier::builder(roots(&[&own])).build().unwrap();
    let refusal = verifier.verify(
        Usage::Server,
        &[own.der().clone()],
        Some(&crate::support::name("a.example")),
        None,
        now(),
    );
    assert!(refusal.unwrap_err().to_string().chars().all(|character| !character.is_control()));
}
