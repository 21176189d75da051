//! Sessions and values that several threads want at once, in every interleaving: `just loom`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// A connection that finds it while another one has it forgotten either finds nothing or is told. RFC 5246 7.2.2
#[test]
fn a_session_that_is_forgotten_while_it_is_found_is_not_found_again() {
    loom::model(|| {
        let memory = Arc::new(MemoryStore::new(8));
        let store: Arc<dyn SessionStore> = memory.clone();
        let value = ServerSession::new(session());
        let stored = StoredSession::of_server(value.inner(), &store, [7; 32]);
        memory.put_session(&[7; 32], value, at(100));
        let failing = thread::spawn({
            let stored = Arc::clone(&stored);
            move || stored.forget()
        });
        let found = memory.get_session(&[7; 32], at(1));
        failing.join().unwrap();
        assert!(memory.get_session(&[7; 32], at(1)).is_none());
        assert!(!memory.claim(&[7; 32], at(1)));
        // Who has it already shares its place, and can see that it is forgotten.
        assert!(found.is_none_or(|found| StoredSession::has_forgotten(found.inner())));
    });
}

/// Of a removal and a claim, or a removal and a session that is put under the same id, either may come first.
#[test]
fn a_session_that_is_removed_while_it_is_claimed_or_put_is_there_whole_or_not_at_all() {
    for puts in [false, true] {
        let seen = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let note = Arc::clone(&seen);
        loom::model(move || {
            let store = Arc::new(MemoryStore::new(8));
            store.put_session(b"id", ServerSession::new(session()), at(100));
            store.put_session(b"other", ServerSession::new(session()), at(100));
            let removing = thread::spawn({
                let store = Arc::clone(&store);
                move || store.remove(b"id")
            });
            let claimed = !puts && store.claim(b"id", at(1));
            if puts {
                store.put_session(b"id", ServerSession::new(session()), at(100));
            }
            removing.join().unwrap();
            let left = store.get_session(b"id", at(1)).is_some();
            assert!(puts || !left, "it is gone whoever came first");
            assert_eq!(store.claim(b"id", at(1)), left);
            assert!(store.claim(b"other", at(1)), "another was not touched");
            note[usize::from(claimed || left)].store(true, Ordering::Relaxed);
        });
        assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed)), "one never came first");
    }
}

/// The same where the store knows nothing of values, and so has a copy in bytes for each who asks.
#[test]
fn of_two_who_forget_a_session_neither_finds_it() {
    loom::model(|| {
        let store = Arc::new(MemoryStore::new(8));
        store.put(b"id", session().to_stored_bytes().unwrap(), at(100));
        let other = thread::spawn({
            let store = Arc::clone(&store);
            move || {
                store.remove(b"id");
                store.get(b"id", at(1))
            }
        });
        store.remove(b"id");
        let found = store.take(b"id", at(1));
        assert!(found.is_none() && other.join().unwrap().is_none());
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
