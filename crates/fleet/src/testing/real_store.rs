//! Nodes against a real server that is killed, suspended, restarted empty or with an old snapshot,
//! emptied, or used over TLS.
//!
//! Without `valkey-server` or `redis-server` these tests print `absent:` and check nothing;
//! `TERCEL_STORE_SERVER` names another program.

use std::time::Duration;

use redis::FromRedisValue;
use tercel::EarlyData;
use tercel::wire::ProtocolVersion;
use tercel_harness::ports::free_port;
use tercel_harness::store::Store;
use tokio::time::Instant;

use super::clients_without_key::clients_without_key_remove_no_session;
use super::nodes::{Folder, Node, wait_until};
use super::over_tls::{
    BLIND, IDENTITY, Shares, TlsNode, a_fatal_alert_removes_the_session, client,
    clients_resume_everywhere, early_data_is_accepted_once, settings,
};
use crate::fleet::Fleet;
use crate::settings::StoreSettings;
use crate::store::client::StoreAddress;

/// A server for one test, in a folder of its own.
struct RealStore {
    store: Store,
    _folder: Folder,
}

impl RealStore {
    fn start(options: &[&str]) -> Option<Self> {
        let folder = Folder::new();
        let store = Store::start_if_installed(folder.path(), options).unwrap()?;
        Some(Self { store, _folder: folder })
    }

    fn url(&self) -> String {
        self.store.url()
    }

    async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let address = StoreAddress::of(&StoreSettings::new(self.url(), "")).unwrap();
        let mut connection = address.connect(&Default::default()).await.unwrap();
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query_async(&mut connection).await.unwrap()
    }
}

async fn pair(real: &RealStore, folder: &Folder, shares: Shares) -> (TlsNode, TlsNode) {
    let settings = settings(&real.url(), folder, shares);
    let nodes = (TlsNode::start(&settings).await, TlsNode::start(&settings).await);
    nodes.0.ready().await;
    nodes.1.ready().await;
    nodes
}

#[tokio::test]
async fn clients_resume_on_another_node() {
    let Some(real) = RealStore::start(&[]) else { return };
    let folder = Folder::new();
    for shares in [Shares::Tickets, Shares::Sessions] {
        let (a, b) = pair(&real, &folder, shares).await;
        clients_resume_everywhere(&[&a, &b]).await;
        early_data_is_accepted_once(&a, &b).await;
        Box::pin(clients_without_key_remove_no_session([&a, &b])).await;
        if shares == Shares::Sessions {
            a_fatal_alert_removes_the_session([&a, &b]).await;
        }
    }
}

#[tokio::test]
async fn of_two_concurrent_nodes_one_claims_one_admits_and_one_rotates() {
    let Some(real) = RealStore::start(&[]) else { return };
    let (a, b) = (Node::at(&real.url()).await, Node::at(&real.url()).await);
    for round in 0..50_u8 {
        let id = [round; 32];
        let expires = super::nodes::at(tercel::pki_types::UnixTime::now().as_secs() + 100);
        let new =
            tercel::session::NewSession { id: id.to_vec(), session: b"session".to_vec(), expires };
        a.sessions.keep(new).await;
        let both = tokio::join!(a.sessions.look_up(&id), b.sessions.look_up(&id));
        assert!(both.0.is_some() && both.1.is_some(), "round {round}");
        let both = tokio::join!(a.sessions.remove(&id), b.sessions.remove(&id));
        assert!(both.0.unwrap() ^ both.1.unwrap(), "round {round}");
        // The first set is created in round 0; its key begins three seconds later.
        let settled = if round == 0 { 0 } else { 3 };
        let now = 1_000_000 + u64::from(round) * super::nodes::PERIOD + settled;
        let now = super::nodes::at(now);
        let both = tokio::join!(a.keys.refresh(now), b.keys.refresh(now));
        both.0.unwrap();
        both.1.unwrap();
        let value: Vec<u8> = real.ask(&["GET", "tercel:{test}:ticket-keys"]).await;
        assert_eq!(value[1..9], (u64::from(round) + 1).to_be_bytes());
    }
    for node in [&a, &b] {
        node.observe().await.unwrap();
    }
    tokio::time::pause();
    tokio::time::advance(super::nodes::BLIND_FOR_ANY).await;
    tokio::time::resume();
    for round in 0..50_u8 {
        let binder = [round];
        let both = tokio::join!(a.admit(&binder), b.admit(&binder));
        assert!(both.0 ^ both.1, "round {round}");
    }
}

#[tokio::test]
async fn a_session_removed_before_it_arrives_stays_removed() {
    let Some(real) = RealStore::start(&[]) else { return };
    let node = Node::at(&real.url()).await;
    let expires = super::nodes::at(tercel::pki_types::UnixTime::now().as_secs() + 100);
    let new = |id: [u8; 32]| {
        let (id, session) = (id.to_vec(), b"session".to_vec());
        tercel::session::NewSession { id, session, expires }
    };
    assert!(!node.sessions.forget(&[1; 32]).await.unwrap());
    assert_eq!(node.sessions.remove(&[1; 32]).await, Some(false));
    node.sessions.keep(new([1; 32])).await;
    assert_eq!(node.sessions.look_up(&[1; 32]).await, None);
    assert_eq!(node.sessions.remove(&[1; 32]).await, Some(false));
    let keys: Vec<String> = real.ask(&["KEYS", "*session:*"]).await;
    let left: i64 = real.ask(&["PTTL", &keys[0]]).await;
    assert!(keys.len() == 1 && (604_790_000..=604_800_000).contains(&left), "{keys:?} {left}");
    // Another session is not affected, and leaves no tombstone.
    node.sessions.keep(new([2; 32])).await;
    assert!(node.sessions.look_up(&[2; 32]).await.is_some());
    assert!(node.sessions.forget(&[2; 32]).await.unwrap());
    assert_eq!(node.sessions.look_up(&[2; 32]).await, None);
    let keys: Vec<String> = real.ask(&["KEYS", "*session:*"]).await;
    assert_eq!((keys.len(), node.counts().kept), (1, 1));
}

/// Nodes refuse early data after `disturb`, which returns a time before the store was available
/// again, and then recover by themselves.
async fn blind_after(disturb: impl AsyncFnOnce(&mut RealStore) -> Instant) {
    let Some(mut real) = RealStore::start(&[]) else { return };
    let folder = Folder::new();
    let (a, b) = pair(&real, &folder, Shares::Tickets).await;
    early_data_is_accepted_once(&a, &b).await;
    let client = client(ProtocolVersion::TLS1_3);
    assert!(!a.connect(&client, b"").await.0);
    let lost = disturb(&mut real).await;
    for node in [&a, &b] {
        // The previous keys stay in use.
        node.rejects_early_data_since(lost, &client).await;
    }
    for node in [&a, &b] {
        wait_until("connected", || node.fleet.state().store).await;
        node.rejects_early_data_since(lost, &client).await;
    }
    for node in [&a, &b] {
        wait_until("early data", || node.fleet.state().early_data).await;
    }
    early_data_is_accepted_once(&b, &a).await;
    clients_resume_everywhere(&[&a, &b]).await;
}

#[tokio::test]
async fn nodes_are_blind_after_an_empty_restart() {
    blind_after(async |real| {
        real.store.kill().unwrap();
        let lost = Instant::now();
        real.store.start_empty().unwrap();
        lost
    })
    .await;
}

#[tokio::test]
async fn nodes_are_blind_after_a_restart_with_an_old_snapshot() {
    blind_after(async |real| {
        real.store.save().unwrap();
        let keys: Vec<String> = real.ask(&["KEYS", "*epoch*"]).await;
        assert_eq!(keys.len(), 1);
        real.store.kill().unwrap();
        let lost = Instant::now();
        real.store.start_with_snapshot().unwrap();
        let restored: Vec<String> = real.ask(&["KEYS", &keys[0]]).await;
        assert_eq!(restored, keys, "the old epoch was restored");
        lost
    })
    .await;
}

#[tokio::test]
async fn nodes_are_blind_after_a_flush() {
    blind_after(async |real| {
        let lost = Instant::now();
        real.store.flush().unwrap();
        lost
    })
    .await;
}

#[tokio::test]
async fn a_suspended_server_is_unavailable() {
    blind_after(async |real| {
        real.store.freeze().unwrap();
        // This is longer than the connect time limit, and than the interval of checks.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let lost = Instant::now();
        real.store.thaw().unwrap();
        lost
    })
    .await;
}

#[tokio::test]
async fn a_server_that_may_evict_admits_no_early_data() {
    let options = ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"];
    let Some(real) = RealStore::start(&options) else { return };
    let folder = Folder::new();
    let node = TlsNode::start(&settings(&real.url(), &folder, Shares::Sessions)).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!node.fleet.state().early_data);
    let _: String = real.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    node.ready().await;
    let _: String = real.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]).await;
    wait_until("refused", || !node.fleet.state().early_data).await;
}

#[tokio::test]
async fn of_nodes_with_different_clock_limits_the_first_admits() {
    let Some(real) = RealStore::start(&[]) else { return };
    let folder = Folder::new();
    let same = settings(&real.url(), &folder, Shares::Tickets);
    let (a, b) = (TlsNode::start(&same).await, TlsNode::start(&same).await);
    a.ready().await;
    let mut differs = same.clone();
    differs.store.as_mut().unwrap().clock_difference = Duration::from_secs(6);
    let c = TlsNode::start(&differs).await;
    c.ready_to_resume().await;
    // Longer than a blind time with several checks of the store.
    tokio::time::sleep(BLIND + Duration::from_secs(2)).await;
    early_data_is_accepted_once(&a, &b).await;
    let client = client(ProtocolVersion::TLS1_3);
    a.connect(&client, b"").await;
    assert_eq!(c.connect(&client, b"early").await, (true, EarlyData::Rejected));
    assert!(!c.fleet.state().early_data);
    assert_eq!(c.fleet.counts().early_data_admitted, 0);
    // Without these nodes, no node renews their epoch.
    drop((a, b));
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let keys: Vec<String> = real.ask(&["KEYS", "*epoch*"]).await;
    let left: i64 = real.ask(&["PTTL", &keys[0]]).await;
    assert!(keys.len() == 1 && left < 598_500, "{keys:?} {left}");
}

/// Replicas and cluster members answer `PING` like any store.
#[tokio::test]
async fn replicas_and_cluster_members_are_unavailable() {
    let folder = Folder::new();
    let bus = free_port().unwrap().to_string();
    let cluster = ["--cluster-enabled", "yes", "--cluster-port", &bus];
    for options in [&["--replicaof", "127.0.0.1", "1"][..], &cluster] {
        let Some(real) = RealStore::start(options) else { return };
        for shares in [Shares::Tickets, Shares::Sessions] {
            let fleet = Fleet::connect(&settings(&real.url(), &folder, shares)).unwrap();
            assert!(!fleet.reached(Duration::from_millis(500)).await, "{options:?}");
            let (state, counts) = (fleet.state(), fleet.counts());
            assert!(!state.store && !state.early_data, "{options:?}");
            assert_eq!((counts.connected, counts.errors), (0, 0), "{options:?}");
        }
    }
}

#[tokio::test]
async fn the_store_is_reached_over_tls_and_by_path() {
    let folder = Folder::new();
    let pem = |label: &str, der: &[u8]| {
        let base64 = base64(der);
        format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n").into_bytes()
    };
    let certificate = folder.write("certificate.pem", &pem("CERTIFICATE", &IDENTITY.leaf));
    let key = folder.write("key.pem", &pem("PRIVATE KEY", &IDENTITY.key));
    let roots = folder.write("roots.pem", &pem("CERTIFICATE", &IDENTITY.root));
    let port = free_port().unwrap().to_string();
    let path = folder.path().join("socket");
    let paths = [&certificate, &key, &roots, &path].map(|path| path.to_str().unwrap());
    let options = [
        ["--tls-port", &port],
        ["--tls-cert-file", paths[0]],
        ["--tls-key-file", paths[1]],
        ["--tls-ca-cert-file", paths[2]],
        ["--unixsocket", paths[3]],
        ["--requirepass", "password"],
    ];
    let Some(_real) = RealStore::start(options.as_flattened()) else { return };
    let urls = [
        format!("rediss://:password@localhost:{port}"),
        format!("unix://{}?pass=password", paths[3]),
    ];
    for url in urls {
        let mut settings = settings(&url, &folder, Shares::Sessions);
        let store = settings.store.as_mut().unwrap();
        store.roots = Some(roots.clone());
        store.certificate = Some((certificate.clone(), key.clone()));
        let (a, b) = (TlsNode::start(&settings).await, TlsNode::start(&settings).await);
        clients_resume_everywhere(&[&a, &b]).await;
    }
    // An untrusted certificate authority and a wrong password are refused.
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let other = folder.write("other.pem", other.cert.pem().as_bytes());
    let mut untrusted =
        settings(&format!("rediss://:password@localhost:{port}"), &folder, Shares::Sessions);
    untrusted.store.as_mut().unwrap().roots = Some(other);
    let mut unknown =
        settings(&format!("rediss://:wrong@localhost:{port}"), &folder, Shares::Sessions);
    unknown.store.as_mut().unwrap().roots = Some(roots);
    for settings in [untrusted, unknown] {
        let fleet = Fleet::connect(&settings).unwrap();
        assert!(!fleet.reached(Duration::from_millis(500)).await);
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let group = part.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - part.len()));
        for digit in 0..4 {
            let value = usize::try_from(group >> (18 - 6 * digit) & 63).unwrap();
            text.push(if digit <= part.len() { char::from(DIGITS[value]) } else { '=' });
        }
    }
    text
}
