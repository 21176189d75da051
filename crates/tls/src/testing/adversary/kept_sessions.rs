//! What a handshake leaves in a store if the peer spoils it with its very last record. RFC 5246 7.2.2
//!
//! What it is for: the moment between the last message and the connection. Must not know: what a session is.
//! Next: [`super::puppet`].

use std::sync::{Arc, Mutex};

use pki_types::UnixTime;
use tercel_wire::{ContentType, HandshakeType, ProtocolVersion};

use super::cast::{credential, name};
use super::puppet::{Outcome, Puppet, Say};
use crate::config::client::ClientConfig;
use crate::config::policy::Policy;
use crate::config::server::ServerConfig;
use crate::config::verifier::AcceptAnyPeer;
use crate::error::{Error, Peer};
use crate::handshake::coroutine::Coroutine;
use crate::handshake::{Handshake, hello};
use crate::session::client_store::{ClientSessionKey, ClientSessionStore};
use crate::session::store::SessionStore;

/// A store of either side that counts what it is given.
#[derive(Default)]
struct Counting(Mutex<usize>);

impl Counting {
    fn count(&self) -> usize {
        *self.0.lock().unwrap()
    }
}

impl SessionStore for Counting {
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

impl ClientSessionStore for Counting {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        *self.0.lock().unwrap() += 1;
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }
}

/// The puppet's Finished, with the beginning of a further message behind it in its record if `more`.
fn finished(more: bool) -> impl FnMut(usize, Say) -> Vec<Say> {
    move |_, due| match due {
        Say::Sealed(ContentType::HANDSHAKE, content)
            if more && content.first() == Some(&HandshakeType::FINISHED.0) =>
        {
            vec![Say::Sealed(ContentType::HANDSHAKE, [&content[..], &[8]].concat())]
        }
        due => vec![due],
    }
}

fn check(outcome: &Outcome, more: bool, kept: usize) {
    if more {
        let excess = Error::Peer(Peer::ExcessHandshakeData);
        assert!(matches!(outcome, Outcome::Failed(error) if *error == excess), "{outcome:?}");
    } else {
        assert!(matches!(outcome, Outcome::Connected(_)), "{outcome:?}");
    }
    assert_eq!(kept, usize::from(!more));
}

#[test]
fn a_session_is_kept_when_its_handshake_is_complete_and_not_before() {
    for more in [false, true] {
        let (of_client, of_server) = (Arc::new(Counting::default()), Arc::new(Counting::default()));
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
        let puppet = |flow| Coroutine::new(|| hello::server(flow, server.clone()));
        let mut puppet = Puppet::new(puppet, Box::new(finished(more)));
        let outcome = puppet.play(Handshake::client(client.clone(), name()));
        check(&outcome, more, of_client.count());

        *of_client.0.lock().unwrap() = 0;
        *of_server.0.lock().unwrap() = 0;
        let to = ClientSessionKey::new(name(), None, [0; 32]);
        let puppet = |flow| Coroutine::new(|| hello::client(flow, client, to));
        let mut puppet = Puppet::new(puppet, Box::new(finished(more)));
        let outcome = puppet.play(Handshake::server(server));
        check(&outcome, more, of_server.count());
    }
}
