//! Early data and resumption on several nodes with a real store.
//!
//! Replays are tested as a client sees them: an attacker on the path sends a copy of the client's
//! first flight first, and the client then learns whether its own early data was accepted.
//! `tests/terminator/ticket_key_file.rs` has the tests of ticket keys in a file.

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
use tokio::time::{Instant, timeout};

use super::terminator::{
    Folder, LIMIT, VERSIONS, backend, client, config, connect_with, echo, echoed, exchange, quoted,
    start, wait_until,
};
use crate::Proxy;
use crate::active_config::replay_guard::with_startup_window;

/// A terminator that accepts early data, with these resumption settings.
async fn node(folder: &Folder, resumption: &str) -> Proxy {
    start(&node_config(folder, resumption).await)
}

async fn node_config(folder: &Folder, resumption: &str) -> String {
    let (listener, to) = (folder.listener(), echo().await);
    format!(
        "workers = 2\n{listener}to = \"{to}\"\nearly_data = 1000\n\
         session_context = \"echo\"\n{resumption}"
    )
}

/// Starts a terminator whose own replay guard admits early data from the beginning.
pub(super) fn start_after_window(text: &str) -> Proxy {
    with_startup_window(None, || start(text))
}

/// Writes a fleet secret to a file of this name, and returns the path as a TOML value.
pub(super) fn secret(folder: &Folder, name: &str) -> String {
    let secret = folder.path(name);
    std::fs::write(&secret, name.repeat(4)).unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    quoted(&secret)
}

/// Two nodes with this store and these resumption settings.
async fn pair(folder: &Folder, store: &Store, shares: &str) -> [Proxy; 2] {
    let secret = secret(folder, "fleet.secret");
    let resumption = format!(
        "[resumption]\n{shares}\n[resumption.store]\nurl = \"{}\"\nsecret = {}\ntime_limit = 1\n",
        store.url(),
        secret
    );
    let nodes = [node(folder, &resumption).await, node(folder, &resumption).await];
    for node in &nodes {
        assert!(node.fleet().unwrap().reached(LIMIT).await);
    }
    nodes
}

/// Waits until all nodes admit early data.
async fn wait_for_early_data(nodes: &[Proxy]) {
    for node in nodes {
        wait_until("early data", || node.fleet().unwrap().state().early_data).await;
    }
}

/// A client that has a session of this node.
pub(super) async fn client_with_session(node: &Proxy) -> Arc<ClientConfig> {
    client_with_session_and_connections(node).await.0
}

/// A client that has a session of this node, and the number of connections that it has made.
pub(super) async fn client_with_session_and_connections(
    node: &Proxy,
) -> (Arc<ClientConfig>, usize) {
    let config = client().early_data(true).build().unwrap();
    let resumed = async {
        for connections in 1.. {
            let mut stream = connect_with(node, "a.example", config.clone()).await.unwrap();
            assert_eq!(echoed(&mut stream, b"x").await, b"x");
            // A new ticket key is used only after all nodes have had time to load it.
            if stream.info().resumed {
                return connections;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!("the loop has no end")
    };
    let connections = timeout(LIMIT, resumed).await.expect("a session");
    (config, connections)
}

/// Connects with early data, of which an attacker may send a copy to `copy` first.
pub(super) async fn connect_early(
    node: &Proxy,
    config: &Arc<ClientConfig>,
    copy: Option<&Proxy>,
) -> EarlyConnection<TcpStream> {
    let attacker = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (here, there) = (attacker.local_addr().unwrap(), node.addresses()[0]);
    let copy = copy.map(|copy| copy.addresses()[0]);
    tokio::spawn(async move {
        let (client, _) = attacker.accept().await.unwrap();
        relay_with_copy(client, there, copy).await;
    });
    let transport = TcpStream::connect(here).await.unwrap();
    let name = "a.example".try_into().unwrap();
    Connector::new(config.clone()).connect_early(name, transport, b"early").await.unwrap()
}

/// Relays to `there`. If `copy` is set, first sends a copy of the first flight to that address, and
/// waits for the answer.
async fn relay_with_copy(mut client: TcpStream, there: SocketAddr, copy: Option<SocketAddr>) {
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

/// Reads everything that a client sends before it waits for an answer: a ClientHello, and early
/// data in one record. A client that may not send early data is quiet after the ClientHello.
pub(super) async fn first_flight(client: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut flight = Vec::new();
    let quiet = Duration::from_millis(500);
    while last_record(&flight) != Some(APPLICATION_DATA) {
        match timeout(quiet, client.read_buf(&mut flight)).await {
            Err(_) if last_record(&flight).is_some() => break,
            Err(_) => {}
            Ok(count) => assert!(count.unwrap() > 0, "the client has closed"),
        }
    }
    flight
}

/// The content type of the last record. `None` if it is incomplete.
fn last_record(mut records: &[u8]) -> Option<u8> {
    loop {
        let (header, rest) = records.split_at_checked(5)?;
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        match rest.get(length..)? {
            [] => return Some(header[0]),
            more => records = more,
        }
    }
}

const APPLICATION_DATA: u8 = 23;

/// Checks that the backend receives the early data and the later data exactly once.
async fn assert_received_once(mut early: EarlyConnection<TcpStream>) {
    assert!(early.stream.info().resumed);
    // Rejected early data is sent again.
    early.stream.write_all(&b"early"[early.accepted..]).await.unwrap();
    assert_eq!(exchange(&mut early.stream, b" and late").await.unwrap(), b"early and late");
}

#[tokio::test]
async fn early_data_reaches_the_backend_after_the_startup_window() {
    const WINDOW: Duration = Duration::from_secs(2);
    let folder = Folder::new(&["a.example"]);
    let text = node_config(&folder, "").await;
    let began = Instant::now();
    let node = with_startup_window(Some(WINDOW), || start(&text));
    let mut config = client_with_session(&node).await;
    while began.elapsed() < LIMIT {
        let early = connect_early(&node, &config, None).await;
        let accepted = early.accepted;
        assert!(accepted == 0 || began.elapsed() >= WINDOW, "within the startup window");
        assert_received_once(early).await;
        if accepted > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        config = client_with_session(&node).await;
    }
    // The client connects again, with the session of the last handshake.
    let early = connect_early(&node, &config, None).await;
    assert_eq!(early.accepted, 5);
    assert_received_once(early).await;
    let early = connect_early(&node, &config, Some(&node)).await;
    assert_eq!(early.accepted, 0, "the copy arrived first");
    assert_received_once(early).await;
}

/// An attacker with a copy of the first flight cannot complete the handshake without the client's
/// keys, whatever the guard decides.
#[tokio::test]
async fn copied_first_flight_alone_does_not_reach_the_backend() {
    let folder = Folder::new(&["a.example"]);
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let to = backend(move |mut transport| {
        let sender = sender.clone();
        async move {
            let mut first = [0; 5];
            let _ = transport.read_exact(&mut first).await;
            sender.send(first).unwrap();
            let _ = transport.write_all(b"x").await;
            let _ = transport.read(&mut first).await;
        }
    })
    .await;
    let text = format!("{}to = \"{to}\"\nearly_data = 1000\n", folder.listener());
    let node = start_after_window(&text);
    let config = client().early_data(true).build().unwrap();
    let mut stream = connect_with(&node, "a.example", config.clone()).await.unwrap();
    stream.write_all(b"first").await.unwrap();
    stream.read_exact(&mut [0]).await.unwrap();
    assert_eq!(events.recv().await.unwrap(), *b"first");
    let attacker = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let transport = TcpStream::connect(attacker.local_addr().unwrap()).await.unwrap();
    let connector = Connector::new(config);
    let name = "a.example".try_into().unwrap();
    let connecting =
        tokio::spawn(async move { connector.connect_early(name, transport, b"early").await });
    let (mut client, _) = attacker.accept().await.unwrap();
    let flight = first_flight(&mut client).await;
    let mut copy = TcpStream::connect(node.addresses()[0]).await.unwrap();
    copy.write_all(&flight).await.unwrap();
    let mut answer = [0; 16];
    copy.read_exact(&mut answer).await.unwrap();
    let event = timeout(Duration::from_millis(500), events.recv()).await;
    assert!(event.is_err(), "{event:?}");
    // The copy was accepted, and its connection continues with the client's Finished.
    client.write_all(&answer).await.unwrap();
    tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut copy).await });
    let early = connecting.await.unwrap().unwrap();
    assert_eq!((early.accepted, events.recv().await.unwrap()), (5, *b"early"));
}

#[tokio::test]
async fn route_without_early_data_rejects_it() {
    let folder = Folder::new(&["a.example", "b.example"]);
    let route = "[[listener.route]]\nnames = \"a.example\"\nearly_data = 0\n";
    let node = start_after_window(&node_config(&folder, route).await);
    let config = client_with_session(&node).await;
    let early = connect_early(&node, &config, None).await;
    assert_eq!(early.accepted, 0);
    assert_received_once(early).await;
}

#[tokio::test]
async fn early_data_admitted_by_one_node_is_refused_by_all() {
    let folder = Folder::new(&["a.example"]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let nodes = pair(&folder, &store, "tickets = \"shared\"").await;
    let [one, other] = &nodes;
    let config = client_with_session(one).await;
    wait_for_early_data(&nodes).await;
    let early = connect_early(other, &config, None).await;
    assert_eq!(early.accepted, 5, "on another node than the session's");
    assert_received_once(early).await;
    for (copied_to, node) in [(one, other), (other, one), (one, one)] {
        let before = node.fleet().unwrap().counts().early_data_replayed;
        let config = client_with_session(one).await;
        let early = connect_early(node, &config, Some(copied_to)).await;
        assert_eq!(early.accepted, 0);
        assert_eq!(node.fleet().unwrap().counts().early_data_replayed, before + 1);
        assert_received_once(early).await;
    }
}

#[tokio::test]
async fn stored_sessions_resume_on_every_node() {
    let folder = Folder::new(&["a.example"]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    // Tickets are off, because TLS 1.2 would prefer them to session IDs.
    let nodes = pair(&folder, &store, "tickets = \"off\"\nsessions = \"shared\"").await;
    for version in VERSIONS {
        let config = client().versions(&[version]).build().unwrap();
        for (round, node) in [0, 1, 1, 0].into_iter().enumerate() {
            let mut stream = connect_with(&nodes[node], "a.example", config.clone()).await.unwrap();
            assert_eq!(stream.info().resumed, round > 0, "round {round} of {version:?}");
            assert_eq!(echoed(&mut stream, b"x").await, b"x");
        }
    }
    let counts = nodes.each_ref().map(|node| node.fleet().unwrap().counts());
    assert!(counts.iter().all(|counts| counts.hits >= 2 && counts.kept >= 2), "{counts:?}");
    wait_for_early_data(&nodes).await;
    let config = client_with_session(&nodes[0]).await;
    let early = connect_early(&nodes[1], &config, None).await;
    assert_eq!(early.accepted, 5);
    assert_received_once(early).await;
    // The copy consumes the session, so the client's own handshake is not resumed.
    let config = client_with_session(&nodes[0]).await;
    let early = connect_early(&nodes[1], &config, Some(&nodes[0])).await;
    assert_eq!((early.accepted, early.stream.info().resumed), (0, false));
}

/// Secrets are rotated step by step and node by node, without losing sessions or early data.
#[tokio::test]
async fn fleet_secret_rotates_without_a_restart() {
    let folder = Folder::new(&["a.example"]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let [old, new] = ["old.secret", "new.secret"].map(|name| secret(&folder, name));
    let backend = echo().await;
    let text = |secrets: &str| {
        format!(
            "workers = 1\n{}to = \"{backend}\"\nearly_data = 1000\n[resumption]\n\
             tickets = \"off\"\n\
             sessions = \"shared\"\n[resumption.store]\nurl = \"{}\"\ntime_limit = 1\n{secrets}",
            folder.listener(),
            store.url()
        )
    };
    let first = format!("secret = {old}\n");
    let mut nodes = [(); 3].map(|()| start(&text(&first)));
    wait_for_early_data(&nodes).await;
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
                assert_eq!(stream.info().resumed, visits > 0, "{secrets}, {number}");
                assert_eq!(echoed(&mut stream, b"x").await, b"x");
                visits += 1;
                let fleet = node.fleet().unwrap();
                assert!(fleet.state().early_data && fleet.counts().connected == 1);
            }
        }
    }
    // A reload with an invalid secret changes nothing.
    let error = nodes[0].reload(config(&text("secret = \"nowhere\"\n"))).unwrap_err();
    assert_eq!(error.key, "resumption.store.secret", "{error}");
    let other = format!("secret = {new}\nprevious_secret = \"nowhere\"\n");
    let error = nodes[0].reload(config(&text(&other))).unwrap_err();
    assert_eq!(error.key, "resumption.store.previous_secret", "{error}");
    let stream = connect_with(&nodes[0], "a.example", settings.clone()).await.unwrap();
    assert!(stream.info().resumed);
}

/// Open connections keep the previous guard, which must not impose its `clock_difference` on the
/// store.
#[tokio::test]
async fn replaced_store_guard_admits_nothing() {
    let folder = Folder::new(&["a.example"]);
    let Some(store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let (backend, secret) = (echo().await, secret(&folder, "fleet.secret"));
    let text = |difference: u32| {
        format!(
            "workers = 1\n{}to = \"{backend}\"\nearly_data = 1000\n\
             [resumption.store]\nurl = \"{}\"\nsecret = {secret}\ntime_limit = 1\n\
             clock_difference = {difference}",
            folder.listener(),
            store.url()
        )
    };
    let mut nodes = [start(&text(5))];
    wait_for_early_data(&nodes).await;
    let before = nodes[0].fleet().unwrap();
    nodes[0].reload(config(&text(5))).unwrap();
    assert!(nodes[0].fleet().unwrap().is_same(&before) && before.state().early_data);
    nodes[0].reload(config(&text(6))).unwrap();
    assert!(!nodes[0].fleet().unwrap().is_same(&before) && before.state().store);
    assert!(!before.state().early_data);
}

#[tokio::test]
async fn lost_store_keeps_ticket_keys_and_rejects_early_data() {
    let folder = Folder::new(&["a.example"]);
    let Some(mut store) = Store::start_if_installed(&folder.path(""), &[]).unwrap() else { return };
    let nodes = pair(&folder, &store, "tickets = \"shared\"").await;
    wait_for_early_data(&nodes).await;
    let config = client_with_session(&nodes[0]).await;
    store.kill().unwrap();
    for node in &nodes {
        wait_until("the store is disconnected", || !node.fleet().unwrap().state().store).await;
        let early = connect_early(node, &config, None).await;
        assert_eq!(early.accepted, 0);
        assert_received_once(early).await;
    }
    let config = client().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    for resumed in [false, true] {
        let stream = connect_with(&nodes[usize::from(resumed)], "a.example", config.clone()).await;
        assert_eq!(stream.unwrap().info().resumed, resumed);
    }
}
