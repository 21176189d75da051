//! Early data that is forwarded before the handshake is complete, and protection against its
//! replay.

mod backends;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tercel::{ClientConfig, Connection, EarlyData, Handshake, Next, Opened, ReceiveBuffer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use super::shared_store::{
    client_with_session, client_with_session_and_connections, connect_early, first_flight, secret,
    start_after_window,
};
use super::terminator::{Folder, LIMIT, backend, client, config, metric, start, wait_until};
use crate::Proxy;
use crate::active_config::replay_guard::with_startup_window;

/// An event at the backend.
#[derive(Debug, PartialEq)]
enum BackendEvent {
    /// A PROXY header, with the early data length that it states.
    Header(Option<u32>),
    Bytes(Vec<u8>),
    End,
    Reset,
}

/// An echoing backend that reports its events.
async fn recording_backend() -> (SocketAddr, UnboundedReceiver<BackendEvent>) {
    let (sender, events) = unbounded_channel();
    let address = backend(move |mut transport| {
        let sender = sender.clone();
        async move {
            let mut start = [0; 16];
            if transport.read_exact(&mut start).await.is_err() {
                return;
            }
            let mut header = vec![0; usize::from(u16::from_be_bytes([start[14], start[15]]))];
            transport.read_exact(&mut header).await.unwrap();
            sender.send(BackendEvent::Header(early_value(&header[12..]))).unwrap();
            loop {
                let mut piece = vec![0; 4096];
                match transport.read(&mut piece).await {
                    Ok(0) => return drop(sender.send(BackendEvent::End)),
                    Err(_) => return drop(sender.send(BackendEvent::Reset)),
                    Ok(count) => {
                        piece.truncate(count);
                        let _ = transport.write_all(&piece).await;
                        let _ = sender.send(BackendEvent::Bytes(piece));
                    }
                }
            }
        }
    });
    (address.await, events)
}

/// The value of the early data field in the PROXY header.
fn early_value(mut values: &[u8]) -> Option<u32> {
    while let [kind, high, low, rest @ ..] = values {
        let (value, after) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        if *kind == 0xe0 {
            return Some(u32::from_be_bytes(value.try_into().unwrap()));
        }
        values = after;
    }
    None
}

const AT_ONCE: &str = "early_data = 1000\nearly_data_at_once = true\nsend_proxy_protocol = true\n";

/// A route because of which the terminator reads the ClientHello before the handshake.
const PASSTHROUGH: &str =
    "[[listener.route]]\nnames = \"b.example\"\npassthrough = true\nto = \"127.0.0.1:1\"\n";

/// A terminator in front of `to`, after the startup window of its replay guard.
async fn node(folder: &Folder, to: SocketAddr) -> Proxy {
    node_with(folder, to, "").await
}

/// A terminator with more routes.
async fn node_with(folder: &Folder, to: SocketAddr, routes: &str) -> Proxy {
    let listener = folder.listener();
    start_after_window(&format!("workers = 1\n{listener}to = \"{to}\"\n{AT_ONCE}{routes}"))
}

/// The next event.
async fn next_event(events: &mut UnboundedReceiver<BackendEvent>) -> BackendEvent {
    timeout(LIMIT, events.recv()).await.expect("an event").unwrap()
}

/// A client with a session of this node. All events of the client's first connections have been
/// consumed.
async fn resuming_client(
    node: &Proxy,
    events: &mut UnboundedReceiver<BackendEvent>,
) -> Arc<ClientConfig> {
    let (config, mut open) = client_with_session_and_connections(node).await;
    while open > 0 {
        if let BackendEvent::End | BackendEvent::Reset = next_event(events).await {
            open -= 1;
        }
    }
    config
}

/// A client that has sent early data and received the server's flight, but has not sent its
/// Finished.
struct UnfinishedHandshake {
    transport: TcpStream,
    received: ReceiveBuffer,
    connection: Box<Connection>,
    finished: Vec<u8>,
}

impl UnfinishedHandshake {
    async fn begin(node: &Proxy, config: &Arc<ClientConfig>) -> Self {
        let mut transport = TcpStream::connect(node.addresses()[0]).await.unwrap();
        let name = "a.example".try_into().unwrap();
        let mut handshake = Handshake::client(Arc::clone(config), name);
        let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
        assert!(matches!(handshake.advance(&mut received, &mut out), Ok(Next::Receive)));
        handshake.early_sender().unwrap().seal_to(b"early", &mut out).unwrap();
        loop {
            transport.write_all(&std::mem::take(&mut out)).await.unwrap();
            let count = transport.read(received.spare()).await.unwrap();
            received.filled(count);
            match handshake.advance(&mut received, &mut out).unwrap() {
                Next::Connected(connection) => {
                    return Self { transport, received, connection, finished: out };
                }
                Next::Receive => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Reads this many bytes of application data.
    async fn read(&mut self, length: usize) -> Vec<u8> {
        let mut read = Vec::new();
        while read.len() < length {
            match self.connection.receiver.open(&mut self.received).unwrap() {
                Opened::Data(data) => read.extend_from_slice(data),
                Opened::More => {
                    let reading = self.transport.read(self.received.spare());
                    let count = timeout(LIMIT, reading).await;
                    let count = count.expect("no answer").unwrap();
                    assert!(count > 0, "the connection has ended");
                    self.received.filled(count);
                }
                other => panic!("{other:?}"),
            }
        }
        read
    }
}

#[tokio::test]
async fn early_data_is_answered_before_the_client_finished() {
    early_data_is_answered("").await;
}

#[tokio::test]
async fn early_data_is_answered_by_a_listener_with_passthrough_routes() {
    early_data_is_answered(PASSTHROUGH).await;
}

async fn early_data_is_answered(routes: &str) {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = recording_backend().await;
    let node = node_with(&folder, to, routes).await;
    let config = resuming_client(&node, &mut events).await;
    let mut early = UnfinishedHandshake::begin(&node, &config).await;
    assert_eq!(early.connection.info.early_data, EarlyData::Accepted);
    assert_eq!(early.read(5).await, b"early");
    assert_eq!(next_event(&mut events).await, BackendEvent::Header(Some(5)));
    assert_eq!(next_event(&mut events).await, BackendEvent::Bytes(b"early".to_vec()));
    assert_eq!(metric(&node, "tercel_early_data_handed_on_total{when=\"at_once\"}"), 1);
    // The backend that received the early data also receives the rest of the connection.
    let mut rest = std::mem::take(&mut early.finished);
    early.connection.sender.seal_to(b"late", &mut rest).unwrap();
    early.connection.sender.close(&mut rest).unwrap();
    early.transport.write_all(&rest).await.unwrap();
    assert_eq!(early.read(4).await, b"late");
    assert_eq!(next_event(&mut events).await, BackendEvent::Bytes(b"late".to_vec()));
    assert_eq!(next_event(&mut events).await, BackendEvent::End);
    assert_eq!(metric(&node, "tercel_early_data_abandoned_total"), 0);
    let outcome = metric(&node, "tercel_client_received_bytes_total");
    assert!(outcome >= 9, "{outcome}");
}

#[tokio::test]
async fn failed_handshake_resets_the_early_data_backend() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = recording_backend().await;
    let node = node(&folder, to).await;
    for broken in [false, true] {
        let config = resuming_client(&node, &mut events).await;
        let mut early = UnfinishedHandshake::begin(&node, &config).await;
        assert_eq!(next_event(&mut events).await, BackendEvent::Header(Some(5)));
        assert_eq!(next_event(&mut events).await, BackendEvent::Bytes(b"early".to_vec()));
        if broken {
            early.transport.write_all(&[23, 3, 3, 0, 64]).await.unwrap();
            early.transport.write_all(&[0x5a; 64]).await.unwrap();
        }
        drop(early);
        assert_eq!(next_event(&mut events).await, BackendEvent::Reset);
        let abandoned = 1 + u64::from(broken);
        wait_until("the event is counted", || {
            metric(&node, "tercel_early_data_abandoned_total") == abandoned
        })
        .await;
    }
}

/// An attacker sends a copy of the first flight first. The proxy forwards the copy's early data
/// once, marked as early. The client's own data reaches the backend in another connection, after
/// the client's handshake.
#[tokio::test]
async fn early_data_refused_by_the_guard_is_sent_again() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = recording_backend().await;
    let node = node(&folder, to).await;
    let config = resuming_client(&node, &mut events).await;
    let mut early = connect_early(&node, &config, Some(&node)).await;
    assert_eq!(early.accepted, 0, "the copy arrived first");
    assert_eq!(next_event(&mut events).await, BackendEvent::Header(Some(5)));
    assert_eq!(next_event(&mut events).await, BackendEvent::Bytes(b"early".to_vec()));
    early.stream.write_all(b"early, again").await.unwrap();
    assert_eq!(next_event(&mut events).await, BackendEvent::Header(None));
    assert_eq!(next_event(&mut events).await, BackendEvent::Bytes(b"early, again".to_vec()));
    early.stream.shutdown().await.unwrap();
    // Closing with unread data would reset the connection.
    early.stream.read_to_end(&mut Vec::new()).await.unwrap();
    drop(early);
    let mut ends = [next_event(&mut events).await, next_event(&mut events).await];
    ends.sort_by_key(|event| *event == BackendEvent::Reset);
    assert_eq!(ends, [BackendEvent::End, BackendEvent::Reset], "the copy's connection is reset");
    assert_eq!(metric(&node, "tercel_early_data_handed_on_total{when=\"at_once\"}"), 1);
    assert_eq!(metric(&node, "tercel_early_data_rejected_total"), 1);
}

#[tokio::test]
async fn early_data_refused_in_the_startup_window_is_sent_again() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = recording_backend().await;
    let node = start(&format!("workers = 1\n{}to = \"{to}\"\n{AT_ONCE}", folder.listener()));
    let config = resuming_client(&node, &mut events).await;
    let mut early = connect_early(&node, &config, None).await;
    assert_eq!(early.accepted, 0);
    early.stream.write_all(b"early").await.unwrap();
    assert_eq!(next_event(&mut events).await, BackendEvent::Header(None));
    assert_eq!(next_event(&mut events).await, BackendEvent::Bytes(b"early".to_vec()));
    assert_eq!(metric(&node, "tercel_early_data_handed_on_total{when=\"at_once\"}"), 0);
}

/// A route that does not accept early data at once, on a listener with another route that does.
#[tokio::test]
async fn route_without_early_data_at_once_waits_for_the_handshake() {
    let folder = Folder::new(&["a.example", "b.example"]);
    let (to, mut events) = recording_backend().await;
    let route = "[[listener.route]]\nnames = \"a.example\"\nearly_data_at_once = false\n";
    let listener = folder.listener();
    let node =
        start_after_window(&format!("workers = 1\n{listener}to = \"{to}\"\n{AT_ONCE}{route}"));
    let config = resuming_client(&node, &mut events).await;
    let mut early = UnfinishedHandshake::begin(&node, &config).await;
    assert_eq!(early.connection.info.early_data, EarlyData::Accepted);
    let event = timeout(Duration::from_millis(300), events.recv()).await;
    assert!(event.is_err(), "{event:?}");
    let finished = std::mem::take(&mut early.finished);
    early.transport.write_all(&finished).await.unwrap();
    assert_eq!(early.read(5).await, b"early");
    assert_eq!(next_event(&mut events).await, BackendEvent::Header(None));
    assert_eq!(metric(&node, "tercel_early_data_handed_on_total{when=\"after_handshake\"}"), 1);
}

/// A client that was accepted before a reload uses the previous guard, whose entries the new guard
/// does not have.
#[tokio::test]
async fn replaced_guard_refuses_while_the_previous_one_may_admit() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = recording_backend().await;
    let (listener, secret) = (folder.listener(), secret(&folder, "fleet.secret"));
    let text = |guard: &str| {
        format!(
            "workers = 1\n{listener}to = \"{to}\"\n{AT_ONCE}[resumption]\nguard = \"{guard}\"\n\
             [resumption.store]\nurl = \"redis://127.0.0.1:1\"\nsecret = {secret}\n"
        )
    };
    let mut node = start_after_window(&text("own"));
    let known = resuming_client(&node, &mut events).await;
    wait_until("all connections are closed", || node.connections() == 0).await;
    let mut earlier = TcpStream::connect(node.addresses()[0]).await.unwrap();
    wait_until("the connection is accepted", || node.connections() == 1).await;
    for guard in ["shared", "own"] {
        // The new guard's own window has ended, so it refuses because of the previous one only.
        with_startup_window(None, || node.reload(config(&text(guard)))).unwrap();
    }
    let (near, mut far) = tokio::io::duplex(1 << 16);
    let connector = tercel_tokio::Connector::new(known);
    let name = "a.example".try_into().unwrap();
    let connecting =
        tokio::spawn(async move { connector.connect_early(name, near, b"early").await });
    let flight = first_flight(&mut far).await;
    earlier.write_all(&flight).await.unwrap();
    assert_eq!(next_event(&mut events).await, BackendEvent::Header(Some(5)));
    assert_eq!(next_event(&mut events).await, BackendEvent::Bytes(b"early".to_vec()));
    let mut server = TcpStream::connect(node.addresses()[0]).await.unwrap();
    server.write_all(&flight).await.unwrap();
    let passing = tokio::spawn(async move {
        let _ = tokio::io::copy_bidirectional(&mut far, &mut server).await;
    });
    assert_eq!(connecting.await.unwrap().unwrap().accepted, 0, "the previous guard admitted it");
    passing.abort();
}

/// A first flight that is replayed several times reaches a backend only once.
#[tokio::test]
async fn replayed_early_data_reaches_the_backend_once() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut events) = recording_backend().await;
    let node = node(&folder, to).await;
    let config = resuming_client(&node, &mut events).await;
    let (near, mut far) = tokio::io::duplex(1 << 16);
    let connector = tercel_tokio::Connector::new(config);
    let name = "a.example".try_into().unwrap();
    let connecting =
        tokio::spawn(async move { connector.connect_early(name, near, b"early").await });
    let flight = first_flight(&mut far).await;
    for round in 0..4 {
        let mut copy = TcpStream::connect(node.addresses()[0]).await.unwrap();
        copy.write_all(&flight).await.unwrap();
        copy.read_exact(&mut [0; 16]).await.unwrap();
        if round == 0 {
            assert_eq!(next_event(&mut events).await, BackendEvent::Header(Some(5)));
            assert_eq!(next_event(&mut events).await, BackendEvent::Bytes(b"early".to_vec()));
        }
        drop(copy);
        if round == 0 {
            assert_eq!(next_event(&mut events).await, BackendEvent::Reset);
        }
    }
    wait_until("all copies are closed", || node.connections() == 0).await;
    assert!(events.try_recv().is_err());
    connecting.abort();
}
