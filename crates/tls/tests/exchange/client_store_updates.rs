//! Sessions of TLS 1.2 that a resumption stores again at the client.
//!
//! The stored bytes stay the same if the session has not changed. Otherwise new bytes are stored.

use std::sync::Arc;

use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{
    Policy,
    session::{RotatingTickets, ServerMemoryStore},
};

use crate::fixtures::{NAME, client, server};
use crate::pair::Pair;
use crate::resumption::visit;
use crate::server_sessions::SingleSessionStore;

#[test]
fn an_unchanged_session_is_put_back_with_the_same_bytes() {
    let store = Policy::Here(Arc::new(ServerMemoryStore::new(100)) as _);
    for server in [server(), server().without_tickets().session_store(store)] {
        let server = server.build().unwrap();
        let drawer = Arc::new(SingleSessionStore::default());
        let client = client().versions(&[ProtocolVersion::TLS1_2]).session_store(drawer.clone());
        let client = client.build().unwrap();
        assert!(!visit(&client, &server));
        let first = drawer.session.lock().unwrap().clone();
        assert!(first.is_some());
        for _ in 0..2 {
            assert!(visit(&client, &server));
            assert!(*drawer.session.lock().unwrap() == first);
        }
    }
}

#[test]
fn a_session_with_another_protocol_is_encoded_again() {
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let with = |protocol: &[u8]| {
        let tickets = tickets.clone();
        server().tickets(tickets).alpn(&[protocol]).build().unwrap()
    };
    let drawer = Arc::new(SingleSessionStore::default());
    let client = client().versions(&[ProtocolVersion::TLS1_2]).session_store(drawer.clone());
    let client = client.alpn(&["one", "another"]).build().unwrap();
    let names = |protocol: &[u8]| {
        let kept = drawer.session.lock().unwrap();
        kept.as_ref().unwrap().windows(protocol.len()).any(|window| window == protocol)
    };
    assert!(!visit(&client, &with(b"one")));
    assert!(names(b"one") && !names(b"another"));
    let ends = Pair::new(&client, &with(b"another"), NAME).connect().unwrap();
    assert!(ends.client.connection.info.resumed);
    assert!(names(b"another") && !names(b"one"));
    assert!(visit(&client, &with(b"another")), "the new bytes are a session");
}

#[test]
fn copies_of_a_configuration_have_stores_of_their_own() {
    let server = server().build().unwrap();
    let original = Arc::new(SingleSessionStore::default());
    let config = client().session_store(original.clone()).build().unwrap();
    let stores = [(); 2].map(|()| Arc::new(SingleSessionStore::default()));
    let [first, second] = stores.clone().map(|store| config.with_session_store(store));
    assert!(!visit(&first, &server));
    assert!(!visit(&second, &server), "the session is in the other store");
    assert!(visit(&first, &server));
    assert!(original.session.lock().unwrap().is_none());

    let store = stores[0].clone();
    let without = client().without_resumption().build().unwrap().with_session_store(store);
    assert!(!visit(&without, &server) && !visit(&without, &server));
}
