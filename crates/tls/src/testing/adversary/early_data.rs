//! A server that accepts early data with another key than the one it was sent under. RFC 9846 4.3.11
//!
//! What it is for: the one rule that takes a session and an external key in one hello to break.
//! Must not know: records. Next: [`super::puppet`].

use pki_types::{ServerName, UnixTime};
use tercel_crypto::{HashAlgorithm, Secret};
use tercel_wire::{
    CipherSuite, ContentType, EncryptedExtensions, HandshakeMessage, HandshakeType, ProtocolVersion,
};

use super::puppet::{Puppet, Say};
use crate::config::client::ClientConfig;
use crate::config::pre_shared_key::PreSharedKey;
use crate::config::server::ServerConfig;
use crate::connection::buffer::Received;
use crate::connection::facts::Facts;
use crate::error::Peer;
use crate::handshake::coroutine::Coroutine;
use crate::handshake::{Handshake, hello};
use crate::keys::suite;
use crate::session::client_store::ClientSessionKey;
use crate::session::client_value::ClientSession;
use crate::session::state::Session;

#[test]
fn early_data_is_accepted_only_with_the_first_key() {
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConfig::builder().pre_shared_keys([key()]).early_data(true).build().unwrap();
    let now = client.common.clock.now();
    let to = ClientSessionKey::new(name.clone(), None, client.resumption.context);
    let session = session(now);
    let expires = session.expires();
    let store = client.resumption.store.as_ref().unwrap();
    store.put_session(&to, ClientSession::new(Box::new(session)), expires);

    let server = ServerConfig::builder().pre_shared_keys([key()]).build().unwrap();
    let script = |_, due: Say| match due.kind() {
        Some(HandshakeType::ENCRYPTED_EXTENSIONS) => {
            let accepted = EncryptedExtensions { early_data: Some(()), ..Default::default() };
            let mut message = Vec::new();
            accepted.encode(&mut message).unwrap();
            vec![Say::Sealed(ContentType::HANDSHAKE, message)]
        }
        _ => vec![due],
    };
    let coroutine = |flow| Coroutine::new(|| hello::server(flow, server));
    let mut puppet = Puppet::new(coroutine, Box::new(script));
    let mut victim = Handshake::client(client, name);
    let (mut to_puppet, mut to_victim, mut out) = (Received::new(), Received::new(), Vec::new());
    // The alert is sealed under early keys, which this server does not have: nobody hears it.
    let error = (0..3).find_map(|_| {
        let step = victim.advance(&mut to_victim, &mut out);
        assert!(victim.early_sender().is_some() || step.is_err(), "early data is not offered");
        to_puppet.extend(&out);
        out.clear();
        puppet.advance(&mut to_puppet, &mut out);
        to_victim.extend(&out);
        out.clear();
        step.err()
    });
    assert_eq!(error, Some(Peer::EarlyDataMismatch.into()));
}

fn key() -> PreSharedKey {
    PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap()
}

/// A session that the server knows nothing of.
fn session(now: UnixTime) -> Session {
    let suite = suite::find(CipherSuite::TLS_AES_128_GCM_SHA256).unwrap();
    let facts = Facts::new(ProtocolVersion::TLS1_3, suite.code);
    Session {
        secret: Secret::new(&[9; 32]),
        identity: b"ticket".to_vec(),
        lifetime: 600,
        max_early_data: 1000,
        server_name: Some("localhost".to_owned()),
        ..Session::of(suite, &facts, now.as_secs(), None)
    }
}
