//! Every signature algorithm, as encoded in a real certificate, is accepted, and refused when it
//! is disabled.

use std::sync::Arc;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor};
use rcgen::KeyPair;
use tercel_crypto::{KeyKind, SigningKey};
use tercel_pki::{CertificateAlgorithm, ChainVerifier, RefusalReason, Roots, signature_algorithms};

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
