//! Stapled OCSP responses and their effect on a chain. RFC 6960, RFC 6066 8
//!
//! This file tests each policy, and malformed responses.

mod signers;
mod statements;

use pki_types::UnixTime;
use rcgen::{CertificateParams, CustomExtension};
use tercel_pki::{
    ChainVerifier, OcspPolicy, RefusalReason, Staple, Trust, Usage, subject_public_key_info,
};

use crate::ocsp_maker::{Response, Single, extensions, responder_by_key, revoked};
use crate::support::{Chain, Pki, at, der, name, now, service};
use signers::{delegate, delegated};

const POLICIES: [OcspPolicy; 3] =
    [OcspPolicy::Ignore, OcspPolicy::CheckIfPresent, OcspPolicy::Require];

/// The day of [`now`] and the next day.
const TODAY: &str = "20260528000000Z";
const TOMORROW: &str = "20260529000000Z";

/// A chain of three certificates, and everything needed to sign responses for its leaf.
struct Case {
    pki: Pki,
    chain: Chain,
}

impl Case {
    fn new() -> Self {
        Self::of(&service())
    }

    /// A case whose leaf requires a staple. RFC 7633
    fn must_staple() -> Self {
        let mut leaf = service();
        let features = der::wrap(0x30, &der::wrap(2, &[5]));
        let oid = [1, 3, 6, 1, 5, 5, 7, 1, 24];
        leaf.custom_extensions.push(CustomExtension::from_oid_content(&oid, features));
        Self::of(&leaf)
    }

    fn of(leaf: &CertificateParams) -> Self {
        let pki = Pki::new();
        let chain = pki.chain(leaf);
        Self { pki, chain }
    }

    fn issuer_key(&self) -> &[u8] {
        subject_public_key_info(&self.chain[1]).unwrap()
    }

    fn single(&self) -> Single {
        Single::new(&self.chain[0], self.issuer_key(), TODAY, TOMORROW)
    }

    fn response(&self) -> Response {
        Response::new(self.single())
    }

    /// Signs the response with the key of the leaf's issuer.
    fn sign(&self, response: &Response) -> Vec<u8> {
        response.sign(&self.pki.intermediate.key().serialize_der())
    }

    fn with(&self, change: impl FnOnce(&mut Response)) -> Vec<u8> {
        let mut response = self.response();
        change(&mut response);
        self.sign(&response)
    }

    fn verifier(&self, policy: OcspPolicy) -> ChainVerifier {
        ChainVerifier::builder(self.pki.roots()).ocsp_policy(policy).build().unwrap()
    }

    fn outcome(
        &self,
        policy: OcspPolicy,
        staple: Option<Staple<'_>>,
    ) -> Result<Trust, RefusalReason> {
        self.outcome_at(policy, staple, now())
    }

    fn outcome_at(
        &self,
        policy: OcspPolicy,
        staple: Option<Staple<'_>>,
        now: UnixTime,
    ) -> Result<Trust, RefusalReason> {
        let name = name("service.example");
        self.verifier(policy)
            .verify(Usage::Server, &self.chain, Some(&name), staple, now)
            .map_err(|refusal| refusal.reason)
    }

    /// The result of a verifier that checks stapled responses.
    fn verifier_outcome(&self, response: &[u8]) -> Result<Trust, RefusalReason> {
        self.outcome(OcspPolicy::CheckIfPresent, Some(Staple::Response(response)))
    }
}

const ACCEPTED: Result<Trust, RefusalReason> = Ok(Trust::Anchor);

/// RFC 6960 3.2, 4.2.2.3
#[test]
fn a_good_response_by_the_issuer_is_accepted() {
    let case = Case::new();
    assert_eq!(case.verifier_outcome(&case.sign(&case.response())), ACCEPTED);
    let by_key = case.with(|response| response.responder = responder_by_key(case.issuer_key()));
    assert_eq!(case.verifier_outcome(&by_key), ACCEPTED);
    // Additional certificates in the response are ignored.
    let root = case.pki.root.der().to_vec();
    assert_eq!(
        case.verifier_outcome(&case.with(|response| response.certificates = vec![root])),
        ACCEPTED
    );
}

#[test]
fn each_policy_handles_each_response() {
    let case = Case::new();
    let good = case.sign(&case.response());
    let missing = Err(RefusalReason::StapleRequired);
    let bad = Err(RefusalReason::StapleMalformed);
    let outcomes = |staple| POLICIES.map(|policy| case.outcome(policy, staple));
    assert_eq!(outcomes(None), [ACCEPTED, ACCEPTED, missing]);
    assert_eq!(outcomes(Some(Staple::Missing)), [ACCEPTED, ACCEPTED, missing]);
    assert_eq!(outcomes(Some(Staple::Response(b"response"))), [ACCEPTED, bad, bad]);
    assert_eq!(outcomes(Some(Staple::Response(&good))), [ACCEPTED; 3]);
}

#[test]
fn every_policy_checks_the_staple_of_a_must_staple_leaf() {
    let case = Case::must_staple();
    let good = case.sign(&case.response());
    let expired = case.with(|response| {
        response.singles[0].next_update = Some("20260528010000Z".into());
    });
    let next_update = at(1_779_930_000);
    let other = Case::new();
    let foreign = other.sign(&other.response());
    let revoked = case.with(|response| response.singles[0].status = revoked());
    for policy in POLICIES {
        let outcome = |response| case.outcome(policy, Some(Staple::Response(response)));
        assert_eq!(outcome(&good), ACCEPTED);
        assert_eq!(outcome(&expired), Err(RefusalReason::StapleExpired { next_update }));
        assert_eq!(outcome(&foreign), Err(RefusalReason::StapleUntrusted));
        assert_eq!(outcome(&revoked), Err(RefusalReason::Revoked));
        let missing = case.outcome(policy, Some(Staple::Missing));
        assert_eq!(missing, Err(RefusalReason::MissingStaple));
    }
}

#[test]
fn a_pinned_leaf_needs_no_ocsp_response() {
    let case = Case::new();
    let verifier = ChainVerifier::builder(case.pki.roots())
        .pin(case.chain[0].clone())
        .ocsp_policy(OcspPolicy::Require)
        .build()
        .unwrap();
    let bad = [Staple::Missing, Staple::Response(b"response")];
    for staple in bad.map(Some).into_iter().chain([None]) {
        let trust = verifier.verify(Usage::Server, &case.chain, None, staple, now());
        assert_eq!(trust.unwrap(), Trust::Pin);
    }
}

#[test]
fn error_responses_are_distinguished_from_malformed_ones() {
    let case = Case::new();
    for status in [1, 2, 3, 5, 6, 99] {
        let response = case.with(|response| response.status = status);
        assert_eq!(
            case.verifier_outcome(&response),
            Err(RefusalReason::StapleUnsuccessful),
            "{status}"
        );
    }
    let other_type = case.with(|response| response.kind.push(1));
    assert_eq!(case.verifier_outcome(&other_type), Err(RefusalReason::StapleMalformed));
}

/// RFC 6960 4.4
#[test]
fn extensions_are_ignored_unless_they_are_critical() {
    let case = Case::new();
    for (critical, expected) in [(false, ACCEPTED), (true, Err(RefusalReason::StapleMalformed))] {
        let list = Some(extensions(critical));
        let of_all = case.with(|response| response.extensions = list.clone());
        assert_eq!(case.verifier_outcome(&of_all), expected);
        let of_one = case.with(|response| response.singles[0].extensions = list);
        assert_eq!(case.verifier_outcome(&of_one), expected);
    }
}

#[test]
fn no_truncation_and_no_flipped_bit_is_accepted_or_panics() {
    let case = Case::new();
    let delegate = delegate(&case.pki.intermediate, |_| {});
    let verifier = case.verifier(OcspPolicy::Require);
    let refuse = |bytes: &[u8]| {
        let staple = Some(Staple::Response(bytes));
        let refusal = verifier.verify(Usage::Server, &case.chain, None, staple, now());
        let text = refusal.unwrap_err().to_string();
        assert!(text.contains("OCSP"), "{text}");
    };
    for original in [case.sign(&case.response()), delegated(&case, &delegate)] {
        assert_eq!(case.verifier_outcome(&original), ACCEPTED);
        for length in 0..original.len() {
            refuse(&original[..length]);
        }
        refuse(&[&*original, &[0]].concat());
        for position in 0..original.len() {
            for bit in 0..8 {
                let mut bytes = original.clone();
                bytes[position] ^= 1 << bit;
                refuse(&bytes);
            }
        }
    }
}
