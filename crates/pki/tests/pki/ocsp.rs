//! Stapled OCSP responses: what is believed of them, and what a chain comes to by them. RFC 6960, RFC 6066 8

use pki_types::{CertificateDer, UnixTime};
use rcgen::{
    CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
};
use tercel_crypto::{HashAlgorithm, SignatureAlgorithm};
use tercel_pki::{
    ChainVerifier, OcspPolicy, RefusalReason, Staple, Trust, Usage, subject_public_key_info,
};

use crate::ocsp_maker::{
    Digest, Response, Single, extensions, responder_by_key, responder_by_name, revoked, unknown,
};
use crate::support::{
    Authority, Chain, P256, Pki, at, ca_params, der, key, leaf_params, name, now, service,
};

const POLICIES: [OcspPolicy; 3] =
    [OcspPolicy::Ignore, OcspPolicy::CheckIfPresent, OcspPolicy::Require];

/// The day of [`now`] and the one after.
const TODAY: &str = "20260528000000Z";
const TOMORROW: &str = "20260529000000Z";

/// A chain of three, and what is needed to speak of its leaf.
struct Scene {
    pki: Pki,
    chain: Chain,
}

impl Scene {
    fn new() -> Self {
        Self::of(&service())
    }

    /// A leaf that demands a staple. RFC 7633
    fn demanding() -> Self {
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

    /// Signed by the leaf's issuer.
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

    /// What a verifier says that looks at staples.
    fn judged(&self, response: &[u8]) -> Result<Trust, RefusalReason> {
        self.outcome(OcspPolicy::CheckIfPresent, Some(Staple::Response(response)))
    }
}

const ACCEPTED: Result<Trust, RefusalReason> = Ok(Trust::Anchor);

#[test]
fn a_good_response_by_the_issuer_is_accepted() {
    let scene = Scene::new();
    assert_eq!(scene.judged(&scene.sign(&scene.response())), ACCEPTED);
    let by_key = scene.with(|response| response.responder = responder_by_key(scene.issuer_key()));
    assert_eq!(scene.judged(&by_key), ACCEPTED);
    // Who sends certificates along that nobody needs does no harm.
    let root = scene.pki.root.der().to_vec();
    assert_eq!(scene.judged(&scene.with(|response| response.certificates = vec![root])), ACCEPTED);
}

#[test]
fn the_issuer_may_be_the_anchor_itself() {
    let mut scene = Scene::new();
    let leaf = service().signed_by(&key(P256), &scene.pki.root).unwrap();
    scene.chain = vec![leaf.der().clone()];
    let root = subject_public_key_info(scene.pki.root.der()).unwrap();
    let response = Response::new(Single::new(&scene.chain[0], root, TODAY, TOMORROW));
    assert_eq!(scene.judged(&response.sign(&scene.pki.root.key().serialize_der())), ACCEPTED);
    let intermediate = response.sign(&scene.pki.intermediate.key().serialize_der());
    assert_eq!(scene.judged(&intermediate), Err(RefusalReason::StapleUntrusted));
}

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
fn only_the_issuer_and_its_delegates_are_believed() {
    let scene = Scene::new();
    let refused = Err(RefusalReason::StapleUntrusted);
    let response = scene.response();
    // A stranger, the leaf itself, the authority above the issuer: each under the issuer's name and under its own.
    let (root, stranger) = (&scene.pki.root, Pki::new());
    for signer in [root, &stranger.intermediate] {
        let key = signer.key().serialize_der();
        assert_eq!(scene.judged(&response.sign(&key)), refused);
        let mut own = response.clone();
        own.responder = responder_by_key(subject_public_key_info(signer.der()).unwrap());
        own.certificates = vec![signer.der().to_vec()];
        assert_eq!(scene.judged(&own.sign(&key)), refused);
    }
    // The issuer's signature under another's name.
    let mut wrong = response.clone();
    wrong.responder = responder_by_name(&tercel_pki::issuer(&scene.chain[1]).unwrap());
    assert_eq!(scene.judged(&scene.sign(&wrong)), refused);
    // What was signed was said of another.
    let other = scene.with(|response| response.singles[0].serial = vec![1; 20]);
    let (ours, mut swapped) = (scene.sign(&response), scene.sign(&response));
    let data = |bytes: &[u8]| bytes.windows(2).position(|two| two == [0x04, 0x14]).unwrap();
    assert_eq!(data(&ours), data(&other));
    let flipped = data(&ours) + 2;
    swapped[flipped] ^= 1;
    assert_eq!(scene.judged(&swapped), refused);
}

/// A certificate to answer for `issuer`, and its key.
fn delegate(
    issuer: &Authority,
    change: impl FnOnce(&mut CertificateParams),
) -> (CertificateDer<'static>, KeyPair) {
    let mut params = leaf_params(&[]);
    params.distinguished_name.push(rcgen::DnType::CommonName, "responder");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::OcspSigning];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    change(&mut params);
    let key = key(P256);
    (params.signed_by(&key, issuer).unwrap().der().clone(), key)
}

/// The scene's response by this delegate, which is sent along.
fn delegated(scene: &Scene, (certificate, key): &(CertificateDer<'static>, KeyPair)) -> Vec<u8> {
    let mut response = scene.response();
    response.responder = responder_by_key(subject_public_key_info(certificate).unwrap());
    response.certificates = vec![certificate.to_vec()];
    response.sign(&key.serialize_der())
}

#[test]
fn a_delegate_of_the_issuer_is_believed() {
    let scene = Scene::new();
    let delegate = delegate(&scene.pki.intermediate, |_| {});
    assert_eq!(scene.judged(&delegated(&scene, &delegate)), ACCEPTED);
    // Named by its name, and not the first of the certificates.
    let mut response = scene.response();
    let own = self_named(&delegate.0);
    response.responder = responder_by_name(&own);
    response.certificates = vec![scene.pki.root.der().to_vec(), delegate.0.to_vec()];
    assert_eq!(scene.judged(&response.sign(&delegate.1.serialize_der())), ACCEPTED);
}

/// The subject of a delegate: what a certificate that it issued would have as issuer.
fn self_named(certificate: &CertificateDer<'_>) -> Vec<u8> {
    let tbs = der::content(der::split(der::content(certificate)).0);
    let mut rest = tbs;
    // version, serialNumber, signature, issuer, validity
    for _ in 0..5 {
        rest = der::split(rest).1;
    }
    der::split(rest).0.to_vec()
}

#[test]
fn a_delegate_must_be_certified_for_that_by_this_issuer() {
    let scene = Scene::new();
    let refused = Err(RefusalReason::StapleUntrusted);
    let issuer = &scene.pki.intermediate;
    let namesake = Authority::self_signed(ca_params("Intermediate"), key(P256)).unwrap();
    let wrong = [
        // Not for this use.
        delegate(issuer, |params| params.extended_key_usages.clear()),
        delegate(issuer, |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        }),
        delegate(issuer, |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any];
        }),
        delegate(issuer, |params| params.key_usages = vec![KeyUsagePurpose::KeyAgreement]),
        // Not at this time.
        delegate(issuer, |params| params.not_after = rcgen::date_time_ymd(2026, 5, 1)),
        // Not by this issuer: by the one above, and by another of its name.
        delegate(&scene.pki.root, |_| {}),
        delegate(&namesake, |_| {}),
        // With a demand that nobody here understands.
        delegate(issuer, |params| {
            let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
            extension.set_criticality(true);
            params.custom_extensions.push(extension);
        }),
    ];
    for (index, wrong) in wrong.iter().enumerate() {
        assert_eq!(scene.judged(&delegated(&scene, wrong)), refused, "{index}");
    }
    // A delegate that is not shown, and one whose key did not sign.
    let delegate = delegate(issuer, |_| {});
    let mut response = scene.response();
    response.responder = responder_by_key(subject_public_key_info(&delegate.0).unwrap());
    assert_eq!(scene.judged(&response.sign(&delegate.1.serialize_der())), refused);
    response.certificates = vec![delegate.0.to_vec()];
    assert_eq!(scene.judged(&response.sign(&key(P256).serialize_der())), refused);
}

#[test]
fn only_the_first_certificates_are_looked_at() {
    let scene = Scene::new();
    let delegate = delegate(&scene.pki.intermediate, |_| {});
    for (before, expected) in [(3, ACCEPTED), (4, Err(RefusalReason::StapleUntrusted))] {
        let mut response = scene.response();
        response.responder = responder_by_key(subject_public_key_info(&delegate.0).unwrap());
        response.certificates = vec![scene.pki.root.der().to_vec(); before];
        response.certificates.push(delegate.0.to_vec());
        assert_eq!(scene.judged(&response.sign(&delegate.1.serialize_der())), expected);
    }
}

#[test]
fn each_policy_makes_its_own_of_each_answer() {
    let scene = Scene::new();
    let good = scene.sign(&scene.response());
    let missing = Err(RefusalReason::StapleRequired);
    let bad = Err(RefusalReason::StapleMalformed);
    let outcomes = |staple| POLICIES.map(|policy| scene.outcome(policy, staple));
    assert_eq!(outcomes(None), [ACCEPTED, ACCEPTED, missing]);
    assert_eq!(outcomes(Some(Staple::Missing)), [ACCEPTED, ACCEPTED, missing]);
    assert_eq!(outcomes(Some(Staple::Response(b"response"))), [ACCEPTED, bad, bad]);
    assert_eq!(outcomes(Some(Staple::Response(&good))), [ACCEPTED; 3]);
}

#[test]
fn a_leaf_that_demands_a_staple_has_it_checked_by_every_policy() {
    let scene = Scene::demanding();
    let good = scene.sign(&scene.response());
    let expired = scene.with(|response| {
        response.singles[0].next_update = Some("20260528010000Z".into());
    });
    let next_update = at(1_779_930_000);
    let other = Scene::new();
    let foreign = other.sign(&other.response());
    let revoked = scene.with(|response| response.singles[0].status = revoked());
    for policy in POLICIES {
        let outcome = |response| scene.outcome(policy, Some(Staple::Response(response)));
        assert_eq!(outcome(&good), ACCEPTED);
        assert_eq!(outcome(&expired), Err(RefusalReason::StapleExpired { next_update }));
        assert_eq!(outcome(&foreign), Err(RefusalReason::StapleUntrusted));
        assert_eq!(outcome(&revoked), Err(RefusalReason::Revoked));
        let missing = scene.outcome(policy, Some(Staple::Missing));
        assert_eq!(missing, Err(RefusalReason::MissingStaple));
    }
}

#[test]
fn a_pinned_leaf_needs_no_word_of_an_authority() {
    let scene = Scene::new();
    let verifier = ChainVerifier::builder(scene.pki.roots())
        .pin(scene.chain[0].clone())
        .ocsp_policy(OcspPolicy::Require)
        .build()
        .unwrap();
    let bad = [Staple::Missing, Staple::Response(b"response")];
    for staple in bad.map(Some).into_iter().chain([None]) {
        let trust = verifier.verify(Usage::Server, &scene.chain, None, staple, now());
        assert_eq!(trust.unwrap(), Trust::Pin);
    }
}

#[test]
fn a_responder_that_did_not_answer_is_told_from_one_that_cannot_be_read() {
    let scene = Scene::new();
    for status in [1, 2, 3, 5, 6, 99] {
        let response = scene.with(|response| response.status = status);
        assert_eq!(scene.judged(&response), Err(RefusalReason::StapleUnsuccessful), "{status}");
    }
    let other_type = scene.with(|response| response.kind.push(1));
    assert_eq!(scene.judged(&other_type), Err(RefusalReason::StapleMalformed));
}

#[test]
fn extensions_are_passed_over_unless_they_are_critical() {
    let scene = Scene::new();
    for (critical, expected) in [(false, ACCEPTED), (true, Err(RefusalReason::StapleMalformed))] {
        let list = Some(extensions(critical));
        let of_all = scene.with(|response| response.extensions = list.clone());
        assert_eq!(scene.judged(&of_all), expected);
        let of_one = scene.with(|response| response.singles[0].extensions = list);
        assert_eq!(scene.judged(&of_one), expected);
    }
}

#[test]
fn a_signature_must_be_of_an_accepted_kind() {
    let scene = Scene::new();
    let key = scene.pki.intermediate.key().serialize_der();
    let ecdsa_with = |last: u8| [0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, last];
    let response = scene.response();
    let sha512 = response.sign_as(&key, SignatureAlgorithm::EcdsaSha512, &ecdsa_with(4));
    assert_eq!(scene.judged(&sha512), ACCEPTED);
    let refused = Err(RefusalReason::StapleUntrusted);
    let mislabelled = response.sign_as(&key, SignatureAlgorithm::EcdsaSha512, &ecdsa_with(2));
    assert_eq!(scene.judged(&mislabelled), refused);
    // ecdsa-with-SHA1
    let sha1 = [0x30, 9, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1];
    let labelled_weak = response.sign_as(&key, SignatureAlgorithm::EcdsaSha256, &sha1);
    assert_eq!(scene.judged(&labelled_weak), refused);
    // Good in itself, and turned off.
    let only: Vec<_> = tercel_pki::CertificateAlgorithm::ALL
        .iter()
        .copied()
        .filter(|one| one.algorithm() == SignatureAlgorithm::EcdsaSha256)
        .collect();
    let verifier = ChainVerifier::builder(scene.pki.roots())
        .ocsp_policy(OcspPolicy::Require)
        .algorithms(&only)
        .build()
        .unwrap();
    let outcome = |response: &[u8]| {
        let staple = Some(Staple::Response(response));
        verifier.verify(Usage::Server, &scene.chain, None, staple, now()).map_err(|r| r.reason)
    };
    assert_eq!(outcome(&scene.sign(&response)), ACCEPTED);
    assert_eq!(outcome(&sha512), refused);
}

#[test]
fn every_kind_of_issuer_can_speak() {
    for (kind, algorithm, identifier) in [
        (
            &rcgen::PKCS_RSA_SHA256,
            SignatureAlgorithm::RsaPkcs1Sha256,
            &[0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11, 5, 0][..],
        ),
        (&rcgen::PKCS_ED25519, SignatureAlgorithm::Ed25519, &[0x30, 5, 6, 3, 0x2b, 0x65, 0x70]),
    ] {
        let pki = Pki::with_keys(kind);
        let chain = pki.chain(&service());
        let scene = Scene { pki, chain };
        let key = scene.pki.intermediate.key().serialize_der();
        let response = scene.response().sign_as(&key, algorithm, identifier);
        assert_eq!(scene.judged(&response), ACCEPTED, "{algorithm:?}");
    }
}

#[test]
fn no_truncation_and_no_flipped_bit_is_accepted_or_panics() {
    let scene = Scene::new();
    let delegate = delegate(&scene.pki.intermediate, |_| {});
    let verifier = scene.verifier(OcspPolicy::Require);
    let refuse = |bytes: &[u8]| {
        let staple = Some(Staple::Response(bytes));
        let refusal = verifier.verify(Usage::Server, &scene.chain, None, staple, now());
        let text = refusal.unwrap_err().to_string();
        assert!(text.contains("OCSP"), "{text}");
    };
    for original in [scene.sign(&scene.response()), delegated(&scene, &delegate)] {
        assert_eq!(scene.judged(&original), ACCEPTED);
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

#[test]
fn a_long_response_is_read_to_its_end() {
    let scene = Scene::new();
    let mut singles = vec![Single { serial: vec![7; 20], ..scene.single() }; 450];
    let without = scene.with(|response| response.singles = singles.clone());
    assert_eq!(scene.judged(&without), Err(RefusalReason::StapleForAnother));
    singles.push(scene.single());
    assert_eq!(scene.judged(&scene.with(|response| response.singles = singles)), ACCEPTED);
}
