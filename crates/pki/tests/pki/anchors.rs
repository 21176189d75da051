//! Trust anchors keep the restrictions that their certificates state, and certificates that are not
//! authorities' certify no other. RFC 5280 6.2

use std::sync::Arc;

use pki_types::CertificateDer;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use tercel_pki::{ChainVerifier, NotAuthority, RefusalReason, Roots, Trust, Usage};

use crate::support::{
    Authority, Chain, P256, Pki, at, ca_params, key, leaf_params, now, reason, roots, service,
    verify,
};

type Change = fn(&mut CertificateParams);

/// Certificates that are not authorities', and why.
const NOT_AUTHORITIES: [(Change, NotAuthority); 5] = [
    (|params| params.is_ca = IsCa::ExplicitNoCa, NotAuthority::EndEntity),
    (|params| params.is_ca = IsCa::NoCa, NotAuthority::EndEntity),
    (
        |params| params.key_usages = vec![KeyUsagePurpose::DigitalSignature],
        NotAuthority::NoKeyCertSign,
    ),
    (|params| params.key_usages = vec![KeyUsagePurpose::CrlSign], NotAuthority::NoKeyCertSign),
    (
        |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning],
        NotAuthority::OtherPurpose,
    ),
];

fn changed(change: Change) -> CertificateParams {
    let mut params = ca_params("Anchor");
    params.subject_alt_names = service().subject_alt_names;
    change(&mut params);
    params
}

fn any_client() -> CertificateParams {
    let mut params = leaf_params(&["service.example"]);
    params.extended_key_usages.clear();
    params
}

/// A leaf that the certificate's key has signed, although the certificate may not allow that.
fn signed_by(issuer: &Authority) -> Chain {
    vec![any_client().signed_by(&key(P256), issuer).unwrap().der().clone()]
}

fn verifier(trusted: &[&Authority]) -> ChainVerifier {
    ChainVerifier::builder(roots(trusted)).build().unwrap()
}

/// RFC 5280 4.2.1.3, 4.2.1.9, 4.2.1.12
#[test]
fn a_self_issued_certificate_that_is_no_authoritys_is_trusted_only_as_itself() {
    for (change, why) in NOT_AUTHORITIES {
        let own = Authority::self_signed(changed(change), key(P256)).unwrap();
        let mut trusted = Roots::new();
        assert_eq!(trusted.add_pem(own.pem().as_bytes()), Ok(1));
        assert_eq!((trusted.len(), trusted.subjects().count()), (1, 1));
        let [other] = trusted.not_anchors() else { panic!("{:?}", trusted.not_anchors()) };
        assert_eq!((&*other.subject, other.reason, other.is_pinned), ("CN=Anchor", why, true));
        let verifier = ChainVerifier::builder(trusted.into()).build().unwrap();
        for usage in [Usage::Server, Usage::Client] {
            let verify = |chain: &[_]| verifier.verify(usage, chain, None, None, now());
            assert_eq!(reason(verify(&signed_by(&own))), RefusalReason::UnknownIssuer, "{why:?}");
            let presented = verify(&[own.der().clone()]).map_err(|refusal| refusal.reason);
            let expected = match why {
                NotAuthority::OtherPurpose => Err(RefusalReason::NotForThisUsage),
                _ => Ok(Trust::Pin),
            };
            assert_eq!(presented, expected, "{why:?}");
        }
        // Its validity and its names are checked, too.
        let late =
            verifier.verify(Usage::Server, &[own.der().clone()], None, None, at(3_000_000_000));
        assert!(matches!(
            reason(late),
            RefusalReason::Expired { .. } | RefusalReason::NotForThisUsage
        ));
    }
}

/// RFC 5280 4.2.1.3, 4.2.1.9, 4.2.1.12
#[test]
fn an_issued_certificate_that_is_no_authoritys_is_trusted_only_as_itself() {
    let pki = Pki::new();
    for (change, why) in NOT_AUTHORITIES {
        let issued = Authority::signed_by(changed(change), key(P256), &pki.root).unwrap();
        let mut trusted = Roots::new();
        assert_eq!(trusted.add_pem((issued.pem() + &pki.root.pem()).as_bytes()), Ok(2));
        assert_eq!(trusted.len(), 2);
        let [other] = trusted.not_anchors() else { panic!("{:?}", trusted.not_anchors()) };
        assert_eq!((other.reason, other.is_pinned), (why, true));
        let text = other.to_string();
        assert!(text.starts_with("\"CN=Anchor\" is trusted only as itself: "), "{text}");
        let verifier = ChainVerifier::builder(trusted.into()).build().unwrap();
        verify(&verifier, &pki.chain(&service())).unwrap();
        assert_eq!(reason(verify(&verifier, &signed_by(&issued))), RefusalReason::UnknownIssuer);
        let mut alone = Roots::new();
        alone.add_der(issued.der()).unwrap();
        // A client looks for the issuer of its certificate in this list. RFC 9846 4.3.4
        let names: Vec<_> = alone.subjects().collect();
        assert_eq!(names, [tercel_pki::issuer(issued.der()).unwrap()]);
        let verifier = ChainVerifier::builder(alone.into()).build().unwrap();
        let presented = verify(&verifier, &[issued.der().clone()]);
        let expected = match why {
            NotAuthority::OtherPurpose => Err(RefusalReason::NotForThisUsage),
            _ => Ok(Trust::Pin),
        };
        assert_eq!(presented.map_err(|refusal| refusal.reason), expected, "{why:?}");
    }
}

/// A server may present the certificate of an authority that its clients trust, as
/// `openssl req -x509` makes it. RFC 5280 6.1
#[test]
fn an_authority_may_present_its_own_certificate() {
    let pki = Pki::new();
    let shared = key(P256).serialize_der();
    let own = || KeyPair::try_from(&shared[..]).unwrap();
    let named = || changed(|_| ());
    let trusted = named().self_signed(&own()).unwrap().der().clone();
    let issued = Authority::signed_by(named(), own(), &pki.root).unwrap().der().clone();
    for own_certificate in [&trusted, &issued] {
        let mut roots = Roots::new();
        roots.add_der(own_certificate).unwrap();
        assert_eq!((roots.len(), roots.not_anchors().len()), (1, 0));
        let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
        let chain = [own_certificate.clone()];
        assert_eq!(verify(&verifier, &chain).unwrap(), Trust::Pin);
        // A server may send more than its own certificate.
        let longer = [own_certificate.clone(), pki.root.der().clone()];
        assert_eq!(verify(&verifier, &longer).unwrap(), Trust::Pin);
        // Names, validity and usage are checked.
        let other = crate::support::verify_name(&verifier, &chain, "other.example");
        assert_eq!(reason(other), RefusalReason::NameMismatch);
        let late = verifier.verify(Usage::Server, &chain, None, None, at(3_000_000_000));
        assert!(matches!(reason(late), RefusalReason::Expired { .. }));
    }
    let mut roots = Roots::new();
    let mut for_clients = named();
    for_clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let for_clients = for_clients.self_signed(&key(P256)).unwrap().der().clone();
    roots.add_der(&trusted).unwrap();
    roots.add_der(&for_clients).unwrap();
    let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
    let refused = reason(verify(&verifier, std::slice::from_ref(&for_clients)));
    assert_eq!(refused, RefusalReason::NotForThisUsage);
    verifier.verify(Usage::Client, &[for_clients], None, None, now()).unwrap();
    // Another certificate of the same name and key is one that the authority issued.
    let mut other = named();
    other.subject_alt_names.extend(leaf_params(&["other.example"]).subject_alt_names);
    let other = other.self_signed(&own()).unwrap();
    let chain = [other.der().clone()];
    let accepted = crate::support::verify_name(&verifier, &chain, "other.example");
    assert_eq!(accepted.unwrap(), Trust::Anchor);
}

/// RFC 5280 4.2.1.12
#[test]
fn an_anchor_keeps_its_extended_key_usage() {
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, ServerAuth};
    for (purposes, for_servers, for_clients) in [
        (vec![], true, true),
        (vec![Any], true, true),
        (vec![ClientAuth], false, true),
        (vec![ServerAuth], true, false),
        (vec![ServerAuth, ClientAuth], true, true),
    ] {
        let mut params = ca_params("Anchor");
        params.extended_key_usages.clone_from(&purposes);
        let anchor = Authority::self_signed(params, key(P256)).unwrap();
        let verifier = verifier(&[&anchor]);
        for (usage, allowed) in [(Usage::Server, for_servers), (Usage::Client, for_clients)] {
            let verdict = verifier.verify(usage, &signed_by(&anchor), None, None, now());
            let expected =
                if allowed { Ok(Trust::Anchor) } else { Err(RefusalReason::NotForThisUsage) };
            assert_eq!(verdict.map_err(|refusal| refusal.reason), expected, "{purposes:?}");
        }
    }
}

/// RFC 5280 4.1.2.5
#[test]
fn an_anchor_is_trusted_during_its_validity_unless_that_is_ignored() {
    let mut params = ca_params("Anchor");
    params.not_before = date_time_ymd(2021, 1, 1);
    params.not_after = date_time_ymd(2022, 1, 1);
    let anchor = Authority::self_signed(params, key(P256)).unwrap();
    let (not_before, not_after) = (at(1_609_459_200), at(1_640_995_200));
    let chain = signed_by(&anchor);
    let strict = verifier(&[&anchor]);
    let lenient = ChainVerifier::builder(roots(&[&anchor])).ignore_anchor_validity(true);
    let lenient = lenient.build().unwrap();
    for (seconds, expected) in [
        (1_609_459_199, Err(RefusalReason::AuthorityNotYetValid { not_before })),
        (1_609_459_200, Ok(Trust::Anchor)),
        (1_640_995_200, Ok(Trust::Anchor)),
        (1_640_995_201, Err(RefusalReason::AuthorityExpired { not_after })),
    ] {
        let verify = |verifier: &ChainVerifier| {
            let verdict = verifier.verify(Usage::Server, &chain, None, None, at(seconds));
            verdict.map_err(|refusal| refusal.reason)
        };
        assert_eq!(verify(&strict), expected);
        assert_eq!(verify(&lenient), Ok(Trust::Anchor));
    }
    let refusal = verify(&strict, &chain).unwrap_err();
    let text = refusal.to_string();
    assert!(
        text.starts_with("the trusted authority's own certificate expired on 2022-01-01"),
        "{text}"
    );
}

/// A renewed certificate of an authority is another anchor, and the restrictions of one are not
/// those of the other.
#[test]
fn an_authority_may_have_several_certificates() {
    let anchor_key = key(P256);
    let mut expired = ca_params("Anchor");
    expired.not_after = date_time_ymd(2021, 1, 1);
    let expired = expired.self_signed(&anchor_key).unwrap();
    let mut only_clients = ca_params("Anchor");
    only_clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let only_clients = only_clients.self_signed(&anchor_key).unwrap();
    let current = Authority::self_signed(ca_params("Anchor"), anchor_key).unwrap();
    let chain = signed_by(&current);
    let mut trusted = Roots::new();
    for certificate in [expired.der(), only_clients.der(), only_clients.der()] {
        trusted.add_der(certificate).unwrap();
    }
    assert_eq!(trusted.len(), 2);
    let refuses = ChainVerifier::builder(Arc::new(trusted.clone())).build().unwrap();
    assert!(verify(&refuses, &chain).is_err());
    trusted.add_der(current.der()).unwrap();
    assert_eq!(trusted.len(), 3);
    let accepts = ChainVerifier::builder(trusted.into()).build().unwrap();
    verify(&accepts, &chain).unwrap();
}

/// RFC 5280 4.2.1.9, 6.1.4 (l)
#[test]
fn an_anchor_keeps_its_path_length() {
    let mut params = ca_params("Anchor");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let anchor = Authority::self_signed(params, key(P256)).unwrap();
    let verifier = verifier(&[&anchor]);
    verify(&verifier, &signed_by(&anchor)).unwrap();
    let below = Authority::signed_by(ca_params("Below"), key(P256), &anchor).unwrap();
    let mut chain = signed_by(&below);
    chain.push(below.der().clone());
    assert_eq!(reason(verify(&verifier, &chain)), RefusalReason::PathTooLong);
    // A self-issued certificate, of a new key of the same authority, does not count.
    let renewed = Authority::signed_by(ca_params("Anchor"), key(P256), &anchor).unwrap();
    let mut chain = signed_by(&renewed);
    chain.push(renewed.der().clone());
    verify(&verifier, &chain).unwrap();
}

/// RFC 5280 4.2
#[test]
fn a_certificate_with_an_unknown_critical_extension_is_no_anchor() {
    let added = |oid: &[u64], critical| {
        let mut extension = rcgen::CustomExtension::from_oid_content(oid, vec![0x30, 0]);
        extension.set_criticality(critical);
        let mut params = ca_params("Anchor");
        params.custom_extensions = vec![extension];
        let mut roots = Roots::new();
        roots.add_der(params.self_signed(&key(P256)).unwrap().der()).unwrap();
        roots.not_anchors().first().map(|other| other.reason)
    };
    assert_eq!(added(&[1, 2, 3, 4], false), None);
    assert_eq!(added(&[1, 2, 3, 4], true), Some(NotAuthority::UnknownCriticalExtension));
    // No policy is required of paths, so those of an anchor have no effect.
    assert_eq!(added(&[2, 5, 29, 32], true), None);
}

/// A server's certificate of version 1 has no basicConstraints that could exclude it.
/// RFC 5280 4.2.1.9
#[test]
fn a_certificate_of_version_1_is_an_anchor_only_if_it_is_self_issued() {
    let pki = Pki::new();
    let version_1 = |certificate: &CertificateDer<'_>| -> CertificateDer<'static> {
        use crate::support::der::{content, split, wrap};
        let (signed, rest) = split(content(certificate));
        let mut fields = Vec::new();
        let mut left = content(signed);
        while !left.is_empty() {
            let (field, after) = split(left);
            // Without version and extensions
            if ![0xa0, 0xa3].contains(&field[0]) {
                fields.extend_from_slice(field);
            }
            left = after;
        }
        wrap(0x30, &[wrap(0x30, &fields).as_slice(), rest].concat()).into()
    };
    let not_anchors = |certificate: &CertificateDer<'_>| -> Vec<_> {
        let mut roots = Roots::new();
        roots.add_der(&version_1(certificate)).unwrap();
        roots.not_anchors().iter().map(|left_out| left_out.reason).collect()
    };
    assert_eq!(not_anchors(pki.root.der()), []);
    assert_eq!(not_anchors(pki.intermediate.der()), [NotAuthority::EndEntity]);
}

/// RFC 5280 4.2.1.3, 6.1.4 (n)
#[test]
fn an_issuer_needs_the_key_usage_to_certify() {
    let pki = Pki::new();
    let issued_by = |usages: &[KeyUsagePurpose]| {
        let mut params = ca_params("Intermediate");
        params.key_usages = usages.to_vec();
        let intermediate = Authority::signed_by(params, key(P256), &pki.root).unwrap();
        let mut chain = signed_by(&intermediate);
        chain.push(intermediate.der().clone());
        verify(&pki.verifier(), &chain).map_err(|refusal| refusal.reason)
    };
    use KeyUsagePurpose::{CrlSign, DigitalSignature, KeyCertSign};
    assert_eq!(issued_by(&[]), Ok(Trust::Anchor));
    assert_eq!(issued_by(&[KeyCertSign]), Ok(Trust::Anchor));
    for without in [&[DigitalSignature][..], &[CrlSign], &[DigitalSignature, CrlSign]] {
        assert_eq!(issued_by(without), Err(RefusalReason::IssuerMayNotCertify), "{without:?}");
    }
}

/// Another path may be valid: path building continues after a refused one.
#[test]
fn a_refused_path_does_not_hide_a_valid_one() {
    let pki = Pki::new();
    let shared = key(P256);
    let mut without = ca_params("Intermediate");
    without.key_usages = vec![KeyUsagePurpose::CrlSign];
    let without = without.signed_by(&shared, &pki.root).unwrap();
    let with = Authority::signed_by(ca_params("Intermediate"), shared, &pki.intermediate).unwrap();
    let mut chain = signed_by(&with);
    let others = [without.der(), with.der(), pki.intermediate.der()];
    chain.extend(others.map(CertificateDer::clone));
    verify(&pki.verifier(), &chain).unwrap();
    assert_eq!(reason(verify(&pki.verifier(), &chain[..2])), RefusalReason::IssuerMayNotCertify);
}

#[test]
fn restrictions_are_in_the_fingerprint() {
    let anchor_key = key(P256);
    let of = |certificate: &CertificateDer<'_>| {
        let mut trusted = Roots::new();
        trusted.add_der(certificate).unwrap();
        trusted.fingerprint()
    };
    let certificate = |change: Change| {
        let mut params = ca_params("Anchor");
        change(&mut params);
        params.self_signed(&anchor_key).unwrap().der().clone()
    };
    let unchanged = certificate(|_| {});
    let plain = of(&unchanged);
    assert_eq!(plain, of(&unchanged.clone()));
    let changes: [Change; 6] = [
        // The names of a certificate count when a peer presents it.
        |params| params.subject_alt_names = service().subject_alt_names,
        |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth],
        |params| params.not_before = date_time_ymd(2019, 1, 1),
        |params| params.not_after = date_time_ymd(2039, 1, 1),
        |params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1)),
        |params| params.is_ca = IsCa::ExplicitNoCa,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        assert_ne!(plain, of(&certificate(change)), "{index}");
    }
}
