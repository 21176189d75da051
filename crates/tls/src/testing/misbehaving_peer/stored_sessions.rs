//! A session is not stored if its handshake fails at the peer's last record. RFC 5246 7.2.2

use std::sync::{Arc, Mutex};

use pki_types::UnixTime;
use tercel_wire::{ContentType, HandshakeType, ProtocolVersion};

use super::cases::{credential, name};
use super::scripted_peer::{Outcome, Outgoing, ScriptedPeer};
use crate::auth::server_identity::ServerIdentity;
use crate::auth::verifier::AcceptAnyPeer;
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::error::{Error, PeerError};
use crate::handshake::Handshake;
use crate::handshake::task::Task;
use crate::policy::Policy;
use crate::resumption::session::client_store::{ClientSessionKey, ClientSessionStore};
use crate::resumption::session::store::ServerSessionStore;

/// A store of both sides that counts its sessions.
#[derive(Default)]
struct CountingStore(Mutex<usize>);

impl CountingStore {
    fn count(&self) -> usize {
        *self.0.lock().unwrap()
    }
}

impl ServerSessionStore for CountingStore {
    fn put(&self, _: &[u8], _: Vec<u8>, _: UnixTime) {
        *self.0.lock().unwrap() += 1;
    }

    fn take(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn get(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn remove(&self, _: &[u8]) {}
}

impl ClientSessionStore for CountingStore {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        *self.0.lock().unwrap() += 1;
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }
}

/// A script that sends Finished; with `more`, the beginning of another message follows in the same
/// record.
fn finished(more: bool) -> impl FnMut(usize, Outgoing) -> Vec<Outgoing> {
    move |_, due| match due {
        Outgoing::Sealed(ContentType::HANDSHAKE, content)
            if more && content.first() == Some(&HandshakeType::FINISHED.0) =>
        {
            vec![Outgoing::Sealed(ContentType::HANDSHAKE, [&content[..], &[8]].concat())]
        }
        due => vec![due],
    }
}

fn check(outcome: &Outcome, more: bool, kept: usize) {
    if more {
        let excess = Error::Peer(PeerError::ExcessHandshakeData);
        assert!(matches!(outcome, Outcome::Failed(error) if *error == excess), "{outcome:?}");
    } else {
        assert!(matches!(outcome, Outcome::Connected(_)), "{outcome:?}");
    }
    assert_eq!(kept, usize::from(!more));
}

#[test]
fn a_session_is_stored_only_after_a_complete_handshake() {
    for more in [false, true] {
        let (of_client, of_server) =
            (Arc::new(CountingStore::default()), Arc::new(CountingStore::default()));
        let client = ClientConfig::builder()
            .versions(&[ProtocolVersion::TLS1_2])
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
            .session_store(of_client.clone())
            .build()
            .unwrap();
        let server = ServerConfig::builder()
            .credential(credential())
            .without_tickets()
            .session_store(Policy::Here(of_server.clone()))
            .build()
            .unwrap();
        let mut peer = ScriptedPeer::new(Task::server(server.clone()), Box::new(finished(more)));
        let outcome = peer.run(Handshake::client(client.clone(), name()));
        check(&outcome, more, of_client.count());

        *of_client.0.lock().unwrap() = 0;
        *of_server.0.lock().unwrap() = 0;
        let identity = ServerIdentity::new(name(), None);
        let mut peer = ScriptedPeer::new(
            Task::client(client, identity, Default::default()),
            Box::new(finished(more)),
        );
        let outcome = peer.run(Handshake::server(server));
        check(&outcome, more, of_server.count());
    }
}
