//! ML-DSA credentials: chains with ML-DSA from root to leaf, in TLS 1.3 only.
//!
//! Tests that certificates, handshake signatures and negotiation support the algorithm.

use rcgen::{BasicConstraints, CertificateParams, Issuer, KeyPair, SignatureAlgorithm};
use tercel::crypto::KeyKind;
use tercel::pki::{RefusalReason, Roots};
use tercel::pki_types::PrivateKeyDer;
use tercel::wire::{ClientHello, ProtocolVersion, SignatureScheme};
use tercel::{ClientConfig, Credential, Error, ServerConfig, error::PeerError, server::ClientAuth};
use tercel_wire::HandshakeMessage;

use crate::fixtures::{self, Kind, NAME};
use crate::pair::{Pair, records};

pub(crate) const SCHEMES: [SignatureScheme; 3] =
    [SignatureScheme::MLDSA44, SignatureScheme::MLDSA65, SignatureScheme::MLDSA87];

fn algorithm(scheme: SignatureScheme) -> &'static SignatureAlgorithm {
    match scheme {
        SignatureScheme::MLDSA44 => &rcgen::PKCS_ML_DSA_44,
        SignatureScheme::MLDSA65 => &rcgen::PKCS_ML_DSA_65,
        _ => &rcgen::PKCS_ML_DSA_87,
    }
}

/// Generates root, intermediate and leaf with keys of one parameter set. Returns the leaf's
/// credential and the root.
pub(crate) fn identity(scheme: SignatureScheme) -> (Credential, Roots) {
    let generate = || KeyPair::generate_for(algorithm(scheme)).unwrap();
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params
    };
    let (root_key, middle_key, leaf_key) = (generate(), generate(), generate());
    let root = authority("root").self_signed(&root_key).unwrap();
    let root_issuer = Issuer::new(authority("root"), root_key);
    let middle = authority("middle").signed_by(&middle_key, &root_issuer).unwrap();
    let middle_issuer = Issuer::new(authority("middle"), middle_key);
    let leaf = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&leaf_key, &middle_issuer).unwrap();
    let chain = vec![leaf.der().clone(), middle.der().clone()];
    let key = PrivateKeyDer::Pkcs8(leaf_key.serialize_der().into());
    let mut roots = Roots::new();
    roots.add_der(root.der()).unwrap();
    (Credential::new(chain, &key).unwrap(), roots)
}

#[test]
fn both_sides_authenticate_with_each_parameter_set() {
    for scheme in SCHEMES {
        let (server_credential, server_roots) = identity(scheme);
        let (client_credential, client_roots) = identity(scheme);
        let client = ClientConfig::builder().roots(server_roots).credential(client_credential);
        let server = ServerConfig::builder()
            .credential(server_credential)
            .client_auth(ClientAuth::Required, client_roots);
        let (client, server) = (client.build().unwrap(), server.build().unwrap());
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        for end in [&ends.client, &ends.server] {
            let info = &end.connection.info;
            assert_eq!(info.version, ProtocolVersion::TLS1_3);
            assert_eq!(info.own_signature_scheme, Some(scheme));
            assert_eq!(info.peer_signature_scheme, Some(scheme));
            assert_eq!(info.peer_chain().len(), 2);
        }
        ends.talk();
    }
}

#[test]
fn a_chain_of_another_authority_is_refused() {
    let (credential, _) = identity(SignatureScheme::MLDSA65);
    let (_, others) = identity(SignatureScheme::MLDSA65);
    let client = ClientConfig::builder().roots(others).build().unwrap();
    let server = ServerConfig::builder().credential(credential).build().unwrap();
    let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
    // Both roots have the same name, so a path is built, and then its signature does not verify.
    assert_eq!(failure.client, Some(Error::Refused(RefusalReason::BadSignature)));
}

#[test]
fn ml_dsa_is_not_used_in_tls12() {
    let (credential, roots) = identity(SignatureScheme::MLDSA44);
    assert_eq!(credential.kind(), KeyKind::MlDsa44);
    let versions = [ProtocolVersion::TLS1_2];
    let client = ClientConfig::builder().roots(roots).versions(&versions).build().unwrap();
    let server = ServerConfig::builder().credential(credential).build().unwrap();
    let failure = Pair::new(&client, &server, NAME).connect().unwrap_err();
    assert_eq!(failure.server, Some(Error::Peer(PeerError::NoCommonSignatureScheme)));
}

#[test]
fn ml_dsa_is_offered_last_and_with_tls13_only() {
    for (version, offered) in [(ProtocolVersion::TLS1_3, true), (ProtocolVersion::TLS1_2, false)] {
        let client = fixtures::client().versions(&[version]).build().unwrap();
        let server = fixtures::server().build().unwrap();
        let mut flights = Vec::new();
        let tap = |bytes: &mut Vec<u8>| flights.push(bytes.clone());
        Pair::new(&client, &server, NAME).tap_to_server(tap).connect().unwrap();
        let hello = records(&flights[0]).remove(0).1;
        let hello = ClientHello::parse(&hello[4..]).unwrap();
        let schemes: Vec<_> = hello.extensions.signature_algorithms.unwrap().iter().collect();
        let last = schemes.last_chunk::<3>().unwrap();
        assert_eq!(SCHEMES.iter().all(|scheme| last.contains(scheme)), offered);
        assert_eq!(SCHEMES.iter().any(|scheme| schemes.contains(scheme)), offered);
    }
}

#[test]
fn ml_dsa_is_only_sent_to_clients_that_can_verify_it() {
    let (credential, roots) = identity(SignatureScheme::MLDSA65);
    let classic = fixtures::credential(Kind::P256);
    let server = ServerConfig::builder().credential(credential).credential(classic);
    let server = server.build().unwrap();
    let modern = ClientConfig::builder().roots(roots).build().unwrap();
    let ends = Pair::new(&modern, &server, NAME).connect().unwrap();
    let info = ends.client.connection.info;
    assert_eq!(info.peer_signature_scheme, Some(SignatureScheme::MLDSA65));
    let old = fixtures::client().signature_schemes(&[SignatureScheme::ECDSA_SECP256R1_SHA256]);
    let ends = Pair::new(&old.build().unwrap(), &server, NAME).connect().unwrap();
    let info = ends.client.connection.info;
    assert_eq!(info.peer_signature_scheme, Some(SignatureScheme::ECDSA_SECP256R1_SHA256));
}
