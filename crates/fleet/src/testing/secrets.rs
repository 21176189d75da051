//! Rotation of the fleet secret on three nodes, in any order. [`FleetSecrets`] describes the steps.

use tercel::pki_types::UnixTime;
use tercel::session::{NewSession, TicketSealer};
use tokio::time::{advance, pause, resume};

use super::fake_store::FakeStore;
use super::nodes::{BLIND_FOR_ANY, Node, PERIOD, at};
use crate::error::FleetError;
use crate::secrets::FleetSecrets;
use crate::secrets::secret::FleetSecret;

const NOW: u64 = 1_000_000;
/// The time at which the first key of a fleet that began at `NOW` starts to seal.
const FIRST: u64 = NOW + 3;

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn secret(number: u8) -> FleetSecret {
    FleetSecret::new(&[number; 32], "test")
}

/// The steps from the first secret to the second.
fn steps() -> [FleetSecrets; 4] {
    let (old, new) = (secret(7), secret(8));
    [
        FleetSecrets::new(&old, None, None),
        FleetSecrets::new(&old, None, Some(&new)),
        FleetSecrets::new(&new, Some(&old), None),
        FleetSecrets::new(&new, None, None),
    ]
}

/// Creates sessions with increasing numbers as IDs.
struct Ids(u8);

impl Ids {
    async fn keep(&mut self, node: &Node) -> [u8; 32] {
        self.0 += 1;
        let id = [self.0; 32];
        let expires = at(UnixTime::now().as_secs() + 100);
        node.sessions.keep(NewSession { id: id.to_vec(), session: id.to_vec(), expires }).await;
        id
    }
}

/// Checks that every node accepts the tickets and sessions of every other node.
async fn all_resume_everywhere(nodes: &[Node; 3], ids: &mut Ids, now: u64) {
    for node in nodes {
        node.keys.refresh(at(now)).await.unwrap();
        node.secret_check.run().await.unwrap();
    }
    for from in nodes {
        let ticket = from.tickets.seal(b"session", at(now)).unwrap();
        for to in nodes {
            assert_eq!(to.tickets.open(&ticket, at(now)).as_deref(), Some(b"session".as_slice()));
            let id = ids.keep(from).await;
            assert_eq!(to.sessions.look_up(&id).await.as_deref(), Some(id.as_slice()));
            assert_eq!(to.sessions.remove(&id).await, Some(true));
            assert_eq!(from.sessions.look_up(&id).await, None, "it was claimed");
            assert_eq!(from.sessions.remove(&id).await, Some(false), "it was claimed");
        }
    }
}

#[tokio::test]
async fn secrets_rotate_in_any_order_and_nothing_is_lost() {
    for order in ORDERS {
        let fake = FakeStore::start();
        let [first, ..] = steps();
        let url = fake.url();
        let node = || Node::with_secrets(&url, first.clone());
        let nodes = [node().await, node().await, node().await];
        nodes[0].keys.refresh(at(NOW)).await.unwrap();
        let (mut ids, mut now) = (Ids(0), FIRST);
        all_resume_everywhere(&nodes, &mut ids, now).await;
        // A session and a ticket that live until their secret is removed.
        let long = ids.keep(&nodes[0]).await;
        let ticket = nodes[0].tickets.seal(b"session", at(now)).unwrap();
        let [_, later @ ..] = steps();
        for (step, secrets) in later.into_iter().enumerate() {
            for (place, number) in order.into_iter().enumerate() {
                nodes[number].secrets.set(secrets.clone());
                all_resume_everywhere(&nodes, &mut ids, now).await;
                // In the middle of the rotation of the secret, the ticket keys are rotated too, by
                // another node.
                if step == 1 && place == 1 {
                    now += PERIOD;
                    nodes[order[2]].keys.refresh(at(now)).await.unwrap();
                    all_resume_everywhere(&nodes, &mut ids, now).await;
                }
            }
            for node in &nodes {
                assert!(node.tickets.open(&ticket, at(now)).is_some(), "{order:?}, step {step}");
                let found = node.sessions.look_up(&long).await;
                assert_eq!(found.is_some(), step < 2, "{order:?}, step {step}");
            }
        }
        assert!(nodes.iter().all(|node| node.counts().ticket_keys_refused == 0));
    }
}

/// Entries in the store do not depend on secrets, so this holds also if steps are skipped or a
/// secret is wrong.
#[tokio::test]
async fn nodes_of_different_secrets_never_admit_one_hello_twice() {
    let fake = FakeStore::start();
    let mut nodes = Vec::new();
    for secrets in steps() {
        let node = Node::with_secrets(&fake.url(), secrets).await;
        node.observe().await.unwrap();
        nodes.push(node);
    }
    pause();
    advance(BLIND_FOR_ANY).await;
    resume();
    for (number, first) in nodes.iter().enumerate() {
        let hello = [u8::try_from(number).unwrap(); 32];
        assert!(first.admit(&hello).await);
        for node in &nodes {
            assert!(!node.admit(&hello).await);
        }
        // A change of secrets loses no entry and does not start a blind time.
        for secrets in steps() {
            first.secrets.set(secrets);
            assert!(first.guard.admits() && !first.admit(&hello).await);
        }
    }
    let before = fake.data().len();
    for round in 0..20_u8 {
        let hello = [100 + round; 32];
        let [a, b, c, d] = &nodes[..] else { unreachable!() };
        let all = tokio::join!(a.admit(&hello), b.admit(&hello), c.admit(&hello), d.admit(&hello));
        let admitted = [all.0, all.1, all.2, all.3].into_iter().filter(|each| *each).count();
        assert_eq!(admitted, 1, "round {round}");
    }
    assert_eq!(fake.data().len(), before + 20);
}

#[tokio::test]
async fn ticket_keys_are_resealed_by_nodes_that_are_further_in_the_rotation() {
    let fake = FakeStore::start();
    let [first, second, third, _] = steps();
    let node = Node::with_secrets(&fake.url(), first).await;
    node.keys.refresh(at(NOW)).await.unwrap();
    let old = fake.value("ticket-keys");
    // A node that uses the new secret only for reading leaves the set unchanged.
    node.secrets.set(second.clone());
    node.keys.refresh(at(FIRST)).await.unwrap();
    assert_eq!(fake.value("ticket-keys"), old);
    node.secrets.set(third);
    node.keys.refresh(at(FIRST)).await.unwrap();
    let new = fake.value("ticket-keys");
    assert_ne!(new, old);
    let behind = Node::with_secrets(&fake.url(), second).await;
    behind.keys.refresh(at(FIRST)).await.unwrap();
    assert_eq!(fake.value("ticket-keys"), new);
    // A missing set is written again under the current secret.
    fake.set_data(Default::default());
    node.keys.refresh(at(FIRST)).await.unwrap();
    assert_eq!(fake.value("ticket-keys"), new);
    assert_eq!(node.counts().ticket_keys_changed, 1);
}

#[tokio::test]
async fn a_secret_removed_too_early_is_reported_and_the_previous_keys_stay() {
    let fake = FakeStore::start();
    let [first, .., last] = steps();
    let node = Node::with_secrets(&fake.url(), first).await;
    node.keys.refresh(at(NOW)).await.unwrap();
    node.secret_check.run().await.unwrap();
    let data = fake.data();
    node.secrets.set(last);
    let refused = node.keys.refresh(at(FIRST)).await.unwrap_err();
    assert!(
        matches!(refused, FleetError::UnreadableKeys) && refused.to_string().contains("secret")
    );
    let refused = node.secret_check.run().await.unwrap_err();
    assert!(
        matches!(refused, FleetError::SecretMismatch) && refused.to_string().contains("secret")
    );
    assert_eq!(fake.data(), data, "unreadable values are left unchanged");
    assert!(node.tickets.seal(b"session", at(FIRST)).is_some());
}

#[tokio::test]
async fn the_secret_check_expires_unless_renewed() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    for _ in 0..2 {
        node.secret_check.run().await.unwrap();
        let (_, end) = fake.data().into_values().next().unwrap();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
        let left = u128::try_from(end.unwrap()).unwrap() - now;
        assert!((500_000..=600_000).contains(&left), "{left}");
    }
    assert_eq!(fake.data().len(), 1);
}
