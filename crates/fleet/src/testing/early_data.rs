//! The replay guard, at a store that forgets, changes, lies about the time or goes.

use std::time::Duration;

use tercel::pki_types::UnixTime;
use tokio::time::{advance, pause, resume};

use super::fake::Fake;
use super::nodes::{BLIND, BLIND_FOR_ANY, DIFFERENCE, Node, TERMS, at};
use crate::early_data::Terms;
use crate::{Fleet, Settings};

/// Lets the node's monotonic clock run ahead; nothing waits meanwhile.
async fn pass(time: Duration) {
    pause();
    advance(time).await;
    resume();
}

/// A node whose blind time is over.
async fn seeing(fake: &Fake) -> Node {
    let node = Node::at(&fake.url()).await;
    node.look().await.unwrap();
    pass(BLIND_FOR_ANY).await;
    node.look().await.unwrap();
    node
}

#[tokio::test]
async fn what_one_node_admitted_no_node_admits_again() {
    let fake = Fake::start();
    let (a, b) = (seeing(&fake).await, seeing(&fake).await);
    pass(BLIND).await;
    assert!(a.admit(b"binder").await);
    assert!(!a.admit(b"binder").await);
    assert!(!b.admit(b"binder").await);
    assert!(b.admit(b"another").await);
    assert_eq!((a.counts().early_data_admitted, a.counts().early_data_replayed), (1, 1));
    assert_eq!((b.counts().early_data_admitted, b.counts().early_data_replayed), (1, 1));
}

#[tokio::test]
async fn of_two_nodes_at_once_one_admits() {
    let fake = Fake::start();
    let (a, b) = (seeing(&fake).await, seeing(&fake).await);
    pass(BLIND).await;
    for round in 0..20_u8 {
        let binder = [round];
        let (a, b) = tokio::join!(a.admit(&binder), b.admit(&binder));
        assert!(a ^ b, "round {round}: {a} {b}");
    }
}

#[tokio::test]
async fn after_a_start_a_node_is_blind_for_as_long_as_a_hello_is_fresh() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    assert!(!node.admit(b"before it looked").await);
    node.look().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    pass(BLIND_FOR_ANY - Duration::from_secs(2)).await;
    node.look().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    assert_eq!(node.counts().early_data_unknown, 3);
    pass(Duration::from_secs(2)).await;
    assert!(node.guard.admits() && node.admit(b"binder").await);
}

#[tokio::test]
async fn a_store_that_was_emptied_is_not_believed() {
    let fake = Fake::start();
    let (a, b) = (seeing(&fake).await, seeing(&fake).await);
    pass(BLIND).await;
    assert!(a.admit(b"binder").await);
    // As every second.
    a.look().await.unwrap();
    b.look().await.unwrap();
    fake.set_data(Default::default());
    assert!(!a.admit(b"binder").await);
    // One node begins a new epoch, and the other has not looked since.
    a.look().await.unwrap();
    assert!(!b.admit(b"binder").await);
    b.look().await.unwrap();
    for node in [&a, &b] {
        assert!(!node.guard.admits() && !node.admit(b"binder").await);
    }
    pass(BLIND).await;
    assert!(b.admit(b"of a later hello").await);
}

#[tokio::test]
async fn an_old_snapshot_brings_no_old_epoch_back() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    let snapshot = fake.data();
    assert!(node.admit(b"binder").await);
    // The process of the store is another.
    fake.set_data(snapshot.clone());
    fake.tell("server", "run_id:one", "run_id:two");
    fake.tell("replication", "master_replid:first", "master_replid:second");
    fake.hang_up();
    assert!(!node.admit(b"binder").await);
    node.connect().await;
    assert!(!node.admit(b"binder").await);
    node.look().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    assert_eq!(fake.data().len(), snapshot.len() + 1, "an epoch of its own");
}

#[tokio::test]
async fn a_connection_that_hides_the_change_is_no_way_around() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    assert!(node.admit(b"binder").await);
    // The data with the epoch is what it was, as on a replica that was promoted, without the last entry.
    let mut lagging = fake.data();
    lagging.retain(|key, _| String::from_utf8_lossy(key).contains("epoch"));
    fake.set_data(lagging);
    fake.tell("replication", "master_replid:first", "master_replid:second");
    assert!(!node.admit(b"binder").await);
    node.look().await.unwrap();
    assert!(!node.guard.admits());
}

#[tokio::test]
async fn a_store_that_may_forget_is_refused_with_a_reason() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    for (section, from, to, reason) in [
        ("memory", "noeviction", "allkeys-lru", "maxmemory-policy"),
        ("replication", "connected_slaves:0", "connected_slaves:1", "min-replicas-to-write"),
        ("replication", "role:master", "role:slave", "replica"),
    ] {
        fake.tell(section, from, to);
        assert!(node.look().await.unwrap_err().contains(reason), "{to}");
        assert!(!node.admit(b"binder").await);
        fake.tell(section, to, from);
        node.look().await.unwrap();
        assert!(!node.guard.admits(), "blind after {to}");
        pass(BLIND).await;
        assert!(node.guard.admits());
    }
    // Between two looks: what is in the transaction itself.
    fake.tell("replication", "connected_slaves:0", "connected_slaves:1");
    assert!(!node.admit(b"binder").await);
}

#[tokio::test]
async fn with_replicas_a_node_is_blind_for_a_minute_more() {
    let fake = Fake::start();
    fake.tell(
        "replication",
        "connected_slaves:0",
        "connected_slaves:1\r\nmin_slaves_good_slaves:1",
    );
    let node = seeing(&fake).await;
    assert!(!node.guard.admits());
    pass(Duration::from_secs(60)).await;
    // And as long as the store may be late.
    assert!(!node.guard.admits());
    pass(node.store.patience()).await;
    assert!(node.guard.admits() && node.admit(b"binder").await);
}

#[tokio::test]
async fn clocks_that_differ_are_refused() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    fake.set_offset(Duration::from_secs(DIFFERENCE - 1), false);
    assert!(node.admit(b"near enough").await);
    fake.set_offset(Duration::from_secs(DIFFERENCE + 2), false);
    assert!(!node.admit(b"too far").await);
    assert!(node.look().await.unwrap_err().contains("clocks"));
}

#[tokio::test]
async fn a_store_whose_clock_was_set_back_is_refused() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    fake.set_offset(Duration::from_secs(DIFFERENCE - 1), false);
    assert!(node.admit(b"binder").await);
    // Near ours still, but earlier than it was.
    fake.set_offset(Duration::from_secs(0), false);
    assert!(!node.admit(b"another").await);
    assert!(node.look().await.unwrap_err().contains("went back"));
}

/// Between the look at a hello's age and the store a process may stand still, for longer than an entry lives.
#[tokio::test]
async fn what_was_held_up_since_it_was_fresh_is_refused() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    let now = UnixTime::now().as_secs();
    for (judged_at, is_admitted) in [
        (now - DIFFERENCE - 2, false),
        (now - DIFFERENCE + 2, true),
        (now + DIFFERENCE - 2, true),
        (now + DIFFERENCE + 2, false),
    ] {
        let hello = judged_at.to_be_bytes();
        assert_eq!(node.guard.admit(&hello, at(judged_at)).await, is_admitted, "{judged_at}");
        node.look().await.unwrap();
        pass(BLIND).await;
    }
}

#[tokio::test]
async fn while_another_guard_may_admit_and_for_a_blind_time_after_it_refuses() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    let still = Duration::from_secs(15);
    node.guard.follow_another(still);
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    pass(still + BLIND - Duration::from_secs(2)).await;
    node.look().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"binder").await);
    pass(Duration::from_secs(2)).await;
    assert!(node.guard.admits() && node.admit(b"binder").await);
}

#[tokio::test]
async fn a_narrower_window_makes_nodes_blind_for_less_long() {
    let settings = |window| Settings { freshness_window: window, ..Settings::default() };
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
    let fake = Fake::start();
    let node = seeing(&fake).await;
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
    assert!(BLIND > tercel::ReplayGuard::fresh_for(60) + 2 * Duration::from_secs(DIFFERENCE));
}

#[tokio::test]
async fn a_store_that_is_away_or_refuses_admits_nothing() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    *fake.shared.error.lock().unwrap() = Some("OOM no room");
    assert!(!node.admit(b"binder").await);
    assert!(node.store.is_there());
    *fake.shared.error.lock().unwrap() = Some("READONLY a replica");
    assert!(!node.admit(b"binder").await);
    assert!(!node.store.is_there());
    assert!(!node.admit(b"binder").await);
    assert_eq!(node.counts().early_data_unknown, 3);
    // When it is back, it has to be looked at again.
    *fake.shared.error.lock().unwrap() = None;
    node.connect().await;
    node.look().await.unwrap();
    assert!(!node.guard.admits());
}

fn otherwise(difference: u64) -> Terms {
    Terms { difference, ..TERMS }
}

#[tokio::test]
async fn nodes_that_differ_about_clocks_never_both_admit() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    assert!(node.admit(b"binder").await);
    let other = Node::with_terms(&fake.url(), otherwise(60)).await;
    let refused = other.look().await.unwrap_err();
    assert!(refused.contains("clock_difference is 60s here and 5s at the nodes"), "{refused}");
    pass(10 * BLIND).await;
    assert!(other.look().await.is_err());
    assert!(!other.guard.admits() && !other.admit(b"binder").await && !other.admit(b"new").await);
    // Who came first goes on.
    assert!(node.guard.admits() && node.admit(b"another").await);
}

#[tokio::test]
async fn terms_change_when_nobody_holds_to_the_others_any_more() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    let other = Node::with_terms(&fake.url(), otherwise(1)).await;
    let (lived, minute) = (|| fake.life("epoch"), 60_000);
    // A look and an admission keep the epoch; the look of one that differs does not.
    fake.age("epoch", minute);
    assert!(other.look().await.is_err());
    assert!(lived() <= 9 * minute);
    assert!(node.admit(b"binder").await);
    assert!(lived() > 9 * minute);
    fake.age("epoch", minute);
    node.look().await.unwrap();
    assert!(lived() > 9 * minute);
    // Nor does one that has given way, which admits nothing more.
    node.guard.retire();
    fake.age("epoch", minute);
    node.look().await.unwrap();
    assert!(!node.guard.admits() && !node.admit(b"another").await);
    assert!(lived() <= 9 * minute);
    fake.age("epoch", 9 * minute);
    other.look().await.unwrap();
    pass(BLIND).await;
    assert!(!other.guard.admits(), "blind for as long as by any terms");
    pass(Duration::from_secs(120)).await;
    assert!(other.guard.admits() && other.admit(b"of a later hello").await);
}

/// Then the store does not know what the others had admitted, nor for how long it is fresh.
#[tokio::test]
async fn terms_that_were_lost_with_the_store_still_count() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    let other = Node::with_terms(&fake.url(), otherwise(1)).await;
    assert!(other.look().await.is_err());
    // For longer than an epoch lives it does not see that the others go on.
    pass(Duration::from_secs(700)).await;
    assert!(node.admit(b"binder").await);
    fake.set_data(Default::default());
    other.look().await.unwrap();
    pass(BLIND).await;
    assert!(!other.guard.admits());
    let refused = node.look().await.unwrap_err();
    assert!(refused.contains("clock_difference is 5s here and 1s at"), "{refused}");
}

#[tokio::test]
async fn an_epoch_that_tells_no_terms_is_not_used() {
    let fake = Fake::start();
    let node = seeing(&fake).await;
    let mut data = fake.data();
    data.values_mut().for_each(|(value, _)| *value = b"0123456789abcdef".to_vec());
    fake.set_data(data);
    assert!(node.look().await.unwrap_err().contains("does not tell its terms"));
    assert!(!node.admit(b"binder").await);
}

/// It cannot know that a hello which is stale to it by its own terms was admitted by others, and is still fresh.
#[tokio::test]
async fn a_node_that_starts_when_the_store_has_lost_everything_waits_for_all_terms() {
    let fake = Fake::start();
    let wide = Node::with_terms(&fake.url(), otherwise(60)).await;
    wide.look().await.unwrap();
    pass(BLIND_FOR_ANY).await;
    assert!(wide.admit(b"binder").await);
    fake.set_data(Default::default());
    // The first to look, so the epoch is one of its terms.
    let narrow = Node::with_terms(&fake.url(), otherwise(1)).await;
    narrow.look().await.unwrap();
    pass(BLIND).await;
    assert!(!narrow.guard.admits() && !narrow.admit(b"binder").await, "admitted twice");
    // Nor does one that finds this epoch, in which nobody admits yet.
    let joined = Node::with_terms(&fake.url(), otherwise(1)).await;
    joined.look().await.unwrap();
    pass(BLIND_FOR_ANY - BLIND).await;
    assert!(narrow.guard.admits() && narrow.admit(b"of a later hello").await);
    assert!(!joined.guard.admits());
    assert!(wide.look().await.unwrap_err().contains("clock_difference"));
}

#[tokio::test]
async fn where_a_node_of_the_same_terms_admits_one_that_starts_waits_for_these_terms_only() {
    let fake = Fake::start();
    let _first = seeing(&fake).await;
    let blind_at_first = async || {
        let node = Node::at(&fake.url()).await;
        node.look().await.unwrap();
        pass(BLIND).await;
        !node.guard.admits()
    };
    assert!(!blind_at_first().await);
    // Elsewhere nodes of other terms may have admitted until this store was promoted again.
    fake.tell("replication", "master_replid:first", "master_replid:second");
    assert!(blind_at_first().await);
    fake.tell("replication", "master_replid:second", "master_replid:first");
    assert!(!blind_at_first().await);
    // What was said of one epoch says nothing of the next.
    let mut data = fake.data();
    data.retain(|key, _| !String::from_utf8_lossy(key).contains("epoch"));
    assert_eq!(data.len(), 1);
    fake.set_data(data);
    assert!(blind_at_first().await);
}

#[tokio::test]
async fn a_node_that_was_away_for_long_from_a_store_that_lost_everything_waits_for_all_terms() {
    for (away, waits_for_all) in [(119, false), (121, true)] {
        let fake = Fake::start();
        let node = seeing(&fake).await;
        pass(Duration::from_secs(away)).await;
        fake.set_data(Default::default());
        node.connect().await;
        node.look().await.unwrap();
        pass(BLIND).await;
        assert_eq!(node.guard.admits(), !waits_for_all, "after {away} s");
    }
}
