//! Loom models of threads that use session stores and the replay guard at once: `just loom`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loom::thread;
use pki_types::UnixTime;
use tercel_crypto::Secret;
use tercel_pki::ServerName;
use tercel_wire::CipherSuite;

use super::client_memory_store::ClientMemoryStore;
use super::replay_guard::ReplayGuard;
use super::server_memory_store::ServerMemoryStore;
use super::session::Session;
use super::session::client_session::ClientSession;
use super::session::client_store::{ClientSessionKey, ClientSessionStore};
use super::session::invalidation::StoredSession;
use super::session::server_session::ServerSession;
use super::session::store::ServerSessionStore;
use crate::keys::suite;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn session() -> Session {
    let suite = suite::find(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256).unwrap();
    Session { secret: Secret::new(&[5; 48]), ..Session::new(suite, 1, None) }
}

fn key() -> ClientSessionKey {
    ClientSessionKey::new(ServerName::try_from("server.example").unwrap(), None, [0; 32])
}

/// RFC 5246 7.2.2
#[test]
fn a_session_invalidated_while_it_is_put_back_is_removed() {
    loom::model(|| {
        let memory = Arc::new(ClientMemoryStore::new(1, 2));
        let store: Arc<dyn ClientSessionStore> = memory.clone();
        let session = Box::new(session());
        let stored = StoredSession::of_client(&session, &store, &key());
        // Another connection of the session ends with a fatal alert.
        let failing = thread::spawn({
            let stored = Arc::clone(&stored);
            move || stored.invalidate()
        });
        stored.put_unless_invalidated(|| {
            memory.put_session(&key(), ClientSession::new(session), at(100))
        });
        failing.join().unwrap();
        assert!(memory.take_session(&key(), at(1)).is_none());
    });
}

/// RFC 5246 7.2.2
#[test]
fn a_session_invalidated_while_it_is_put_into_another_store_is_not_used() {
    loom::model(|| {
        let memory = [(); 2].map(|()| Arc::new(ClientMemoryStore::new(1, 2)));
        let stores = memory.clone().map(|store| store as Arc<dyn ClientSessionStore>);
        let session = Box::new(session());
        let [first, second] = stores.each_ref().map(|store| {
            // The session refers to the first store.
            StoredSession::of_client(&session, store, &key())
        });
        let failing = thread::spawn(move || second.invalidate());
        first.put_unless_invalidated(|| {
            memory[0].put_session(&key(), ClientSession::new(session), at(100))
        });
        failing.join().unwrap();
        let left = memory[0].take_session(&key(), at(1));
        assert!(left.is_none_or(|left| StoredSession::is_session_invalidated(&left.into_inner())));
    });
}

/// A connection that looks up a session while another connection invalidates it finds no session,
/// or a session that is marked as invalid. RFC 5246 7.2.2
#[test]
fn a_session_invalidated_while_it_is_found_is_not_found_again() {
    loom::model(|| {
        let memory = Arc::new(ServerMemoryStore::new(8));
        let store: Arc<dyn ServerSessionStore> = memory.clone();
        let value = ServerSession::new(session());
        let stored = StoredSession::of_server(value.inner(), &store, [7; 32]);
        memory.put_session(&[7; 32], value, at(100));
        let failing = thread::spawn({
            let stored = Arc::clone(&stored);
            move || stored.invalidate()
        });
        let found = memory.get_session(&[7; 32], at(1));
        failing.join().unwrap();
        assert!(memory.get_session(&[7; 32], at(1)).is_none());
        assert!(!memory.claim(&[7; 32], at(1)));
        // A session that was found before the invalidation is marked as invalid too.
        assert!(found.is_none_or(|found| StoredSession::is_session_invalidated(found.inner())));
    });
}

/// A removal takes effect before or after a claim or put of the same ID, never in the middle.
#[test]
fn a_removal_is_atomic_with_a_claim_or_put_of_the_same_id() {
    for puts in [false, true] {
        let seen = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let note = Arc::clone(&seen);
        loom::model(move || {
            let store = Arc::new(ServerMemoryStore::new(8));
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
            assert!(puts || !left, "removed in either order");
            assert_eq!(store.claim(b"id", at(1)), left);
            assert!(store.claim(b"other", at(1)), "the other session is unaffected");
            note[usize::from(claimed || left)].store(true, Ordering::Relaxed);
        });
        assert!(
            seen.iter().all(|seen| seen.load(Ordering::Relaxed)),
            "one of the two orders did not occur"
        );
    }
}

/// Both threads remove a session that is stored as bytes, and then look it up. A lookup of such a
/// session returns a copy.
#[test]
fn after_two_concurrent_removals_neither_thread_finds_the_session() {
    loom::model(|| {
        let store = Arc::new(ServerMemoryStore::new(8));
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

/// If two insertions succeeded, replayed early data would be accepted. RFC 9846 8
#[test]
fn concurrent_insertions_of_one_value_admit_it_once() {
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

/// Single-use tickets are accepted once. RFC 9846 8.1
#[test]
fn concurrent_claims_of_a_session_succeed_once() {
    loom::model(|| {
        let store = Arc::new(ServerMemoryStore::new(8));
        store.put_session(b"id", ServerSession::new(session()), at(100));
        // Both threads have found the session.
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
