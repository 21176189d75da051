//! What the two halves tell each other while both are at work, in every interleaving: `just loom`.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use loom::thread;
use pki_types::UnixTime;
use tercel_wire::{CipherSuite, ProtocolVersion};

use super::*;
use crate::connection::facts::Facts;
use crate::connection::sender::Sender;
use crate::error::{Error, Local};
use crate::keys::suite;
use crate::record::sealer::Sealer;
use crate::session::state::Session;
use crate::session::store::SessionStore;

/// Of a connection of TLS 1.3.
fn sender(link: &Link) -> Sender {
    let suite = suite::find(CipherSuite::TLS_AES_128_GCM_SHA256).unwrap();
    let mut sender = Sender::new(Sealer::new(), ProtocolVersion::TLS1_3, WriteKeys::on(link));
    sender.install(Keys::from_bytes(suite, &[7; 32]).unwrap().into()).unwrap();
    sender
}

/// The sender's traffic secret, which each key update replaces.
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
fn a_failure_is_told_once_and_with_its_alert() {
    loom::model(|| {
        let link = Link::default();
        // Without keys, so that the alert can be read.
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
        assert_eq!(sender.seal(b"data", &mut [0; 100]), Err(Error::Local(Local::Failed)));
    });
}

#[test]
fn what_one_half_says_takes_nothing_of_the_other_away() {
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
        assert_eq!(sender.updates, 2, "one was asked for, one was our own");
        link.update_arrived();
        assert!(!link.signals().update_awaited());
    });
}

/// A store in which nothing is, and which counts what is to leave it.
#[derive(Default)]
struct Leaving(AtomicUsize);

impl SessionStore for Leaving {
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
fn of_two_halves_that_fail_one_has_the_session_forgotten() {
    let suite = suite::find(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256).unwrap();
    let facts = Facts::new(ProtocolVersion::TLS1_2, suite.code);
    loom::model(move || {
        let leaving = Arc::new(Leaving::default());
        let store: Arc<dyn SessionStore> = leaving.clone();
        let session = Session::of(suite, &facts, 1, None);
        let link = Link::default();
        link.forget_on_alert(StoredSession::of_server(&session, &store, [1; 32]));
        let receiver = thread::spawn({
            let link = link.clone();
            move || link.forget_session()
        });
        link.forget_session();
        receiver.join().unwrap();
        assert_eq!(leaving.0.load(Relaxed), 1);
    });
}
