//! Stores that answer and are of no use: replicas, parts of a cluster, Sentinels, stores that are still loading.
//!
//! Must not know: what is kept. Next: `away.rs` for stores that do not answer.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Event, Level, Metadata, Subscriber};

use super::fake::Fake;
use super::nodes::{Node, until};
use crate::StoreSettings;
use crate::store::dial::Address;

const USELESS: [(&str, &str); 6] = [
    ("MOVED 3999 192.0.2.1:6381", "cluster"),
    ("ASK 3999 192.0.2.1:6381", "cluster"),
    ("CLUSTERDOWN Hash slot not served", "cluster"),
    ("READONLY You can't write against a read only replica.", "replica"),
    ("LOADING the dataset is in memory soon", "loading"),
    ("ERR unknown command 'SET'", "Sentinel"),
];

/// Warnings of this thread, as a log would have them.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        *about.level() <= Level::WARN && about.target().starts_with("tercel_fleet")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_away_and_one_line_says_why() {
    for (answer, word) in USELESS {
        let fake = Fake::start();
        let node = Node::at(&fake.url()).await;
        node.store.set(None);
        *fake.shared.error.lock().unwrap() = Some(answer);
        let warnings = Warnings::default();
        let told = set_default(warnings.clone());
        let keeper = node.keeper(&fake.url());
        let keeping = tokio::spawn(async move { keeper.keep().await });
        let asked = fake.asked();
        // Several attempts.
        until("it is tried again", || fake.asked() >= asked + 6).await;
        assert!(!node.store.is_there(), "{answer}");
        assert_eq!(node.sessions.look_up(&[7; 32], false).await, None);
        let lines = warnings.0.lock().unwrap().clone();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(word) && lines[0].contains(&answer[..3]), "{lines:?}");
        // Addresses and what else the store says are not repeated.
        assert!(!lines[0].contains("192.0.2.1"), "{lines:?}");
        *fake.shared.error.lock().unwrap() = None;
        until("it is there", || node.store.is_there()).await;
        assert!(fake.data().is_empty(), "the look has written something");
        drop(told);
        keeping.abort();
    }
}

/// Only what answers a `SET` like that does not know it.
#[tokio::test]
async fn a_store_with_no_room_for_a_connection_is_not_called_a_sentinel() {
    let fake = Fake::start();
    *fake.shared.error.lock().unwrap() = Some("ERR max number of clients reached");
    let address = Address::of(&StoreSettings::new(fake.url(), "")).unwrap();
    let refused = address.dial(&Arc::new(Notify::new())).await.err().unwrap();
    assert_eq!(refused, "ERR");
}

#[tokio::test]
async fn a_store_that_becomes_useless_is_left_with_the_reason() {
    for (answer, word) in USELESS.into_iter().filter(|(answer, _)| !answer.starts_with("ERR")) {
        let fake = Fake::start();
        let node = Node::at(&fake.url()).await;
        node.store.set(None);
        let warnings = Warnings::default();
        let _told = set_default(warnings.clone());
        let keeper = node.keeper(&fake.url());
        let keeping = tokio::spawn(async move { keeper.keep().await });
        until("there", || node.store.is_there()).await;
        *fake.shared.error.lock().unwrap() = Some(answer);
        assert_eq!(node.sessions.look_up(&[7; 32], false).await, None);
        assert!(!node.store.is_there(), "{answer}");
        let asked = fake.asked();
        until("it is tried again", || fake.asked() >= asked + 6).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(!node.store.is_there(), "{answer}");
        let lines = warnings.0.lock().unwrap().clone();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(word) && lines[0].contains("away"), "{lines:?}");
        keeping.abort();
    }
}
