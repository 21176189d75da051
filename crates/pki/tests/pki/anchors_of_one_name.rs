//! Trust anchors of one name, such as the authorities of many clusters in one file: key identifiers
//! say which is tried first, and exclude none. RFC 4158 3.5, RFC 5280 4.2.1.1

use pki_types::{CertificateDer, TrustAnchor};
use rcgen::{CertificateParams, KeyIdMethod, KeyPair, PublicKeyData, SignatureAlgorithm};
use tercel_pki::{ChainVerifier, NearestAnchor, RefusalReason, Roots, Trust, Usage};

use crate::support::{Authority, Chain, P256, Pki, ca_params, der, key, now, service, verify};

const NAME: &str = "kubernetes";
const RSA: &SignatureAlgorithm = &rcgen::PKCS_RSA_SHA256;

/// The public half of an RSA key without a private one. Two hundred complete keys would take a
/// minute.
struct OtherRsa(Vec<u8>);

impl OtherRsa {
    fn new(template: &KeyPair, number: usize) -> Self {
        let mut bytes = template.der_bytes().to_vec();
        // In the middle of the modulus.
        bytes[100..108].copy_from_slice(&number.to_be_bytes());
        Self(bytes)
    }
}

impl PublicKeyData for OtherRsa {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        RSA
    }
}

/// Certificates of authorities of one name with different keys. Half of them have RSA keys.
fn crowd(rsa: &KeyPair, count: usize) -> Chain {
    let issuer = rcgen::Issuer::new(ca_params(NAME), rsa);
    let certificate = |number| {
        let params = ca_params(NAME);
        let made = match number % 2 {
            0 => params.signed_by(&OtherRsa::new(rsa, number), &issuer),
            _ => params.signed_by(&key(P256), &issuer),
        };
        made.unwrap().der().clone()
    };
    (0..count).map(certificate).collect()
}

fn verifier(anchors: &[CertificateDer<'static>]) -> ChainVerifier {
    let mut roots = Roots::new();
    anchors.iter().for_each(|anchor| roots.add_der(anchor).unwrap());
    ChainVerifier::builder(roots.into()).build().unwrap()
}

/// A leaf whose authorityKeyIdentifier is that of the issuer's parameters.
fn leaf(issuer: &Authority) -> CertificateDer<'static> {
    let mut params = service();
    params.use_authority_key_identifier_extension = true;
    params.signed_by(&key(P256), issuer).unwrap().der().clone()
}

fn with_identifier(identifier: &[u8]) -> CertificateParams {
    let mut params = ca_params(NAME);
    params.key_identifier_method = KeyIdMethod::PreSpecified(identifier.to_vec());
    params
}

fn outcome(verifier: &ChainVerifier, chain: &[CertificateDer<'_>]) -> Result<Trust, RefusalReason> {
    verify(verifier, chain).map_err(|refusal| refusal.reason)
}

/// RFC 5280 4.2.1.1, 4.2.1.2
#[test]
fn of_two_hundred_anchors_the_one_with_the_key_is_tried_first() {
    let rsa = key(RSA);
    let mut anchors = crowd(&rsa, 199);
    for fitting in [key(P256), rsa] {
        let fitting = Authority::self_signed(ca_params(NAME), fitting).unwrap();
        anchors.push(fitting.der().clone());
        let trusted = verifier(&anchors);
        for _ in 0..2 {
            assert_eq!(outcome(&trusted, &[leaf(&fitting)]), Ok(Trust::Anchor));
        }
        // Without an identifier each anchor may be the issuer, and the work is limited.
        let chain = [service().signed_by(&key(P256), &fitting).unwrap().der().clone()];
        assert_eq!(outcome(&trusted, &chain), Err(RefusalReason::PathLimits));
        anchors.pop();
        // The same for a leaf whose authority is not there.
        let refused = outcome(&verifier(&anchors), &[leaf(&fitting)]);
        assert_eq!(refused, Err(RefusalReason::PathLimits));
    }
}

/// An identifier excludes no anchor. RFC 5280 4.2.1.1
#[test]
fn an_anchor_with_another_key_identifier_is_tried_last() {
    let rsa = key(RSA);
    let shared = key(P256).serialize_der();
    let own = || KeyPair::try_from(&shared[..]).unwrap();
    let signer = Authority::self_signed(with_identifier(b"of the leaf"), own()).unwrap();
    let chain = [leaf(&signer)];
    let other = with_identifier(b"of another").self_signed(&own()).unwrap();
    let mut anchors = vec![other.der().clone()];
    anchors.extend(crowd(&rsa, 8));
    assert_eq!(outcome(&verifier(&anchors), &chain), Ok(Trust::Anchor));

    // An anchor without an identifier is tried before those with another one.
    anchors.extend(crowd(&rsa, 200));
    anchors.remove(0);
    let mut roots = Roots::new();
    anchors.iter().for_each(|anchor| roots.add_der(anchor).unwrap());
    roots.add_trust_anchor(without_identifier(signer.der()));
    let trusted = ChainVerifier::builder(roots.into()).build().unwrap();
    assert_eq!(outcome(&trusted, &chain), Ok(Trust::Anchor));

    // One key may have several identifiers.
    anchors.extend([other.der().clone(), signer.der().clone()]);
    assert_eq!(outcome(&verifier(&anchors), &chain), Ok(Trust::Anchor));
}

/// RFC 5280 4.2.1.1
#[test]
fn an_anchor_with_the_key_is_tried_before_those_without_an_identifier() {
    let fitting = Authority::self_signed(ca_params(NAME), key(P256)).unwrap();
    let mut roots = Roots::new();
    let others = crowd(&key(RSA), 200);
    others.iter().for_each(|anchor| roots.add_trust_anchor(without_identifier(anchor)));
    roots.add_der(fitting.der()).unwrap();
    let trusted = ChainVerifier::builder(roots.into()).build().unwrap();
    assert_eq!(outcome(&trusted, &[leaf(&fitting)]), Ok(Trust::Anchor));
}

/// The name and the key of a certificate.
fn without_identifier(certificate: &CertificateDer<'_>) -> TrustAnchor<'static> {
    let (signed, _) = der::split(der::content(certificate));
    let mut rest = der::content(signed);
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (field, after) = der::split(rest);
        fields.push(der::content(field).to_vec());
        rest = after;
    }
    TrustAnchor {
        subject: fields[5].clone().into(),
        subject_public_key_info: fields[6].clone().into(),
        name_constraints: None,
    }
}

/// The issuer may also be an intermediate of the anchors' name. RFC 5280 4.2.1.1
#[test]
fn an_intermediate_with_the_key_is_tried_before_anchors_with_another_one() {
    let pki = Pki::new();
    let intermediate = Authority::signed_by(ca_params(NAME), key(P256), &pki.root).unwrap();
    let mut anchors = crowd(&key(RSA), 200);
    anchors.push(pki.root.der().clone());
    let chain = [leaf(&intermediate), intermediate.der().clone()];
    assert_eq!(outcome(&verifier(&anchors), &chain), Ok(Trust::Anchor));
}

/// The explanation of a refusal tries few anchors.
#[test]
fn the_explanation_tries_the_anchor_with_the_key_first() {
    let pki = Pki::new();
    let mut anchors = crowd(&key(RSA), 20);
    let fitting = Authority::self_signed(ca_params(NAME), key(P256)).unwrap();
    let mut params = ca_params("Intermediate");
    params.use_authority_key_identifier_extension = true;
    let intermediate = Authority::signed_by(params, key(P256), &fitting).unwrap();
    // The leaf is signed by another key of the intermediate's name.
    let chain = [pki.chain(&service())[0].clone(), intermediate.der().clone()];
    let end = |anchors: &[_]| {
        let refused = verifier(anchors).verify(Usage::Server, &chain, None, None, now());
        refused.unwrap_err().chain_end.map(|end| (end.position, end.nearest))
    };
    assert_eq!(end(&anchors), Some((1, NearestAnchor::OtherSigner)));
    anchors.push(fitting.der().clone());
    assert_eq!(end(&anchors), None);
}
