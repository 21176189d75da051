//! Servers with one name and several ports: their sessions are separate.

use std::sync::{Arc, Mutex};

use tercel::pki_types::UnixTime;
use tercel::session::{ClientSessionKey, ClientSessionStore};

use crate::fixtures::{NAME, client, server};
use crate::pair::Pair;
use crate::resumption::VERSIONS;

#[test]
fn a_session_is_resumed_at_its_own_port_only() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        // All ports lead to the same server, so only the client distinguishes them.
        let server = server().build().unwrap();
        let visit = |port: Option<u16>| {
            let pair = match port {
                Some(port) => Pair::at(&client, &server, NAME, port),
                None => Pair::new(&client, &server, NAME),
            };
            let mut ends = pair.connect().unwrap();
            ends.talk();
            ends.client.connection.info.resumed
        };
        let ports = [Some(443), Some(8443), None];
        assert_eq!(ports.map(visit), [false; 3], "{version}");
        assert_eq!(ports.map(visit), [true; 3], "{version}");
    }
}

/// A store that records the keys, and stores no session.
#[derive(Default)]
struct RecordingStore(Mutex<Vec<ClientSessionKey>>);

impl ClientSessionStore for RecordingStore {
    fn put(&self, key: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        self.0.lock().unwrap().push(key.clone());
    }

    fn take(&self, key: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.0.lock().unwrap().push(key.clone());
        None
    }
}

#[test]
fn sessions_are_taken_and_put_under_the_same_key() {
    for version in VERSIONS {
        let keys = Arc::new(RecordingStore::default());
        let client = client().versions(&[version]).session_store(keys.clone()).build().unwrap();
        let server = server().build().unwrap();
        let keys_of = |pair: Pair<'_>| {
            pair.connect().unwrap().talk();
            let mut keys = core::mem::take(&mut *keys.0.lock().unwrap());
            assert!(keys.len() > 1, "{version}: nothing was put");
            keys.dedup();
            assert_eq!(keys.len(), 1, "{version}");
            keys.remove(0)
        };
        let at_a_port = keys_of(Pair::at(&client, &server, NAME, 443));
        assert_ne!(at_a_port, keys_of(Pair::new(&client, &server, NAME)));
    }
}
