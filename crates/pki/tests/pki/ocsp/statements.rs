//! The contents of OCSP responses: certificate id, status and validity. RFC 6960 2.2, 2.4, 4.1.1

use tercel_crypto::HashAlgorithm;
use tercel_pki::{OcspPolicy, RefusalReason, Staple, Usage};

use super::{ACCEPTED, Case};
use crate::ocsp_maker::{Digest, Single, revoked, unknown};
use crate::support::at;

/// RFC 4055 2.1
#[test]
fn the_issuer_is_identified_by_any_supported_digest() {
    use HashAlgorithm::{Sha256, Sha384, Sha512};
    let case = Case::new();
    for digest in [Digest::Sha1, Digest::Sha2(Sha256), Digest::Sha2(Sha384), Digest::Sha2(Sha512)] {
        let response = case.with(|response| response.singles[0].digest = digest);
        assert_eq!(case.verifier_outcome(&response), ACCEPTED, "{digest:?}");
    }
    let response = case.with(|response| response.singles[0].digest = Digest::Unknown);
    assert_eq!(case.verifier_outcome(&response), Err(RefusalReason::StapleForOtherCertificate));
}

#[test]
fn a_response_about_another_certificate_is_refused() {
    let case = Case::new();
    let other = Case::new();
    let changes: [&dyn Fn(&mut Single); 4] = [
        &|single| single.serial.push(1),
        &|single| single.issuer_name = tercel_pki::issuer(&case.chain[1]).unwrap(),
        &|single| single.issuer_key = other.issuer_key().to_vec(),
        &|single| *single = other.single(),
    ];
    let refused = Err(RefusalReason::StapleForOtherCertificate);
    for change in changes {
        let responder = case.response().responder;
        let mut response = case.response();
        change(&mut response.singles[0]);
        response.responder = responder;
        assert_eq!(case.verifier_outcome(&case.sign(&response)), refused);
        // A second response, which is about the leaf, is used.
        response.singles.push(case.single());
        assert_eq!(case.verifier_outcome(&case.sign(&response)), ACCEPTED);
    }
    assert_eq!(case.verifier_outcome(&case.with(|response| response.singles.clear())), refused);
}

#[test]
fn a_revoked_leaf_is_refused_in_any_order_of_responses() {
    let case = Case::new();
    let refused = Err(RefusalReason::Revoked);
    let single = Single { status: revoked(), ..case.single() };
    let old = Single { next_update: Some("20250601000000Z".into()), ..single.clone() };
    for singles in [
        vec![single.clone()],
        vec![case.single(), single.clone()],
        vec![single, case.single()],
        vec![old, case.single()],
    ] {
        let response = case.with(|response| response.singles = singles);
        assert_eq!(case.verifier_outcome(&response), refused);
        let staple = Some(Staple::Response(&response));
        assert_eq!(case.outcome(OcspPolicy::Require, staple), refused);
        assert_eq!(case.outcome(OcspPolicy::Ignore, staple), ACCEPTED);
    }
}

#[test]
fn a_leaf_with_unknown_status_is_refused() {
    let case = Case::new();
    let response = case.with(|response| response.singles[0].status = unknown());
    assert_eq!(case.verifier_outcome(&response), Err(RefusalReason::StapleUnknownStatus));
}

/// RFC 6960 4.2.2.1
#[test]
fn a_response_is_valid_from_this_update_to_next_update_with_five_minutes_of_skew() {
    let case = Case::new();
    let response = case.sign(&case.response());
    let (this_update, next_update) = (1_779_926_400, 1_780_012_800);
    let verifier_outcome = |seconds| {
        let staple = Some(Staple::Response(&response));
        case.outcome_at(OcspPolicy::CheckIfPresent, staple, at(seconds))
    };
    assert_eq!(verifier_outcome(this_update - 300), ACCEPTED);
    assert_eq!(verifier_outcome(next_update + 300), ACCEPTED);
    let this_update = at(this_update);
    let early = RefusalReason::StapleNotYetValid { this_update };
    assert_eq!(verifier_outcome(this_update.as_secs() - 301), Err(early));
    let next_update = at(next_update);
    let late = RefusalReason::StapleExpired { next_update };
    assert_eq!(verifier_outcome(next_update.as_secs() + 301), Err(late));
}

#[test]
fn a_refusal_for_expiry_prints_the_current_time() {
    let case = Case::new();
    let response = case.sign(&case.response());
    let verifier = case.verifier(OcspPolicy::Require);
    let staple = Some(Staple::Response(&response));
    let late = at(1_780_100_000);
    let refusal = verifier.verify(Usage::Server, &case.chain, None, staple, late).unwrap_err();
    let expected = "the stapled OCSP response is out of date since 2026-05-29 00:00:00 UTC; \
        it is 2026-05-30 00:13:20 UTC now";
    assert_eq!(refusal.to_string(), expected);
}

#[test]
fn a_response_without_next_update_is_valid_for_a_day() {
    let case = Case::new();
    let response = case.with(|response| response.singles[0].next_update = None);
    let verifier_outcome = |seconds| {
        let staple = Some(Staple::Response(&response));
        case.outcome_at(OcspPolicy::CheckIfPresent, staple, at(seconds))
    };
    let next_update = at(1_780_012_800);
    assert_eq!(verifier_outcome(next_update.as_secs() + 300), ACCEPTED);
    let late = RefusalReason::StapleExpired { next_update };
    assert_eq!(verifier_outcome(next_update.as_secs() + 301), Err(late));
}

#[test]
fn a_next_update_before_this_update_is_refused() {
    let case = Case::new();
    let response = case.with(|response| {
        response.singles[0].this_update = "20260528202400Z".into();
        response.singles[0].next_update = Some("20260528202300Z".into());
    });
    let refused = case.verifier_outcome(&response);
    assert!(matches!(refused, Err(RefusalReason::StapleExpired { .. })), "{refused:?}");
}

#[test]
fn of_several_responses_a_current_one_counts() {
    let case = Case::new();
    let old = Single { next_update: Some("20260528010000Z".into()), ..case.single() };
    for singles in [vec![old.clone(), case.single()], vec![case.single(), old]] {
        assert_eq!(
            case.verifier_outcome(&case.with(|response| response.singles = singles)),
            ACCEPTED
        );
    }
}

#[test]
fn a_long_response_is_read_completely() {
    let case = Case::new();
    let mut singles = vec![Single { serial: vec![7; 20], ..case.single() }; 450];
    let without = case.with(|response| response.singles = singles.clone());
    assert_eq!(case.verifier_outcome(&without), Err(RefusalReason::StapleForOtherCertificate));
    singles.push(case.single());
    assert_eq!(case.verifier_outcome(&case.with(|response| response.singles = singles)), ACCEPTED);
}
