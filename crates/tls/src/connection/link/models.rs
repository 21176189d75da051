//! Loom models of the signals between sender and receiver: `just loom`.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use loom::thread;
use pki_types::UnixTime;
use tercel_wire::{CipherSuite, ProtocolVersion};

use super::*;
use crate::connection::sender::Sender;
use crate::error::{Error, InternalError};
use crate::keys::suite;
use crate::record::sealer::Sealer;
use crate::resumption::session::Session;
use crate::resumption::session::store::ServerSessionStore;

/// Creates the sender of a TLS 1.3 connection.
fn sender(link: &Link) -> Sender {
    let suite = suite::find(CipherSuite::TLS_AES_128_GCM_SHA256).unwrap();
    let mut sender = Sender::new(Sealer::new(), ProtocolVersion::TLS1_3, WriteKeys::on(link));
    sender.install(Keys::from_bytes(suite, &[7; 32]).unwrap().into()).unwrap();
    sender
}

/// Returns the sender's traffic secret, which each key update replaces.
fn secret(link: &Link) -> Vec<u8> {
    link.0.write.lock().unwrap().as_ref().unwrap().as_bytes().to_vec()
}

/// RFC 9846 4.7.3
#[test]
fn each_request_for_an_update_is_followed_by_an_update() {
    loom::model(|| {
        let link = Link::default();
        let mut sender = sender(&link);
        let receiver = thread::spawn({
            let link = link.clone();
            move || {
                [(); 2].map(|()| {
                    let secret = secret(&link);
                    link.request_update();
                    secret
                })
            }
        });
        sender.control(&mut Vec::new()).unwrap();
        let secrets_asked_under = receiver.join().unwrap();
        sender.control(&mut Vec::new()).unwrap();
        assert!(link.is_quiet());
        assert!(!secrets_asked_under.contains(&secret(&link)), "an update was made too early");
        assert!((1..=2).contains(&sender.updates));
    });
}

#[test]
fn the_alert_of_a_failure_is_sent_once() {
    loom::model(|| {
        let link = Link::default();
        // The sender has no keys, so the alert is in plaintext.
        let keys = WriteKeys::on(&link);
        let mut sender = Sender::new(Sealer::new(), ProtocolVersion::TLS1_3, keys);
        let receiver = thread::spawn({
            let link = link.clone();
            move || link.fail(Some(AlertDescription::BAD_RECORD_MAC))
        });
        let mut out = Vec::new();
        sender.control(&mut out).unwrap();
        sender.control(&mut out).unwrap();
        receiver.join().unwrap();
        sender.control(&mut out).unwrap();
        assert_eq!(out, [21, 3, 3, 0, 2, 2, 20]);
        assert_eq!(
            sender.seal(b"data", &mut [0; 100]),
            Err(Error::Internal(InternalError::Failed))
        );
    });
}

#[test]
fn concurrent_signals_are_not_lost() {
    loom::model(|| {
        let link = Link::default();
        let mut sender = sender(&link);
        let receiver = thread::spawn({
            let link = link.clone();
            move || {
                link.request_update();
                link.update_arrived();
                link.peer_closed();
            }
        });
        sender.control(&mut Vec::new()).unwrap();
        sender.update_key(true, &mut Vec::new()).unwrap();
        receiver.join().unwrap();
        let awaited = link.signals().update_awaited();
        sender.control(&mut Vec::new()).unwrap();
        let signals = link.signals();
        assert!(signals.peer_closed() && !signals.update_requested());
        assert_eq!(signals.update_awaited(), awaited);
        assert_eq!(sender.updates, 2, "one was requested by the peer, one by this side");
        link.update_arrived();
        assert!(!link.signals().update_awaited());
    });
}

/// An empty store that counts removals.
#[derive(Default)]
struct RemovalCounter(AtomicUsize);

impl ServerSessionStore for RemovalCounter {
    fn put(&self, _: &[u8], _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn get(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn remove(&self, _: &[u8]) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// RFC 5246 7.2.2
#[test]
fn the_session_is_removed_once_if_sender_and_receiver_fail() {
    let suite = suite::find(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256).unwrap();
    loom::model(move || {
        let removals = Arc::new(RemovalCounter::default());
        let store: Arc<dyn ServerSessionStore> = removals.clone();
        let session = Session::new(suite, 1, None);
        let link = Link::default();
        link.invalidate_on_alert(StoredSession::of_server(&session, &store, [1; 32]));
        let receiver = thread::spawn({
            let link = link.clone();
            move || link.invalidate_session()
        });
        link.invalidate_session();
        receiver.join().unwrap();
        assert_eq!(removals.0.load(Relaxed), 1);
    });
}
