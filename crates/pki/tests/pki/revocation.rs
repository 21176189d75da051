//! Revocation lists, and each option of the policy.

use pki_types::CertificateRevocationListDer;
use rcgen::{
    CertificateRevocationListParams, CrlDistributionPoint, CrlIssuingDistributionPoint, CrlScope,
    KeyIdMethod, RevokedCertParams, SerialNumber, date_time_ymd,
};
use tercel_pki::{ChainVerifier, RefusalReason, RevocationPolicy, Trust, UnreadableCrl};

use crate::support::{Authority, Chain, P256, Pki, at, ca_params, key, reason, service, verify};

const LEAF: u64 = 77;
const INTERMEDIATE: u64 = 55;

/// A chain whose certificates have serial numbers, so that they can be revoked.
fn numbered() -> (Pki, Chain) {
    let root = Authority::self_signed(ca_params("Root"), key(P256)).unwrap();
    let mut params = ca_params("Intermediate");
    params.serial_number = Some(SerialNumber::from(INTERMEDIATE));
    let intermediate = Authority::signed_by(params, key(P256), &root).unwrap();
    let pki = Pki { root, intermediate };
    let mut leaf = service();
    leaf.serial_number = Some(SerialNumber::from(LEAF));
    let chain = pki.chain(&leaf);
    (pki, chain)
}

/// A revocation list with a nextUpdate in `next_year`.
pub(crate) fn list(
    issuer: &Authority,
    revoked: &[u64],
    next_year: i32,
) -> CertificateRevocationListDer<'static> {
    list_of(issuer, revoked, 2021, next_year)
}

/// A revocation list with a thisUpdate and a nextUpdate in these years.
fn list_of(
    issuer: &Authority,
    revoked: &[u64],
    this_year: i32,
    next_year: i32,
) -> CertificateRevocationListDer<'static> {
    params_of(revoked, this_year, next_year).signed_by(issuer).unwrap().der().clone()
}

fn params_of(revoked: &[u64], this_year: i32, next_year: i32) -> CertificateRevocationListParams {
    CertificateRevocationListParams {
        this_update: date_time_ymd(this_year, 1, 1),
        next_update: date_time_ymd(next_year, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: revoked
            .iter()
            .map(|&number| RevokedCertParams {
                serial_number: SerialNumber::from(number),
                revocation_time: date_time_ymd(2021, 1, 1),
                reason_code: None,
                invalidity_date: None,
            })
            .collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    }
}

fn verified(
    pki: &Pki,
    chain: &Chain,
    lists: &[CertificateRevocationListDer<'_>],
    policy: RevocationPolicy,
) -> Result<Trust, RefusalReason> {
    let mut builder = ChainVerifier::builder(pki.roots()).revocation_policy(policy);
    for list in lists {
        builder = builder.crl(list).unwrap();
    }
    verify(&builder.build().unwrap(), chain).map_err(|refusal| refusal.reason)
}

const STRICT: RevocationPolicy = RevocationPolicy {
    end_entity_only: false,
    allow_unknown_status: false,
    allow_expired_lists: false,
};
const LEAF_ONLY: RevocationPolicy = RevocationPolicy { end_entity_only: true, ..STRICT };

#[test]
fn the_default_policy_is_the_strict_one() {
    assert_eq!(RevocationPolicy::default(), STRICT);
}

#[test]
fn without_a_list_nothing_is_checked() {
    let (pki, chain) = numbered();
    assert_eq!(verified(&pki, &chain, &[], STRICT), Ok(Trust::Anchor));
}

/// RFC 5280 6.3
#[test]
fn a_chain_on_no_list_is_accepted() {
    let (pki, chain) = numbered();
    let lists = [list(&pki.intermediate, &[1], 2030), list(&pki.root, &[], 2030)];
    assert_eq!(verified(&pki, &chain, &lists, STRICT), Ok(Trust::Anchor));
}

#[test]
fn a_revoked_leaf_is_refused() {
    let (pki, chain) = numbered();
    let lists = [list(&pki.intermediate, &[1, LEAF], 2030), list(&pki.root, &[], 2030)];
    assert_eq!(verified(&pki, &chain, &lists, STRICT), Err(RefusalReason::Revoked));
    assert_eq!(verified(&pki, &chain, &lists, LEAF_ONLY), Err(RefusalReason::Revoked));
}

#[test]
fn a_revoked_intermediate_is_refused_unless_only_the_leaf_is_checked() {
    let (pki, chain) = numbered();
    let lists = [list(&pki.intermediate, &[], 2030), list(&pki.root, &[INTERMEDIATE], 2030)];
    assert_eq!(verified(&pki, &chain, &lists, STRICT), Err(RefusalReason::Revoked));
    assert_eq!(verified(&pki, &chain, &lists, LEAF_ONLY), Ok(Trust::Anchor));
}

#[test]
fn unknown_status_is_refused_unless_allowed() {
    let (pki, chain) = numbered();
    let lists = [list(&pki.root, &[], 2030)];
    let refused = Err(RefusalReason::UnknownRevocationStatus);
    assert_eq!(verified(&pki, &chain, &lists, STRICT), refused);
    let allowed = RevocationPolicy { allow_unknown_status: true, ..STRICT };
    assert_eq!(verified(&pki, &chain, &lists, allowed), Ok(Trust::Anchor));
}

#[test]
fn an_expired_list_is_refused_unless_allowed() {
    let (pki, chain) = numbered();
    let lists = [list(&pki.intermediate, &[], 2022), list(&pki.root, &[], 2030)];
    let refused = Err(RefusalReason::CrlExpired { next_update: at(1_640_995_200) });
    assert_eq!(verified(&pki, &chain, &lists, STRICT), refused);
    let allowed = RevocationPolicy { allow_expired_lists: true, ..STRICT };
    assert_eq!(verified(&pki, &chain, &lists, allowed), Ok(Trust::Anchor));
    // The entries of an expired list are still used.
    let lists = [list(&pki.intermediate, &[LEAF], 2022), list(&pki.root, &[], 2030)];
    assert_eq!(verified(&pki, &chain, &lists, allowed), Err(RefusalReason::Revoked));
}

#[test]
fn a_list_signed_by_another_is_invalid() {
    let (pki, chain) = numbered();
    let (impostor, _) = numbered();
    let lists = [list(&impostor.intermediate, &[], 2030)];
    assert_eq!(verified(&pki, &chain, &lists, LEAF_ONLY), Err(RefusalReason::InvalidCrl));
}

#[test]
fn a_list_signed_without_the_crl_sign_usage_is_invalid() {
    let mut params = ca_params("Intermediate");
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    let intermediate_key = key(P256);
    let root = Authority::self_signed(ca_params("Root"), key(P256)).unwrap();
    let certificate = params.signed_by(&intermediate_key, &root).unwrap();
    // An intermediate with the same name and key but without the restriction, so that it can issue
    // the list.
    let intermediate =
        Authority::signed_by(ca_params("Intermediate"), intermediate_key, &root).unwrap();
    let list = list(&intermediate, &[], 2030);
    let pki = Pki { root, intermediate };
    let mut chain = pki.chain(&service());
    chain[1] = certificate.der().clone();
    assert_eq!(verified(&pki, &chain, &[list], LEAF_ONLY), Err(RefusalReason::InvalidCrl));
}

#[test]
fn malformed_lists_are_refused() {
    let refused = ChainVerifier::builder(Pki::new().roots()).crl(&vec![1, 2, 3].into());
    assert_eq!(refused.unwrap_err(), UnreadableCrl);
}

#[test]
fn a_refusal_for_revocation_is_one_line() {
    let (pki, chain) = numbered();
    let list = list(&pki.intermediate, &[LEAF], 2030);
    let builder = ChainVerifier::builder(pki.roots()).revocation_policy(LEAF_ONLY);
    let verifier = builder.crl(&list).unwrap().build().unwrap();
    let refusal = verify(&verifier, &chain).unwrap_err();
    assert_eq!(refusal.to_string(), "a certificate was revoked");
    assert_eq!(reason(Err(refusal)), RefusalReason::Revoked);
}

/// RFC 5280 4.2.1.3, 6.3.3 (f)
#[test]
fn an_anchor_needs_the_key_usage_to_sign_lists() {
    for (usages, expected) in [
        (vec![rcgen::KeyUsagePurpose::KeyCertSign], Err(RefusalReason::InvalidCrl)),
        (vec![rcgen::KeyUsagePurpose::KeyCertSign, rcgen::KeyUsagePurpose::CrlSign], Ok(())),
        (vec![], Ok(())),
    ] {
        let mut params = ca_params("Root");
        params.key_usages = usages;
        let shared = key(P256);
        let own = params.self_signed(&shared).unwrap();
        let root = Authority::self_signed(ca_params("Root"), shared).unwrap();
        let mut roots = tercel_pki::Roots::new();
        roots.add_der(own.der()).unwrap();
        let verifier = ChainVerifier::builder(roots.into()).crl(&list(&root, &[], 2030)).unwrap();
        let leaf = service().signed_by(&key(P256), &root).unwrap();
        let verdict = verify(&verifier.build().unwrap(), &[leaf.der().clone()]);
        assert_eq!(verdict.map(drop).map_err(|refusal| refusal.reason), expected);
    }
}

/// RFC 5280 4.2.1.13, 5.2.5, 6.3.3 (b) (2)
#[test]
fn a_list_covers_the_certificates_of_its_scope() {
    let point = |uri: &str| CrlDistributionPoint { uris: vec![uri.to_owned()] };
    let (here, there) = ("http://a.example/1.crl", "http://a.example/2.crl");
    let unknown = Err(RefusalReason::UnknownRevocationStatus);
    for (points, scope, expected) in [
        (vec![point(here)], None, Ok(Trust::Anchor)),
        (vec![point(there), point(here)], Some(CrlScope::UserCertsOnly), Ok(Trust::Anchor)),
        (vec![point(there)], None, unknown),
        (vec![], None, unknown),
        (vec![point(here)], Some(CrlScope::CaCertsOnly), unknown),
    ] {
        let (pki, _) = numbered();
        let mut leaf = service();
        leaf.crl_distribution_points = points;
        let list = list_at(&pki.intermediate, &[], here, scope);
        assert_eq!(verified(&pki, &pki.chain(&leaf), &[list], LEAF_ONLY), expected);
    }
}

/// A list of a distribution point.
fn list_at(
    issuer: &Authority,
    revoked: &[u64],
    point: &str,
    scope: Option<CrlScope>,
) -> CertificateRevocationListDer<'static> {
    let distribution_point = CrlDistributionPoint { uris: vec![point.to_owned()] };
    let point = CrlIssuingDistributionPoint { distribution_point, scope };
    let params = CertificateRevocationListParams {
        issuing_distribution_point: Some(point),
        ..params_of(revoked, 2021, 2030)
    };
    params.signed_by(issuer).unwrap().der().clone()
}

/// A list for others is no reason to accept a certificate. The issuer has given the number once, so
/// the list is a reason to refuse it. RFC 5280 4.1.2.2, 5.2.5, 6.3.3 (b) (2)
#[test]
fn a_certificate_on_a_list_for_others_is_revoked_if_its_status_is_unknown() {
    let (here, there) = ("http://a.example/1.crl", "http://a.example/2.crl");
    let (pki, _) = numbered();
    let mut leaf = service();
    leaf.serial_number = Some(SerialNumber::from(LEAF));
    leaf.crl_distribution_points = vec![CrlDistributionPoint { uris: vec![here.to_owned()] }];
    let chain = pki.chain(&leaf);
    let issuer = &pki.intermediate;
    let others: [(&str, _); 2] = [(there, None), (here, Some(CrlScope::CaCertsOnly))];
    let lenient = RevocationPolicy { allow_unknown_status: true, ..LEAF_ONLY };
    let outcomes = |lists: &[CertificateRevocationListDer<'_>]| {
        [LEAF_ONLY, lenient].map(|policy| verified(&pki, &chain, lists, policy))
    };
    let unknown = [Err(RefusalReason::UnknownRevocationStatus), Ok(Trust::Anchor)];
    let (revoked, accepted) = ([Err(RefusalReason::Revoked); 2], [Ok(Trust::Anchor); 2]);
    for (point, scope) in others {
        let of = |issuer, revoked: &[u64]| list_at(issuer, revoked, point, scope);
        assert_eq!(outcomes(&[of(issuer, &[1])]), unknown);
        assert_eq!(outcomes(&[of(issuer, &[LEAF])]), revoked);
        // By another authority of this name
        let (stranger, _) = numbered();
        assert_eq!(outcomes(&[of(&stranger.intermediate, &[LEAF])]), unknown);
        // A list that covers the certificate decides, unless it is not valid.
        let (other, list) = (of(issuer, &[LEAF]), list_at(issuer, &[], here, None));
        assert_eq!(outcomes(&[other.clone(), list.clone()]), accepted);
        assert_eq!(outcomes(&[list, other.clone()]), accepted);
        let invalid = list_at(&stranger.intermediate, &[], here, None);
        assert_eq!(outcomes(&[other.clone(), invalid.clone()]), revoked);
        assert_eq!(outcomes(&[invalid, other]), revoked);
    }
}

/// A list is its issuer's in each spelling of the issuer's name. RFC 5280 5.1.2.3, 6.3.3 (b) (1),
/// 7.1
#[test]
fn a_list_may_spell_its_issuers_name_differently() {
    let (pki, chain) = numbered();
    let name = rcgen::DnValue::PrintableString("INTERMEDIATE".try_into().unwrap());
    let mut params = ca_params("Intermediate");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let spelled = rcgen::Issuer::new(params, pki.intermediate.key());
    let of = |revoked: &[u64]| params_of(revoked, 2021, 2030).signed_by(&spelled).unwrap();
    let lenient = RevocationPolicy { allow_unknown_status: true, ..LEAF_ONLY };
    let outcome = |lists: &[_], policy| verified(&pki, &chain, lists, policy);
    let (clean, revoking) = (of(&[]).der().clone(), of(&[LEAF]).der().clone());
    assert_eq!(outcome(std::slice::from_ref(&clean), LEAF_ONLY), Ok(Trust::Anchor));
    let usual = list(&pki.intermediate, &[], 2030);
    for lists in [vec![revoking.clone()], vec![usual, revoking]] {
        for policy in [LEAF_ONLY, lenient] {
            assert_eq!(outcome(&lists, policy), Err(RefusalReason::Revoked));
        }
    }
}

/// A list that has the certificate decides, and otherwise one valid list is enough.
#[test]
fn several_lists_of_one_issuer_are_consulted() {
    let (pki, chain) = numbered();
    let old = |revoked: &[u64]| list(&pki.intermediate, revoked, 2022);
    let new = |revoked: &[u64]| list(&pki.intermediate, revoked, 2030);
    for (lists, expected) in [
        ([old(&[]), new(&[])], Ok(Trust::Anchor)),
        ([new(&[]), old(&[])], Ok(Trust::Anchor)),
        ([new(&[]), new(&[LEAF])], Err(RefusalReason::Revoked)),
        ([old(&[LEAF]), new(&[])], Err(RefusalReason::Revoked)),
    ] {
        assert_eq!(verified(&pki, &chain, &lists, LEAF_ONLY), expected);
    }
}

/// Lists of many authorities with one name: the one that states the key identifier of the leaf's
/// issuer is consulted first, and the work is limited. RFC 5280 4.2.1.1, 5.2.1
#[test]
fn of_many_lists_of_one_name_the_issuers_is_consulted_first() {
    let (pki, _) = numbered();
    let stranger = |_| {
        let authority = Authority::self_signed(ca_params("Intermediate"), key(P256)).unwrap();
        list(&authority, &[1], 2030)
    };
    let mut lists: Vec<_> = (0..120).map(stranger).collect();
    lists.push(list(&pki.intermediate, &[], 2030));
    let mut leaf = service();
    leaf.serial_number = Some(SerialNumber::from(LEAF));
    let outcome = |leaf: &rcgen::CertificateParams, lists: &[_]| {
        verified(&pki, &pki.chain(leaf), lists, LEAF_ONLY)
    };
    assert_eq!(outcome(&leaf, &lists), Err(RefusalReason::PathLimits));
    leaf.use_authority_key_identifier_extension = true;
    assert_eq!(outcome(&leaf, &lists), Ok(Trust::Anchor));
    // A list with another identifier is consulted as well if it has the certificate.
    let mut other = list(&pki.intermediate, &[LEAF], 2030);
    lists.push(other.clone());
    assert_eq!(outcome(&leaf, &lists), Err(RefusalReason::Revoked));
    other = {
        let method = KeyIdMethod::PreSpecified(b"another".to_vec());
        let params = params_of(&[LEAF], 2021, 2030);
        let params = CertificateRevocationListParams { key_identifier_method: method, ..params };
        params.signed_by(&pki.intermediate).unwrap().der().clone()
    };
    *lists.last_mut().unwrap() = other;
    assert_eq!(outcome(&leaf, &lists), Err(RefusalReason::Revoked));
}

/// Another encoding of a serial number is none: the list would not have it. X.690 8.3.2
#[test]
fn a_serial_number_has_one_encoding() {
    let (pki, chain) = numbered();
    let list = list(&pki.intermediate, &[LEAF], 2030);
    let refused = verified(&pki, &chain, std::slice::from_ref(&list), LEAF_ONLY);
    assert_eq!(refused, Err(RefusalReason::Revoked));
    let serial = u8::try_from(LEAF).unwrap();
    for number in [&[0, serial][..], &[0, 0, serial], &[]] {
        let padded = crate::validation::rebuilt(&chain[0], pki.intermediate.key(), |fields| {
            fields[1] = crate::support::der::wrap(2, number);
        });
        let chain = vec![padded, chain[1].clone()];
        let refused = verified(&pki, &chain, std::slice::from_ref(&list), LEAF_ONLY);
        assert_eq!(refused, Err(RefusalReason::BadEncoding), "{number:?}");
    }
}

/// OpenSSL refuses such a list, too. RFC 5280 5.1.2.4
#[test]
fn a_list_of_the_future_is_refused() {
    let (pki, chain) = numbered();
    let of = |year, revoked: &[u64]| list_of(&pki.intermediate, revoked, year, 2036);
    let check = |lists: &[_]| verified(&pki, &chain, lists, LEAF_ONLY);
    let expected = Err(RefusalReason::InvalidCrl);
    assert_eq!(check(&[of(2035, &[])]), expected);
    // Another list of the same issuer is enough, and a revocation is believed.
    assert_eq!(check(&[of(2035, &[]), of(2026, &[])]), Ok(Trust::Anchor));
    assert_eq!(check(&[of(2035, &[LEAF]), of(2026, &[])]), Err(RefusalReason::Revoked));
}
