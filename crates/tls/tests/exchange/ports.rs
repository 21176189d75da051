//! Servers of one name at several ports: their sessions are never mixed.
//!
//! Must not know: what a session looks like. Next: `resumption.rs`.

use std::sync::{Arc, Mutex};

use tercel::pki_types::UnixTime;
use tercel::{ClientSessionKey, ClientSessionStore};

use crate::identity::{NAME, client, server};
use crate::pair::Pair;
use crate::resumption::VERSIONS;

#[test]
fn a_session_is_resumed_at_its_own_port_only() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        // One server behind all ports: only the client can keep them apart.
        let server = server().build().unwrap();
        let visit = |port: Option<u16>| {
            let pair = match port {
                Some(port) => Pair::at(&client, &server, NAME, port),
                None => Pair::new(&client, &server, NAME),
            };
            let mut ends = pair.connect().unwrap();
            ends.talk();
            ends.client.connection.facts.resumed
        };
        let ports = [Some(443), Some(8443), None];
        assert_eq!(ports.map(visit), [false; 3], "{version}");
        assert_eq!(ports.map(visit), [true; 3], "{version}");
    }
}

/// Takes the keys down, and keeps nothing.
#[derive(Default)]
struct Keys(Mutex<Vec<ClientSessionKey>>);

impl ClientSessionStore for Keys {
    fn put(&self, key: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        self.0.lock().unwrap().push(key.clone());
    }

    fn take(&self, key: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.0.lock().unwrap().push(key.clone());
        None
    }
}

#[test]
fn looking_for_a_session_and_keeping_one_go_by_the_same_key() {
    for version in VERSIONS {
        let keys = Arc::new(Keys::default());
        let client = client().versions(&[version]).session_store(keys.clone()).build().unwrap();
        let server = server().build().unwrap();
        let keys_of = |pair: Pair<'_>| {
            pair.connect().unwrap().talk();
            let mut keys = core::mem::take(&mut *keys.0.lock().unwrap());
            assert!(keys.len() > 1, "{version}: nothing was kept");
            keys.dedup();
            assert_eq!(keys.len(), 1, "{version}");
            keys.remove(0)
        };
        let at_a_port = keys_of(Pair::at(&client, &server, NAME, 443));
        assert_ne!(at_a_port, keys_of(Pair::new(&client, &server, NAME)));
    }
}
