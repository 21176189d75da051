//! Keys for Encrypted ClientHello that two terminators read from one store.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use tercel::ech::{ConfigList, Offer};
use tercel::{ClientConfig, Ech};
use tercel_harness::store::Store;
use tercel_proxy::{Config, Proxy, PublishedEchKeys, publish_ech_keys};

use crate::ech::{PUBLIC, SECRET, add_key, attempt, attempt_at, connected, folder};
use crate::support::{
    Folder, client, config, echo, metric, quoted, start, unused_address, wait_until,
};

/// TOML of a node that shares keys through this store, and saves them to `cache` of the folder.
async fn node(folder: &Folder, url: &str, cache: Option<&str>) -> String {
    let secret = folder.path("fleet.secret");
    if !secret.exists() {
        fs::write(&secret, [b'x'; 32]).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let cache = cache.map(|file| format!("cache = {}\n", quoted(&folder.path(file))));
    format!(
        "workers = 1\n[ech]\nkeys = \"shared\"\n{}[resumption.store]\nurl = \"{url}\"\n\
         secret = {}\ntime_limit = 1\n{}to = \"{}\"\n",
        cache.unwrap_or_default(),
        quoted(&secret),
        folder.listener(),
        echo().await
    )
}

/// Publishes the keys of the folder, as `tercel ech publish` does.
async fn publish(text: &str, folder: &Folder, retry: &[&str]) -> Result<PublishedEchKeys, String> {
    let (config, directory) = (config(text), folder.path("ech"));
    let retry: Vec<_> = retry.iter().map(|name| (*name).to_owned()).collect();
    let publishing = move || {
        let published = publish_ech_keys(&config, &directory, &retry);
        published.map_err(|error| format!("{error:#}"))
    };
    tokio::task::spawn_blocking(publishing).await.unwrap()
}

/// Waits until both nodes have read this set of keys.
async fn all_have(nodes: &[Proxy; 2], set: u64) {
    for node in nodes {
        wait_until("the keys are read", || metric(node, "tercel_ech_key_set") == set).await;
    }
}

/// Whether both nodes accept this configuration at the first attempt.
async fn all_accept(nodes: &[Proxy; 2], config: &Arc<ClientConfig>, configs: &ConfigList) {
    for node in nodes {
        assert_eq!(connected(node, config, configs).await.info().ech, Ech::Accepted);
    }
}

#[tokio::test]
async fn two_nodes_share_keys_and_rotate_them() {
    let folder = folder(&[SECRET]);
    let Some(mut store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let url = store.url();
    let text = [node(&folder, &url, Some("a")).await, node(&folder, &url, Some("b")).await];
    let nodes = [start(&text[0]), start(&text[1])];
    let config = client().build().unwrap();
    let old = add_key(&folder, "2026-01", PUBLIC);
    // Before keys are published, the client is requested to connect without ECH.
    let offer = || Offer::Configs(old.clone());
    let address = nodes[0].addresses()[0];
    let without = attempt_at(address, &config, offer(), 2).await.unwrap();
    assert_eq!(without.info().ech, Ech::NotOffered);
    for node in &nodes {
        wait_until("it is connected", || metric(node, "tercel_store_connected") == 1).await;
        assert_eq!(metric(node, "tercel_ech_key_set"), 0);
    }
    let published = publish(&text[0], &folder, &[]).await.unwrap();
    let sent = vec!["2026-01.ech".to_owned()];
    assert_eq!(published, PublishedEchKeys { set: 1, keys: 1, sent: sent.clone() });
    all_have(&nodes, 1).await;
    all_accept(&nodes, &config, &old).await;
    // The new key is accepted by all nodes before any of them sends it.
    let new = add_key(&folder, "2026-02", PUBLIC);
    let published = publish(&text[1], &folder, &["2026-01.ech"]).await.unwrap();
    assert_eq!(published, PublishedEchKeys { set: 2, keys: 2, sent });
    all_have(&nodes, 2).await;
    all_accept(&nodes, &config, &old).await;
    all_accept(&nodes, &config, &new).await;
    // The last step: clients with the old key recover at every node.
    fs::remove_file(folder.path("ech/2026-01.ech")).unwrap();
    assert_eq!(publish(&text[0], &folder, &[]).await.unwrap().set, 3);
    all_have(&nodes, 3).await;
    for node in &nodes {
        assert!(attempt(node, &config, offer()).await.is_err());
        let stream = attempt_at(node.addresses()[0], &config, offer(), 2).await.unwrap();
        assert_eq!(stream.info().ech, Ech::Accepted);
        assert_eq!(metric(node, "tercel_reloads_total{what=\"ech_keys\",result=\"ok\"}"), 3);
    }
    // Without the store, the keys stay in use, and a node that starts has those of its file.
    store.kill().unwrap();
    for node in &nodes {
        let is_away = || metric(node, "tercel_store_connected") == 0;
        wait_until("the loss is noticed", is_away).await;
    }
    all_accept(&nodes, &config, &new).await;
    assert!(publish(&text[0], &folder, &[]).await.unwrap_err().contains("store unavailable"));
    let [first, second] = nodes;
    drop(first);
    let nodes = [start(&text[0]), second];
    assert_eq!(metric(&nodes[0], "tercel_store_connected"), 0);
    all_accept(&nodes, &config, &new).await;
    // A store without data gets the keys of a node, and so do new nodes.
    store.start_empty().unwrap();
    wait_until("it is connected", || metric(&nodes[0], "tercel_store_connected") == 1).await;
    let empty = start(&node(&folder, &url, None).await);
    wait_until("the keys are written again", || metric(&empty, "tercel_ech_key_set") == 3).await;
    assert_eq!(connected(&empty, &config, &new).await.info().ech, Ech::Accepted);
}

#[tokio::test]
async fn keys_without_a_certificate_are_not_published_and_not_used() {
    let folder = folder(&[SECRET]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let text = node(&folder, &store.url(), None).await;
    let mut proxy = start(&text);
    let config = client().build().unwrap();
    let good = add_key(&folder, "1", PUBLIC);
    publish(&text, &folder, &[]).await.unwrap();
    wait_until("the keys are read", || metric(&proxy, "tercel_ech_key_set") == 1).await;
    add_key(&folder, "2", "other.example");
    let error = publish(&text, &folder, &[]).await.unwrap_err();
    assert!(error.contains("public name other.example"), "{error}");
    // Another node has that certificate.
    let elsewhere = Folder::new(&[PUBLIC, "other.example"]);
    let (here, there) = (quoted(&folder.path("certs")), quoted(&elsewhere.path("certs")));
    assert_eq!(publish(&text.replace(&here, &there), &folder, &[]).await.unwrap().set, 2);
    let refused = || metric(&proxy, "tercel_reloads_total{what=\"ech_keys\",result=\"failed\"}");
    wait_until("the set is refused", || refused() >= 1).await;
    assert_eq!(connected(&proxy, &config, &good).await.info().ech, Ech::Accepted);
    assert_eq!(metric(&proxy, "tercel_ech_key_set"), 1);
    // A reload keeps the keys, also if it replaces the fleet.
    let changed = text.replace("time_limit = 1", "time_limit = 2");
    proxy.reload(self::config(&changed)).unwrap();
    assert_eq!(connected(&proxy, &config, &good).await.info().ech, Ech::Accepted);
    // It refuses listeners that have no certificate for the public name of keys in use.
    let without = Folder::new(&[SECRET]);
    let error = proxy
        .reload(self::config(&changed.replace(&here, &quoted(&without.path("certs")))))
        .unwrap_err()
        .to_string();
    assert!(error.contains("ech.keys: no listener has a certificate for the public name"));
    assert!(error.ends_with("(line 3)"), "{error}");
}

#[test]
fn settings_of_shared_keys_are_checked() {
    let error = |text: &str| Config::parse("f.toml", text).unwrap_err().to_string();
    let listener = "[[listener]]\naddress = \":1\"\nto = \"127.0.0.1:1\"\ncertificates = \"/x\"\n";
    let store = "[resumption.store]\nurl = \"redis://127.0.0.1:1\"\nsecret = \"/x\"\n";
    let shared = "[ech]\nkeys = \"shared\"\n";
    let alone = error(&format!("{shared}{listener}"));
    assert!(alone.contains("ech.keys: requires a store") && alone.contains("(line 2)"), "{alone}");
    let both = error(&format!("{shared}directory = \"/x\"\n{store}{listener}"));
    assert!(both.contains("ech.directory: cannot be set with keys"), "{both}");
    let retry = error(&format!("{shared}retry = \"a.ech\"\n{store}{listener}"));
    assert!(retry.contains("ech.retry: cannot be set with keys"), "{retry}");
    let cache = error(&format!("[ech]\ndirectory = \"/x\"\ncache = \"/y\"\n{listener}"));
    assert!(cache.contains("ech.cache: requires keys = \"shared\""), "{cache}");
    let parsed = Config::parse("f.toml", &format!("{shared}cache = \"/y\"\n{store}{listener}"));
    let fleet = parsed.unwrap().resumption.fleet.unwrap();
    assert!(fleet.ech_keys && fleet.ech_key_cache.is_some());
    let own = config(&format!("[ech]\ndirectory = \"/x\"\n{store}{listener}"));
    let error = publish_ech_keys(&own, "/x".as_ref(), &[]).unwrap_err().to_string();
    assert!(error.contains("ech.keys: must be \"shared\""), "{error}");
}

/// How long a start without a store and without saved keys waits for them.
#[tokio::test]
async fn a_node_without_keys_serves_without_ech() {
    let folder = folder(&[SECRET]);
    let old = add_key(&folder, "1", PUBLIC);
    let store = format!("redis://{}", unused_address().await);
    let text = node(&folder, &store, Some("none")).await;
    let began = std::time::Instant::now();
    let proxy = start(&text);
    assert!(began.elapsed() >= Duration::from_secs(2));
    let config = client().build().unwrap();
    let offer = Offer::Configs(old);
    let stream = attempt_at(proxy.addresses()[0], &config, offer, 2).await.unwrap();
    assert_eq!(stream.info().ech, Ech::NotOffered);
    assert_eq!(metric(&proxy, "tercel_ech_key_set"), 0);
}

/// A reload that changes from own to shared keys, while the store is unreachable.
#[tokio::test]
async fn own_keys_stay_in_use_until_shared_ones_are_known() {
    let folder = folder(&[SECRET]);
    let own = add_key(&folder, "1", PUBLIC);
    let store = format!("redis://{}", unused_address().await);
    let shared = node(&folder, &store, None).await;
    let directory = format!("directory = {}", quoted(&folder.path("ech")));
    let mut proxy = start(&shared.replace("keys = \"shared\"", &directory));
    let config = client().build().unwrap();
    assert_eq!(connected(&proxy, &config, &own).await.info().ech, Ech::Accepted);
    for time_limit in ["time_limit = 1", "time_limit = 2"] {
        let text = shared.replace("time_limit = 1", time_limit);
        proxy.reload(self::config(&text)).unwrap();
        assert_eq!(connected(&proxy, &config, &own).await.info().ech, Ech::Accepted);
        assert_eq!(metric(&proxy, "tercel_ech_key_set"), 0);
    }
}
