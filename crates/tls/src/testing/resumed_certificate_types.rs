//! Sessions whose client no longer offers the certificate type that the server would send. RFC 7250
//!
//! The library's client does not offer such sessions, so the test changes its ClientHello.

use std::sync::Arc;

use pki_types::PrivateKeyDer;
use tercel_crypto::SigningKey;
use tercel_wire::{CertificateType, ClientHello, HandshakeMessage, List, ProtocolVersion};

use super::misbehaving_peer::any_case;
use crate::handshake::identity::CredentialForHello;
use crate::keys::suite;
use crate::record::limits;
use crate::resumption::session::Session;
use crate::{Credential, Handshake, ReceiveBuffer, ServerConfig};

const RAW: &[CertificateType] = &[CertificateType::RAW_PUBLIC_KEY];
const BOTH: &[CertificateType] = &[CertificateType::X509, CertificateType::RAW_PUBLIC_KEY];

/// Whether the server resumes a session that was made with this credential, if the client offers
/// these certificate types. The server has no other credential.
fn resumes(credential: Credential, types: Option<&[CertificateType]>) -> bool {
    let mut sent = Vec::new();
    let mut client = Handshake::client(any_case().client(), "localhost".try_into().unwrap());
    client.advance(&mut ReceiveBuffer::new(), &mut sent).unwrap();
    let mut hello = ClientHello::parse(&sent[limits::HEADER + 4..]).unwrap();
    hello.extensions.server_certificate_type = types.map(List::new);
    let suite = suite::ALL.iter().find(|suite| suite.is_tls13()).unwrap();
    let session = Session {
        server_name: Some("localhost".to_owned()),
        server_raw_key: credential.certificate_type() == CertificateType::RAW_PUBLIC_KEY,
        credential: Some(credential.id().in_session(true)),
        ..Session::new(suite, 1, None)
    };
    let server: Arc<ServerConfig> = ServerConfig::builder().credential(credential).build().unwrap();
    CredentialForHello::new(&server, &hello, ProtocolVersion::TLS1_3).authenticates(&session)
}

#[test]
fn a_session_is_resumed_only_with_a_listed_certificate_type() {
    let key = rcgen::KeyPair::generate().unwrap();
    let private = || PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let public = SigningKey::from_der(&key.serialize_der()).unwrap().public_key_spki();
    let raw = || Credential::raw_public_key(public.clone().into(), &private()).unwrap();
    let leaf = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    let leaf = leaf.self_signed(&key).unwrap().der().clone();
    let certificate = || Credential::new(vec![leaf.clone()], &private()).unwrap();
    assert!(resumes(certificate(), None));
    assert!(resumes(certificate(), Some(BOTH)));
    assert!(!resumes(certificate(), Some(RAW)));
    assert!(!resumes(raw(), None));
    assert!(resumes(raw(), Some(BOTH)));
    assert!(resumes(raw(), Some(RAW)));
}
