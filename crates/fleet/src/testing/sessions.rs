//! Tests of sessions in a store that could try to read or change them.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::session::{ForgetSession, NewSession, TicketSealer};

use super::fake_store::FakeStore;
use super::nodes::{Node, at, wait_until};
use crate::secrets::secret::FleetSecret;
use crate::sessions::removal::removal_queue;

const ID: [u8; 32] = [0xa5; 32];
const SESSION: &[u8] = b"a session that is kept";

fn new(id: [u8; 32], life: u64) -> NewSession {
    let expires = at(UnixTime::now().as_secs() + life);
    NewSession { id: id.to_vec(), session: SESSION.to_vec(), expires }
}

#[tokio::test]
async fn another_node_finds_a_stored_session() {
    let fake = FakeStore::start();
    let (a, b) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    a.sessions.keep(new(ID, 100)).await;
    assert_eq!(b.sessions.look_up(&ID).await.unwrap(), SESSION);
    // To find a session does not remove it: its ID is seen on the wire.
    assert_eq!(a.sessions.look_up(&ID).await.unwrap(), SESSION);
    assert_eq!(b.sessions.remove(&ID).await, Some(true));
    assert_eq!(a.sessions.look_up(&ID).await, None);
    assert_eq!(a.sessions.remove(&ID).await, Some(false));
    assert_eq!(a.counts().kept, 1);
}

#[tokio::test]
async fn of_two_concurrent_nodes_one_claims() {
    let fake = FakeStore::start();
    let (a, b) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    for round in 0..20_u8 {
        a.sessions.keep(new([round; 32], 100)).await;
        let id = [round; 32];
        let both = tokio::join!(a.sessions.look_up(&id), b.sessions.look_up(&id));
        assert!(both.0.is_some() && both.1.is_some(), "round {round}");
        let both = tokio::join!(a.sessions.remove(&id), b.sessions.remove(&id));
        assert!(both.0.unwrap() ^ both.1.unwrap(), "round {round}");
    }
}

#[tokio::test]
async fn the_store_learns_neither_the_id_nor_the_session() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new(ID, 100)).await;
    let id = crate::hex::encode(&ID);
    for (key, (value, end)) in fake.data() {
        let text = String::from_utf8(key).unwrap();
        assert!(!text.contains(&id));
        assert!(
            !value.windows(8).any(|part| part == &ID[..8] || SESSION.windows(8).any(|s| s == part))
        );
        assert!(end.is_some());
    }
}

#[tokio::test]
async fn a_store_cannot_swap_or_change_sessions() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new([1; 32], 100)).await;
    node.sessions.keep(new([2; 32], 100)).await;
    let data = fake.data();
    let mut values: Vec<_> = data.values().cloned().collect();
    values.reverse();
    fake.set_data(data.keys().cloned().zip(values).collect());
    assert_eq!(node.sessions.look_up(&[1; 32]).await, None);
    assert_eq!(node.sessions.look_up(&[2; 32]).await, None);
    let mut damaged = data.clone();
    damaged.values_mut().for_each(|(value, _)| value[40] ^= 1);
    fake.set_data(damaged);
    assert_eq!(node.sessions.look_up(&[1; 32]).await, None);
    fake.set_data(data);
    assert!(node.sessions.look_up(&[1; 32]).await.is_some());
}

#[tokio::test]
async fn another_fleet_finds_nothing() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new(ID, 100)).await;
    for secret in [FleetSecret::new(&[8; 32], "test"), FleetSecret::new(&[7; 32], "other")] {
        let other = Node::with_secret(&fake.url(), &secret).await;
        assert_eq!(other.sessions.look_up(&ID).await, None);
    }
}

#[tokio::test]
async fn a_store_cannot_keep_a_session_alive() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new(ID, 1)).await;
    let mut data = fake.data();
    data.values_mut().for_each(|(_, end)| *end = None);
    fake.set_data(data);
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    assert_eq!(node.sessions.look_up(&ID).await, None);
    assert_eq!(fake.data().len(), 1, "it was there");
}

#[tokio::test]
async fn the_store_is_not_asked_for_ids_of_another_length() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    let before = fake.requests();
    for length in [0, 1, 31, 33, 200] {
        assert_eq!(node.sessions.look_up(&vec![1; length]).await, None);
        assert_eq!(node.sessions.remove(&vec![1; length]).await, None);
    }
    assert_eq!(fake.requests(), before);
}

#[tokio::test]
async fn without_a_store_there_is_no_session() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new(ID, 100)).await;
    node.store.set_connections(None);
    assert_eq!(node.sessions.look_up(&ID).await, None);
    node.sessions.keep(new([2; 32], 100)).await;
    assert_eq!((node.counts().kept, node.counts().unavailable), (1, 1));
    assert!(!node.tickets.has_keys() && node.tickets.seal(SESSION, at(1)).is_none());
}

/// A TLS 1.2 connection may end with a fatal alert while its session is still being written.
/// RFC 5246 7.2.2
#[tokio::test]
async fn a_session_that_arrives_after_its_removal_stays_removed() {
    let fake = FakeStore::start();
    let (node, other) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    fake.hold(Some("SET"));
    node.sessions.keep(new(ID, 100)).await;
    // The request has timed out, but the store will still execute the command.
    assert!(!node.store.is_connected());
    node.connect().await;
    let held = fake.requests();
    let removing = node.sessions.forget(&ID);
    let arriving = async {
        // No session was found under the key; the late session and the tombstone are both in
        // transit.
        wait_until("removing", || fake.requests() >= held + 2).await;
        fake.hold(None);
    };
    let (forgotten, ()) = tokio::join!(removing, arriving);
    assert!(!forgotten.unwrap());
    wait_until("the session has arrived", || !fake.data().is_empty()).await;
    // Either order of arrival gives the same result.
    for at_node in [&node, &other] {
        for _ in 0..2 {
            assert_eq!(at_node.sessions.look_up(&ID).await, None, "still removed");
            assert_eq!(at_node.sessions.remove(&ID).await, Some(false), "still removed");
        }
    }
    assert_eq!(fake.data().into_values().map(|(value, _)| value).collect::<Vec<_>>(), [b""]);
}

#[tokio::test]
async fn a_session_removed_before_it_was_written_is_not_written() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    assert!(!node.sessions.forget(&ID).await.unwrap());
    // The removal holds even if a client claims the session first.
    assert_eq!(node.sessions.remove(&ID).await, Some(false));
    node.sessions.keep(new(ID, 100)).await;
    assert_eq!(node.sessions.look_up(&ID).await, None);
    assert_eq!(node.counts().kept, 0);
    // The tombstone lives exactly as long as a session can.
    let week = 7 * 24 * 60 * 60 * 1000;
    assert!((week - 10_000..=week).contains(&fake.lifetime("session:")));
}

#[tokio::test]
async fn a_removed_session_leaves_nothing_behind() {
    let fake = FakeStore::start();
    let (node, other) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    node.sessions.keep(new(ID, 100)).await;
    assert!(other.sessions.forget(&ID).await.unwrap());
    assert_eq!(node.sessions.look_up(&ID).await, None);
    assert!(fake.data().is_empty());
}

#[tokio::test]
async fn removals_wait_until_the_store_is_back() {
    let fake = FakeStore::start();
    let (node, other) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    other.sessions.keep(new(ID, 100)).await;
    node.store.set_connections(None);
    let (queue, task) = removal_queue(Arc::clone(&node.sessions));
    let running = tokio::spawn(task.run());
    queue.forget_session(&ID);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(other.sessions.look_up(&ID).await.is_some(), "the store is unavailable");
    node.connect().await;
    wait_until("removed", || node.counts().removed == 1).await;
    assert_eq!(other.sessions.look_up(&ID).await, None);
    // The task ends when all senders are dropped.
    drop(queue);
    running.await.unwrap();
}
