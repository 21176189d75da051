//! The replay guard, with a store that loses data, is replaced, has a wrong clock or becomes
//! unavailable.

use std::time::Duration;

use tercel::pki_types::UnixTime;
use tokio::time::{advance, pause, resume};

use super::fake_store::FakeStore;
use super::nodes::{BLIND, BLIND_FOR_ANY, DIFFERENCE, Node, PARAMETERS, at};
use crate::early_data::Parameters;
use crate::fleet::Fleet;
use crate::settings::Settings;

/// Advances the monotonic clock of the node without waiting.
async fn advance_clock(time: Duration) {
    pause();
    advance(time).await;
    resume();
}

/// A node after its blind time.
async fn admitting_node(fake: &FakeStore) -> Node {
    let node = Node::at(&fake.url()).await;
    node.observe().await.unwrap();
    advance_clock(BLIND_FOR_ANY).await;
    node.observe().await.unwrap();
    node
}

#[tokio::test]
async fn what_one_node_admitted_no_node_admits_again() {
    let fake = FakeStore::start();
    let (a, b) = (admitting_node(&fake).await, admitting_node(&fake).await);
    advance_clock(BLIND).await;
    assert!(a.admit(b"binder").await);
    assert!(!a.admit(b"binder").await);
    assert!(!b.admit(b"binder").await);
    assert!(b.admit(b"another").await);
    assert_eq!((a.counts().early_data_admitted, a.counts().early_data_replayed), (1, 1));
    assert_eq!((b.counts().early_data_admitted, b.counts().early_data_replayed), (1, 1));
}

#[tokio::test]
async fn of_two_nodes_at_once_one_admits() {
    let fake = FakeStore::start();
    let (a, b) = (admitting_node(&fake).await, admitting_node(&fake).await);
    advance_clock(BLIND).await;
    for round in 0..20_u8 {
        let binder = [round];
        let (a, b) = tokio::join!(a.admit(&binder), b.admit(&binder));
        assert!(a ^ b, "round {round}: {a} {b}");
    }
}

#[tokio::test]
async fn after_a_start_a_node_is_blind_while_a_hello_can_be_fresh() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    assert!(!node.admit(b"before it looked").await);
    node.observe().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    advance_clock(BLIND_FOR_ANY - Duration::from_secs(2)).await;
    node.observe().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    assert_eq!(node.counts().early_data_unknown, 3);
    advance_clock(Duration::from_secs(2)).await;
    assert!(node.guard.admits() && node.admit(b"binder").await);
}

#[tokio::test]
async fn an_emptied_store_is_detected() {
    let fake = FakeStore::start();
    let (a, b) = (admitting_node(&fake).await, admitting_node(&fake).await);
    advance_clock(BLIND).await;
    assert!(a.admit(b"binder").await);
    // Both nodes check the store, as their background tasks do every second.
    a.observe().await.unwrap();
    b.observe().await.unwrap();
    fake.set_data(Default::default());
    assert!(!a.admit(b"binder").await);
    // One node begins a new epoch; the other has not checked since.
    a.observe().await.unwrap();
    assert!(!b.admit(b"binder").await);
    b.observe().await.unwrap();
    for node in [&a, &b] {
        assert!(!node.guard.admits() && !node.admit(b"binder").await);
    }
    advance_clock(BLIND).await;
    assert!(b.admit(b"of a later hello").await);
}

#[tokio::test]
async fn an_old_snapshot_does_not_restore_an_old_epoch() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    let snapshot = fake.data();
    assert!(node.admit(b"binder").await);
    // The store has a new process ID.
    fake.set_data(snapshot.clone());
    fake.set_info("server", "run_id:one", "run_id:two");
    fake.set_info("replication", "master_replid:first", "master_replid:second");
    fake.disconnect_all();
    assert!(!node.admit(b"binder").await);
    node.connect().await;
    assert!(!node.admit(b"binder").await);
    node.observe().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    assert_eq!(fake.data().len(), snapshot.len() + 1, "an epoch of its own");
}

#[tokio::test]
async fn a_promotion_is_detected_on_an_open_connection() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    assert!(node.admit(b"binder").await);
    // The data has the old epoch, as on a promoted replica that lacks the last entry.
    let mut lagging = fake.data();
    lagging.retain(|key, _| String::from_utf8_lossy(key).contains("epoch"));
    fake.set_data(lagging);
    fake.set_info("replication", "master_replid:first", "master_replid:second");
    assert!(!node.admit(b"binder").await);
    node.observe().await.unwrap();
    assert!(!node.guard.admits());
}

#[tokio::test]
async fn a_store_that_may_lose_entries_is_refused_with_a_reason() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    for (section, from, to, reason) in [
        ("memory", "noeviction", "allkeys-lru", "maxmemory-policy"),
        ("replication", "connected_slaves:0", "connected_slaves:1", "min-replicas-to-write"),
        ("replication", "role:master", "role:slave", "replica"),
    ] {
        fake.set_info(section, from, to);
        assert!(node.observe().await.unwrap_err().contains(reason), "{to}");
        assert!(!node.admit(b"binder").await);
        fake.set_info(section, to, from);
        node.observe().await.unwrap();
        assert!(!node.guard.admits(), "blind after {to}");
        advance_clock(BLIND).await;
        assert!(node.guard.admits());
    }
    // Between two checks, the transaction itself detects that a replica has connected.
    fake.set_info("replication", "connected_slaves:0", "connected_slaves:1");
    assert!(!node.admit(b"binder").await);
}

#[tokio::test]
async fn with_replicas_a_node_is_blind_for_a_minute_more() {
    let fake = FakeStore::start();
    fake.set_info(
        "replication",
        "connected_slaves:0",
        "connected_slaves:1\r\nmin_slaves_good_slaves:1",
    );
    let node = admitting_node(&fake).await;
    assert!(!node.guard.admits());
    advance_clock(Duration::from_secs(60)).await;
    // The connect time limit is added as well.
    assert!(!node.guard.admits());
    advance_clock(node.store.connect_time_limit()).await;
    assert!(node.guard.admits() && node.admit(b"binder").await);
}

#[tokio::test]
async fn clocks_that_differ_are_refused() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    fake.set_offset(Duration::from_secs(DIFFERENCE - 1), false);
    assert!(node.admit(b"near enough").await);
    fake.set_offset(Duration::from_secs(DIFFERENCE + 2), false);
    assert!(!node.admit(b"too far").await);
    assert!(node.observe().await.unwrap_err().contains("clocks"));
}

#[tokio::test]
async fn a_store_whose_clock_was_set_back_is_refused() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    fake.set_offset(Duration::from_secs(DIFFERENCE - 1), false);
    assert!(node.admit(b"binder").await);
    // The store's clock is still near the clock of the node, but earlier than before.
    fake.set_offset(Duration::from_secs(0), false);
    assert!(!node.admit(b"another").await);
    assert!(node.observe().await.unwrap_err().contains("went back"));
}

/// A process may be suspended after it checks the age of a ClientHello and before it sends the
/// request to the store, for longer than an entry lives.
#[tokio::test]
async fn early_data_that_was_delayed_since_it_was_judged_is_refused() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    let now = UnixTime::now().as_secs();
    for (checked_at, is_admitted) in [
        (now - DIFFERENCE - 2, false),
        (now - DIFFERENCE + 2, true),
        (now + DIFFERENCE - 2, true),
        (now + DIFFERENCE + 2, false),
    ] {
        let hello = checked_at.to_be_bytes();
        assert_eq!(node.guard.admit(&hello, at(checked_at)).await, is_admitted, "{checked_at}");
        node.observe().await.unwrap();
        advance_clock(BLIND).await;
    }
}

#[tokio::test]
async fn a_guard_refuses_while_another_may_admit_and_for_a_blind_time_after() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    let still = Duration::from_secs(15);
    node.guard.start_after_other_guard(still);
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    advance_clock(still + BLIND - Duration::from_secs(2)).await;
    node.observe().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    advance_clock(Duration::from_secs(2)).await;
    assert!(node.guard.admits() && node.admit(b"binder").await);
}

#[tokio::test]
async fn a_narrower_window_shortens_the_blind_time() {
    let settings =
        |window| Settings { freshness_window: Duration::from_secs(window), ..Settings::default() };
    for (window, blind) in [(60, 122), (10, 22), (2, 6)] {
        let fleet = Fleet::connect(&settings(window)).unwrap();
        assert_eq!(fleet.blind_time(), Duration::from_secs(blind));
    }
    for window in [0, 1, 61] {
        let refused = Fleet::connect(&settings(window)).unwrap_err().to_string();
        assert!(refused.starts_with("freshness_window: "), "{refused}");
    }
}

#[tokio::test]
async fn entries_outlive_every_hello() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    assert!(node.admit(b"binder").await);
    let ends: Vec<_> = fake
        .data()
        .into_values()
        .filter_map(|(value, end)| (value == b"1").then_some(end))
        .collect();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    let left = u128::try_from(ends[0].unwrap()).unwrap() - now;
    assert_eq!(ends.len(), 1);
    assert!(left > (2 * BLIND - Duration::from_secs(5)).as_millis());
    assert!(
        BLIND
            > tercel::session::ReplayGuard::freshness_period(Duration::from_secs(60))
                + 2 * Duration::from_secs(DIFFERENCE)
    );
}

#[tokio::test]
async fn an_unavailable_or_refusing_store_admits_nothing() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    *fake.shared.error.lock().unwrap() = Some("OOM no room");
    assert!(!node.admit(b"binder").await);
    assert!(node.store.is_connected());
    *fake.shared.error.lock().unwrap() = Some("READONLY a replica");
    assert!(!node.admit(b"binder").await);
    assert!(!node.store.is_connected());
    assert!(!node.admit(b"binder").await);
    assert_eq!(node.counts().early_data_unknown, 3);
    // After a reconnection the store must be checked again.
    *fake.shared.error.lock().unwrap() = None;
    node.connect().await;
    node.observe().await.unwrap();
    assert!(!node.guard.admits());
}

fn with_difference(clock_difference: u64) -> Parameters {
    Parameters { clock_difference, ..PARAMETERS }
}

#[tokio::test]
async fn nodes_with_different_parameters_never_both_admit() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    assert!(node.admit(b"binder").await);
    let other = Node::with_parameters(&fake.url(), with_difference(60)).await;
    let refused = other.observe().await.unwrap_err();
    assert!(refused.contains("clock_difference is 60s on this node and 5s on"), "{refused}");
    advance_clock(10 * BLIND).await;
    assert!(other.observe().await.is_err());
    assert!(!other.guard.admits() && !other.admit(b"binder").await && !other.admit(b"new").await);
    // The first node continues to admit early data.
    assert!(node.guard.admits() && node.admit(b"another").await);
}

#[tokio::test]
async fn parameters_change_when_no_node_renews_the_old_epoch() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    let other = Node::with_parameters(&fake.url(), with_difference(1)).await;
    let (lived, minute) = (|| fake.lifetime("epoch"), 60_000);
    // Checks and admissions renew the epoch; the check of a node with other parameters does not.
    fake.age("epoch", minute);
    assert!(other.observe().await.is_err());
    assert!(lived() <= 9 * minute);
    assert!(node.admit(b"binder").await);
    assert!(lived() > 9 * minute);
    fake.age("epoch", minute);
    node.observe().await.unwrap();
    assert!(lived() > 9 * minute);
    // A retired guard does not renew the epoch either.
    node.guard.retire();
    fake.age("epoch", minute);
    node.observe().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"another").await);
    assert!(lived() <= 9 * minute);
    fake.age("epoch", 9 * minute);
    other.observe().await.unwrap();
    advance_clock(BLIND).await;
    assert!(!other.guard.admits(), "blind for as long as with any parameters");
    advance_clock(Duration::from_secs(120)).await;
    assert!(other.guard.admits() && other.admit(b"of a later hello").await);
}

/// If the store loses an epoch, it has no record of the early data that other nodes admitted, nor
/// of how long that data is fresh.
#[tokio::test]
async fn lost_parameters_still_count() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    let other = Node::with_parameters(&fake.url(), with_difference(1)).await;
    assert!(other.observe().await.is_err());
    // `other` does not check for longer than the lifetime of an epoch, so it does not see that
    // `node` continues.
    advance_clock(Duration::from_secs(700)).await;
    assert!(node.admit(b"binder").await);
    fake.set_data(Default::default());
    other.observe().await.unwrap();
    advance_clock(BLIND).await;
    assert!(!other.guard.admits());
    let refused = node.observe().await.unwrap_err();
    assert!(refused.contains("clock_difference is 5s on this node and 1s on"), "{refused}");
}

#[tokio::test]
async fn an_epoch_without_parameters_is_not_used() {
    let fake = FakeStore::start();
    let node = admitting_node(&fake).await;
    let mut data = fake.data();
    data.values_mut().for_each(|(value, _)| *value = b"0123456789abcdef".to_vec());
    fake.set_data(data);
    assert!(node.observe().await.unwrap_err().contains("has no parameters"));
    assert!(!node.admit(b"binder").await);
}

/// A ClientHello that is stale by the parameters of this node may have been admitted by others,
/// and still be fresh for them.
#[tokio::test]
async fn a_node_that_starts_after_the_store_lost_everything_waits_for_any_parameters() {
    let fake = FakeStore::start();
    let wide = Node::with_parameters(&fake.url(), with_difference(60)).await;
    wide.observe().await.unwrap();
    advance_clock(BLIND_FOR_ANY).await;
    assert!(wide.admit(b"binder").await);
    fake.set_data(Default::default());
    // `narrow` checks first, so the epoch has its parameters.
    let narrow = Node::with_parameters(&fake.url(), with_difference(1)).await;
    narrow.observe().await.unwrap();
    advance_clock(BLIND).await;
    assert!(!narrow.guard.admits() && !narrow.admit(b"binder").await, "admitted twice");
    // Another node that finds this epoch also waits, because no node admits in it yet.
    let joined = Node::with_parameters(&fake.url(), with_difference(1)).await;
    joined.observe().await.unwrap();
    advance_clock(BLIND_FOR_ANY - BLIND).await;
    assert!(narrow.guard.admits() && narrow.admit(b"of a later hello").await);
    assert!(!joined.guard.admits());
    assert!(wide.observe().await.unwrap_err().contains("clock_difference"));
}

#[tokio::test]
async fn a_node_that_joins_others_with_its_parameters_waits_for_these_only() {
    let fake = FakeStore::start();
    let _first = admitting_node(&fake).await;
    let blind_at_first = async || {
        let node = Node::at(&fake.url()).await;
        node.observe().await.unwrap();
        advance_clock(BLIND).await;
        !node.guard.admits()
    };
    assert!(!blind_at_first().await);
    // Nodes with other parameters may have admitted at another store until this one was promoted
    // again.
    fake.set_info("replication", "master_replid:first", "master_replid:second");
    assert!(blind_at_first().await);
    fake.set_info("replication", "master_replid:second", "master_replid:first");
    assert!(!blind_at_first().await);
    // The entry that marks one epoch as open does not apply to the next epoch.
    let mut data = fake.data();
    data.retain(|key, _| !String::from_utf8_lossy(key).contains("epoch"));
    assert_eq!(data.len(), 1);
    fake.set_data(data);
    assert!(blind_at_first().await);
}

#[tokio::test]
async fn a_node_long_without_a_store_that_lost_everything_waits_for_any_parameters() {
    for (away, waits_for_all) in [(119, false), (121, true)] {
        let fake = FakeStore::start();
        let node = admitting_node(&fake).await;
        advance_clock(Duration::from_secs(away)).await;
        fake.set_data(Default::default());
        node.connect().await;
        node.observe().await.unwrap();
        advance_clock(BLIND).await;
        assert_eq!(node.guard.admits(), !waits_for_all, "after {away} s");
    }
}
