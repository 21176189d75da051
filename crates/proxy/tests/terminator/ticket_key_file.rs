//! Resumption on another process, with ticket keys in a file.
//!
//! The tests that need a store are in `src/testing/shared_store.rs`.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use tercel::ClientConfig;
use tercel::pki_types::UnixTime;
use tercel_proxy::Proxy;

use crate::support::{
    Folder, client, config, connect_with, echo, echoed, metric, quoted, start, wait_until,
};

/// A line of the key file: a key, derived from `number`, that becomes active at this time.
fn key(begins: u64, number: u8) -> String {
    format!("{begins} {}\n", format!("{number:02x}").repeat(48))
}

/// Replaces the file atomically.
fn write_keys(folder: &Folder, keys: &str) -> std::path::PathBuf {
    let (new, file) = (folder.path("new.keys"), folder.path("ticket.keys"));
    std::fs::write(&new, keys).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(&new, &file).unwrap();
    file
}

async fn resumed(proxy: &Proxy, settings: &Arc<ClientConfig>) -> bool {
    let mut stream = connect_with(proxy, "a.example", settings.clone()).await.unwrap();
    assert_eq!(echoed(&mut stream, b"x").await, b"x");
    stream.info().resumed
}

#[tokio::test]
async fn ticket_keys_in_a_file_are_reloaded() {
    let folder = Folder::new(&["a.example"]);
    let now = UnixTime::now().as_secs();
    let [first, second, third] = [key(now - 3000, 1), key(now - 2000, 2), key(now - 1000, 3)];
    let file = write_keys(&folder, &first);
    let text = format!(
        "workers = 1\n{}to = \"{}\"\n[resumption]\ntickets = \"shared\"\nticket_keys = {}\n",
        folder.listener(),
        echo().await,
        quoted(&file)
    );
    let mut proxy = start(&text);
    let fleet = proxy.fleet().unwrap();
    let age = |proxy: &Proxy| metric(proxy, "tercel_ticket_key_age_seconds");
    assert!((3000..3100).contains(&age(&proxy)), "{}", age(&proxy));
    let settings = client().build().unwrap();
    assert!(!resumed(&proxy, &settings).await);
    // The file is reloaded on request; the previous key still opens tickets.
    write_keys(&folder, &(first + &second));
    fleet.reload().await.unwrap();
    assert!((2000..2100).contains(&age(&proxy)), "{}", age(&proxy));
    assert!(resumed(&proxy, &settings).await);
    // An invalid file is reported, and the keys stay unchanged.
    write_keys(&folder, "soon\n");
    assert!(fleet.reload().await.is_err());
    assert!(resumed(&proxy, &settings).await);
    // The file is reloaded automatically; a ticket of a removed key leads to a full handshake.
    let taken = fleet.counts().ticket_keys_changed;
    write_keys(&folder, &third);
    wait_until("the new keys are loaded", || fleet.counts().ticket_keys_changed == taken + 1).await;
    assert!((1000..1100).contains(&age(&proxy)), "{}", age(&proxy));
    assert!(!resumed(&proxy, &settings).await);
    assert!(resumed(&proxy, &settings).await);
    // Without the file the process uses its own keys again, and the metric shows it.
    let own = text.split("[resumption]").next().unwrap();
    proxy.reload(config(own)).unwrap();
    assert!(age(&proxy) < 100, "{}", age(&proxy));
}

#[tokio::test]
async fn ticket_keys_in_a_file_are_shared_between_processes() {
    let folder = Folder::new(&["a.example"]);
    let file = write_keys(&folder, &key(1000, 1));
    let text = format!(
        "workers = 1\n{}to = \"{}\"\n[resumption]\ntickets = \"shared\"\nticket_keys = {}\n",
        folder.listener(),
        echo().await,
        quoted(&file)
    );
    let (one, other) = (start(&text), start(&text));
    let settings = client().build().unwrap();
    for (proxy, expected) in [(&one, false), (&other, true), (&one, true)] {
        assert_eq!(resumed(proxy, &settings).await, expected);
    }
    // A configuration whose key file is missing is refused.
    std::fs::remove_file(&file).unwrap();
    let error = tercel_proxy::check(&config(&text)).unwrap_err();
    assert_eq!(error.key, "resumption.ticket_keys", "{error}");
}
