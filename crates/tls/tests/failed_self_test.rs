//! A kernel that fails its self-test is an event, once in a process. The failure lasts as long as
//! the process, so the test has a process of its own.
#![cfg(all(debug_assertions, feature = "tracing"))]

#[path = "exchange/event_collector.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod event_collector;

use std::sync::Arc;

use tercel::certificates::AcceptAnyPeer;
use tercel::{ClientConfig, Handshake, Policy, ReceiveBuffer};
use tracing::Level;

use event_collector::Collector;

#[test]
fn a_failed_self_test_is_an_event_once() {
    let verifier = Policy::Here(Arc::new(AcceptAnyPeer) as _);
    let config = ClientConfig::builder().verifier(verifier).build().unwrap();
    let collector = Collector::new(Level::WARN);
    let start = || {
        let name = "localhost".try_into().unwrap();
        let mut handshake = Handshake::client(Arc::clone(&config), name);
        handshake.advance(&mut ReceiveBuffer::new(), &mut Vec::new()).unwrap();
        collector.take()
    };
    assert!(start().is_empty() && tercel::crypto::self_tests().iter().all(|(_, failed)| !failed));

    tercel_crypto::deterministic::fail_self_test();
    let failed = tercel::crypto::self_tests().into_iter().filter(|(_, failed)| *failed);
    assert_eq!(failed.collect::<Vec<_>>(), [("rsa-2048", true)]);
    let events = start();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((event.level, &*event.target), (Level::ERROR, "tercel::self_test"));
    assert_eq!(event.get("primitive"), Some("rsa-2048"));
    assert_eq!(event.message(), "self-test failed; AWS-LC is used instead");
    assert!(start().is_empty());
}
