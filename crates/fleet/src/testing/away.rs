//! A store that is slow, gone or back; and settings that cannot be.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::fake::Fake;
use super::nodes::{Folder, LIMIT, Node, until};
use crate::store::Waits;
use crate::{Fleet, FleetError, Settings, StoreSettings, TicketKeys};

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
async fn a_slow_store_is_waited_for_once() {
    let fake = Fake::start();
    let node = Arc::new(Node::at(&fake.url()).await);
    fake.set_deaf(true);
    let began = Instant::now();
    let asking: Vec<_> = (0..100_u8)
        .map(|number| {
            let node = Arc::clone(&node);
            tokio::spawn(async move { node.sessions.look_up(&[number; 32], false).await })
        })
        .collect();
    for one in asking {
        assert_eq!(one.await.unwrap(), None);
    }
    assert!(began.elapsed() >= LIMIT && began.elapsed() < 10 * LIMIT, "{:?}", began.elapsed());
    assert!(!node.store.is_there());
    let (asked, began) = (fake.asked(), Instant::now());
    for number in 0..100 {
        assert_eq!(node.sessions.look_up(&[number; 32], false).await, None);
    }
    assert!(began.elapsed() < LIMIT, "answered at once");
    assert_eq!(fake.asked(), asked);
    assert_eq!(node.counts().away, 100);
    fake.set_deaf(false);
}

#[tokio::test]
async fn a_question_that_is_dropped_disturbs_no_other() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    for number in 0..50_u8 {
        let id = [number; 32];
        let asking = node.sessions.look_up(&id, false);
        let _ = tokio::time::timeout(Duration::ZERO, asking).await;
    }
    let mut get = redis::cmd("GET");
    get.arg("nothing");
    assert_eq!(node.store.ask::<Option<String>>(Waits::Handshake, get).await.unwrap(), None);
    assert!(node.store.is_there());
}

#[tokio::test]
async fn an_error_of_one_command_is_no_reason_to_leave() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    let refused =
        node.store.ask::<String>(Waits::Handshake, redis::cmd("NONSENSE")).await.unwrap_err();
    assert!(matches!(refused, FleetError::Store(code) if code == "ERR"));
    assert!(node.store.is_there());
    assert_eq!((node.counts().errors, node.counts().failures), (1, 0));
}

#[tokio::test]
async fn a_store_that_was_lost_is_found_again() {
    let (fake, folder) = (Fake::start(), Folder::new());
    let fleet = Fleet::connect(&settings(fake.url(), &folder)).unwrap();
    assert!(fleet.reached(Duration::from_secs(10)).await);
    for connected in 2..=4 {
        fake.hang_up();
        until("connected again", || fleet.counts().connected >= connected).await;
    }
    until("there", || fleet.state().store).await;
    // Deaf, it accepts connections and is not believed.
    fake.set_deaf(true);
    until("away", || !fleet.state().store).await;
    fake.set_deaf(false);
    until("there", || fleet.state().store).await;
    assert_eq!(fleet.counts().ticket_keys_changed, 1);
}

/// Leaves the node's store to a keeper that has just found it.
async fn keep(node: &Node, fake: &Fake) -> JoinHandle<()> {
    node.store.set(None);
    let keeper = node.keeper(&fake.url());
    let keeping = tokio::spawn(async move { keeper.keep().await });
    until("there", || node.store.is_there()).await;
    keeping
}

#[tokio::test]
async fn a_store_that_was_late_is_the_same_store() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    let keeping = keep(&node, &fake).await;
    node.look().await.unwrap();
    let standing = || node.store.current().and_then(|lines| lines.standing.load_full());
    let before = standing().unwrap();
    fake.set_deaf(true);
    assert_eq!(node.sessions.look_up(&[7; 32], false).await, None);
    until("away", || !node.store.is_there()).await;
    fake.set_deaf(false);
    until("there again", || node.store.is_there()).await;
    assert_eq!(node.counts().connected, 1);
    assert!(Arc::ptr_eq(&before, &standing().unwrap()), "early data is admitted as before");
    // Other connections may lead to another store.
    fake.hang_up();
    until("connected again", || node.counts().connected == 2 && node.store.is_there()).await;
    assert!(standing().is_none());
    keeping.abort();
}

#[tokio::test]
async fn a_store_that_says_it_is_of_no_use_is_left() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    let keeping = keep(&node, &fake).await;
    *fake.shared.error.lock().unwrap() = Some("READONLY no writes here");
    assert_eq!(node.sessions.look_up(&[7; 32], false).await, None);
    *fake.shared.error.lock().unwrap() = None;
    until("connected again", || node.counts().connected == 2 && node.store.is_there()).await;
    keeping.abort();
}

#[tokio::test]
async fn a_store_need_not_be_there_at_the_start() {
    let folder = Folder::new();
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let fleet = Fleet::connect(&settings(format!("redis://{address}"), &folder)).unwrap();
    assert!(!fleet.reached(Duration::from_millis(50)).await);
    assert!(matches!(fleet.reload().await, Err(FleetError::Away)));
    let state = fleet.state();
    assert!(!state.store && !state.ticket_keys && !state.early_data);
}

#[tokio::test]
async fn what_it_runs_ends_with_the_last_clone() {
    let (fake, folder) = (Fake::start(), Folder::new());
    let fleet = Fleet::connect(&settings(fake.url(), &folder)).unwrap();
    let answers = fleet.answers(tercel_tokio::Answers::new());
    assert!(fleet.reached(Duration::from_secs(10)).await);
    drop(fleet);
    // The answers still need it.
    let asked = fake.asked();
    until("still looking", || fake.asked() > asked).await;
    drop(answers);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let asked = fake.asked();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(fake.asked(), asked, "nobody looks any more");
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
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
