//! What an OCSP response says: of which certificate, from when to when. RFC 6960 2.2, 2.4, 4.1.1

use tercel_crypto::HashAlgorithm;
use tercel_pki::{OcspPolicy, RefusalReason, Staple, Usage};

use super::{ACCEPTED, Scene};
use crate::ocsp_maker::{Digest, Single, revoked, unknown};
use crate::support::at;

#[test]
fn the_issuer_is_named_by_any_digest_in_use() {
    use HashAlgorithm::{Sha256, Sha384, Sha512};
    let scene = Scene::new();
    for digest in [Digest::Sha1, Digest::Sha2(Sha256), Digest::Sha2(Sha384), Digest::Sha2(Sha512)] {
        let response = scene.with(|response| response.singles[0].digest = digest);
        assert_eq!(scene.judged(&response), ACCEPTED, "{digest:?}");
    }
    let response = scene.with(|response| response.singles[0].digest = Digest::Unknown);
    assert_eq!(scene.judged(&response), Err(RefusalReason::StapleForAnother));
}

#[test]
fn a_response_about_another_certificate_says_nothing() {
    let scene = Scene::new();
    let other = Scene::new();
    let changes: [&dyn Fn(&mut Single); 4] = [
        &|single| single.serial.push(1),
        &|single| single.issuer_name = tercel_pki::issuer(&scene.chain[1]).unwrap(),
        &|single| single.issuer_key = other.issuer_key().to_vec(),
        &|single| *single = other.single(),
    ];
    let refused = Err(RefusalReason::StapleForAnother);
    for change in changes {
        let responder = scene.response().responder;
        let mut response = scene.response();
        change(&mut response.singles[0]);
        response.responder = responder;
        assert_eq!(scene.judged(&scene.sign(&response)), refused);
        // Beside one that is about the leaf it does no harm.
        response.singles.push(scene.single());
        assert_eq!(scene.judged(&scene.sign(&response)), ACCEPTED);
    }
    assert_eq!(scene.judged(&scene.with(|response| response.singles.clear())), refused);
}

#[test]
fn a_revoked_leaf_is_refused_whatever_else_is_said() {
    let scene = Scene::new();
    let refused = Err(RefusalReason::Revoked);
    let single = Single { status: revoked(), ..scene.single() };
    let old = Single { next_update: Some("20250601000000Z".into()), ..single.clone() };
    for singles in [
        vec![single.clone()],
        vec![scene.single(), single.clone()],
        vec![single, scene.single()],
        vec![old, scene.single()],
    ] {
        let response = scene.with(|response| response.singles = singles);
        assert_eq!(scene.judged(&response), refused);
        let staple = Some(Staple::Response(&response));
        assert_eq!(scene.outcome(OcspPolicy::Require, staple), refused);
        assert_eq!(scene.outcome(OcspPolicy::Ignore, staple), ACCEPTED);
    }
}

#[test]
fn a_leaf_that_its_issuer_does_not_know_is_refused() {
    let scene = Scene::new();
    let response = scene.with(|response| response.singles[0].status = unknown());
    assert_eq!(scene.judged(&response), Err(RefusalReason::StapleUnknownStatus));
}

#[test]
fn a_response_holds_from_this_update_to_next_update_and_five_minutes_around() {
    let scene = Scene::new();
    let response = scene.sign(&scene.response());
    let (this_update, next_update) = (1_779_926_400, 1_780_012_800);
    let judged = |seconds| {
        let staple = Some(Staple::Response(&response));
        scene.outcome_at(OcspPolicy::CheckIfPresent, staple, at(seconds))
    };
    assert_eq!(judged(this_update - 300), ACCEPTED);
    assert_eq!(judged(next_update + 300), ACCEPTED);
    let this_update = at(this_update);
    let early = RefusalReason::StapleNotYetValid { this_update };
    assert_eq!(judged(this_update.as_secs() - 301), Err(early));
    let next_update = at(next_update);
    let late = RefusalReason::StapleExpired { next_update };
    assert_eq!(judged(next_update.as_secs() + 301), Err(late));
}

#[test]
fn a_refusal_for_its_age_says_what_time_it_is() {
    let scene = Scene::new();
    let response = scene.sign(&scene.response());
    let verifier = scene.verifier(OcspPolicy::Require);
    let staple = Some(Staple::Response(&response));
    let late = at(1_780_100_000);
    let refusal = verifier.verify(Usage::Server, &scene.chain, None, staple, late).unwrap_err();
    let expected = "the stapled OCSP response is out of date since 2026-05-29 00:00:00 UTC; \
        it is 2026-05-30 00:13:20 UTC now";
    assert_eq!(refusal.to_string(), expected);
}

#[test]
fn a_response_without_a_next_update_holds_for_a_day() {
    let scene = Scene::new();
    let response = scene.with(|response| response.singles[0].next_update = None);
    let judged = |seconds| {
        let staple = Some(Staple::Response(&response));
        scene.outcome_at(OcspPolicy::CheckIfPresent, staple, at(seconds))
    };
    let next_update = at(1_780_012_800);
    assert_eq!(judged(next_update.as_secs() + 300), ACCEPTED);
    let late = RefusalReason::StapleExpired { next_update };
    assert_eq!(judged(next_update.as_secs() + 301), Err(late));
}

#[test]
fn a_next_update_before_this_update_never_holds() {
    let scene = Scene::new();
    let response = scene.with(|response| {
        response.singles[0].this_update = "20260528202400Z".into();
        response.singles[0].next_update = Some("20260528202300Z".into());
    });
    let refused = scene.judged(&response);
    assert!(matches!(refused, Err(RefusalReason::StapleExpired { .. })), "{refused:?}");
}

#[test]
fn of_several_statements_a_current_one_counts() {
    let scene = Scene::new();
    let old = Single { next_update: Some("20260528010000Z".into()), ..scene.single() };
    for singles in [vec![old.clone(), scene.single()], vec![scene.single(), old]] {
        assert_eq!(scene.judged(&scene.with(|response| response.singles = singles)), ACCEPTED);
    }
}

#[test]
fn a_long_response_is_read_to_its_end() {
    let scene = Scene::new();
    let mut singles = vec![Single { serial: vec![7; 20], ..scene.single() }; 450];
    let without = scene.with(|response| response.singles = singles.clone());
    assert_eq!(scene.judged(&without), Err(RefusalReason::StapleForAnother));
    singles.push(scene.single());
    assert_eq!(scene.judged(&scene.with(|response| response.singles = singles)), ACCEPTED);
}
