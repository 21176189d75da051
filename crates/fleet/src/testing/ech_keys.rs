//! Keys for Encrypted ClientHello: one set for all nodes, in a store that loses, restores or
//! damages the set, and in the file of a node that starts without the store.

use std::sync::Arc;
use std::time::Duration;

use tercel::ech::{ConfigList, Key, Keys, Retry};
use tercel::pki_types::UnixTime;

use super::fake_store::FakeStore;
use super::nodes::{Folder, Node, PATIENCE, at, set_mode, wait_until};
use crate::EchKeySet;
use crate::ech_keys::StoreEchKeys;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::sealed_set::{LONGEST, seal};
use crate::secrets::FleetSecrets;
use crate::secrets::secret::FleetSecret;
use crate::settings::{Settings, StoreSettings};

/// A set of which the first key is sent to clients, and the configuration of that key.
fn keys(number: usize) -> (EchKeySet, ConfigList) {
    let keys: Vec<_> = (0..number)
        .map(|at| {
            let retry = if at == 0 { Retry::Send } else { Retry::AcceptOnly };
            (Key::generate("cover.example", 0).unwrap(), retry)
        })
        .collect();
    (EchKeySet::new(&keys, at(5)).unwrap(), keys[0].0.config())
}

fn secret(number: u8) -> FleetSecret {
    FleetSecret::new(&[number; 32], "test")
}

fn number(fake: &FakeStore) -> u64 {
    let value = fake.value("ech-keys");
    u64::from_be_bytes(value[1..9].try_into().unwrap())
}

/// Two nodes of which the first has published a set, and its configuration.
async fn pair(fake: &FakeStore) -> (Node, Node, ConfigList) {
    let (a, b) = (Node::at(&fake.url()).await, Node::at(&fake.url()).await);
    let (set, config) = keys(2);
    a.ech_keys.write(&set).await.unwrap();
    b.ech_keys.refresh().await.unwrap();
    (a, b, config)
}

#[tokio::test]
async fn published_keys_are_used_by_all_nodes() {
    let fake = FakeStore::start();
    let node = Node::at(&fake.url()).await;
    assert!(!node.ech_keys.is_known());
    node.ech_keys.refresh().await.unwrap();
    assert!(node.ech_keys.is_known() && node.ech_keys.number().is_none() && fake.data().is_empty());
    let (a, b, first) = Box::pin(pair(&fake)).await;
    let (set, second) = keys(1);
    b.ech_keys.write(&set).await.unwrap();
    for node in [&a, &b] {
        node.ech_keys.refresh().await.unwrap();
        assert_eq!(node.ech_keys.keys.retry_configs(), second);
        assert_eq!((node.ech_keys.number(), node.ech_keys.since()), (Some(2), Some(at(5))));
        assert_eq!((node.counts().ech_keys_changed, node.counts().ech_keys_refused), (2, 0));
    }
    assert_ne!(first, second);
    // The same keys again change nothing.
    a.ech_keys.write(&set).await.unwrap();
    assert_eq!(number(&fake), 2);
    // The store learns neither the private keys nor the configurations.
    let value = fake.value("ech-keys");
    let contains = |part: &[u8]| value.windows(part.len()).any(|found| found == part);
    assert!(!contains(b"PRIVATE KEY") && !contains(b"cover.example"));
    assert!(!contains(&second.as_bytes()[..8]));
}

#[tokio::test]
async fn keys_published_at_once_become_one_set() {
    let fake = FakeStore::start();
    let (a, b, _) = Box::pin(pair(&fake)).await;
    let ((one, _), (two, _)) = (keys(1), keys(1));
    let (first, second) = tokio::join!(a.ech_keys.publish(&one), b.ech_keys.publish(&two));
    let results = [first, second];
    let published = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(published, 1, "{results:?}");
    let superseded = |result: &Result<u64, _>| matches!(result, Err(FleetError::Superseded));
    assert!(results.iter().any(superseded), "{results:?}");
    assert_eq!(a.ech_keys.keys.retry_configs(), b.ech_keys.keys.retry_configs());
}

#[tokio::test]
async fn keys_stay_in_use_without_the_store() {
    let fake = FakeStore::start();
    let (a, _, config) = Box::pin(pair(&fake)).await;
    a.store.set_connections(None);
    assert!(matches!(a.ech_keys.refresh().await, Err(FleetError::StoreUnavailable)));
    assert_eq!(a.ech_keys.keys.retry_configs(), config);
    assert_eq!(a.ech_keys.number(), Some(1));
}

#[tokio::test]
async fn a_lost_or_restored_set_is_written_again() {
    let fake = FakeStore::start();
    let (a, b, _) = Box::pin(pair(&fake)).await;
    let old = fake.data();
    let (set, config) = keys(1);
    a.ech_keys.write(&set).await.unwrap();
    let newer = fake.value("ech-keys");
    for data in [old, Default::default()] {
        fake.set_data(data);
        a.ech_keys.refresh().await.unwrap();
        assert_eq!(fake.value("ech-keys"), newer);
    }
    assert_eq!(a.counts().ech_keys_refused, 1);
    b.ech_keys.refresh().await.unwrap();
    assert_eq!(b.ech_keys.keys.retry_configs(), config);
}

#[tokio::test]
async fn a_damaged_or_foreign_set_is_rejected_and_left_unchanged() {
    let fake = FakeStore::start();
    let (a, _, config) = Box::pin(pair(&fake)).await;
    let good = fake.data();
    let (key, sealed) = (good.keys().next().unwrap().clone(), fake.value("ech-keys"));
    for at_byte in (0..sealed.len()).step_by(97).chain([0, 1, 8, sealed.len() - 1]) {
        let mut damaged = sealed.clone();
        damaged[at_byte] ^= 1;
        fake.set_data([(key.clone(), (damaged.clone(), None))].into());
        let refused = a.ech_keys.refresh().await.unwrap_err();
        assert!(matches!(refused, FleetError::UnreadableKeys), "byte {at_byte}");
        assert_eq!(fake.value("ech-keys"), damaged);
        assert_eq!(a.ech_keys.keys.retry_configs(), config);
    }
    fake.set_data(good);
    for secret in [secret(8), FleetSecret::new(&[7; 32], "other")] {
        let other = Node::with_secret(&fake.url(), &secret).await;
        assert!(matches!(other.ech_keys.refresh().await, Err(FleetError::UnreadableKeys)));
        assert!(other.ech_keys.number().is_none());
    }
}

#[tokio::test]
async fn keys_are_resealed_when_the_fleet_secret_rotates() {
    let fake = FakeStore::start();
    let folder = Folder::new();
    let (node, _, config) = Box::pin(pair(&fake)).await;
    let old = fake.value("ech-keys");
    node.secrets.set(FleetSecrets::new(&secret(7), None, Some(&secret(8))));
    node.ech_keys.refresh().await.unwrap();
    assert_eq!(fake.value("ech-keys"), old);
    let cache = folder.path().join("cache");
    let secrets = FleetSecrets::new(&secret(8), Some(&secret(7)), None);
    let other = Node::with_secrets(&fake.url(), secrets.clone()).await;
    let cached = other.with_ech_cache(&cache);
    cached.refresh().await.unwrap();
    let new = fake.value("ech-keys");
    assert!(new != old && number(&fake) == 1);
    // What a node saved opens under the new secret alone.
    assert_eq!(std::fs::read(&cache).unwrap(), new);
    other.secrets.set(FleetSecrets::new(&secret(8), None, None));
    assert_eq!(other.with_ech_cache(&cache).keys.retry_configs(), config);
    // The node that is one step behind reads it.
    node.ech_keys.refresh().await.unwrap();
    assert_eq!(node.counts().ech_keys_changed, 1);
}

#[tokio::test]
async fn public_names_are_checked_before_keys_are_used() {
    let fake = FakeStore::start();
    let (a, b, config) = Box::pin(pair(&fake)).await;
    a.ech_keys.set_accepts(Arc::new(|name| name == "cover.example"));
    let other = Key::generate("other.example", 0).unwrap();
    let set = EchKeySet::new(&[(other, Retry::Send)], at(5)).unwrap();
    b.ech_keys.write(&set).await.unwrap();
    let refused = a.ech_keys.refresh().await.unwrap_err().to_string();
    assert!(refused.contains("public name other.example"), "{refused}");
    assert_eq!(a.ech_keys.keys.retry_configs(), config);
    assert_eq!(number(&fake), 2, "it is not replaced");
    // The certificate arrives.
    a.ech_keys.set_accepts(Arc::new(|_| true));
    a.ech_keys.refresh().await.unwrap();
    assert_eq!(a.ech_keys.number(), Some(2));
    let check = |name: &'static str| a.ech_keys.check(&move |found| found == name).is_ok();
    assert!(check("other.example") && !check("cover.example"));
}

#[test]
fn unusable_sets_are_refused() {
    let key = || Key::generate("cover.example", 0).unwrap();
    let error = |keys: &[_]| EchKeySet::new(keys, UnixTime::now()).unwrap_err().to_string();
    assert!(error(&[]).contains("no ECH key is to be sent"));
    assert!(error(&[(key(), Retry::AcceptOnly)]).contains("no ECH key is to be sent"));
    let many: Vec<_> = (0..17).map(|_| (key(), Retry::Send)).collect();
    assert!(error(&many).contains("more than 16 ECH keys"));
    let long = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "a".repeat(61));
    let longest = || (Key::generate(&long, 0).unwrap(), Retry::Send);
    let longest: Vec<_> = (0..16).map(|_| longest()).collect();
    // Equal identifiers are the only reason why random keys could not be used together.
    match EchKeySet::new(&longest, UnixTime::now()) {
        Ok(set) => assert!(format!("{set:?}") == "EchKeySet { .. }"),
        Err(error) => assert!(error.to_string().contains("the same identifier"), "{error}"),
    }
}

/// A node that a test starts as a server does.
fn fleet(url: &str, folder: &Folder) -> Fleet {
    Fleet::connect(&settings(url, folder)).unwrap()
}

fn settings(url: &str, folder: &Folder) -> Settings {
    let mut store = StoreSettings::new(url, folder.write("secret", &[7; 32]));
    store.time_limit = Duration::from_secs(1);
    Settings {
        name: "test".to_owned(),
        ech_keys: true,
        ech_key_cache: Some(folder.path().join("cache")),
        store: Some(store),
        ..Settings::default()
    }
}

#[tokio::test]
async fn a_node_that_starts_without_the_store_has_its_last_keys() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let node = fleet(&fake.url(), &folder);
    assert!(node.reached(PATIENCE).await);
    assert_eq!((node.ech_key_set(), node.state().ech_keys), (None, true));
    let (set, config) = keys(2);
    assert_eq!(node.publish_ech_keys(&set).await.unwrap(), 1);
    assert_eq!(node.ech_keys().unwrap().retry_configs(), config);
    drop(node);
    // Nothing listens there.
    let nowhere = "redis://127.0.0.1:1";
    let restarted = fleet(nowhere, &folder);
    assert!(restarted.state().ech_keys && !restarted.state().store);
    assert_eq!(restarted.ech_keys().unwrap().retry_configs(), config);
    assert_eq!(restarted.ech_key_since(), Some(at(5)));
    assert!(restarted.publish_ech_keys(&keys(1).0).await.is_err());
    // A fleet with other settings takes over the keys.
    let other = Folder::new();
    let follower = fleet(nowhere, &other);
    assert!(!follower.state().ech_keys);
    follower.follow_ech_keys(&restarted);
    assert_eq!(follower.ech_keys().unwrap().retry_configs(), config);
    let cache = folder.path().join("cache");
    for (content, mode) in [(&b"damaged"[..], 0o600), (b"", 0o600)] {
        std::fs::write(&cache, content).unwrap();
        set_mode(&cache, mode);
        assert!(!fleet(nowhere, &folder).state().ech_keys);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn saved_keys_that_others_can_write_are_ignored() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let (node, ..) = Box::pin(pair(&fake)).await;
    let cache = folder.path().join("cache");
    node.with_ech_cache(&cache).refresh().await.unwrap();
    assert!(node.with_ech_cache(&cache).is_known());
    set_mode(&cache, 0o660);
    assert!(!node.with_ech_cache(&cache).is_known());
    // A folder that cannot be written to is no reason to refuse the keys.
    let missing = folder.path().join("missing/cache");
    let keys: StoreEchKeys = node.with_ech_cache(&missing);
    keys.refresh().await.unwrap();
    assert!(keys.is_known() && !missing.exists());
}

#[tokio::test]
async fn nodes_read_new_keys_by_themselves() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let node = fleet(&fake.url(), &folder);
    assert!(node.reached(PATIENCE).await);
    let publisher = Node::at(&fake.url()).await;
    publisher.ech_keys.write(&keys(1).0).await.unwrap();
    wait_until("the keys are read", || node.ech_key_set() == Some(1)).await;
    fake.disconnect_all();
    publisher.connect().await;
    publisher.ech_keys.write(&keys(1).0).await.unwrap();
    wait_until("it is connected again", || node.ech_key_set() == Some(2)).await;
    assert_eq!(node.counts().ech_keys_changed, 2);
}

/// A node whose configuration is reloaded with another fleet must not carry the keys of the old one
/// into the store of the new one.
#[tokio::test]
async fn keys_of_one_fleet_do_not_replace_those_of_another() {
    let (first, second) = (FakeStore::start(), FakeStore::start());
    let (folder, other_folder) = (Folder::new(), Folder::new());
    let of_fleet = |name: &str, url: String, folder: &Folder, secret: &[u8]| {
        let mut store = StoreSettings::new(url, folder.write("secret", secret));
        store.time_limit = Duration::from_secs(1);
        let name = name.to_owned();
        Settings { name, ech_keys: true, store: Some(store), ..Settings::default() }
    };
    // The first fleet has rotated its keys more often than the second one.
    let settings = of_fleet("first", first.url(), &folder, &[6; 32]);
    let before = Fleet::connect(&settings).unwrap();
    assert!(before.reached(PATIENCE).await);
    for _ in 0..2 {
        before.publish_ech_keys(&keys(1).0).await.unwrap();
    }
    let (a, b, config) = Box::pin(pair(&second)).await;
    let published = second.value("ech-keys");
    assert_eq!(number(&second), 1);
    // What a reload of the proxy does when `resumption.name` or the store changes.
    let settings = of_fleet("test", second.url(), &other_folder, &[7; 32]);
    let after = Fleet::prepare(&settings).unwrap();
    after.follow_ech_keys(&before);
    after.begin();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let is_unchanged = second.value("ech-keys") == published;
    assert!(is_unchanged, "the set of the second fleet was replaced");
    for node in [&a, &b] {
        node.ech_keys.refresh().await.unwrap();
        assert_eq!(node.ech_keys.keys.retry_configs(), config);
    }
}

/// A reload that replaces keys by those of a fleet keeps the old ones until the others are known,
/// and while the store has none. The store never gets the old ones.
#[tokio::test]
async fn other_keys_stay_in_use_until_those_of_the_fleet_are_known() {
    let (fake, folder) = (FakeStore::start(), Folder::new());
    let own = Key::generate("own.example", 0).unwrap();
    let config = own.config();
    let before = Keys::new(vec![(own, Retry::Send)]).unwrap();
    let node = Fleet::prepare(&settings(&fake.url(), &folder)).unwrap();
    node.keep_ech_keys(&before);
    assert!(!node.state().ech_keys && node.ech_key_set().is_none());
    assert_eq!(node.ech_keys().unwrap().retry_configs(), config);
    node.begin();
    assert!(node.reached(PATIENCE).await);
    assert_eq!(node.ech_keys().unwrap().retry_configs(), config);
    assert!(fake.data().is_empty());
    let (set, published) = keys(1);
    assert_eq!(node.publish_ech_keys(&set).await.unwrap(), 1);
    assert_eq!(node.ech_keys().unwrap().retry_configs(), published);
    // Known keys are not replaced by others.
    node.keep_ech_keys(&before);
    assert_eq!(node.ech_keys().unwrap().retry_configs(), published);
    // Nor does a set of another fleet with a larger number count as a newer one.
    let (second, other_folder) = (FakeStore::start(), Folder::new());
    let other = fleet(&second.url(), &other_folder);
    other.follow_ech_keys(&node);
    assert_eq!(other.ech_keys().unwrap().retry_configs(), published);
    assert!(other.reached(PATIENCE).await);
    assert!(other.ech_key_set().is_none() && second.data().is_empty());
}

/// A secret that is replaced without a rotation makes another fleet at the same place.
#[tokio::test]
async fn a_set_under_a_replaced_secret_is_not_newer_than_that_of_the_store() {
    let fake = FakeStore::start();
    let (a, _, _) = Box::pin(pair(&fake)).await;
    a.ech_keys.write(&keys(1).0).await.unwrap();
    assert_eq!(number(&fake), 2);
    fake.set_data(Default::default());
    let other = Node::with_secret(&fake.url(), &secret(8)).await;
    let (set, config) = keys(1);
    other.ech_keys.write(&set).await.unwrap();
    let published = fake.value("ech-keys");
    a.secrets.set(FleetSecrets::new(&secret(8), None, None));
    a.ech_keys.refresh().await.unwrap();
    assert!(fake.value("ech-keys") == published && number(&fake) == 1);
    assert_eq!((a.ech_keys.number(), a.ech_keys.keys.retry_configs()), (Some(1), config));
}

/// The store has lost the keys, or the operator has deleted them because they were stolen.
#[tokio::test]
async fn keys_under_a_replaced_secret_are_not_written_to_a_store_without_keys() {
    let fake = FakeStore::start();
    let (a, b, config) = Box::pin(pair(&fake)).await;
    fake.set_data(Default::default());
    for node in [&a, &b] {
        node.secrets.set(FleetSecrets::new(&secret(8), None, None));
        node.ech_keys.refresh().await.unwrap();
        assert!(fake.data().is_empty());
        // They stay in use until others are published, as keys from before a reload do.
        assert_eq!(node.ech_keys.keys.retry_configs(), config);
        assert_eq!(node.ech_keys.number(), None);
    }
    let (set, published) = keys(1);
    a.ech_keys.write(&set).await.unwrap();
    for node in [&a, &b] {
        node.ech_keys.refresh().await.unwrap();
        assert_eq!(node.ech_keys.keys.retry_configs(), published);
        assert_eq!(node.ech_keys.number(), Some(1));
    }
}

#[tokio::test]
async fn a_value_that_is_too_long_is_rejected_and_left_unchanged() {
    let fake = FakeStore::start();
    let (a, _, config) = Box::pin(pair(&fake)).await;
    let name = fake.data().keys().next().unwrap().clone();
    let sealed = |length| seal(&secret(7).key("ech keys 1"), 9, &vec![1; length]).unwrap();
    let overhead = sealed(0).len();
    let long = sealed(LONGEST + 1 - overhead);
    fake.set_data([(name.clone(), (long.clone(), None))].into());
    assert!(matches!(a.ech_keys.refresh().await, Err(FleetError::UnreadableKeys)));
    assert!(fake.value("ech-keys") == long && a.ech_keys.keys.retry_configs() == config);
    // One byte less is read and decrypted, and its content rejected.
    fake.set_data([(name, (sealed(LONGEST - overhead), None))].into());
    assert!(matches!(a.ech_keys.refresh().await, Err(FleetError::EchKeys(_))));
}
