//! Rules of path validation that need certificates of unusual forms, and the bounds of a path.
//! RFC 5280 6.1

use pki_types::CertificateDer;
use rcgen::{
    BasicConstraints, CustomExtension, GeneralSubtree, IsCa, KeyPair, NameConstraints, SigningKey,
};
use tercel_pki::{ChainVerifier, RefusalReason, Trust, Usage};

use crate::support::der::{content, split, wrap};
use crate::support::{
    Authority, Chain, P256, Pki, at, ca_params, key, leaf_params, now, reason, roots, service,
    verify,
};

/// The certificate with other fields, signed again.
pub(crate) fn rebuilt(
    certificate: &CertificateDer<'_>,
    issuer: &KeyPair,
    change: impl FnOnce(&mut Vec<Vec<u8>>),
) -> CertificateDer<'static> {
    let (signed, rest) = split(content(certificate));
    let (algorithm, _) = split(rest);
    let mut fields = Vec::new();
    let mut left = content(signed);
    while !left.is_empty() {
        let (field, after) = split(left);
        fields.push(field.to_vec());
        left = after;
    }
    change(&mut fields);
    let signed = wrap(0x30, &fields.concat());
    let mut signature = issuer.sign(&signed).unwrap();
    signature.insert(0, 0);
    wrap(0x30, &[&signed, algorithm, &wrap(3, &signature)].concat()).into()
}

fn of_version(
    version: u8,
    certificate: &CertificateDer<'_>,
    issuer: &KeyPair,
) -> CertificateDer<'static> {
    rebuilt(certificate, issuer, |fields| {
        fields.retain(|field| ![0xa0, 0xa3].contains(&field[0]));
        if version > 1 {
            fields.insert(0, vec![0xa0, 3, 2, 1, version - 1]);
        }
    })
}

/// RFC 5280 4.1.2.1, 6.1.4 (k)
#[test]
fn a_client_may_have_a_certificate_of_an_older_version_and_an_authority_may_not() {
    let pki = Pki::new();
    let verifier = pki.verifier();
    let leaf = pki.chain(&service());
    for version in [1, 2] {
        let old = of_version(version, &leaf[0], pki.intermediate.key());
        let chain = [old, leaf[1].clone()];
        verifier.verify(Usage::Client, &chain, None, None, now()).unwrap();
        // Such a leaf has no name of a server.
        assert_eq!(reason(verify(&verifier, &chain)), RefusalReason::NameMismatch);
        let chain = [leaf[0].clone(), of_version(version, &leaf[1], pki.root.key())];
        assert_eq!(reason(verify(&verifier, &chain)), RefusalReason::EndEntityUsedAsCa);
    }
    // An authority of version 1 that issued itself is an anchor, but no intermediate.
    let old = Authority::self_signed(ca_params("Old"), key(P256)).unwrap();
    let below = Authority::signed_by(ca_params("Old"), key(P256), &pki.root).unwrap();
    let self_issued = of_version(1, old.der(), below.key());
    let leaf = service().signed_by(&key(P256), &old).unwrap();
    let chain = [leaf.der().clone(), self_issued, below.der().clone()];
    assert_eq!(reason(verify(&verifier, &chain)), RefusalReason::EndEntityUsedAsCa);
    // Only version 3 has extensions.
    let with_extensions = rebuilt(below.der(), pki.root.key(), |fields| fields[0][4] = 1);
    let leaf = service().signed_by(&key(P256), &below).unwrap();
    let chain = [leaf.der().clone(), with_extensions];
    assert_eq!(reason(verify(&verifier, &chain)), RefusalReason::UnsupportedVersion);
}

/// RFC 5280 4.1, 4.1.1.2
#[test]
fn both_signature_algorithms_of_a_certificate_are_equal() {
    let pki = Pki::new();
    let chain = pki.chain(&service());
    let mut bytes = chain[0].to_vec();
    // The last octet of ecdsa-with-SHA256 outside of the signed bytes becomes that of SHA-384.
    let oid = [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    let last = bytes.windows(8).rposition(|window| window == oid).unwrap();
    bytes[last + 7] = 3;
    let chain = [bytes.into(), chain[1].clone()];
    assert_eq!(reason(verify(&pki.verifier(), &chain)), RefusalReason::BadEncoding);
}

fn intermediates(pki: &Pki, below: rcgen::CertificateParams, self_issued: usize) -> Chain {
    let mut issuer = Authority::signed_by(below, key(P256), &pki.root).unwrap();
    let mut chain = vec![issuer.der().clone()];
    for _ in 0..self_issued {
        // Another key of the same authority.
        let name = ca_params("Limited");
        issuer = Authority::signed_by(name, key(P256), &issuer).unwrap();
        chain.insert(0, issuer.der().clone());
    }
    let leaf = service().signed_by(&key(P256), &issuer).unwrap();
    chain.insert(0, leaf.der().clone());
    chain
}

/// RFC 5280 6.1.4 (l), (m)
#[test]
fn self_issued_certificates_do_not_count_for_the_path_length() {
    let pki = Pki::new();
    let mut params = ca_params("Limited");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    for self_issued in 0..3 {
        verify(&pki.verifier(), &intermediates(&pki, params.clone(), self_issued)).unwrap();
    }
    let limited = Authority::signed_by(params, key(P256), &pki.root).unwrap();
    let below = Authority::signed_by(ca_params("Below"), key(P256), &limited).unwrap();
    let leaf = service().signed_by(&key(P256), &below).unwrap();
    let chain = [leaf.der().clone(), below.der().clone(), limited.der().clone()];
    assert_eq!(reason(verify(&pki.verifier(), &chain)), RefusalReason::PathTooLong);
}

/// OpenSSL and Go accept numbers beyond 127, too. RFC 5280 4.2.1.9
#[test]
fn a_path_length_of_300_is_no_limit_and_a_negative_one_is_malformed() {
    let pki = Pki::new();
    let with = |length: &[u8]| {
        let value = wrap(0x30, &[&[1, 1, 0xff], length].concat());
        let mut params = ca_params("Limited");
        params.is_ca = IsCa::NoCa;
        params.custom_extensions = vec![CustomExtension::from_oid_content(&[2, 5, 29, 19], value)];
        verify(&pki.verifier(), &intermediates(&pki, params, 0)).map_err(|refusal| refusal.reason)
    };
    assert_eq!(with(&[2, 2, 1, 44]), Ok(Trust::Anchor));
    assert_eq!(with(&[2, 1, 0xff]), Err(RefusalReason::BadEncoding));
    assert_eq!(with(&[2, 2, 0, 5]), Err(RefusalReason::BadEncoding));
}

fn permitting(domain: &str) -> Option<NameConstraints> {
    let permitted_subtrees = vec![GeneralSubtree::DnsName(domain.to_owned())];
    Some(NameConstraints { permitted_subtrees, excluded_subtrees: vec![] })
}

/// The permitted names of an authority count although the authority above only excludes names.
/// RFC 5280 6.1.4 (g)
#[test]
fn an_authority_permits_below_one_that_excludes() {
    let pki = Pki::new();
    let excluded_subtrees = vec![GeneralSubtree::DnsName("other.example".to_owned())];
    for (permitted, expected) in
        [("example", Ok(Trust::Anchor)), ("third.example", Err(RefusalReason::NameConstraint))]
    {
        let mut params = ca_params("Upper");
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: vec![],
            excluded_subtrees: excluded_subtrees.clone(),
        });
        let upper = Authority::signed_by(params, key(P256), &pki.root).unwrap();
        let mut params = ca_params("Lower");
        params.name_constraints = permitting(permitted);
        let lower = Authority::signed_by(params, key(P256), &upper).unwrap();
        let leaf = service().signed_by(&key(P256), &lower).unwrap();
        let chain = [leaf.der().clone(), lower.der().clone(), upper.der().clone()];
        let verdict = verify(&pki.verifier(), &chain).map_err(|refusal| refusal.reason);
        assert_eq!(verdict, expected, "{permitted}");
    }
}

/// Each authority of a path adds its constraints. RFC 5280 6.1.3 (b), 6.1.4 (g)
#[test]
fn constraints_of_all_authorities_apply_to_all_certificates_below_them() {
    let pki = Pki::new();
    let chain = |upper: &str, lower: &str, name_of_lower: Option<&str>| {
        let mut params = ca_params("Upper");
        params.name_constraints = permitting(upper);
        let upper = Authority::signed_by(params, key(P256), &pki.root).unwrap();
        let mut params = ca_params("Lower");
        params.name_constraints = permitting(lower);
        params.subject_alt_names =
            name_of_lower.map_or_else(Vec::new, |name| leaf_params(&[name]).subject_alt_names);
        let lower = Authority::signed_by(params, key(P256), &upper).unwrap();
        let leaf = service().signed_by(&key(P256), &lower).unwrap();
        let chain = [leaf.der().clone(), lower.der().clone(), upper.der().clone()];
        verify(&pki.verifier(), &chain).map_err(|refusal| refusal.reason)
    };
    let refused = Err(RefusalReason::NameConstraint);
    assert_eq!(chain("example", "service.example", None), Ok(Trust::Anchor));
    // A lower authority cannot extend what an upper one permits.
    assert_eq!(chain("other.example", "example", None), refused);
    assert_eq!(chain("example", "other.example", None), refused);
    // The names of authorities are checked, but not by their own constraints.
    assert_eq!(chain("example", "service.example", Some("ca.example")), Ok(Trust::Anchor));
    assert_eq!(chain("service.example", "service.example", Some("ca.example")), refused);
}

/// A constrained authority may certify its own new key. RFC 5280 6.1.3 (b), 4.2.1.10
#[test]
fn constraints_do_not_apply_to_self_issued_authorities() {
    let pki = Pki::new();
    let mut params = ca_params("Limited");
    let excluded = wrap(0xa1, &wrap(0x30, &wrap(0xa4, &rcgen_name(&params))));
    params.custom_extensions =
        vec![CustomExtension::from_oid_content(&[2, 5, 29, 30], wrap(0x30, &excluded))];
    verify(&pki.verifier(), &intermediates(&pki, params.clone(), 1)).unwrap();
    // A leaf of this name is refused, also if it is self-issued.
    let limited = Authority::signed_by(params, key(P256), &pki.root).unwrap();
    let mut leaf = service();
    leaf.distinguished_name = ca_params("Limited").distinguished_name;
    let leaf = leaf.signed_by(&key(P256), &limited).unwrap();
    let chain = [leaf.der().clone(), limited.der().clone()];
    assert_eq!(reason(verify(&pki.verifier(), &chain)), RefusalReason::NameConstraint);
}

/// Servers take a client's commonName for its identity, as OpenSSL's constraints assume.
/// RFC 5280 4.2.1.10
#[test]
fn the_common_name_of_a_client_is_held_against_constraints_on_dns_names() {
    let pki = Pki::new();
    let verifier = pki.verifier();
    let mut limited = ca_params("Limited");
    limited.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![GeneralSubtree::DnsName("a.example".to_owned())],
        excluded_subtrees: vec![GeneralSubtree::DnsName("no.a.example".to_owned())],
    });
    let limited = Authority::signed_by(limited, key(P256), &pki.root).unwrap();
    let judge = |common_name: &str, names: &[&str], usage| {
        let mut leaf = leaf_params(names);
        leaf.distinguished_name = rcgen::DistinguishedName::new();
        leaf.distinguished_name.push(rcgen::DnType::CommonName, common_name);
        leaf.extended_key_usages.clear();
        let leaf = leaf.signed_by(&key(P256), &limited).unwrap();
        let chain = [leaf.der().clone(), limited.der().clone()];
        verifier.verify(usage, &chain, None, None, now()).map_err(|refusal| refusal.reason)
    };
    for good in ["alice", "Alice Example", "alice.A.example", "alice@b.example", "*.b.example"] {
        assert_eq!(judge(good, &[], Usage::Client), Ok(Trust::Anchor), "{good}");
    }
    for bad in ["b.example", "192.0.2.7", "x.no.a.example", "alice.smith"] {
        assert_eq!(judge(bad, &[], Usage::Client), Err(RefusalReason::NameConstraint), "{bad}");
        // An IP address is no DNS name; with a DNS name, that is the identity.
        let with_address = judge(bad, &["192.0.2.1"], Usage::Client);
        assert_eq!(with_address, Err(RefusalReason::NameConstraint), "{bad}");
        assert_eq!(judge(bad, &["c.a.example"], Usage::Client), Ok(Trust::Anchor), "{bad}");
        // A server is not identified by it.
        assert_eq!(judge(bad, &[], Usage::Server), Ok(Trust::Anchor), "{bad}");
    }
}

/// The subject of these parameters as DER.
fn rcgen_name(params: &rcgen::CertificateParams) -> Vec<u8> {
    let certificate = params.self_signed(&key(P256)).unwrap();
    tercel_pki::issuer(certificate.der()).unwrap()
}

/// Each certificate of a path is valid now, and the best path is found. RFC 5280 6, 6.1.3 (a) (2)
#[test]
fn a_valid_issuer_is_preferred_to_an_expired_one() {
    let pki = Pki::new();
    let shared = key(P256);
    let mut old = ca_params("Renewed");
    old.not_after = rcgen::date_time_ymd(2025, 1, 1);
    let old = old.signed_by(&shared, &pki.root).unwrap();
    let new = Authority::signed_by(ca_params("Renewed"), shared, &pki.root).unwrap();
    let leaf = service().signed_by(&key(P256), &new).unwrap();
    let whole = [leaf.der().clone(), old.der().clone(), new.der().clone()];
    verify(&pki.verifier(), &whole).unwrap();
    let refused = reason(verify(&pki.verifier(), &whole[..2]));
    assert_eq!(refused, RefusalReason::Expired { not_after: at(1_735_689_600) });
}

/// The refusal names what the best path lacks: a path to an anchor counts more than a wrong
/// signature.
#[test]
fn the_reason_is_that_of_the_nearest_path() {
    let pki = Pki::new();
    let mut chain = pki.chain(&leaf_params(&["a.example"]));
    // Another authority of the same name, whose key did not sign the leaf.
    let other = Authority::signed_by(ca_params("Intermediate"), key(P256), &pki.root).unwrap();
    chain.insert(1, other.der().clone());
    let mut limited = ca_params("Root");
    limited.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let root = limited.self_signed(pki.root.key()).unwrap();
    let mut trusted = tercel_pki::Roots::new();
    trusted.add_der(root.der()).unwrap();
    let verifier = ChainVerifier::builder(trusted.into()).build().unwrap();
    let refused = verifier.verify(Usage::Server, &chain, None, None, now());
    assert_eq!(reason(refused), RefusalReason::NotForThisUsage);
    let verifier = ChainVerifier::builder(roots(&[&pki.root])).build().unwrap();
    verifier.verify(Usage::Server, &chain, None, None, now()).unwrap();
}

/// A certificate is not left out because of an altered copy.
#[test]
fn an_altered_copy_of_an_issuer_does_not_displace_it() {
    let pki = Pki::new();
    let mut chain = pki.chain(&service());
    let mut bytes = chain[1].to_vec();
    let oid = [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    let last = bytes.windows(8).rposition(|window| window == oid).unwrap();
    bytes[last + 7] = 3;
    chain.insert(1, bytes.into());
    verify(&pki.verifier(), &chain).unwrap();
    for number in 0..10 {
        let other = Authority::self_signed(ca_params(&number.to_string()), key(P256)).unwrap();
        chain.push(other.der().clone());
    }
    verify(&pki.verifier(), &chain).unwrap();
}

/// The minimum of a subtree is 0; OpenSSL and Go accept it if it is encoded, too.
/// RFC 5280 4.2.1.10
#[test]
fn an_encoded_minimum_of_a_subtree_is_accepted() {
    let pki = Pki::new();
    let chain = |minimum: u8| {
        let mut params = ca_params("Limited");
        let subtree = [wrap(0x82, b"example"), wrap(0x80, &[minimum])].concat();
        let value = wrap(0x30, &wrap(0xa0, &wrap(0x30, &subtree)));
        params.custom_extensions = vec![CustomExtension::from_oid_content(&[2, 5, 29, 30], value)];
        intermediates(&pki, params, 0)
    };
    verify(&pki.verifier(), &chain(0)).unwrap();
    assert_eq!(reason(verify(&pki.verifier(), &chain(1))), RefusalReason::BadEncoding);
}

/// Also if nothing reads the list: there is no requested name and no revocation list. OpenSSL and
/// Go refuse it. RFC 5280 4.2.1.6, 4.2.1.13
#[test]
fn a_malformed_list_of_names_or_of_distribution_points_is_refused() {
    let pki = Pki::new();
    let with = |number: u64, value: &[u8]| {
        let custom =
            || vec![CustomExtension::from_oid_content(&[2, 5, 29, number], value.to_vec())];
        let mut leaf = leaf_params(&[]);
        leaf.extended_key_usages.clear();
        leaf.custom_extensions = custom();
        let mut above = ca_params("Other");
        above.custom_extensions = custom();
        let above = Authority::signed_by(above, key(P256), &pki.root).unwrap();
        let below = service().signed_by(&key(P256), &above).unwrap();
        let chains = [pki.chain(&leaf), vec![below.der().clone(), above.der().clone()]];
        [(Usage::Client, 0), (Usage::Server, 1)].map(|(usage, index)| {
            let verdict = pki.verifier().verify(usage, &chains[index], None, None, now());
            verdict.map(drop).map_err(|refusal| refusal.reason)
        })
    };
    for (number, value) in [
        (17, &[5, 0][..]),
        (17, &[0x30, 3, 0x80, 1]),
        (17, &[0x30, 3, 0x89, 1, b'a']),
        (17, &[0x30, 2, 0x82, 1]),
        (31, &[5, 0]),
        (31, &[0x30, 2, 5, 0]),
    ] {
        for outcome in with(number, value) {
            assert_eq!(outcome, Err(RefusalReason::BadEncoding), "{number} {value:?}");
        }
    }
    assert_eq!(with(17, &[0x30, 0]), [Ok(()), Ok(())]);
    assert_eq!(with(31, &[0x30, 2, 0x30, 0]), [Ok(()), Ok(())]);
}
