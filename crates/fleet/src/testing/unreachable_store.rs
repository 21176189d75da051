//! Stores that are slow, unreachable or reachable again; settings that are refused.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::fake_store::FakeStore;
use super::nodes::{Folder, LIMIT, Node, PATIENCE, wait_until};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::settings::{Settings, StoreSettings, TicketKeys};
use crate::store::Caller;

fn settings(url: String, folder: &Folder) -> Settings {
    let mut store = StoreSettings::new(url, folder.write("secret", &[b'x'; 32]));
    store.time_limit = LIMIT;
    Settings {
        ticket_keys: TicketKeys::Store,
        sessions: true,
        early_data: 1000,
        store: Some(store),
        ..Settings::default()
    }
}

#[tokio::test]
async fn only_the_requests_in_progress_wait_for_a_slow_store() {
    let fake = FakeStore::start();
    let node = Arc::new(Node::at(&fake.url()).await);
    fake.set_unresponsive(true);
    let began = Instant::now();
    let asking: Vec<_> = (0..100_u8)
        .map(|number| {
            let node = Arc::clone(&node);
            tokio::spawn(async move { node.sessions.look_up(&[number; 32]).await })
        })
        .collect();
    // They wait at the same time: one after the other, they would take longer than this limit.
    let all = async {
        for one in asking {
            assert_eq!(one.await.unwrap(), None);
        }
    };
    tokio::time::timeout(PATIENCE, all).await.unwrap();
    assert!(began.elapsed() >= LIMIT, "{:?}", began.elapsed());
    assert!(!node.store.is_connected());
    let asked = fake.requests();
    for number in 0..100 {
        assert_eq!(node.sessions.look_up(&[number; 32]).await, None);
    }
    assert_eq!(fake.requests(), asked);
    assert_eq!(node.counts().unavailable, 100);
    fake.set_unresponsive(false);
}

#[tokio::test]
async fn a_cancelled_request_does_not_disturb_others() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    for number in 0..50_u8 {
        let id = [number; 32];
        let asking = node.sessions.look_up(&id);
        let _ = tokio::time::timeout(Duration::ZERO, asking).await;
    }
    let mut get = redis::cmd("GET");
    get.arg("nothing");
    assert_eq!(
        node.store.run_command::<Option<String>>(Caller::Handshake, get).await.unwrap(),
        None
    );
    assert!(node.store.is_connected());
}

#[tokio::test]
async fn an_error_of_one_command_keeps_the_connection() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    let refused = node
        .store
        .run_command::<String>(Caller::Handshake, redis::cmd("NONSENSE"))
        .await
        .unwrap_err();
    assert!(matches!(refused, FleetError::Store(code) if code == "ERR"));
    assert!(node.store.is_connected());
    assert_eq!((node.counts().errors, node.counts().failures), (1, 0));
}

#[tokio::test]
async fn a_lost_store_is_reconnected() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let fleet = Fleet::connect(&settings(fake.url(), &folder)).unwrap();
    assert!(fleet.reached(PATIENCE).await);
    for connected in 2..=4 {
        fake.disconnect_all();
        wait_until("connected again", || fleet.counts().connected >= connected).await;
    }
    wait_until("connected", || fleet.state().store).await;
    // A store that accepts connections but does not respond counts as disconnected.
    fake.set_unresponsive(true);
    wait_until("disconnected", || !fleet.state().store).await;
    fake.set_unresponsive(false);
    wait_until("connected", || fleet.state().store).await;
    assert_eq!(fleet.counts().ticket_keys_changed, 1);
}

/// Runs a task that connects the node, and waits for the connection.
async fn start_store_task(node: &Node, fake: &FakeStore) -> JoinHandle<()> {
    node.store.set_connections(None);
    let task = node.store_task(&fake.url());
    let running = tokio::spawn(async move { task.run().await });
    wait_until("connected", || node.store.is_connected()).await;
    running
}

#[tokio::test]
async fn a_slow_store_is_still_the_same_store() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    let running = start_store_task(&node, &fake).await;
    node.observe().await.unwrap();
    let observed_epoch =
        || node.store.current().and_then(|connections| connections.observed_epoch.load_full());
    let before = observed_epoch().unwrap();
    fake.set_unresponsive(true);
    assert_eq!(node.sessions.look_up(&[7; 32]).await, None);
    wait_until("disconnected", || !node.store.is_connected()).await;
    fake.set_unresponsive(false);
    wait_until("reconnected", || node.store.is_connected()).await;
    assert_eq!(node.counts().connected, 1);
    assert!(Arc::ptr_eq(&before, &observed_epoch().unwrap()), "early data is admitted as before");
    // After a reconnection the address may belong to another store, so the epoch is checked again.
    fake.disconnect_all();
    wait_until("connected again", || node.counts().connected == 2 && node.store.is_connected())
        .await;
    assert!(observed_epoch().is_none());
    running.abort();
}

#[tokio::test]
async fn a_store_that_reports_itself_unusable_is_disconnected() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    let running = start_store_task(&node, &fake).await;
    *fake.shared.error.lock().unwrap() = Some("READONLY no writes here");
    assert_eq!(node.sessions.look_up(&[7; 32]).await, None);
    *fake.shared.error.lock().unwrap() = None;
    wait_until("connected again", || node.counts().connected == 2 && node.store.is_connected())
        .await;
    running.abort();
}

#[tokio::test]
async fn a_node_starts_without_a_reachable_store() {
    let folder = Folder::new();
    // A port that nothing listens on.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let fleet = Fleet::connect(&settings(format!("redis://{address}"), &folder)).unwrap();
    assert!(!fleet.reached(Duration::from_millis(50)).await);
    assert!(matches!(fleet.reload().await, Err(FleetError::StoreUnavailable)));
    let state = fleet.state();
    assert!(!state.store && !state.ticket_keys && !state.early_data);
}

#[tokio::test]
async fn the_thread_ends_with_the_last_clone() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let fleet = Fleet::connect(&settings(fake.url(), &folder)).unwrap();
    let answers = fleet.answers(tercel_tokio::Answers::new());
    assert!(fleet.reached(PATIENCE).await);
    drop(fleet);
    // Background requests continue while `answers` holds the node.
    let asked = fake.requests();
    wait_until("requests continue", || fake.requests() > asked).await;
    drop(answers);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = fake.requests();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(fake.requests(), asked, "no more requests");
}

#[test]
fn invalid_settings_are_refused_by_name() {
    let folder = Folder::new();
    let good = || settings("redis://127.0.0.1:1".to_owned(), &folder);
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = good();
        change(&mut settings);
        Fleet::connect(&settings).unwrap_err().to_string()
    };
    let store = |change: fn(&mut StoreSettings)| {
        refused(&|settings| change(settings.store.as_mut().unwrap()))
    };
    for (refusal, name) in [
        (refused(&|s| s.name = String::new()), "name: "),
        (refused(&|s| s.name = "a}".to_owned()), "name: "),
        (refused(&|s| s.ticket_lifetime = Duration::from_secs(59)), "ticket_lifetime: "),
        (refused(&|s| s.ticket_lifetime = Duration::from_secs(604_801)), "ticket_lifetime: "),
        (refused(&|s| s.store = None), "ticket_keys: "),
        (refused(&|s| (s.store, s.ticket_keys) = (None, TicketKeys::Own)), "sessions: "),
        (
            refused(&|s| (s.store, s.ticket_keys, s.sessions) = (None, TicketKeys::Own, false)),
            "early_data: ",
        ),
        (store(|s| s.connections = 0), "store.connections: "),
        (store(|s| s.connections = 65), "store.connections: "),
        (store(|s| s.time_limit = Duration::ZERO), "store.time_limit: "),
        (store(|s| s.connect_time_limit = Duration::ZERO), "store.connect_time_limit: "),
        (store(|s| s.clock_difference = Duration::from_millis(999)), "store.clock_difference: "),
        (store(|s| s.clock_difference = Duration::from_secs(61)), "store.clock_difference: "),
        (store(|s| s.url = "nowhere".to_owned()), "store.url: "),
        (store(|s| s.secret_file = "/nonexistent/secret".into()), "/nonexistent/secret: "),
    ] {
        assert!(refusal.starts_with(name), "{refusal}");
    }
    let short = folder.write("short", b"0123456789012345678901234567890\n\n\n");
    let refusal = refused(&|s| s.store.as_mut().unwrap().secret_file.clone_from(&short));
    assert!(refusal.ends_with("at least 32 bytes"), "{refusal}");
}
