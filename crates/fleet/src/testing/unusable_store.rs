//! Stores that reply but cannot be used: replicas, cluster members, Sentinels, stores that are
//! loading.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Event, Level, Metadata, Subscriber};

use super::fake_store::FakeStore;
use super::nodes::{Node, wait_until};
use crate::settings::StoreSettings;
use crate::store::client::StoreAddress;

const UNUSABLE: [(&str, &str); 6] = [
    ("MOVED 3999 192.0.2.1:6381", "cluster"),
    ("ASK 3999 192.0.2.1:6381", "cluster"),
    ("CLUSTERDOWN Hash slot not served", "cluster"),
    ("READONLY You can't write against a read only replica.", "replica"),
    ("LOADING the dataset is in memory soon", "loading"),
    ("ERR unknown command 'SET'", "Sentinel"),
];

/// The warnings of this thread, as a log would show them.
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
        let mut line = FieldText(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct FieldText(String);

impl Visit for FieldText {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

#[tokio::test]
async fn an_unusable_store_is_logged_once_with_its_reason() {
    for (answer, word) in UNUSABLE {
        let fake = FakeStore::start();
        let node = Node::at(&fake.url()).await;
        node.store.set_connections(None);
        *fake.shared.error.lock().unwrap() = Some(answer);
        let warnings = Warnings::default();
        let told = set_default(warnings.clone());
        let task = node.store_task(&fake.url());
        let running = tokio::spawn(async move { task.run().await });
        let asked = fake.requests();
        // The node tries several times, but logs one warning.
        wait_until("another attempt", || fake.requests() >= asked + 6).await;
        assert!(!node.store.is_connected(), "{answer}");
        assert_eq!(node.sessions.look_up(&[7; 32]).await, None);
        let lines = warnings.0.lock().unwrap().clone();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(word) && lines[0].contains(&answer[..3]), "{lines:?}");
        // The log does not contain addresses or other text of the store's error message.
        assert!(!lines[0].contains("192.0.2.1"), "{lines:?}");
        *fake.shared.error.lock().unwrap() = None;
        wait_until("connected", || node.store.is_connected()).await;
        assert!(fake.data().is_empty(), "the check has written something");
        drop(told);
        running.abort();
    }
}

/// Only a Sentinel rejects `SET` as an unknown command. A store that rejects it for another reason
/// is not a Sentinel.
#[tokio::test]
async fn a_store_at_its_connection_limit_is_not_called_a_sentinel() {
    let fake = FakeStore::start();
    *fake.shared.error.lock().unwrap() = Some("ERR max number of clients reached");
    let address = StoreAddress::of(&StoreSettings::new(fake.url(), "")).unwrap();
    let refused = address.connect(&Arc::new(Notify::new())).await.err().unwrap();
    assert_eq!(refused, "ERR");
}

#[tokio::test]
async fn a_store_that_becomes_unusable_is_disconnected_with_the_reason() {
    for (answer, word) in UNUSABLE.into_iter().filter(|(answer, _)| !answer.starts_with("ERR")) {
        let fake = FakeStore::start();
        let node = Node::at(&fake.url()).await;
        node.store.set_connections(None);
        let warnings = Warnings::default();
        let _told = set_default(warnings.clone());
        let task = node.store_task(&fake.url());
        let running = tokio::spawn(async move { task.run().await });
        wait_until("connected", || node.store.is_connected()).await;
        *fake.shared.error.lock().unwrap() = Some(answer);
        assert_eq!(node.sessions.look_up(&[7; 32]).await, None);
        assert!(!node.store.is_connected(), "{answer}");
        let asked = fake.requests();
        wait_until("another attempt", || fake.requests() >= asked + 6).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(!node.store.is_connected(), "{answer}");
        let lines = warnings.0.lock().unwrap().clone();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(word) && lines[0].contains("connection lost"), "{lines:?}");
        running.abort();
    }
}
