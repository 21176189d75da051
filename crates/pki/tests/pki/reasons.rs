//! One test for each reason to refuse a chain. Revocation, names and pins have their own modules.

use std::sync::Arc;

use pki_types::CertificateDer;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, KeyUsagePurpose, NameConstraints, PublicKeyData, SignatureAlgorithm,
    date_time_ymd,
};
use tercel_crypto::KeyKind;
use tercel_pki::{
    ChainVerifier, NoTrustConfigured, RefusalReason, Roots, Trust, Usage, end_entity_public_key,
    legacy_end_entity_public_key,
};

use crate::support::{
    Authority, P256, Pki, at, ca_params, der, key, patch, reason, roots, service, verify,
    verify_name,
};

#[test]
fn empty_chain() {
    assert_eq!(reason(verify(&Pki::new().verifier(), &[])), RefusalReason::EmptyChain);
    assert_eq!(end_entity_public_key(&[]).unwrap_err(), RefusalReason::EmptyChain);
}

#[test]
fn bad_encoding() {
    let pki = Pki::new();
    let garbage = [vec![0xde, 0xad, 0xbe, 0xef].into()];
    assert_eq!(reason(verify(&pki.verifier(), &garbage)), RefusalReason::BadEncoding);
    assert_eq!(end_entity_public_key(&garbage).unwrap_err(), RefusalReason::BadEncoding);

    let mut trailing = pki.chain(&service());
    let mut bytes = trailing[0].to_vec();
    bytes.push(0);
    trailing[0] = bytes.into();
    assert_eq!(reason(verify(&pki.verifier(), &trailing)), RefusalReason::BadEncoding);
}

#[test]
fn unsupported_version() {
    let pki = Pki::new();
    let mut chain = pki.chain(&service());
    chain[0] = patch(&chain[0], &[0xa0, 3, 2, 1, 2], &[0xa0, 3, 2, 1, 1], 1);
    assert_eq!(reason(verify(&pki.verifier(), &chain)), RefusalReason::UnsupportedVersion);
}

#[test]
fn unsupported_critical_extension() {
    let pki = Pki::new();
    let mut leaf = service();
    let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
    leaf.custom_extensions = vec![extension.clone()];
    verify(&pki.verifier(), &pki.chain(&leaf)).unwrap();
    // RFC 5280 4.2: an extension occurs once.
    leaf.custom_extensions = vec![extension.clone(), extension.clone()];
    assert_eq!(reason(verify(&pki.verifier(), &pki.chain(&leaf))), RefusalReason::BadEncoding);
    leaf.custom_extensions = vec![extension.clone()];

    extension.set_criticality(true);
    leaf.custom_extensions = vec![extension];
    let refusal = verify(&pki.verifier(), &pki.chain(&leaf)).unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::UnsupportedCriticalExtension);
    assert!(refusal.to_string().ends_with("not supported: 1.2.3.4"), "{refusal}");
}

/// RFC 5280 4.2, 4.2.1.15
#[test]
fn a_critical_extension_of_an_intermediate_is_named() {
    let pki = Pki::new();
    let mut freshest = CustomExtension::from_oid_content(&[2, 5, 29, 46], vec![0x30, 0]);
    freshest.set_criticality(true);
    let mut params = ca_params("With a list of changes");
    params.custom_extensions = vec![freshest];
    let issuer = Authority::signed_by(params, key(P256), &pki.root).unwrap();
    let leaf = service().signed_by(&key(P256), &issuer).unwrap();
    let chain = [leaf.der().clone(), issuer.der().clone()];
    let refusal = verify(&pki.verifier(), &chain).unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::UnsupportedCriticalExtension);
    assert_eq!(refusal.position, Some(1));
    assert_eq!(
        refusal.to_string(),
        "certificate 2 of 2: a certificate has a critical extension that is not supported: \
         freshestCRL"
    );
}

/// A nameConstraints extension that permits one subtree, whose base is this GeneralName.
fn constraints(base: &[u8]) -> CustomExtension {
    let permitted = der::wrap(0xa0, &der::wrap(0x30, base));
    CustomExtension::from_oid_content(&[2, 5, 29, 30], der::wrap(0x30, &permitted))
}

/// The form that the Baseline Requirements prescribe. RFC 5280 4.2.1.10
#[test]
fn a_directory_name_is_constrained() {
    let pki = Pki::new();
    let verify = |organization: &str| {
        let attribute = [der::wrap(6, &[0x55, 4, 10]), der::wrap(0x13, b"EXAMPLE  org")].concat();
        let base = der::wrap(0x31, &der::wrap(0x30, &attribute));
        let mut params = ca_params("Constrained");
        params.custom_extensions = vec![constraints(&der::wrap(0xa4, &der::wrap(0x30, &base)))];
        let issuer = Authority::signed_by(params, key(P256), &pki.root).unwrap();
        let mut leaf = service();
        leaf.distinguished_name = rcgen::DistinguishedName::new();
        leaf.distinguished_name.push(DnType::OrganizationName, organization);
        leaf.distinguished_name.push(DnType::CommonName, "leaf");
        let leaf = leaf.signed_by(&key(P256), &issuer).unwrap();
        verify(&pki.verifier(), &[leaf.der().clone(), issuer.der().clone()])
    };
    verify("Example Org").unwrap();
    assert_eq!(reason(verify("Other")), RefusalReason::NameConstraint);
}

/// RFC 5280 6.1.3 (f), 4.2.1.11
#[test]
fn a_required_policy_must_be_in_each_certificate() {
    let pki = Pki::new();
    let policies = || {
        let policy = der::wrap(0x30, &der::wrap(6, &[0x67, 0x81, 0x0c, 1]));
        let mut policies =
            CustomExtension::from_oid_content(&[2, 5, 29, 32], der::wrap(0x30, &policy));
        policies.set_criticality(true);
        policies
    };
    let mut required =
        CustomExtension::from_oid_content(&[2, 5, 29, 36], vec![0x30, 3, 0x80, 1, 0]);
    required.set_criticality(true);
    let mut params = ca_params("With policies");
    params.custom_extensions = vec![policies(), required];
    let issuer = Authority::signed_by(params, key(P256), &pki.root).unwrap();
    let verify = |leaf: &rcgen::CertificateParams| {
        let leaf = leaf.signed_by(&key(P256), &issuer).unwrap();
        verify(&pki.verifier(), &[leaf.der().clone(), issuer.der().clone()])
    };
    let mut with = service();
    with.custom_extensions = vec![policies()];
    verify(&with).unwrap();
    assert_eq!(reason(verify(&service())), RefusalReason::PolicyNotSatisfied);
}

/// RFC 5280 4.2.1.10
#[test]
fn a_name_constraint_that_cannot_be_checked_is_named() {
    let pki = Pki::new();
    let refusal = |constraints: CustomExtension, leaf: &rcgen::CertificateParams| {
        let mut params = ca_params("Constrained");
        params.custom_extensions = vec![constraints];
        let issuer = Authority::signed_by(params, key(P256), &pki.root).unwrap();
        let leaf = leaf.signed_by(&key(P256), &issuer).unwrap();
        let chain = [leaf.der().clone(), issuer.der().clone()];
        verify(&pki.verifier(), &chain).unwrap_err()
    };
    let number = der::wrap(0x88, &[0x2a, 3]);
    let names = CustomExtension::from_oid_content(&[2, 5, 29, 17], der::wrap(0x30, &number));
    let mut numbered = service();
    numbered.subject_alt_names.clear();
    numbered.custom_extensions = vec![names];
    let by_number = refusal(constraints(&number), &numbered);
    assert_eq!(by_number.reason, RefusalReason::UnsupportedNameConstraint);
    let text = by_number.to_string();
    assert!(text.ends_with("the form registeredID is not supported"), "{text}");

    // A name that is no host name cannot be held against a constraint.
    let mut odd = service();
    odd.subject_alt_names.push(rcgen::SanType::DnsName("a..b".try_into().unwrap()));
    let of_odd_name = refusal(constraints(&der::wrap(0x82, b"service.example")), &odd);
    assert_eq!(of_odd_name.reason, RefusalReason::UnsupportedNameConstraint);
    // A name outside of the constraints is what it was.
    let outside = refusal(constraints(&der::wrap(0x82, b"other.example")), &service());
    assert_eq!(outside.reason, RefusalReason::NameConstraint);
}

/// RFC 5280 4.2.1.10
#[test]
fn empty_name_constraints_are_malformed() {
    let pki = Pki::new();
    for constraints in [&[0x30, 0][..], &[0x30, 4, 0xa0, 0, 0xa1, 0]] {
        let mut params = ca_params("Empty constraints");
        let oid = [2, 5, 29, 30];
        params.custom_extensions =
            vec![CustomExtension::from_oid_content(&oid, constraints.to_vec())];
        let issuer = Authority::signed_by(params, key(P256), &pki.root).unwrap();
        let leaf = service().signed_by(&key(P256), &issuer).unwrap();
        let chain = [leaf.der().clone(), issuer.der().clone()];
        assert_eq!(reason(verify(&pki.verifier(), &chain)), RefusalReason::BadEncoding);
    }
}

#[test]
fn a_certificate_of_90_kb_is_too_large() {
    let pki = Pki::new();
    let names = (0..3000).map(|number| format!("host-{number:012}.service.example"));
    let mut large = rcgen::CertificateParams::new(names.collect::<Vec<_>>()).unwrap();
    large.not_before = service().not_before;
    let chain = pki.chain(&large);
    assert!(chain[0].len() > 90_000);
    let refusal = verify(&pki.verifier(), &chain).unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::CertificateTooLarge);
    assert_eq!(refusal.position, Some(0));
    // A surplus one has no effect.
    let mut surplus = pki.chain(&service());
    surplus.push(chain[0].clone());
    verify(&pki.verifier(), &surplus).unwrap();
}

/// RFC 5280 4.2.1.6
#[test]
fn an_address_as_a_dns_name_is_explained() {
    let pki = Pki::new();
    let mut leaf = service();
    leaf.subject_alt_names = vec![rcgen::SanType::DnsName("127.0.0.1".try_into().unwrap())];
    let chain = pki.chain(&leaf);
    let refusal = crate::support::verify_name(&pki.verifier(), &chain, "127.0.0.1").unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::NameMismatch);
    assert_eq!(
        refusal.to_string(),
        "the certificate is not valid for 127.0.0.1; it has this address as a DNS name, which is \
         not accepted"
    );
}

/// RFC 5280 4.1.2.5
#[test]
fn dates_before_1970_are_in_the_past() {
    let pki = Pki::new();
    for cached in [false, true] {
        let verifier =
            ChainVerifier::builder(pki.roots()).cache_signatures(cached).build().unwrap();
        for year in [1, 1950, 1969] {
            let mut early = ca_params("Early");
            early.not_before = date_time_ymd(year, 1, 1);
            let issuer = Authority::signed_by(early, key(P256), &pki.root).unwrap();
            let mut leaf = service();
            leaf.not_before = date_time_ymd(year, 1, 1);
            let leaf = leaf.signed_by(&key(P256), &issuer).unwrap();
            let chain = [leaf.der().clone(), issuer.der().clone()];
            for _ in 0..2 {
                verify(&verifier, &chain).unwrap();
            }
            // The signature is that of the bytes that were sent.
            let mut changed = chain.clone();
            changed[0] = patch_last_byte(&changed[0]);
            assert_eq!(reason(verify(&verifier, &changed)), RefusalReason::BadSignature);

            let mut past = service();
            past.not_before = date_time_ymd(year, 1, 1);
            past.not_after = date_time_ymd(year, 2, 1);
            let refused = reason(verify(&verifier, &pki.chain(&past)));
            assert!(matches!(refused, RefusalReason::Expired { .. }), "{refused:?}");
        }
    }
}

/// The certificate with another signature.
fn patch_last_byte(certificate: &CertificateDer<'_>) -> CertificateDer<'static> {
    let mut bytes = certificate.to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    bytes.into()
}

#[test]
fn expired() {
    let pki = Pki::new();
    let mut leaf = service();
    leaf.not_after = date_time_ymd(2025, 3, 4);
    let refusal = verify(&pki.verifier(), &pki.chain(&leaf)).unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::Expired { not_after: at(1_741_046_400) });
    assert_eq!(refusal.position, Some(0));
    assert_eq!(
        refusal.to_string(),
        "the certificate expired on 2025-03-04 00:00:00 UTC; it is 2026-05-28 20:26:40 UTC now"
    );
}

#[test]
fn an_expired_intermediates_position_is_reported() {
    let pki = Pki::new();
    let mut short = ca_params("Short");
    short.not_after = date_time_ymd(2025, 3, 4);
    let short = Authority::signed_by(short, key(P256), &pki.root).unwrap();
    let leaf = service().signed_by(&key(P256), &short).unwrap();
    let chain = [leaf.der().clone(), short.der().clone()];
    let refusal = verify(&pki.verifier(), &chain).unwrap_err();
    assert_eq!(refusal.position, Some(1));
    let text = refusal.to_string();
    assert!(text.starts_with("certificate 2 of 2: the certificate expired on"), "{text}");
}

#[test]
fn not_yet_valid() {
    let pki = Pki::new();
    let mut leaf = service();
    leaf.not_before = date_time_ymd(2030, 1, 1);
    let refused = reason(verify(&pki.verifier(), &pki.chain(&leaf)));
    assert_eq!(refused, RefusalReason::NotYetValid { not_before: at(1_893_456_000) });
}

#[test]
fn invalid_validity() {
    let pki = Pki::new();
    let mut leaf = service();
    (leaf.not_before, leaf.not_after) = (leaf.not_after, leaf.not_before);
    let refused = reason(verify(&pki.verifier(), &pki.chain(&leaf)));
    assert_eq!(refused, RefusalReason::InvalidValidity);
}

#[test]
fn the_validity_includes_its_first_and_last_second() {
    let pki = Pki::new();
    let chain = pki.chain(&service());
    let accepted = |seconds| {
        let verifier = pki.verifier();
        verifier.verify(Usage::Server, &chain, None, None, at(seconds)).is_ok()
    };
    let (first, last) = (1_577_836_800, 2_208_988_800);
    assert!(accepted(first) && accepted(last));
    assert!(!accepted(first - 1) && !accepted(last + 1));
}

#[test]
fn unknown_issuer() {
    let chain = Pki::new().chain(&service());
    let mut other_root = ca_params("Other root");
    other_root.distinguished_name.push(DnType::OrganizationName, "Other");
    let other = Authority::self_signed(other_root, key(P256)).unwrap();
    let verifier = ChainVerifier::builder(roots(&[&other])).build().unwrap();
    let refusal = verify(&verifier, &chain).unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::UnknownIssuer);
    assert_eq!(refusal.chain, chain);
    assert_eq!(refusal.names, ["service.example"]);
}

#[test]
fn missing_intermediate() {
    let pki = Pki::new();
    let chain = pki.chain(&service());
    let refused = reason(verify(&pki.verifier(), &chain[..1]));
    assert_eq!(refused, RefusalReason::UnknownIssuer);
}

#[test]
fn self_signed() {
    let own = Authority::self_signed(service(), key(P256)).unwrap();
    let refused = reason(verify(&Pki::new().verifier(), &[own.der().clone()]));
    assert_eq!(refused, RefusalReason::SelfSigned);
}

#[test]
fn bad_signature() {
    let pki = Pki::new();
    for tampered in 0..2 {
        let mut chain = pki.chain(&service());
        let mut bytes = chain[tampered].to_vec();
        *bytes.last_mut().unwrap() ^= 1;
        chain[tampered] = bytes.into();
        let refused = reason(verify(&pki.verifier(), &chain));
        assert_eq!(refused, RefusalReason::BadSignature);
    }
    // An authority with the same name and another key, so the signature is invalid.
    let impostor = Pki::new().chain(&service());
    assert_eq!(reason(verify(&pki.verifier(), &impostor)), RefusalReason::BadSignature);
}

#[test]
fn a_changed_name_invalidates_the_signature() {
    let pki = Pki::new();
    let mut chain = pki.chain(&service());
    chain[0] = patch(&chain[0], b"service.example", b"another.example", 1);
    let refusal = verify(&pki.verifier(), &chain).unwrap_err();
    assert_eq!(refusal.reason, RefusalReason::BadSignature);
}

/// RFC 3279 2.2
#[test]
fn weak_and_unsupported_signature_algorithms() {
    let pki = Pki::with_keys(&rcgen::PKCS_RSA_SHA256);
    let signed_by = |last| {
        let mut chain = pki.chain(&service());
        let [sha256, other] =
            [11, last].map(|last| [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, last]);
        chain[0] = patch(&chain[0], &sha256, &other, 2);
        reason(verify(&pki.verifier(), &chain))
    };
    assert_eq!(signed_by(4), RefusalReason::WeakSignatureAlgorithm); // MD5
    assert_eq!(signed_by(5), RefusalReason::WeakSignatureAlgorithm); // SHA-1
    assert_eq!(signed_by(14), RefusalReason::UnsupportedSignatureAlgorithm); // SHA-224
}

#[test]
fn unsupported_key() {
    // The issuer has an Ed25519 key, whose signatures cannot be ECDSA.
    let pki = Pki::new();
    let other = Authority::self_signed(ca_params("Root"), key(&rcgen::PKCS_ED25519)).unwrap();
    let leaf = service().signed_by(&key(P256), &pki.root).unwrap();
    let verifier = ChainVerifier::builder(roots(&[&other])).build().unwrap();
    let refused = reason(verify(&verifier, &[leaf.der().clone()]));
    assert_eq!(refused, RefusalReason::UnsupportedKey);
}

/// An RSA key of 1024 bits: the public half is enough to issue a certificate for it.
struct ShortRsa(Vec<u8>);

impl ShortRsa {
    fn new() -> Self {
        let mut modulus = vec![0x00, 0xc5];
        modulus.extend_from_slice(&[0x5b; 127]);
        let numbers = [der::wrap(2, &modulus[..]), der::wrap(2, &[1, 0, 1])].concat();
        Self(der::wrap(0x30, &numbers))
    }
}

impl PublicKeyData for ShortRsa {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
}

#[test]
fn a_short_rsa_key_is_invalid() {
    let pki = Pki::new();
    let chain = pki.chain_for_key(&service(), &ShortRsa::new());
    assert_eq!(end_entity_public_key(&chain).unwrap_err(), RefusalReason::InvalidKey);

    // If the issuer has such a short key, its signatures cannot be verified, and the reason is
    // about the key.
    let weak = ca_params("Weak").signed_by(&ShortRsa::new(), &pki.root).unwrap();
    let same_name = Authority::self_signed(ca_params("Weak"), key(&rcgen::PKCS_RSA_SHA256));
    let leaf = service().signed_by(&key(P256), &same_name.unwrap()).unwrap();
    let chain = [leaf.der().clone(), weak.der().clone()];
    assert_eq!(reason(verify(&pki.verifier(), &chain)), RefusalReason::InvalidKey);
}

/// Certificates that were made for RSA key exchange.
#[test]
fn legacy_keys_are_rsa_keys() {
    let pki = Pki::new();
    let legacy = |leaf_key: &dyn Fn(&CertificateParams) -> Vec<CertificateDer<'static>>, usage| {
        let mut leaf = service();
        leaf.key_usages = vec![usage];
        legacy_end_entity_public_key(&leaf_key(&leaf)).map(|key| key.bits())
    };
    let (encipher, sign) = (KeyUsagePurpose::KeyEncipherment, KeyUsagePurpose::DigitalSignature);
    let short = |leaf: &CertificateParams| pki.chain_for_key(leaf, &ShortRsa::new());
    let rsa = key(&rcgen::PKCS_RSA_SHA256);
    let long = |leaf: &CertificateParams| pki.chain_for_key(leaf, &rsa);
    let curve = |leaf: &CertificateParams| pki.chain(leaf);
    assert_eq!(legacy(&short, encipher), Ok(1024));
    assert_eq!(legacy(&short, sign), Ok(1024));
    assert_eq!(legacy(&long, encipher), Ok(2048));
    assert_eq!(legacy(&curve, sign), Ok(256));
    assert_eq!(legacy(&curve, encipher), Err(RefusalReason::KeyMayNotSign));
    assert_eq!(legacy_end_entity_public_key(&[]).unwrap_err(), RefusalReason::EmptyChain);
}

/// RFC 9846 4.5.1 and RFC 5246 7.4.2: digitalSignature is required if keyUsage is present.
/// RFC 5280 4.2.1.3
#[test]
fn a_key_that_may_not_sign() {
    let pki = Pki::new();
    let leaf_key = |usages: &[KeyUsagePurpose]| {
        let mut leaf = service();
        leaf.key_usages = usages.to_vec();
        end_entity_public_key(&pki.chain(&leaf)).map(|key| key.kind())
    };
    use KeyUsagePurpose::{DecipherOnly, DigitalSignature, KeyAgreement, KeyEncipherment};
    assert_eq!(leaf_key(&[]), Ok(KeyKind::EcdsaP256));
    assert_eq!(leaf_key(&[DigitalSignature]), Ok(KeyKind::EcdsaP256));
    assert_eq!(leaf_key(&[KeyEncipherment, DigitalSignature]), Ok(KeyKind::EcdsaP256));
    for without in [KeyAgreement, KeyEncipherment, DecipherOnly] {
        assert_eq!(leaf_key(&[without]), Err(RefusalReason::KeyMayNotSign));
    }
}

/// RFC 5480 2.1.1
#[test]
fn a_key_on_another_curve() {
    let chain = Pki::new().chain(&service());
    let on_p192 = patch(
        &chain[0],
        &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
        &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 1],
        1,
    );
    let refused = end_entity_public_key(&[on_p192]).map(drop);
    assert_eq!(refused, Err(RefusalReason::UnsupportedKey));
}

/// OpenSSL and Go accept it. RFC 5280 4.2.1.3, 4.2.1.9, 4.2.1.12
#[test]
fn an_authority_may_be_a_leaf_if_its_usages_permit() {
    let pki = Pki::new();
    let verifier = pki.verifier();
    let mut leaf = service();
    leaf.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    let chain = pki.chain(&leaf);
    assert_eq!(verify(&verifier, &chain).unwrap(), Trust::Anchor);
    end_entity_public_key(&chain).unwrap();
    let other = verify_name(&verifier, &chain, "other.example");
    assert_eq!(reason(other), RefusalReason::NameMismatch);
    // The key would sign a handshake.
    leaf.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let refused = end_entity_public_key(&pki.chain(&leaf)).map(drop);
    assert_eq!(refused, Err(RefusalReason::KeyMayNotSign));
    leaf.key_usages = vec![];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let refused = reason(verify(&verifier, &pki.chain(&leaf)));
    assert_eq!(refused, RefusalReason::NotForThisUsage);
}

#[test]
fn end_entity_used_as_ca() {
    let pki = Pki::new();
    let mut not_ca = ca_params("Not an authority");
    not_ca.is_ca = IsCa::ExplicitNoCa;
    let not_ca = Authority::signed_by(not_ca, key(P256), &pki.root).unwrap();
    let leaf = service().signed_by(&key(P256), &not_ca).unwrap();
    let chain = [leaf.der().clone(), not_ca.der().clone()];
    let refused = reason(verify(&pki.verifier(), &chain));
    assert_eq!(refused, RefusalReason::EndEntityUsedAsCa);
}

#[test]
fn name_constraint() {
    let pki = Pki::new();
    let mut narrow = ca_params("Narrow");
    narrow.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![GeneralSubtree::DnsName("inside.example".into())],
        excluded_subtrees: vec![],
    });
    let narrow = Authority::signed_by(narrow, key(P256), &pki.root).unwrap();
    let chain = |wanted: &str| {
        let leaf = crate::support::leaf_params(&[wanted]).signed_by(&key(P256), &narrow).unwrap();
        [leaf.der().clone(), narrow.der().clone()]
    };
    let inside = chain("a.inside.example");
    crate::support::verify_name(&pki.verifier(), &inside, "a.inside.example").unwrap();
    let refused = reason(verify(&pki.verifier(), &chain("service.example")));
    assert_eq!(refused, RefusalReason::NameConstraint);
}

#[test]
fn path_too_long() {
    let pki = Pki::new();
    let mut flat = ca_params("Flat");
    flat.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let flat = Authority::signed_by(flat, key(P256), &pki.root).unwrap();
    let below = Authority::signed_by(ca_params("Below"), key(P256), &flat).unwrap();
    let leaf = service().signed_by(&key(P256), &below).unwrap();
    let chain = [leaf.der().clone(), below.der().clone(), flat.der().clone()];
    assert_eq!(reason(verify(&pki.verifier(), &chain)), RefusalReason::PathTooLong);
}

#[test]
fn a_verifier_that_trusts_nothing_is_not_built() {
    let nothing = ChainVerifier::builder(Arc::new(Roots::new())).build();
    assert_eq!(nothing.unwrap_err(), NoTrustConfigured);
    let no_algorithm = ChainVerifier::builder(Pki::new().roots()).algorithms(&[]).build();
    assert_eq!(no_algorithm.unwrap_err(), NoTrustConfigured);
}
