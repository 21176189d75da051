//! Reloads of configuration and certificates while connections are open.

use std::os::unix::fs::PermissionsExt;

use rcgen::{CertificateParams, KeyPair};
use tercel::ServerConfig;
use tercel_tokio::Acceptor;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::support::{
    Folder, LIMIT, backend, client, config, connect, connect_with, echo, echoed, exchange,
    greeting_echo, identity, quoted,
};

fn text(folder: &Folder, to: std::net::SocketAddr) -> String {
    format!("workers = 2\n{}to = \"{to}\"\n", folder.listener())
}

#[tokio::test]
async fn routes_change_without_closing_connections() {
    let folder = Folder::new(&["a.example"]);
    let (one, two) = (greeting_echo(b"1").await, greeting_echo(b"2").await);
    // Without this setting, the session context would change with the backend.
    let text = |to| text(&folder, to) + "session_context = \"greeting\"\n";
    let mut proxy = crate::support::start(&text(one));
    let mut old = connect(&proxy, "a.example", client()).await.unwrap();
    let settings = client().build().unwrap();
    let mut stream = connect_with(&proxy, "a.example", settings.clone()).await.unwrap();
    assert_eq!(exchange(&mut stream, b"").await.unwrap(), b"1");
    proxy.reload(config(&text(two))).unwrap();
    // The workers adopt the new configuration one after the other.
    let replaced = async {
        loop {
            let mut stream = connect_with(&proxy, "a.example", settings.clone()).await.unwrap();
            // A ticket stays valid across a reload.
            assert!(stream.info().resumed);
            if exchange(&mut stream, b"").await.unwrap() == b"2" {
                break;
            }
        }
    };
    timeout(LIMIT, replaced).await.expect("the backend has not changed");
    assert_eq!(exchange(&mut old, b"still").await.unwrap(), b"1still");
}

#[tokio::test]
async fn session_is_not_resumed_after_a_route_changes_backends() {
    let folder = Folder::new(&["a.example"]);
    let (one, two) = (greeting_echo(b"1").await, greeting_echo(b"2").await);
    let mut proxy = crate::support::start(&text(&folder, one));
    let settings = client().build().unwrap();
    for resumed in [false, true] {
        let mut stream = connect_with(&proxy, "a.example", settings.clone()).await.unwrap();
        assert_eq!(exchange(&mut stream, b"").await.unwrap(), b"1");
        assert_eq!(stream.info().resumed, resumed);
    }
    proxy.reload(config(&text(&folder, two))).unwrap();
    let replaced = async {
        loop {
            let mut stream = connect_with(&proxy, "a.example", settings.clone()).await.unwrap();
            // A worker may still have the old configuration.
            if exchange(&mut stream, b"").await.unwrap() == b"2" {
                return stream.info().resumed;
            }
        }
    };
    assert!(!timeout(LIMIT, replaced).await.expect("the backend has not changed"));
}

#[tokio::test]
async fn invalid_reload_changes_nothing() {
    let folder = Folder::new(&["a.example"]);
    let to = echo().await;
    let mut proxy = crate::support::start(&text(&folder, to));
    let good = text(&folder, to);
    for (bad, expected) in [
        (good.replace("certs", "none"), "listener[0].certificates"),
        (good.replace("127.0.0.1:0", "127.0.0.1:1"), "listener"),
        (
            format!("{good}client_auth = \"required\"\nclient_ca = \"/none\"\n"),
            "listener[0].client_ca",
        ),
    ] {
        let error = proxy.reload(config(&bad)).unwrap_err();
        assert_eq!(error.key, expected, "{error}");
        assert_eq!(error.source, "test.toml");
        let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
        assert_eq!(echoed(&mut stream, b"x").await, b"x");
    }
}

#[tokio::test]
async fn restart_only_settings_survive_a_reload() {
    let folder = Folder::new(&["a.example"]);
    let (one, two) = (greeting_echo(b"1").await, greeting_echo(b"2").await);
    let mut proxy = crate::support::start(&text(&folder, one));
    let other = text(&folder, two).replace(
        "workers = 2\n",
        "workers = 3\nuser = \"nobody\"\ngroup = \"nogroup\"\n[admin]\naddress = \"127.0.0.1:1\"\n\
         [log]\nformat = \"json\"\nlevel = \"trace\"\n[resumption]\nguard_capacity = 2000\n\
         [timeouts]\nidle = 7\n",
    );
    for _ in 0..2 {
        proxy.reload(config(&other)).unwrap();
        let running = proxy.config();
        assert_eq!((running.workers, running.admin), (2, None));
        assert_eq!((&running.user, &running.group), (&None, &None));
        assert_eq!((running.log.json, running.log.level.as_str()), (false, "info"));
        assert_eq!(running.resumption.guard_capacity, 1_000_000);
        assert_eq!(running.timeouts.idle, std::time::Duration::from_secs(7));
    }
    // The workers adopt the new configuration one after the other.
    let replaced = async {
        loop {
            let mut stream = connect(&proxy, "a.example", client()).await.unwrap();
            if exchange(&mut stream, b"").await.unwrap() == b"2" {
                break;
            }
        }
    };
    timeout(LIMIT, replaced).await.expect("the backend has not changed");
}

#[tokio::test]
async fn certificates_change_without_closing_connections() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    let mut old = connect(&proxy, "a.example", client()).await.unwrap();
    let chain = |stream: &mut tercel_tokio::TlsStream<_>| stream.info_mut().take_peer_chain();
    let before = chain(&mut old);
    folder.certify("a.example");
    proxy.certificates().iter().for_each(|certificates| assert!(certificates.reload().any()));
    let mut new = connect(&proxy, "a.example", client()).await.unwrap();
    assert_ne!(before, chain(&mut new));
    // If the new file is truncated, the previous certificate stays in use.
    std::fs::write(folder.path("certs/a.example.crt"), "-----BEGIN CERT").unwrap();
    let changes = proxy.certificates()[0].reload();
    assert!(!changes.any() && changes.problems.len() == 1);
    assert!(connect(&proxy, "a.example", client()).await.is_ok());
    assert_eq!(exchange(&mut old, b"still").await.unwrap(), b"still");
}

/// A reload by which the node trusts another authority of the store. The paths of the files are the
/// same.
#[tokio::test]
async fn files_for_tls_to_the_store_are_read_again() {
    let folder = Folder::new(&["a.example"]);
    let secret = folder.path("fleet.secret");
    std::fs::write(&secret, [b'x'; 32]).unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    let other = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let other = other.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    let roots = folder.path("roots.pem");
    std::fs::write(&roots, &other).unwrap();
    let store = ServerConfig::builder().credential(identity("127.0.0.1")).build().unwrap();
    let acceptor = Acceptor::new(store);
    let (sender, mut trusted) = mpsc::unbounded_channel();
    let store = backend(move |transport| {
        let (acceptor, sender) = (acceptor.clone(), sender.clone());
        async move {
            let _ = sender.send(acceptor.accept(transport).await.is_ok());
        }
    });
    let text = format!(
        "{}[resumption.store]\nurl = \"rediss://{}\"\nsecret = {}\nroots = {}\n",
        text(&folder, echo().await),
        store.await,
        quoted(&secret),
        quoted(&roots)
    );
    let mut proxy = crate::support::start(&text);
    let before = proxy.fleet().unwrap();
    assert_eq!(trusted.recv().await, Some(false));
    std::fs::copy(folder.path("ca.pem"), &roots).unwrap();
    proxy.reload(config(&text)).unwrap();
    assert!(proxy.fleet().unwrap().is_same(&before));
    let connected = async { while trusted.recv().await == Some(false) {} };
    timeout(LIMIT, connected).await.expect("the old authority is still the only one");
    // Files that cannot be used are refused, and those before stay in use.
    for content in [None, Some(&other[..100])] {
        std::fs::remove_file(&roots).unwrap();
        content.iter().for_each(|content| std::fs::write(&roots, content).unwrap());
        let error = proxy.reload(config(&text)).unwrap_err();
        assert_eq!(error.key, "resumption.store.roots", "{error}");
        std::fs::write(&roots, "").unwrap();
    }
    while trusted.try_recv().is_ok() {}
    assert_eq!(timeout(LIMIT, trusted.recv()).await.unwrap(), Some(true));
}
