//! Sessions in a store that is not trusted with them.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::{ForgetSession, NewSession, TicketSealer};

use super::fake::Fake;
use super::nodes::{Node, at, until};
use crate::forgetting::forgetting;
use crate::secret::FleetSecret;

const ID: [u8; 32] = [0xa5; 32];
const SESSION: &[u8] = b"a session that is kept";

fn new(id: [u8; 32], life: u64) -> NewSession {
    let expires = at(UnixTime::now().as_secs() + life);
    NewSession { id: id.to_vec(), session: SESSION.to_vec(), expires }
}

#[tokio::test]
async fn another_node_finds_what_one_kept() {
    let fake = Fake::start();
    let (a, b) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    a.sessions.keep(new(ID, 100)).await;
    assert_eq!(b.sessions.look_up(&ID, false).await.unwrap(), SESSION);
    assert_eq!(b.sessions.look_up(&ID, true).await.unwrap(), SESSION);
    assert_eq!(a.sessions.look_up(&ID, false).await, None);
    assert_eq!(a.counts().kept, 1);
}

#[tokio::test]
async fn of_two_nodes_at_once_one_takes() {
    let fake = Fake::start();
    let (a, b) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    for round in 0..20_u8 {
        a.sessions.keep(new([round; 32], 100)).await;
        let id = [round; 32];
        let both = tokio::join!(a.sessions.look_up(&id, true), b.sessions.look_up(&id, true));
        assert_eq!(both.0.is_some() as u8 + both.1.is_some() as u8, 1, "round {round}");
    }
}

#[tokio::test]
async fn the_store_learns_neither_id_nor_session() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new(ID, 100)).await;
    let hexadecimal = crate::secret::hexadecimal(&ID);
    for (key, (value, end)) in fake.data() {
        let text = String::from_utf8(key).unwrap();
        assert!(!text.contains(&hexadecimal));
        assert!(
            !value.windows(8).any(|part| part == &ID[..8] || SESSION.windows(8).any(|s| s == part))
        );
        assert!(end.is_some());
    }
}

#[tokio::test]
async fn a_store_cannot_pass_one_session_for_another_or_change_it() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new([1; 32], 100)).await;
    node.sessions.keep(new([2; 32], 100)).await;
    let data = fake.data();
    let mut values: Vec<_> = data.values().cloned().collect();
    values.reverse();
    fake.set_data(data.keys().cloned().zip(values).collect());
    assert_eq!(node.sessions.look_up(&[1; 32], false).await, None);
    assert_eq!(node.sessions.look_up(&[2; 32], false).await, None);
    let mut damaged = data.clone();
    damaged.values_mut().for_each(|(value, _)| value[40] ^= 1);
    fake.set_data(damaged);
    assert_eq!(node.sessions.look_up(&[1; 32], false).await, None);
    fake.set_data(data);
    assert!(node.sessions.look_up(&[1; 32], false).await.is_some());
}

#[tokio::test]
async fn another_fleet_finds_nothing() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new(ID, 100)).await;
    for secret in [FleetSecret::new(&[8; 32], "test"), FleetSecret::new(&[7; 32], "other")] {
        let other = Node::with_secret(&fake.url(), &secret).await;
        assert_eq!(other.sessions.look_up(&ID, false).await, None);
    }
}

#[tokio::test]
async fn a_store_cannot_keep_a_session_alive() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new(ID, 1)).await;
    let mut data = fake.data();
    data.values_mut().for_each(|(_, end)| *end = None);
    fake.set_data(data);
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    assert_eq!(node.sessions.look_up(&ID, false).await, None);
    assert_eq!(fake.data().len(), 1, "it was there");
}

#[tokio::test]
async fn ids_that_are_not_ours_cost_the_store_nothing() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    let before = fake.asked();
    for length in [0, 1, 31, 33, 200] {
        assert_eq!(node.sessions.look_up(&vec![1; length], true).await, None);
    }
    assert_eq!(fake.asked(), before);
}

#[tokio::test]
async fn without_a_store_there_is_no_session() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    node.sessions.keep(new(ID, 100)).await;
    node.store.set(None);
    assert_eq!(node.sessions.look_up(&ID, false).await, None);
    node.sessions.keep(new([2; 32], 100)).await;
    assert_eq!((node.counts().kept, node.counts().away), (1, 1));
    assert!(!node.tickets.has_keys() && node.tickets.seal(SESSION, at(1)).is_none());
}

/// A connection of TLS 1.2 may end with a fatal alert while its session is still on the way. RFC 5246 7.2.2
#[tokio::test]
async fn a_session_that_arrives_after_it_was_forgotten_does_not_come_back() {
    let fake = Fake::start();
    let (node, other) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    fake.hold(Some("SET"));
    node.sessions.keep(new(ID, 100)).await;
    // Nobody waits for the store any longer, which has the command.
    assert!(!node.store.is_there());
    node.connect().await;
    let held = fake.asked();
    let forgetting = node.sessions.forget(&ID);
    let arriving = async {
        // The name was found free; now both the late session and the tombstone are on the way.
        until("forgetting", || fake.asked() >= held + 2).await;
        fake.hold(None);
    };
    let (forgotten, ()) = tokio::join!(forgetting, arriving);
    assert!(!forgotten.unwrap());
    until("the session has arrived", || !fake.data().is_empty()).await;
    // The order in which they arrive does not matter.
    for at_node in [&node, &other] {
        for take in [false, true, true] {
            assert_eq!(at_node.sessions.look_up(&ID, take).await, None, "it came back");
        }
    }
    assert_eq!(fake.data().into_values().map(|(value, _)| value).collect::<Vec<_>>(), [b""]);
}

#[tokio::test]
async fn what_was_forgotten_before_it_was_written_is_not_written() {
    let fake = Fake::start();
    let node = Node::at(&fake.url()).await;
    assert!(!node.sessions.forget(&ID).await.unwrap());
    // Not even if somebody who has seen its id tries to take it first.
    assert_eq!(node.sessions.look_up(&ID, true).await, None);
    node.sessions.keep(new(ID, 100)).await;
    assert_eq!(node.sessions.look_up(&ID, false).await, None);
    assert_eq!(node.counts().kept, 0);
    // It stays for as long as the session could, and not for ever.
    let week = 7 * 24 * 60 * 60 * 1000;
    assert!((week - 10_000..=week).contains(&fake.life("session:")));
}

#[tokio::test]
async fn a_session_that_is_forgotten_leaves_nothing_behind() {
    let fake = Fake::start();
    let (node, other) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    node.sessions.keep(new(ID, 100)).await;
    assert!(other.sessions.forget(&ID).await.unwrap());
    assert_eq!(node.sessions.look_up(&ID, false).await, None);
    assert!(fake.data().is_empty());
}

#[tokio::test]
async fn what_is_to_be_forgotten_while_the_store_is_away_is_forgotten_when_it_is_back() {
    let fake = Fake::start();
    let (node, other) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    other.sessions.keep(new(ID, 100)).await;
    node.store.set(None);
    let (tell, forgotten) = forgetting(Arc::clone(&node.sessions), node.counters());
    let thread = tokio::spawn(forgotten.take_out());
    tell.forget_session(&ID);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(other.sessions.look_up(&ID, false).await.is_some(), "the store is away");
    node.connect().await;
    until("forgotten", || node.counts().forgotten == 1).await;
    assert_eq!(other.sessions.look_up(&ID, false).await, None);
    // The thread ends with those who tell it.
    drop(tell);
    thread.await.unwrap();
}
