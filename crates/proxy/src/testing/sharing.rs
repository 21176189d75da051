//! Early data, and clients that come back to another terminator, by a real store.
//!
//! A replay is shown at the client that is robbed: somebody on the way sends its first flight on ahead, and then
//! the client itself learns whether its early data counts. Must not know: how a guard remembers.
//! Next: `tests/terminator/sharing.rs` for keys in a file.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use tercel::ClientConfig;
use tercel::wire::ProtocolVersion;
use tercel_harness::store::Store;
use tercel_tokio::{Connector, EarlyConnection};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::terminator::{
    Folder, VERSIONS, backend, client, config, connect_with, echo, echoed, exchange, quoted, start,
    until,
};
use crate::Proxy;
use crate::blind::BLIND;

/// A terminator that takes early data, with this said about resumption.
async fn node(folder: &Folder, resumption: &str) -> Proxy {
    let (listener, to) = (folder.listener(), echo().await);
    start(&format!(
        "workers = 2\n{listener}to = \"{to}\"\nearly_data = 1000\nsession_context = \"echo\"\n{resumption}"
    ))
}

/// A secret of its own in this file, as a configuration names it.
pub(super) fn secret(folder: &Folder, name: &str) -> String {
    let secret = folder.path(name);
    std::fs::write(&secret, name.repeat(4)).unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    quoted(&secret)
}

/// Two nodes at this store.
async fn pair(folder: &Folder, store: &Store, shares: &str) -> [Proxy; 2] {
    let secret = secret(folder, "fleet.secret");
    let resumption = format!(
        "[resumption]\n{shares}\n[resumption.store]\nurl = \"{}\"\nsecret = {}\ntime_limit = 1\n",
        store.url(),
        secret
    );
    let nodes = [node(folder, &resumption).await, node(folder, &resumption).await];
    for node in &nodes {
        assert!(node.fleet().unwrap().reached(Duration::from_secs(20)).await);
    }
    nodes
}

/// Waits until all of them admit early data.
async fn seeing(nodes: &[Proxy]) {
    for node in nodes {
        until("early data", || node.fleet().unwrap().state().early_data).await;
    }
}

/// A client that has a session of this node's.
pub(super) async fn known_to(node: &Proxy) -> Arc<ClientConfig> {
    let config = client().early_data(true).build().unwrap();
    for _ in 0..100 {
        let mut stream = connect_with(node, "a.example", config.clone()).await.unwrap();
        assert_eq!(echoed(&mut stream, b"x").await, b"x");
        // The first key that a fleet has seals when all nodes have seen it.
        if stream.facts().resumed {
            return config;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no session after ten seconds");
}

/// A client that begins with early data, of which somebody sends a copy to `copy` first.
pub(super) async fn meet(
    node: &Proxy,
    config: &Arc<ClientConfig>,
    copy: Option<&Proxy>,
) -> EarlyConnection<TcpStream> {
    let on_the_way = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (here, there) = (on_the_way.local_addr().unwrap(), node.addresses()[0]);
    let copy = copy.map(|copy| copy.addresses()[0]);
    tokio::spawn(async move {
        let (client, _) = on_the_way.accept().await.unwrap();
        pass_on(client, there, copy).await;
    });
    let transport = TcpStream::connect(here).await.unwrap();
    let name = "a.example".try_into().unwrap();
    Connector::new(config.clone()).connect_early(name, transport, b"early").await.unwrap()
}

/// Everything goes on to `there`; the first flight goes to `copy` before, which has to answer it.
async fn pass_on(mut client: TcpStream, there: SocketAddr, copy: Option<SocketAddr>) {
    let flight = first_flight(&mut client).await;
    let mut piece = [0; 16];
    let mut copied = None;
    if let Some(address) = copy {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&flight).await.unwrap();
        stream.read_exact(&mut piece).await.unwrap();
        copied = Some(stream);
    }
    let mut server = TcpStream::connect(there).await.unwrap();
    server.write_all(&flight).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    drop(copied);
}

/// All that a client sends before it waits for an answer.
pub(super) async fn first_flight(client: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let (mut flight, mut piece) = (Vec::new(), vec![0; 8192]);
    let quiet = Duration::from_millis(200);
    loop {
        match tokio::time::timeout(quiet, client.read(&mut piece)).await {
            Err(_) if !flight.is_empty() => return flight,
            Err(_) => {}
            Ok(count) => flight.extend_from_slice(&piece[..count.unwrap()]),
        }
    }
}

/// What the backend has got of the early data, and of what follows.
async fn is_heard(mut met: EarlyConnection<TcpStream>) {
    assert!(met.stream.facts().resumed);
    // What is not accepted is sent again, and comes once either way.
    met.stream.write_all(&b"early"[met.accepted..]).await.unwrap();
    assert_eq!(exchange(&mut met.stream, b" and late").await.unwrap(), b"early and late");
}

#[tokio::test]
async fn early_data_comes_to_the_backend_once_a_guard_can_see() {
    let folder = Folder::new(&["a.example"]);
    let node = node(&folder, "").await;
    let config = known_to(&node).await;
    let met = meet(&node, &config, None).await;
    assert_eq!(met.accepted, 0, "it may have been admitted before the start");
    is_heard(met).await;
    tokio::time::sleep(BLIND + Duration::from_secs(1)).await;
    let config = known_to(&node).await;
    let met = meet(&node, &config, None).await;
    assert_eq!(met.accepted, 5);
    is_heard(met).await;
    // And again, with what the last handshake gave out.
    let met = meet(&node, &config, None).await;
    assert_eq!(met.accepted, 5);
    is_heard(met).await;
    let met = meet(&node, &config, Some(&node)).await;
    assert_eq!(met.accepted, 0, "the copy was there first");
    is_heard(met).await;
}

/// Whatever a guard says: who has only a copy of the first flight cannot complete the handshake.
#[tokio::test]
async fn a_copy_alone_does_not_come_to_the_backend() {
    let folder = Folder::new(&["a.example"]);
    let (told, mut telling) = tokio::sync::mpsc::unbounded_channel();
    let to = backend(move |mut transport| {
        let told = told.clone();
        async move {
            let mut first = [0; 5];
            let _ = transport.read_exact(&mut first).await;
            told.send(first).unwrap();
            let _ = transport.write_all(b"x").await;
            let _ = transport.read(&mut first).await;
        }
    })
    .await;
    let node = start(&format!("{}to = \"{to}\"\nearly_data = 1000\n", folder.listener()));
    tokio::time::sleep(BLIND + Duration::from_secs(1)).await;
    let config = client().early_data(true).build().unwrap();
    let mut stream = connect_with(&node, "a.example", config.clone()).await.unwrap();
    stream.write_all(b"first").await.unwrap();
    stream.read_exact(&mut [0]).await.unwrap();
    assert_eq!(telling.recv().await.unwrap(), *b"first");
    let on_the_way = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let transport = TcpStream::connect(on_the_way.local_addr().unwrap()).await.unwrap();
    let connector = Connector::new(config);
    let name = "a.example".try_into().unwrap();
    let robbed =
        tokio::spawn(async move { connector.connect_early(name, transport, b"early").await });
    let (mut client, _) = on_the_way.accept().await.unwrap();
    let flight = first_flight(&mut client).await;
    let mut copy = TcpStream::connect(node.addresses()[0]).await.unwrap();
    copy.write_all(&flight).await.unwrap();
    let mut answer = [0; 16];
    copy.read_exact(&mut answer).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_millis(500), telling.recv()).await;
    assert!(heard.is_err(), "{heard:?}");
    // It was accepted, and goes on with the client's Finished.
    client.write_all(&answer).await.unwrap();
    tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut copy).await });
    let met = robbed.await.unwrap().unwrap();
    assert_eq!((met.accepted, telling.recv().await.unwrap()), (5, *b"early"));
}

#[tokio::test]
async fn a_route_without_early_data_takes_none() {
    let folder = Folder::new(&["a.example", "b.example"]);
    let route = "[[listener.route]]\nnames = \"a.example\"\nearly_data = 0\n";
    let node = node(&folder, route).await;
    tokio::time::sleep(BLIND + Duration::from_secs(1)).await;
    let config = known_to(&node).await;
    let met = meet(&node, &config, None).await;
    assert_eq!(met.accepted, 0);
    is_heard(met).await;
}

#[tokio::test]
async fn what_one_node_admitted_no_node_admits_again() {
    let folder = Folder::new(&["a.example"]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let nodes = pair(&folder, &store, "tickets = \"shared\"").await;
    let [one, other] = &nodes;
    let config = known_to(one).await;
    seeing(&nodes).await;
    let met = meet(other, &config, None).await;
    assert_eq!(met.accepted, 5, "on another node than the session's");
    is_heard(met).await;
    for (copied_to, node) in [(one, other), (other, one), (one, one)] {
        let before = node.fleet().unwrap().counts().early_data_replayed;
        let config = known_to(one).await;
        let met = meet(node, &config, Some(copied_to)).await;
        assert_eq!(met.accepted, 0);
        assert_eq!(node.fleet().unwrap().counts().early_data_replayed, before + 1);
        is_heard(met).await;
    }
}

#[tokio::test]
async fn sessions_in_the_store_are_every_nodes() {
    let folder = Folder::new(&["a.example"]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    // Tickets would win over names in TLS 1.2.
    let nodes = pair(&folder, &store, "tickets = \"off\"\nsessions = \"shared\"").await;
    for version in VERSIONS {
        let config = client().versions(&[version]).build().unwrap();
        for (round, node) in [0, 1, 1, 0].into_iter().enumerate() {
            let mut stream = connect_with(&nodes[node], "a.example", config.clone()).await.unwrap();
            assert_eq!(stream.facts().resumed, round > 0, "round {round} of {version:?}");
            assert_eq!(echoed(&mut stream, b"x").await, b"x");
        }
    }
    let counts = nodes.each_ref().map(|node| node.fleet().unwrap().counts());
    assert!(counts.iter().all(|counts| counts.hits >= 2 && counts.kept >= 2), "{counts:?}");
    seeing(&nodes).await;
    let config = known_to(&nodes[0]).await;
    let met = meet(&nodes[1], &config, None).await;
    assert_eq!(met.accepted, 5);
    is_heard(met).await;
    // A copy takes the session along: what comes second is a stranger.
    let config = known_to(&nodes[0]).await;
    let met = meet(&nodes[1], &config, Some(&nodes[0])).await;
    assert_eq!((met.accepted, met.stream.facts().resumed), (0, false));
}

/// Step by step, one node after the other: nobody loses a session, and early data is admitted all the time.
#[tokio::test]
async fn one_secret_follows_another_without_a_restart() {
    let folder = Folder::new(&["a.example"]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let [old, new] = ["old.secret", "new.secret"].map(|name| secret(&folder, name));
    let backend = echo().await;
    let text = |secrets: &str| {
        format!(
            "workers = 1\n{}to = \"{backend}\"\nearly_data = 1000\n[resumption]\ntickets = \"off\"\n\
             sessions = \"shared\"\n[resumption.store]\nurl = \"{}\"\ntime_limit = 1\n{secrets}",
            folder.listener(),
            store.url()
        )
    };
    let first = format!("secret = {old}\n");
    let mut nodes = [(); 3].map(|()| start(&text(&first)));
    seeing(&nodes).await;
    let settings = client().build().unwrap();
    let mut visits = 0;
    let steps = [
        format!("secret = {old}\nnext_secret = {new}\n"),
        format!("secret = {new}\nprevious_secret = {old}\n"),
        format!("secret = {new}\n"),
    ];
    for secrets in steps {
        for number in [1, 2, 0] {
            nodes[number].reload(config(&text(&secrets))).unwrap();
            for node in &nodes {
                let mut stream = connect_with(node, "a.example", settings.clone()).await.unwrap();
                assert_eq!(stream.facts().resumed, visits > 0, "{secrets}, {number}");
                assert_eq!(echoed(&mut stream, b"x").await, b"x");
                visits += 1;
                let fleet = node.fleet().unwrap();
                assert!(fleet.state().early_data && fleet.counts().connected == 1);
            }
        }
    }
    // What is wrong with one changes nothing.
    let fault = nodes[0].reload(config(&text("secret = \"nowhere\"\n"))).unwrap_err();
    assert_eq!(fault.key, "resumption.store.secret", "{fault}");
    let other = format!("secret = {new}\nprevious_secret = \"nowhere\"\n");
    let fault = nodes[0].reload(config(&text(&other))).unwrap_err();
    assert_eq!(fault.key, "resumption.store.previous_secret", "{fault}");
    let stream = connect_with(&nodes[0], "a.example", settings.clone()).await.unwrap();
    assert!(stream.facts().resumed);
}

/// The guard from before, which a connection that stays keeps, would hold the store to its own `clock_difference`.
#[tokio::test]
async fn a_guard_that_is_followed_admits_no_more() {
    let folder = Folder::new(&["a.example"]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let (backend, secret) = (echo().await, secret(&folder, "fleet.secret"));
    let text = |difference: u32| {
        format!(
            "workers = 1\n{}to = \"{backend}\"\nearly_data = 1000\n\
             [resumption.store]\nurl = \"{}\"\nsecret = {secret}\ntime_limit = 1\nclock_difference = {difference}",
            folder.listener(),
            store.url()
        )
    };
    let mut nodes = [start(&text(5))];
    seeing(&nodes).await;
    let before = nodes[0].fleet().unwrap();
    nodes[0].reload(config(&text(5))).unwrap();
    assert!(nodes[0].fleet().unwrap().is_same(&before) && before.state().early_data);
    nodes[0].reload(config(&text(6))).unwrap();
    assert!(!nodes[0].fleet().unwrap().is_same(&before) && before.state().store);
    assert!(!before.state().early_data);
}

#[tokio::test]
async fn without_the_store_the_last_keys_are_good_and_early_data_is_not() {
    let folder = Folder::new(&["a.example"]);
    let Some(mut store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let nodes = pair(&folder, &store, "tickets = \"shared\"").await;
    seeing(&nodes).await;
    let config = known_to(&nodes[0]).await;
    store.kill().unwrap();
    for node in &nodes {
        until("the store is away", || !node.fleet().unwrap().state().store).await;
        let met = meet(node, &config, None).await;
        assert_eq!(met.accepted, 0);
        is_heard(met).await;
    }
    let config = client().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    for resumed in [false, true] {
        let stream = connect_with(&nodes[usize::from(resumed)], "a.example", config.clone()).await;
        assert_eq!(stream.unwrap().facts().resumed, resumed);
    }
}
