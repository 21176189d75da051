//! Every signature algorithm, as encoded in a real certificate, is accepted, and refused when it
//! is disabled.

use std::sync::Arc;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor};
use rcgen::KeyPair;
use tercel_crypto::{KeyKind, SigningKey};
use tercel_pki::{
    CertificateAlgorithm, ChainVerifier, NotAuthority, RefusalReason, Roots, signature_algorithms,
};

use crate::support::{Authority, P256, ca_params, der, key, reason, service, verify};

#[test]
fn every_algorithm_signs_a_certificate() {
    let keys = Keys::new();
    for algorithm in CertificateAlgorithm::ALL {
        let (anchor, leaf) = issue(algorithm, keys.of(algorithm.key()));
        let mut roots = Roots::new();
        roots.add_trust_anchor(anchor);
        let roots = Arc::new(roots);
        let verifier = ChainVerifier::builder(Arc::clone(&roots)).build().unwrap();
        verify(&verifier, std::slice::from_ref(&leaf))
            .unwrap_or_else(|refusal| panic!("{algorithm:?}: {refusal}"));

        let mut forged = leaf.to_vec();
        let middle_of_signature = forged.len() - 20;
        forged[middle_of_signature] ^= 1;
        let refused = reason(verify(&verifier, &[forged.into()]));
        assert_eq!(refused, RefusalReason::BadSignature, "{algorithm:?}");

        let mut others = CertificateAlgorithm::ALL.to_vec();
        others.retain(|other| other.signature_alg_id() != algorithm.signature_alg_id());
        let without = ChainVerifier::builder(roots).algorithms(&others).build().unwrap();
        let refused = reason(verify(&without, &[leaf]));
        assert_eq!(refused, RefusalReason::UnsupportedSignatureAlgorithm, "{algorithm:?}");
    }
}

#[test]
fn the_list_of_a_verifier_has_each_pair_once() {
    let anchor = Authority::self_signed(ca_params("Root"), key(P256)).unwrap();
    let roots = crate::support::roots(&[&anchor]);
    let all = ChainVerifier::builder(Arc::clone(&roots)).build().unwrap().signature_algorithms();
    assert_eq!(all.len(), 22);
    for (index, pair) in all.iter().enumerate() {
        assert!(!all[..index].contains(pair), "{pair:?}");
    }
    let one = &CertificateAlgorithm::ALL[..1];
    let one = ChainVerifier::builder(roots).algorithms(one).build().unwrap();
    assert_eq!(one.signature_algorithms(), all[..1]);
}

#[test]
fn how_a_chain_is_signed_can_be_read_from_it() {
    let keys = Keys::new();
    for algorithm in CertificateAlgorithm::ALL {
        let (_, leaf) = issue(algorithm, keys.of(algorithm.key()));
        let root = ca_params("Root").self_signed(&keys.p384).unwrap().der().clone();
        // The root is self-signed; its signature is not verified, so its algorithm is not listed.
        assert_eq!(signature_algorithms(&[leaf, root]), [Some(algorithm.algorithm())]);
    }
    let (_, leaf) = issue(CertificateAlgorithm::ALL[0], &keys.p256);
    let unknown = crate::support::patch(&leaf, &[0x3d, 4, 3, 2], &[0x3d, 4, 3, 9], 2);
    assert_eq!(signature_algorithms(&[unknown, vec![0x30, 0].into()]), [None, None]);
}

/// Keys with explicit parameters, here exactly those of P-256: of a leaf, of an intermediate, of a
/// pinned leaf, and of a trust anchor. RFC 5480 2.1.1
#[test]
fn keys_with_explicit_curve_parameters_are_refused() {
    let algorithm = CertificateAlgorithm::ALL[0];
    let (root_key, own_key) = (key(P256), key(P256));
    let root = ca_params("Root").self_signed(&root_key).unwrap();
    let root_signer = SigningKey::from_der(root_key.serialized_der()).unwrap();
    let own_signer = SigningKey::from_der(own_key.serialized_der()).unwrap();
    let issuer = rcgen::Issuer::new(ca_params("Root"), &root_key);
    let issued = |params: &rcgen::CertificateParams, explicit: bool| {
        let certificate = params.signed_by(&own_key, &issuer).unwrap().der().clone();
        let certificate = if explicit { with_explicit_curve(&certificate) } else { certificate };
        resign(&certificate, algorithm, &root_signer)
    };
    let mut anchors = Roots::new();
    anchors.add_der(root.der()).unwrap();
    let anchors = Arc::new(anchors);
    let verifier = ChainVerifier::builder(Arc::clone(&anchors)).build().unwrap();

    verify(&verifier, &[issued(&service(), false)]).unwrap();
    let leaf = issued(&service(), true);
    let refused = RefusalReason::UnsupportedKey;
    assert_eq!(reason(verify(&verifier, std::slice::from_ref(&leaf))), refused);
    let leaf_key = tercel_pki::end_entity_public_key(std::slice::from_ref(&leaf));
    assert_eq!(leaf_key.map(drop), Err(refused));
    let pinning = ChainVerifier::builder(Arc::clone(&anchors)).pin(leaf.clone()).build().unwrap();
    assert_eq!(reason(verify(&pinning, &[leaf])), refused);

    let below = rcgen::Issuer::new(ca_params("Intermediate"), &own_key);
    let leaf = service().signed_by(&key(P256), &below).unwrap().der().clone();
    let with = |explicit| [leaf.clone(), issued(&ca_params("Intermediate"), explicit)];
    verify(&verifier, &with(false)).unwrap();
    assert_eq!(reason(verify(&verifier, &with(true))), refused);

    let own = with_explicit_curve(ca_params("Own").self_signed(&own_key).unwrap().der());
    let own = resign(&own, algorithm, &own_signer);
    let intermediate = issued(&ca_params("Intermediate"), true);
    for trusted in [own, intermediate] {
        let mut roots = Roots::new();
        roots.add_der(&trusted).unwrap();
        assert_eq!(roots.not_anchors()[0].reason, NotAuthority::ExplicitCurve);
        let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
        assert_eq!(reason(verify(&verifier, &[trusted])), refused);
    }
}

/// The certificate with explicit curve parameters in place of the name of P-256; its signature is
/// then wrong.
fn with_explicit_curve(certificate: &CertificateDer<'_>) -> CertificateDer<'static> {
    let mut fields = fields(certificate);
    let (algorithm, bits) = der::split(der::content(&fields[6]));
    let (ec_public_key, _name) = der::split(der::content(algorithm));
    let algorithm = der::wrap(0x30, &[ec_public_key, &p256_parameters()].concat());
    fields[6] = der::wrap(0x30, &[&*algorithm, bits].concat());
    let to_be_signed = der::wrap(0x30, &fields.concat());
    let (_, rest) = der::split(der::content(certificate));
    der::wrap(0x30, &[&*to_be_signed, rest].concat()).into()
}

/// The `ECParameters` of P-256. RFC 3279 2.3.5
fn p256_parameters() -> Vec<u8> {
    let prime = "00ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";
    let a = "ffffffff00000001000000000000000000000000fffffffffffffffffffffffc";
    let b = "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b";
    let base = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
                4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
    let order = "00ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let unhex = |text: &str| -> Vec<u8> {
        let digits = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
        digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
    };
    let prime_field = [0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 1, 1];
    let field = [&prime_field, &*der::wrap(2, &unhex(prime))].concat();
    let curve = [der::wrap(4, &unhex(a)), der::wrap(4, &unhex(b))].concat();
    let fields = [
        der::wrap(2, &[1]),
        der::wrap(0x30, &field),
        der::wrap(0x30, &curve),
        der::wrap(4, &unhex(base)),
        der::wrap(2, &unhex(order)),
        der::wrap(2, &[1]),
    ];
    der::wrap(0x30, &fields.concat())
}

/// One key of each kind.
struct Keys {
    rsa: KeyPair,
    p256: KeyPair,
    p384: KeyPair,
    p521: KeyPair,
    ed25519: KeyPair,
    ml_dsa_44: KeyPair,
    ml_dsa_65: KeyPair,
    ml_dsa_87: KeyPair,
}

impl Keys {
    fn new() -> Self {
        Self {
            rsa: key(&rcgen::PKCS_RSA_SHA256),
            p256: key(P256),
            p384: key(&rcgen::PKCS_ECDSA_P384_SHA384),
            p521: key(&rcgen::PKCS_ECDSA_P521_SHA512),
            ed25519: key(&rcgen::PKCS_ED25519),
            ml_dsa_44: key(&rcgen::PKCS_ML_DSA_44),
            ml_dsa_65: key(&rcgen::PKCS_ML_DSA_65),
            ml_dsa_87: key(&rcgen::PKCS_ML_DSA_87),
        }
    }

    fn of(&self, kind: KeyKind) -> &KeyPair {
        match kind {
            KeyKind::Rsa | KeyKind::RsaPss => &self.rsa,
            KeyKind::EcdsaP256 => &self.p256,
            KeyKind::EcdsaP384 => &self.p384,
            KeyKind::EcdsaP521 => &self.p521,
            KeyKind::Ed25519 => &self.ed25519,
            KeyKind::MlDsa44 => &self.ml_dsa_44,
            KeyKind::MlDsa65 => &self.ml_dsa_65,
            KeyKind::MlDsa87 => &self.ml_dsa_87,
            other => panic!("no key of kind {other:?}"),
        }
    }
}

/// An anchor whose key has the identifier that the algorithm requires, and a leaf signed with that
/// algorithm.
fn issue(
    algorithm: &CertificateAlgorithm,
    key: &KeyPair,
) -> (TrustAnchor<'static>, CertificateDer<'static>) {
    let authority = ca_params("Root").self_signed(key).unwrap();
    let anchor = anchor(authority.der(), &algorithm.public_key_alg_id());
    let issuer = rcgen::Issuer::new(ca_params("Root"), key);
    let leaf = service().signed_by(&crate::support::key(P256), &issuer).unwrap();
    let signer = SigningKey::from_der(key.serialized_der()).unwrap();
    (anchor, resign(leaf.der(), algorithm, &signer))
}

/// Copies the subject and key of a certificate, and gives the key another identifier.
fn anchor(certificate: &CertificateDer<'_>, key_id: &[u8]) -> TrustAnchor<'static> {
    let fields = fields(certificate);
    let (_old_identifier, bits) = der::split(der::content(&fields[6]));
    TrustAnchor {
        subject: der::content(&fields[5]).to_vec().into(),
        subject_public_key_info: [der::wrap(0x30, key_id), bits.to_vec()].concat().into(),
        name_constraints: None,
    }
}

fn resign(
    certificate: &CertificateDer<'_>,
    algorithm: &CertificateAlgorithm,
    signer: &SigningKey,
) -> CertificateDer<'static> {
    let identifier = der::wrap(0x30, &algorithm.signature_alg_id());
    let mut fields = fields(certificate);
    fields[2].clone_from(&identifier);
    let to_be_signed = der::wrap(0x30, &fields.concat());
    let mut signature = vec![0];
    signature.extend(signer.sign(algorithm.algorithm(), &to_be_signed).unwrap());
    der::wrap(0x30, &[to_be_signed, identifier, der::wrap(3, &signature)].concat()).into()
}

/// The complete fields of the TBSCertificate: version, serial, algorithm, issuer, validity,
/// subject, key, extensions.
fn fields(certificate: &CertificateDer<'_>) -> Vec<Vec<u8>> {
    let (to_be_signed, _) = der::split(der::content(certificate));
    let mut rest = der::content(to_be_signed);
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (field, after) = der::split(rest);
        fields.push(field.to_vec());
        rest = after;
    }
    fields
}
