//! Sessions and values that several threads want at once, in every interleaving: `just loom`.

use std::sync::Arc;
use std::time::Duration;

use loom::thread;
use pki_types::{ServerName, UnixTime};
use tercel_crypto::Secret;
use tercel_wire::{CipherSuite, ProtocolVersion};

use super::client_store::{ClientMemoryStore, ClientSessionKey, ClientSessionStore};
use super::client_value::ClientSession;
use super::replay_guard::ReplayGuard;
use super::server_value::ServerSession;
use super::state::Session;
use super::store::{MemoryStore, SessionStore};
use super::stored::StoredSession;
use crate::connection::facts::Facts;
use crate::keys::suite;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn session() -> Session {
    let suite = suite::find(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256).unwrap();
    let facts = Facts::new(ProtocolVersion::TLS1_2, suite.code);
    Session { secret: Secret::new(&[5; 48]), ..Session::of(suite, &facts, 1, None) }
}

fn key() -> ClientSessionKey {
    ClientSessionKey::new(ServerName::try_from("server.example").unwrap(), None, [0; 32])
}

/// RFC 5246 7.2.2
#[test]
fn a_session_that_is_forgotten_while_it_is_put_back_does_not_stay() {
    loom::model(|| {
        let memory = Arc::new(ClientMemoryStore::new(1, 2));
        let store: Arc<dyn ClientSessionStore> = memory.clone();
        let session = Box::new(session());
        let stored = StoredSession::of_client(&session, &store, &key());
        // Another connection of the session, which ends with an alert.
        let failing = thread::spawn({
            let stored = Arc::clone(&stored);
            move || stored.forget()
        });
        stored.put_back(|| memory.put_session(&key(), ClientSession::new(session), at(100)));
        failing.join().unwrap();
        assert!(memory.take_session(&key(), at(1)).is_none());
    });
}

/// RFC 5246 7.2.2
#[test]
fn a_session_that_one_store_forgets_while_it_is_put_into_another_does_not_stay() {
    loom::model(|| {
        let memory = [(); 2].map(|()| Arc::new(ClientMemoryStore::new(1, 2)));
        let stores = memory.clone().map(|store| store as Arc<dyn ClientSessionStore>);
        let session = Box::new(session());
        let [first, second] = stores.each_ref().map(|store| {
            // What is noted first is noted by the first.
            StoredSession::of_client(&session, store, &key())
        });
        let failing = thread::spawn(move || second.forget());
        first.put_back(|| memory[0].put_session(&key(), ClientSession::new(session), at(100)));
        failing.join().unwrap();
        let left = memory[0].take_session(&key(), at(1));
        assert!(left.is_none_or(|left| StoredSession::has_forgotten(&left.into_inner())));
    });
}

/// Early data would be accepted twice otherwise. RFC 9846 8
#[test]
fn of_two_who_bring_one_value_one_is_admitted() {
    loom::model(|| {
        let guard = Arc::new(ReplayGuard::new(8, at(0)));
        let bring = |guard: &ReplayGuard| guard.insert_once(b"binder", at(110), at(100));
        let other = thread::spawn({
            let guard = Arc::clone(&guard);
            move || bring(&guard)
        });
        let admitted = bring(&guard);
        assert!(admitted ^ other.join().unwrap());
        assert!(!bring(&guard));
    });
}

/// So no ticket is accepted twice. RFC 9846 8.1
#[test]
fn of_two_who_claim_a_session_one_gets_it() {
    loom::model(|| {
        let store = Arc::new(MemoryStore::new(8));
        store.put_session(b"id", ServerSession::new(session()), at(100));
        // Both have seen it.
        assert!(store.get_session(b"id", at(1)).is_some());
        let other = thread::spawn({
            let store = Arc::clone(&store);
            move || store.claim(b"id", at(1))
        });
        let claimed = store.claim(b"id", at(1));
        assert!(claimed ^ other.join().unwrap());
        assert!(store.get_session(b"id", at(1)).is_none());
    });
}
