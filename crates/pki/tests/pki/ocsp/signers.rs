//! The signers of OCSP responses, and their algorithms. RFC 6960 4.2.2.2

use pki_types::CertificateDer;
use rcgen::{
    CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
};
use tercel_crypto::SignatureAlgorithm;
use tercel_pki::{
    ChainVerifier, OcspPolicy, RefusalReason, RevocationPolicy, Staple, Trust, Usage,
    subject_public_key_info,
};

use super::{ACCEPTED, Case, TODAY, TOMORROW};
use crate::ocsp_maker::{Response, Single, responder_by_key, responder_by_name};
use crate::revocation::list;
use crate::support::{Authority, P256, Pki, ca_params, der, key, leaf_params, name, now, service};

#[test]
fn the_issuer_may_be_the_anchor_itself() {
    let mut case = Case::new();
    let leaf = service().signed_by(&key(P256), &case.pki.root).unwrap();
    case.chain = vec![leaf.der().clone()];
    let root = subject_public_key_info(case.pki.root.der()).unwrap();
    let response = Response::new(Single::new(&case.chain[0], root, TODAY, TOMORROW));
    assert_eq!(
        case.verifier_outcome(&response.sign(&case.pki.root.key().serialize_der())),
        ACCEPTED
    );
    let intermediate = response.sign(&case.pki.intermediate.key().serialize_der());
    assert_eq!(case.verifier_outcome(&intermediate), Err(RefusalReason::StapleUntrusted));
}

#[test]
fn only_the_issuer_and_its_delegates_may_sign() {
    let case = Case::new();
    let refused = Err(RefusalReason::StapleUntrusted);
    let response = case.response();
    // Three wrong signers: an unrelated key, the leaf itself, and the authority above the issuer.
    // Each uses the issuer's name, and then its own.
    let (root, stranger) = (&case.pki.root, Pki::new());
    for signer in [root, &stranger.intermediate] {
        let key = signer.key().serialize_der();
        assert_eq!(case.verifier_outcome(&response.sign(&key)), refused);
        let mut own = response.clone();
        own.responder = responder_by_key(subject_public_key_info(signer.der()).unwrap());
        own.certificates = vec![signer.der().to_vec()];
        assert_eq!(case.verifier_outcome(&own.sign(&key)), refused);
    }
    // The issuer's signature, with another name as the responder.
    let mut wrong = response.clone();
    wrong.responder = responder_by_name(&tercel_pki::issuer(&case.chain[1]).unwrap());
    assert_eq!(case.verifier_outcome(&case.sign(&wrong)), refused);
}

/// A certificate for a delegated responder of `issuer`, and its key.
pub(super) fn delegate(
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

/// The response, signed by this delegate, whose certificate is attached.
pub(super) fn delegated(
    case: &Case,
    (certificate, key): &(CertificateDer<'static>, KeyPair),
) -> Vec<u8> {
    let mut response = case.response();
    response.responder = responder_by_key(subject_public_key_info(certificate).unwrap());
    response.certificates = vec![certificate.to_vec()];
    response.sign(&key.serialize_der())
}

/// RFC 6960 4.2.2.2.1
#[test]
fn a_delegate_of_the_issuer_may_sign() {
    let case = Case::new();
    let delegate = delegate(&case.pki.intermediate, |_| {});
    assert_eq!(case.verifier_outcome(&delegated(&case, &delegate)), ACCEPTED);
    // The delegate is identified by name, and its certificate is not the first one.
    let mut response = case.response();
    let own = self_named(&delegate.0);
    response.responder = responder_by_name(&own);
    response.certificates = vec![case.pki.root.der().to_vec(), delegate.0.to_vec()];
    assert_eq!(case.verifier_outcome(&response.sign(&delegate.1.serialize_der())), ACCEPTED);
}

/// A list of the issuer revokes a delegate, whose key may be stolen. RFC 6960 4.2.2.2.1
#[test]
fn a_delegate_on_a_list_may_not_sign() {
    let case = Case::new();
    let intermediate = &case.pki.intermediate;
    let delegate = delegate(intermediate, |params| params.serial_number = Some(31.into()));
    let response = delegated(&case, &delegate);
    let outcome = |revoked: &[u64]| {
        let builder = ChainVerifier::builder(case.pki.roots());
        let builder =
            builder.ocsp_policy(OcspPolicy::Require).crl(&list(intermediate, revoked, 2030));
        let policy = RevocationPolicy { end_entity_only: true, ..RevocationPolicy::default() };
        let verifier = builder.unwrap().revocation_policy(policy).build().unwrap();
        let staple = Some(Staple::Response(&response));
        let name = name("service.example");
        let found = verifier.verify(Usage::Server, &case.chain, Some(&name), staple, now());
        found.map_err(|refusal| refusal.reason)
    };
    assert_eq!(outcome(&[30]), Ok(Trust::Anchor));
    assert_eq!(outcome(&[31]), Err(RefusalReason::StapleUntrusted));
}

/// The lists about delegates are paid from the same budget as those about the path.
#[test]
fn the_work_for_delegates_and_lists_is_limited() {
    let case = Case::new();
    let delegate =
        delegate(&case.pki.intermediate, |params| params.serial_number = Some(31.into()));
    let response = delegated(&case, &delegate);
    // Each has the delegate, and is signed by another authority of the issuer's name.
    let stranger = |_| {
        let authority = Authority::self_signed(ca_params("Intermediate"), key(P256)).unwrap();
        list(&authority, &[31], 2030)
    };
    let strangers: Vec<_> = (0..120).map(stranger).collect();
    for (count, expected) in [(60, Ok(Trust::Anchor)), (120, Err(RefusalReason::PathLimits))] {
        let policy = RevocationPolicy { end_entity_only: true, ..RevocationPolicy::default() };
        let mut builder = ChainVerifier::builder(case.pki.roots()).revocation_policy(policy);
        builder = builder.ocsp_policy(OcspPolicy::Require);
        builder = builder.crl(&list(&case.pki.intermediate, &[], 2030)).unwrap();
        for list in &strangers[..count] {
            builder = builder.crl(list).unwrap();
        }
        let staple = Some(Staple::Response(&response));
        let verifier = builder.build().unwrap();
        let found = verifier.verify(Usage::Server, &case.chain, None, staple, now());
        assert_eq!(found.map_err(|refusal| refusal.reason), expected, "{count}");
    }
}

/// The issuer's name in a certificate that the delegate issued to itself. It is the delegate's own
/// name.
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
fn a_delegate_must_be_certified_for_ocsp_by_this_issuer() {
    let case = Case::new();
    let refused = Err(RefusalReason::StapleUntrusted);
    let issuer = &case.pki.intermediate;
    let namesake = Authority::self_signed(ca_params("Intermediate"), key(P256)).unwrap();
    let wrong = [
        // A delegate without the extended key usage for OCSP.
        delegate(issuer, |params| params.extended_key_usages.clear()),
        delegate(issuer, |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        }),
        delegate(issuer, |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any];
        }),
        // Identifiers that are a part of that of OCSP signing, or continue it.
        delegate(issuer, |params| {
            let (shorter, longer) =
                (vec![1, 3, 6, 1, 5, 5, 7, 3], vec![1, 3, 6, 1, 5, 5, 7, 3, 9, 1]);
            params.extended_key_usages =
                [shorter, longer].map(ExtendedKeyUsagePurpose::Other).into();
        }),
        delegate(issuer, |params| params.key_usages = vec![KeyUsagePurpose::KeyAgreement]),
        // A delegate whose certificate has expired.
        delegate(issuer, |params| params.not_after = rcgen::date_time_ymd(2026, 5, 1)),
        // Delegates of another authority: of the authority above the issuer, and of an authority
        // with the issuer's name.
        delegate(&case.pki.root, |_| {}),
        delegate(&namesake, |_| {}),
        // A delegate with an unknown critical extension.
        delegate(issuer, |params| {
            let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
            extension.set_criticality(true);
            params.custom_extensions.push(extension);
        }),
    ];
    for (index, wrong) in wrong.iter().enumerate() {
        assert_eq!(case.verifier_outcome(&delegated(&case, wrong)), refused, "{index}");
    }
    // A delegate whose certificate is not attached, and a delegate whose key did not make the
    // signature.
    let delegate = delegate(issuer, |_| {});
    let mut response = case.response();
    response.responder = responder_by_key(subject_public_key_info(&delegate.0).unwrap());
    assert_eq!(case.verifier_outcome(&response.sign(&delegate.1.serialize_der())), refused);
    response.certificates = vec![delegate.0.to_vec()];
    assert_eq!(case.verifier_outcome(&response.sign(&key(P256).serialize_der())), refused);
}

#[test]
fn only_the_first_certificates_are_tried() {
    let case = Case::new();
    let delegate = delegate(&case.pki.intermediate, |_| {});
    for (before, expected) in [(3, ACCEPTED), (4, Err(RefusalReason::StapleUntrusted))] {
        let mut response = case.response();
        response.responder = responder_by_key(subject_public_key_info(&delegate.0).unwrap());
        response.certificates = vec![case.pki.root.der().to_vec(); before];
        response.certificates.push(delegate.0.to_vec());
        assert_eq!(case.verifier_outcome(&response.sign(&delegate.1.serialize_der())), expected);
    }
}

#[test]
fn a_signature_must_be_of_an_accepted_kind() {
    let case = Case::new();
    let key = case.pki.intermediate.key().serialize_der();
    let ecdsa_with = |last: u8| [0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, last];
    let response = case.response();
    let sha512 = response.sign_as(&key, SignatureAlgorithm::EcdsaSha512, &ecdsa_with(4));
    assert_eq!(case.verifier_outcome(&sha512), ACCEPTED);
    let refused = Err(RefusalReason::StapleUntrusted);
    let mislabelled = response.sign_as(&key, SignatureAlgorithm::EcdsaSha512, &ecdsa_with(2));
    assert_eq!(case.verifier_outcome(&mislabelled), refused);
    // ecdsa-with-SHA1
    let sha1 = [0x30, 9, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1];
    let labelled_weak = response.sign_as(&key, SignatureAlgorithm::EcdsaSha256, &sha1);
    assert_eq!(case.verifier_outcome(&labelled_weak), refused);
    // A valid signature by an algorithm that is disabled.
    let only: Vec<_> = tercel_pki::CertificateAlgorithm::ALL
        .iter()
        .copied()
        .filter(|one| one.algorithm() == SignatureAlgorithm::EcdsaSha256)
        .collect();
    let verifier = ChainVerifier::builder(case.pki.roots())
        .ocsp_policy(OcspPolicy::Require)
        .algorithms(&only)
        .build()
        .unwrap();
    let outcome = |response: &[u8]| {
        let staple = Some(Staple::Response(response));
        verifier.verify(Usage::Server, &case.chain, None, staple, now()).map_err(|r| r.reason)
    };
    assert_eq!(outcome(&case.sign(&response)), ACCEPTED);
    assert_eq!(outcome(&sha512), refused);
}

#[test]
fn every_kind_of_issuer_key_can_sign() {
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
        let case = Case { pki, chain };
        let key = case.pki.intermediate.key().serialize_der();
        let response = case.response().sign_as(&key, algorithm, identifier);
        assert_eq!(case.verifier_outcome(&response), ACCEPTED, "{algorithm:?}");
    }
}
