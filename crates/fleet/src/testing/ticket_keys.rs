//! Ticket keys: one set for all nodes, in a store that loses, restores or damages the set; and keys
//! in a file.

use std::time::Duration;

use tercel::session::{TicketKeySet, TicketSealer};

use super::fake_store::FakeStore;
use super::nodes::{Folder, Node, PERIOD, at, set_mode};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::secrets::FleetSecrets;
use crate::secrets::secret::FleetSecret;
use crate::settings::{Settings, TicketKeys};

const NOW: u64 = 1_000_000;
/// The time at which the first key of a fleet that began at `NOW` starts to seal.
const FIRST: u64 = NOW + 3;

/// Whether the node `to` opens a ticket of the node `from`.
fn opens_at(from: &Node, to: &Node, now: u64) -> bool {
    let ticket = from.tickets.seal(b"session", at(now)).expect("a ticket");
    to.tickets.open(&ticket, at(now)).as_deref() == Some(b"session")
}

fn number(fake: &FakeStore) -> u64 {
    let value = fake.value("ticket-keys");
    u64::from_be_bytes(value[1..9].try_into().unwrap())
}

async fn pair(fake: &FakeStore) -> (Node, Node) {
    let (a, b) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    let (first, second) =
        tokio::join!(Box::pin(a.keys.refresh(at(NOW))), Box::pin(b.keys.refresh(at(NOW))));
    first.unwrap();
    second.unwrap();
    (a, b)
}

#[tokio::test]
async fn two_nodes_that_start_at_once_have_one_set() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    assert_eq!(number(&fake), 1);
    // Nothing is sealed until both nodes have had time to read the set.
    assert!(a.tickets.seal(b"session", at(FIRST - 1)).is_none());
    assert!(opens_at(&a, &b, FIRST) && opens_at(&b, &a, FIRST));
}

#[tokio::test]
async fn two_nodes_that_rotate_at_once_agree() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    for round in 1..=20 {
        let now = FIRST + round * PERIOD;
        let (first, second) = tokio::join!(a.keys.refresh(at(now)), b.keys.refresh(at(now)));
        first.unwrap();
        second.unwrap();
        assert_eq!(number(&fake), 1 + round);
        assert!(opens_at(&a, &b, now) && opens_at(&b, &a, now), "round {round}");
    }
}

#[tokio::test]
async fn every_node_has_a_key_before_it_seals() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    // `b` does not see the rotation, but can open tickets under the new key.
    let change = FIRST + PERIOD;
    let before = a.tickets.seal(b"session", at(change - 1)).unwrap();
    a.keys.refresh(at(change)).await.unwrap();
    assert!(opens_at(&a, &b, change) && opens_at(&b, &a, change));
    let after = a.tickets.seal(b"session", at(change)).unwrap();
    assert_ne!(before[..16], after[..16], "another key");
    // Every node can open the last tickets of the old key for one more lifetime.
    a.keys.refresh(at(change + PERIOD - 1)).await.unwrap();
    for node in [&a, &b] {
        assert!(node.tickets.open(&before, at(change + PERIOD - 1)).is_some());
        assert!(node.tickets.open(&before, at(change + PERIOD)).is_none());
    }
}

#[tokio::test]
async fn a_node_long_without_the_store_opens_but_no_longer_seals() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    a.store.set_connections(None);
    assert!(matches!(a.keys.refresh(at(FIRST + PERIOD)).await, Err(FleetError::StoreUnavailable)));
    let end = FIRST + 2 * PERIOD;
    let last = a.tickets.seal(b"session", at(end - 1)).unwrap();
    assert!(a.tickets.seal(b"session", at(end)).is_none());
    assert!(a.tickets.open(&last, at(end)).is_some());
    // The other node has rotated its keys, and this node uses the new keys once the store is
    // available again.
    for now in [FIRST + PERIOD, end] {
        b.keys.refresh(at(now)).await.unwrap();
    }
    assert!(b.tickets.open(&last, at(end)).is_some());
    a.connect().await;
    a.keys.refresh(at(end)).await.unwrap();
    assert!(opens_at(&a, &b, end) && opens_at(&b, &a, end));
}

#[tokio::test]
async fn an_overdue_rotation_waits_until_all_nodes_have_the_new_key() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    let now = FIRST + 50 * PERIOD;
    a.keys.refresh(at(now)).await.unwrap();
    assert!(
        a.tickets
            .seal(b"session", at(now))
            .is_none_or(|ticket| b.tickets.open(&ticket, at(now)).is_some())
    );
    b.keys.refresh(at(now + 1)).await.unwrap();
    assert!(opens_at(&a, &b, now + 3) && opens_at(&b, &a, now + 3));
}

#[tokio::test]
async fn a_node_with_a_wrong_clock_makes_no_keys() {
    let fake = FakeStore::start();
    fake.set_offset(Duration::from_secs(3600), true);
    let node = Node::at(&fake.url()).await;
    let refused = node.keys.refresh(at(NOW)).await.unwrap_err();
    assert!(refused.to_string().contains("clocks"), "{refused}");
    assert!(fake.data().is_empty());
    fake.set_offset(Duration::ZERO, false);
    node.keys.refresh(at(NOW)).await.unwrap();
    let set = fake.value("ticket-keys");
    fake.set_offset(Duration::from_secs(3600), false);
    assert!(node.keys.refresh(at(FIRST + PERIOD)).await.is_err());
    assert_eq!(fake.value("ticket-keys"), set);
}

#[tokio::test]
async fn a_missing_set_is_written_again() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    let set = fake.value("ticket-keys");
    fake.set_data(Default::default());
    b.keys.refresh(at(FIRST)).await.unwrap();
    assert_eq!(fake.value("ticket-keys"), set);
    a.keys.refresh(at(FIRST)).await.unwrap();
    assert_eq!(a.counts().ticket_keys_changed, 1);
}

#[tokio::test]
async fn a_restored_old_set_is_replaced() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    let old = fake.data();
    a.keys.refresh(at(FIRST + PERIOD)).await.unwrap();
    let newer = fake.value("ticket-keys");
    fake.set_data(old);
    a.keys.refresh(at(FIRST + PERIOD)).await.unwrap();
    assert_eq!(fake.value("ticket-keys"), newer);
    assert_eq!(a.counts().ticket_keys_refused, 1);
    b.keys.refresh(at(FIRST + PERIOD)).await.unwrap();
    assert!(opens_at(&a, &b, FIRST + PERIOD));
}

#[tokio::test]
async fn two_sets_of_one_number_become_one() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    let old = fake.data();
    let change = FIRST + PERIOD;
    a.keys.refresh(at(change)).await.unwrap();
    // The store is restored, and the other node rotates from the same set.
    fake.set_data(old);
    b.keys.refresh(at(change)).await.unwrap();
    assert_eq!(number(&fake), 2);
    for _ in 0..2 {
        a.keys.refresh(at(change)).await.unwrap();
        b.keys.refresh(at(change)).await.unwrap();
    }
    let later = change + PERIOD;
    assert!(opens_at(&a, &b, later) && opens_at(&b, &a, later));
}

#[tokio::test]
async fn a_damaged_or_foreign_set_is_rejected_and_left_unchanged() {
    let fake = FakeStore::start();
    let (a, _) = pair(&fake).await;
    let good = fake.data();
    let key = good.keys().next().unwrap().clone();
    let sealed = fake.value("ticket-keys");
    for at_byte in (0..sealed.len()).step_by(7).chain([0, 1, 8, sealed.len() - 1]) {
        let mut damaged = sealed.clone();
        damaged[at_byte] ^= 1;
        fake.set_data([(key.clone(), (damaged.clone(), None))].into());
        let refused = a.keys.refresh(at(FIRST)).await.unwrap_err();
        assert!(matches!(refused, FleetError::UnreadableKeys), "byte {at_byte}");
        assert_eq!(fake.value("ticket-keys"), damaged);
        assert!(a.tickets.seal(b"session", at(FIRST)).is_some(), "the previous keys stay");
    }
    fake.set_data(good);
    for secret in [FleetSecret::new(&[8; 32], "test"), FleetSecret::new(&[7; 32], "other")] {
        let other = Node::with_secret(&fake.url(), &secret).await;
        assert!(matches!(other.keys.refresh(at(FIRST)).await, Err(FleetError::UnreadableKeys)));
        assert!(!other.tickets.has_keys());
    }
}

/// The second secret, without the first one.
fn replaced() -> (FleetSecret, FleetSecrets) {
    let secret = || FleetSecret::new(&[8; 32], "test");
    (secret(), FleetSecrets::new(&secret(), None, None))
}

/// The procedure by which an operator discards stolen ticket keys: each node gets a new secret, and
/// the set is deleted.
#[tokio::test]
async fn keys_under_a_replaced_secret_are_not_written_to_a_store_without_keys() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    let now = FIRST + PERIOD;
    a.keys.refresh(at(now)).await.unwrap();
    let stolen = fake.value("ticket-keys");
    assert_eq!(number(&fake), 2);
    let ticket = a.tickets.seal(b"session", at(now)).unwrap();
    for node in [&a, &b] {
        node.secrets.set(replaced().1);
        let refused = node.keys.refresh(at(now)).await.unwrap_err();
        assert!(matches!(refused, FleetError::UnreadableKeys));
        assert_eq!(fake.value("ticket-keys"), stolen, "the operator deletes it");
    }
    fake.set_data(Default::default());
    for node in [&a, &b] {
        node.keys.refresh(at(now)).await.unwrap();
        assert_eq!(node.tickets.open(&ticket, at(now)), None, "under the stolen key");
    }
    assert_eq!(number(&fake), 1, "a first set");
    let now = now + 3;
    assert!(opens_at(&a, &b, now) && opens_at(&b, &a, now));
    let (secret, _) = replaced();
    let restarted = Node::with_secret(&fake.url(), &secret).await;
    restarted.keys.refresh(at(now)).await.unwrap();
    assert!(opens_at(&a, &restarted, now));
    assert_eq!((a.counts().ticket_keys_refused, b.counts().ticket_keys_refused), (0, 0));
}

/// A secret that is replaced without a rotation makes another fleet at the same place.
#[tokio::test]
async fn a_set_under_a_replaced_secret_is_not_newer_than_that_of_the_store() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    let now = FIRST + PERIOD;
    a.keys.refresh(at(now)).await.unwrap();
    b.keys.refresh(at(now)).await.unwrap();
    let ticket = a.tickets.seal(b"session", at(now)).unwrap();
    fake.set_data(Default::default());
    let (secret, secrets) = replaced();
    let other = Node::with_secret(&fake.url(), &secret).await;
    other.keys.refresh(at(now)).await.unwrap();
    let clean = fake.value("ticket-keys");
    for node in [&a, &b] {
        node.secrets.set(secrets.clone());
        node.keys.refresh(at(now)).await.unwrap();
        assert_eq!(fake.value("ticket-keys"), clean);
        assert_eq!(node.tickets.open(&ticket, at(now)), None);
        assert_eq!(node.counts().ticket_keys_refused, 0);
    }
    assert_eq!(number(&fake), 1);
    assert!(opens_at(&other, &a, now + 3) && opens_at(&a, &b, now + 3));
    // A set of this fleet still is newer than an old one.
    let first = fake.data();
    a.keys.refresh(at(now + 3 + PERIOD)).await.unwrap();
    fake.set_data(first);
    a.keys.refresh(at(now + 3 + PERIOD)).await.unwrap();
    assert_eq!((number(&fake), a.counts().ticket_keys_refused), (2, 1));
}

/// A node that was cut off while the secret was rotated does not replace the set of the others,
/// although it lacks the previous secret.
#[tokio::test]
async fn the_first_set_of_a_node_gives_way_to_that_of_nodes_which_rotated_the_secret() {
    let fake = FakeStore::start();
    let (a, b) = pair(&fake).await;
    let (old, (new, secrets)) = (FleetSecret::new(&[7; 32], "test"), replaced());
    b.secrets.set(FleetSecrets::new(&new, Some(&old), None));
    b.keys.refresh(at(FIRST)).await.unwrap();
    let ticket = b.tickets.seal(b"session", at(FIRST)).unwrap();
    let now = FIRST + PERIOD;
    b.keys.refresh(at(now)).await.unwrap();
    assert_eq!(number(&fake), 2);
    a.secrets.set(secrets);
    fake.set_data(Default::default());
    a.keys.refresh(at(now)).await.unwrap();
    assert_eq!(number(&fake), 1);
    for node in [&b, &a] {
        node.keys.refresh(at(now)).await.unwrap();
    }
    assert_eq!(number(&fake), 2);
    assert!(a.tickets.open(&ticket, at(now)).is_some() && opens_at(&a, &b, now));
}

#[tokio::test]
async fn the_store_does_not_learn_keys() {
    let fake = FakeStore::start();
    let (a, _) = pair(&fake).await;
    let sealed = fake.value("ticket-keys");
    let ticket = a.tickets.seal(b"session", at(FIRST)).unwrap();
    // The stored bytes do not even contain the key names, which are public in tickets.
    assert!(!sealed.windows(16).any(|part| part == &ticket[..16]));
    assert!(TicketKeySet::from_bytes(&sealed).is_err());
}

fn line(number: u8) -> String {
    format!("1 {}\n", crate::hex::encode(&[number; 48]))
}

fn from_file(path: &std::path::Path) -> Result<Fleet, FleetError> {
    let ticket_keys = TicketKeys::File(path.to_owned());
    Fleet::connect(&Settings { ticket_keys, ..Settings::default() })
}

#[tokio::test]
async fn a_key_file_is_read_when_it_changes() {
    let folder = Folder::new();
    let path = folder.write("keys", line(1).as_bytes());
    let fleet = from_file(&path).unwrap();
    assert!(fleet.state().ticket_keys && fleet.reached(std::time::Duration::ZERO).await);
    folder.write("keys", (line(1) + &line(2)).as_bytes());
    fleet.reload().await.unwrap();
    assert_eq!(fleet.counts().ticket_keys_changed, 2);
    // The change is found without an explicit reload.
    folder.write("keys", line(2).as_bytes());
    super::nodes::wait_until("the change is seen", || fleet.counts().ticket_keys_changed == 3)
        .await;
    for bad in [&b"no keys"[..], b""] {
        folder.write("keys", bad);
        assert!(matches!(fleet.reload().await, Err(FleetError::Content(..))));
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(fleet.reload().await, Err(FleetError::File(..))));
    assert!(fleet.state().ticket_keys, "the previous keys stay");
    assert_eq!(fleet.counts().ticket_keys_changed, 3);
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_refused() {
    let folder = Folder::new();
    let path = folder.write("keys", line(1).as_bytes());
    for mode in [0o604, 0o602, 0o601, 0o620, 0o660, 0o644, 0o777] {
        set_mode(&path, mode);
        assert!(matches!(from_file(&path), Err(FleetError::Exposed(_))), "{mode:o}");
    }
    for mode in [0o400, 0o600, 0o440, 0o640] {
        set_mode(&path, mode);
        assert!(from_file(&path).is_ok(), "{mode:o}");
    }
    assert!(matches!(from_file(folder.path()), Err(FleetError::Content(..))));
}
