//! Early data that goes to the backend before its client's handshake is complete, and what keeps it from going twice.
//!
//! Must not know: how a guard remembers. Next: `backends.rs` for backends that fail, `sharing.rs` for early
//! data that waits.

mod backends;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tercel::{ClientConfig, Connection, EarlyData, Handshake, Next, Opened, Received};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::sharing::{first_flight, known_to, meet, secret};
use super::terminator::{Folder, backend, client, config, metric, start, until};
use crate::Proxy;
use crate::blind::BLIND;

/// What a backend hears.
#[derive(Debug, PartialEq)]
enum Heard {
    /// A header, with how many bytes are early.
    Header(Option<u32>),
    Bytes(Vec<u8>),
    End,
    Reset,
}

/// A backend that answers each piece with the piece, and tells what it hears.
async fn telling() -> (SocketAddr, UnboundedReceiver<Heard>) {
    let (told, telling) = unbounded_channel();
    let address = backend(move |mut transport| {
        let told = told.clone();
        async move {
            let mut start = [0; 16];
            if transport.read_exact(&mut start).await.is_err() {
                return;
            }
            let mut header = vec![0; usize::from(u16::from_be_bytes([start[14], start[15]]))];
            transport.read_exact(&mut header).await.unwrap();
            told.send(Heard::Header(early_value(&header[12..]))).unwrap();
            loop {
                let mut piece = vec![0; 4096];
                match transport.read(&mut piece).await {
                    Ok(0) => return drop(told.send(Heard::End)),
                    Err(_) => return drop(told.send(Heard::Reset)),
                    Ok(count) => {
                        piece.truncate(count);
                        let _ = transport.write_all(&piece).await;
                        let _ = told.send(Heard::Bytes(piece));
                    }
                }
            }
        }
    });
    (address.await, telling)
}

/// The value that is told of early data.
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

/// A terminator in front of `to`, which sees.
async fn node(folder: &Folder, to: SocketAddr) -> Proxy {
    let node = start(&format!("workers = 1\n{}to = \"{to}\"\n{AT_ONCE}", folder.listener()));
    tokio::time::sleep(BLIND + Duration::from_secs(1)).await;
    node
}

/// The next thing that is heard, five seconds at most.
async fn next(telling: &mut UnboundedReceiver<Heard>) -> Heard {
    let heard = tokio::time::timeout(Duration::from_secs(5), telling.recv()).await;
    heard.expect("nothing is heard").unwrap()
}

/// A client that is known to the node, once all has been heard of it.
async fn known(node: &Proxy, telling: &mut UnboundedReceiver<Heard>) -> Arc<ClientConfig> {
    let config = known_to(node).await;
    let mut open = 0;
    loop {
        match tokio::time::timeout(Duration::from_millis(300), telling.recv()).await {
            Ok(Some(Heard::Header(_))) => open += 1,
            Ok(Some(Heard::End | Heard::Reset)) => open -= 1,
            Err(_) if open == 0 => return config,
            _ => {}
        }
    }
}

/// A client that has sent a first flight with early data and heard the server out, but not sent its Finished, which comes back
/// beside it.
struct Unfinished {
    transport: TcpStream,
    received: Received,
    connection: Box<Connection>,
    finished: Vec<u8>,
}

impl Unfinished {
    async fn begin(node: &Proxy, config: &Arc<ClientConfig>) -> Self {
        let mut transport = TcpStream::connect(node.addresses()[0]).await.unwrap();
        let name = "a.example".try_into().unwrap();
        let mut handshake = Handshake::client(Arc::clone(config), name);
        let (mut received, mut out) = (Received::new(), Vec::new());
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

    /// So many bytes of data from the server.
    async fn read(&mut self, length: usize) -> Vec<u8> {
        let mut read = Vec::new();
        while read.len() < length {
            match self.connection.receiver.open(&mut self.received).unwrap() {
                Opened::Data(data) => read.extend_from_slice(data),
                Opened::More => {
                    let reading = self.transport.read(self.received.spare());
                    let count = tokio::time::timeout(Duration::from_secs(5), reading).await;
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
async fn the_answer_to_early_data_comes_before_the_client_has_finished() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut telling) = telling().await;
    let node = node(&folder, to).await;
    let config = known(&node, &mut telling).await;
    let mut met = Unfinished::begin(&node, &config).await;
    assert_eq!(met.connection.facts.early_data, EarlyData::Accepted);
    assert_eq!(met.read(5).await, b"early");
    assert_eq!(next(&mut telling).await, Heard::Header(Some(5)));
    assert_eq!(next(&mut telling).await, Heard::Bytes(b"early".to_vec()));
    assert_eq!(metric(&node, "tercel_early_data_handed_on_total{when=\"at_once\"}"), 1);
    // And the connection goes on with the same backend.
    let mut rest = std::mem::take(&mut met.finished);
    met.connection.sender.seal_to(b"late", &mut rest).unwrap();
    met.connection.sender.close(&mut rest).unwrap();
    met.transport.write_all(&rest).await.unwrap();
    assert_eq!(met.read(4).await, b"late");
    assert_eq!(next(&mut telling).await, Heard::Bytes(b"late".to_vec()));
    assert_eq!(next(&mut telling).await, Heard::End);
    assert_eq!(metric(&node, "tercel_early_data_abandoned_total"), 0);
    let outcome = metric(&node, "tercel_client_received_bytes_total");
    assert!(outcome >= 9, "{outcome}");
}

#[tokio::test]
async fn where_the_handshake_fails_the_backend_is_reset() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut telling) = telling().await;
    let node = node(&folder, to).await;
    for broken in [false, true] {
        let config = known(&node, &mut telling).await;
        let mut met = Unfinished::begin(&node, &config).await;
        assert_eq!(next(&mut telling).await, Heard::Header(Some(5)));
        assert_eq!(next(&mut telling).await, Heard::Bytes(b"early".to_vec()));
        if broken {
            met.transport.write_all(&[23, 3, 3, 0, 64]).await.unwrap();
            met.transport.write_all(&[0x5a; 64]).await.unwrap();
        }
        drop(met);
        assert_eq!(next(&mut telling).await, Heard::Reset);
        let abandoned = 1 + u64::from(broken);
        until("it is counted", || metric(&node, "tercel_early_data_abandoned_total") == abandoned)
            .await;
    }
}

/// Somebody sends a copy on ahead: the backend gets it once, and knows what it is; the client's own comes with the rest
/// of what it says, after its handshake.
#[tokio::test]
async fn what_the_guard_refuses_arrives_after_the_handshake() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut telling) = telling().await;
    let node = node(&folder, to).await;
    let config = known(&node, &mut telling).await;
    let mut met = meet(&node, &config, Some(&node)).await;
    assert_eq!(met.accepted, 0, "the copy was there first");
    assert_eq!(next(&mut telling).await, Heard::Header(Some(5)));
    assert_eq!(next(&mut telling).await, Heard::Bytes(b"early".to_vec()));
    met.stream.write_all(b"early, again").await.unwrap();
    assert_eq!(next(&mut telling).await, Heard::Header(None));
    assert_eq!(next(&mut telling).await, Heard::Bytes(b"early, again".to_vec()));
    met.stream.shutdown().await.unwrap();
    // A client that goes with something unread resets its connection.
    met.stream.read_to_end(&mut Vec::new()).await.unwrap();
    drop(met);
    let mut ends = [next(&mut telling).await, next(&mut telling).await];
    ends.sort_by_key(|heard| *heard == Heard::Reset);
    assert_eq!(ends, [Heard::End, Heard::Reset], "the copy's is cut off");
    assert_eq!(metric(&node, "tercel_early_data_handed_on_total{when=\"at_once\"}"), 1);
    assert_eq!(metric(&node, "tercel_early_data_rejected_total"), 1);
}

#[tokio::test]
async fn what_a_blind_guard_refuses_arrives_after_the_handshake() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut telling) = telling().await;
    let node = start(&format!("workers = 1\n{}to = \"{to}\"\n{AT_ONCE}", folder.listener()));
    let config = known(&node, &mut telling).await;
    let mut met = meet(&node, &config, None).await;
    assert_eq!(met.accepted, 0);
    met.stream.write_all(b"early").await.unwrap();
    assert_eq!(next(&mut telling).await, Heard::Header(None));
    assert_eq!(next(&mut telling).await, Heard::Bytes(b"early".to_vec()));
    assert_eq!(metric(&node, "tercel_early_data_handed_on_total{when=\"at_once\"}"), 0);
}

/// Another route of the same listener says nothing of the kind.
#[tokio::test]
async fn a_route_that_does_not_say_so_waits_for_the_handshake() {
    let folder = Folder::new(&["a.example", "b.example"]);
    let (to, mut telling) = telling().await;
    let route = "[[listener.route]]\nnames = \"a.example\"\nearly_data_at_once = false\n";
    let listener = folder.listener();
    let node = start(&format!("workers = 1\n{listener}to = \"{to}\"\n{AT_ONCE}{route}"));
    tokio::time::sleep(BLIND + Duration::from_secs(1)).await;
    let config = known(&node, &mut telling).await;
    let mut met = Unfinished::begin(&node, &config).await;
    assert_eq!(met.connection.facts.early_data, EarlyData::Accepted);
    let heard = tokio::time::timeout(Duration::from_millis(300), telling.recv()).await;
    assert!(heard.is_err(), "{heard:?}");
    let finished = std::mem::take(&mut met.finished);
    met.transport.write_all(&finished).await.unwrap();
    assert_eq!(met.read(5).await, b"early");
    assert_eq!(next(&mut telling).await, Heard::Header(None));
    assert_eq!(metric(&node, "tercel_early_data_handed_on_total{when=\"after_handshake\"}"), 1);
}

/// A client that was accepted before a reload asks the guard from before: what that one admits the next does not know.
#[tokio::test]
async fn a_guard_that_follows_another_is_blind_for_as_long_as_that_one_may_admit() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut telling) = telling().await;
    let (listener, secret) = (folder.listener(), secret(&folder, "fleet.secret"));
    let text = |guard: &str| {
        format!(
            "workers = 1\n{listener}to = \"{to}\"\n{AT_ONCE}[resumption]\nguard = \"{guard}\"\n\
             [resumption.store]\nurl = \"redis://127.0.0.1:1\"\nsecret = {secret}\n"
        )
    };
    let mut node = start(&text("own"));
    tokio::time::sleep(BLIND + Duration::from_secs(1)).await;
    let known = known(&node, &mut telling).await;
    until("nobody is there", || node.connections() == 0).await;
    let mut early_bird = TcpStream::connect(node.addresses()[0]).await.unwrap();
    until("it is accepted", || node.connections() == 1).await;
    for guard in ["shared", "own"] {
        node.reload(config(&text(guard))).unwrap();
    }
    tokio::time::sleep(BLIND + Duration::from_secs(2)).await;
    let (near, mut far) = tokio::io::duplex(1 << 16);
    let connector = tercel_tokio::Connector::new(known);
    let name = "a.example".try_into().unwrap();
    let robbed = tokio::spawn(async move { connector.connect_early(name, near, b"early").await });
    let flight = first_flight(&mut far).await;
    early_bird.write_all(&flight).await.unwrap();
    assert_eq!(next(&mut telling).await, Heard::Header(Some(5)));
    assert_eq!(next(&mut telling).await, Heard::Bytes(b"early".to_vec()));
    let mut server = TcpStream::connect(node.addresses()[0]).await.unwrap();
    server.write_all(&flight).await.unwrap();
    let passing = tokio::spawn(async move {
        let _ = tokio::io::copy_bidirectional(&mut far, &mut server).await;
    });
    assert_eq!(robbed.await.unwrap().unwrap().accepted, 0, "it was admitted before");
    passing.abort();
}

/// A copy of a flight, sent again and again, comes to no backend a second time.
#[tokio::test]
async fn a_replayed_flight_is_handed_on_once() {
    let folder = Folder::new(&["a.example"]);
    let (to, mut telling) = telling().await;
    let node = node(&folder, to).await;
    let config = known(&node, &mut telling).await;
    let (near, mut far) = tokio::io::duplex(1 << 16);
    let connector = tercel_tokio::Connector::new(config);
    let name = "a.example".try_into().unwrap();
    let robbed = tokio::spawn(async move { connector.connect_early(name, near, b"early").await });
    let flight = first_flight(&mut far).await;
    for round in 0..4 {
        let mut copy = TcpStream::connect(node.addresses()[0]).await.unwrap();
        copy.write_all(&flight).await.unwrap();
        copy.read_exact(&mut [0; 16]).await.unwrap();
        if round == 0 {
            assert_eq!(next(&mut telling).await, Heard::Header(Some(5)));
            assert_eq!(next(&mut telling).await, Heard::Bytes(b"early".to_vec()));
        }
        drop(copy);
        if round == 0 {
            assert_eq!(next(&mut telling).await, Heard::Reset);
        }
    }
    until("all copies are gone", || node.connections() == 0).await;
    assert!(telling.try_recv().is_err());
    robbed.abort();
}
