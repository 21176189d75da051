//! A server that accepts early data, but selects another key than the one that protects the data.
//! The client must refuse this. RFC 9846 4.3.11
//!
//! A server can do this only if the ClientHello has both a session and an external key.

use pki_types::UnixTime;
use tercel_crypto::{HashAlgorithm, Secret};
use tercel_pki::ServerName;
use tercel_wire::{CipherSuite, ContentType, EncryptedExtensions, HandshakeMessage, HandshakeType};

use super::scripted_peer::{Outgoing, ScriptedPeer};
use crate::auth::server_identity::ServerIdentity;
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::connection::buffer::ReceiveBuffer;
use crate::error::PeerError;
use crate::handshake::Handshake;
use crate::handshake::client_session::{context_digest, store_key};
use crate::handshake::task::Task;
use crate::keys::suite;
use crate::psk::PreSharedKey;
use crate::resumption::session::Session;
use crate::resumption::session::client_session::ClientSession;

#[test]
fn early_data_is_accepted_only_with_the_first_key() {
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConfig::builder().pre_shared_keys([key()]).early_data(true).build().unwrap();
    let now = client.common.clock.now();
    let identity = ServerIdentity::new(name.clone(), None);
    let session = Session { context_digest: context_digest(&client, &identity), ..session(now) };
    let expires = session.expires();
    let store = client.resumption.store.as_ref().unwrap();
    store.put_session(
        &store_key(&client, &identity),
        ClientSession::new(Box::new(session)),
        expires,
    );

    let server = ServerConfig::builder().pre_shared_keys([key()]).build().unwrap();
    let script = |_, due: Outgoing| match due.kind() {
        Some(HandshakeType::ENCRYPTED_EXTENSIONS) => {
            let accepted = EncryptedExtensions { early_data: Some(()), ..Default::default() };
            let mut message = Vec::new();
            accepted.encode(&mut message).unwrap();
            vec![Outgoing::Sealed(ContentType::HANDSHAKE, message)]
        }
        _ => vec![due],
    };
    let mut peer = ScriptedPeer::new(Task::server(server), Box::new(script));
    let mut tested = Handshake::client(client, name);
    let (mut to_peer, mut to_tested, mut out) =
        (ReceiveBuffer::new(), ReceiveBuffer::new(), Vec::new());
    // The client's alert is protected with early keys, which this server does not have.
    let error = (0..3).find_map(|_| {
        let step = tested.advance(&mut to_tested, &mut out);
        assert!(tested.early_sender().is_some() || step.is_err(), "early data is not offered");
        to_peer.extend(&out);
        out.clear();
        peer.advance(&mut to_peer, &mut out);
        to_tested.extend(&out);
        out.clear();
        step.err()
    });
    assert_eq!(error, Some(PeerError::EarlyDataMismatch.into()));
}

fn key() -> PreSharedKey {
    PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap()
}

/// A session that the server does not know.
fn session(now: UnixTime) -> Session {
    let suite = suite::find(CipherSuite::TLS_AES_128_GCM_SHA256).unwrap();
    Session {
        secret: Secret::new(&[9; 32]),
        identity: b"ticket".to_vec(),
        lifetime: 600,
        max_early_data: 1000,
        server_name: Some("localhost".to_owned()),
        ..Session::new(suite, now.as_secs(), None)
    }
}
