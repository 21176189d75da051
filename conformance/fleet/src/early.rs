//! First flights with early data, which are recorded and replayed.
//!
//! Whether a server accepted a flight is detected from outside. A record that no key opens follows
//! the flight. A server that accepted the early data expects another record of early data, and must
//! end the connection. A server that rejected the early data has to skip records that it cannot
//! open (RFC 9846 4.3.10), and keeps the connection. So the detection needs no output of the
//! server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tercel::pki::Roots;
use tercel::wire::ProtocolVersion;
use tercel::{ClientConfig, ServerName};
use tercel_harness::clients::{client_config, connect};
use tercel_harness::http;
use tercel_harness::pki::SERVER_NAME;
use tercel_tokio::Connector;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// A first flight, and its results so far.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    bytes: Arc<[u8]>,
    made: Instant,
    /// Whether the flight is first sent after the event.
    pub(crate) held: bool,
    /// How often the flight was sent.
    pub(crate) sent: usize,
    /// How often the flight was accepted, including the connection of its client.
    pub(crate) accepted: usize,
}

/// The reaction of a server to a flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reaction {
    Accepted,
    Rejected,
    /// The server did not send a ServerHello.
    NoAnswer,
}

/// The time limit for a server to end a connection after invalid early data.
const WAIT: Duration = Duration::from_millis(1500);

impl Flight {
    /// Records the flight of a client that has a session of `at`, without sending it.
    pub(crate) async fn recorded(at: SocketAddr, roots: &Roots) -> Result<Self> {
        let config = client_config(roots.clone(), ProtocolVersion::TLS1_3, true)?;
        store_session(at, &config).await?;
        let (near, mut far) = duplex(64 * 1024);
        let connector = Connector::new(config);
        let client = tokio::spawn(async move {
            let _ = connector.connect_early(name()?, near, &http::request("/early", true)).await;
            anyhow::Ok(())
        });
        let mut bytes = Vec::new();
        // Reads what the client sends before it waits for an answer. Early data is the last record.
        while last_record(&bytes) != Some(APPLICATION_DATA) {
            let read = timeout(Duration::from_secs(60), far.read_buf(&mut bytes)).await;
            ensure!(read.context("no early data")?? > 0, "the client has closed");
        }
        client.abort();
        Self::of(&bytes, 0)
    }

    /// Records the flight of a client with a session of `at`, which connects to `then` and is
    /// served.
    pub(crate) async fn from_served_client(
        at: SocketAddr,
        then: SocketAddr,
        roots: &Roots,
    ) -> Result<Self> {
        let config = client_config(roots.clone(), ProtocolVersion::TLS1_3, true)?;
        store_session(at, &config).await?;
        let mut tcp = connect(then, None).await?;
        let (near, mut far) = duplex(64 * 1024);
        let connector = Connector::new(config);
        let client = tokio::spawn(async move {
            let request = http::request("/early", true);
            let early = connector.connect_early(name()?, near, &request).await?;
            let (mut stream, accepted) = (early.stream, early.accepted);
            stream.write_all(&request[accepted..]).await?;
            ensure!(http::answer(&mut stream).await?.status == 200, "not served");
            // The server may already have closed.
            let _ = stream.shutdown().await;
            anyhow::Ok(accepted > 0)
        });
        let mut first = Vec::new();
        let (mut up, mut down) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        let mut answered = false;
        loop {
            tokio::select! {
                count = far.read(&mut up) => match count? {
                    0 => break,
                    count => {
                        if !answered {
                            first.extend_from_slice(&up[..count]);
                        }
                        tcp.write_all(&up[..count]).await?;
                    }
                },
                count = tcp.read(&mut down) => match count? {
                    0 => break,
                    count => {
                        answered = true;
                        // The client may have closed after its answer.
                        if far.write_all(&down[..count]).await.is_err() {
                            break;
                        }
                    }
                },
            }
        }
        drop(far);
        let accepted = client.await??;
        Self::of(&first, usize::from(accepted))
    }

    fn of(bytes: &[u8], accepted: usize) -> Result<Self> {
        // The flight must have a ClientHello and at least one protected record after it.
        let length = bytes.get(3..5).context("no record was sent")?;
        let hello = 5 + usize::from(u16::from_be_bytes([length[0], length[1]]));
        ensure!(bytes[0] == 22 && bytes[hello..].contains(&23), "no early data was sent");
        Ok(Self {
            bytes: bytes.into(),
            made: Instant::now(),
            held: false,
            sent: accepted,
            accepted,
        })
    }

    /// Whether a server with this freshness window could accept the flight if it had lost its
    /// replay guard. Later replays prove nothing.
    pub(crate) fn is_fresh(&self, window: Duration) -> bool {
        self.made.elapsed() < window
    }

    /// How often the flight was accepted after the first time.
    pub(crate) fn excess(&self) -> usize {
        self.accepted.saturating_sub(1)
    }

    /// Sends the flight to this node, and returns whether it was accepted.
    pub(crate) async fn send(&mut self, to: SocketAddr) -> bool {
        self.sent += 1;
        let accepted = deliver(self.bytes.clone(), to).await == Reaction::Accepted;
        self.accepted += usize::from(accepted);
        accepted
    }

    /// Sends the flight to all these nodes at the same time.
    pub(crate) async fn send_to_all(&mut self, nodes: &[SocketAddr]) {
        let mut tasks = JoinSet::new();
        for &node in nodes {
            tasks.spawn(deliver(self.bytes.clone(), node));
        }
        while let Some(reaction) = tasks.join_next().await {
            let reaction = reaction.unwrap_or(Reaction::NoAnswer);
            self.sent += usize::from(reaction != Reaction::NoAnswer);
            self.accepted += usize::from(reaction == Reaction::Accepted);
        }
    }
}

/// Checks that this module detects acceptance and rejection, with a server that accepts each flight
/// once.
pub(crate) async fn check_detection(at: SocketAddr, roots: &Roots) -> Result<()> {
    let mut flight = Flight::recorded(at, roots).await?;
    ensure!(flight.send(at).await, "the acceptance of a first flight was not detected");
    ensure!(!flight.send(at).await, "a replay counts as accepted by the reference server");
    let mut served = Flight::from_served_client(at, at, roots).await?;
    ensure!(served.accepted == 1, "the reference server did not accept a client's early data");
    ensure!(!served.send(at).await, "a replay of a client counts as accepted");
    Ok(())
}

/// Sends each flight to each node; held flights only if `all`.
pub(crate) async fn replay(flights: &mut [Flight], nodes: &[SocketAddr], all: bool) {
    let mut tasks = JoinSet::new();
    for (place, flight) in flights.iter().enumerate().filter(|(_, flight)| all || !flight.held) {
        let (mut flight, nodes) = (flight.clone(), nodes.to_vec());
        tasks.spawn(async move {
            flight.send_to_all(&nodes).await;
            (place, flight)
        });
    }
    while let Some(ended) = tasks.join_next().await {
        let Ok((place, flight)) = ended else { continue };
        flights[place] = flight;
    }
}

/// Makes a plain connection, which stores a session.
async fn store_session(at: SocketAddr, config: &Arc<ClientConfig>) -> Result<()> {
    let transport = connect(at, None).await?;
    let mut stream = Connector::new(config.clone()).connect(name()?, transport).await?;
    stream.write_all(&http::request("/", true)).await?;
    http::answer(&mut stream).await?;
    Ok(stream.shutdown().await?)
}

async fn deliver(bytes: Arc<[u8]>, to: SocketAddr) -> Reaction {
    try_deliver(&bytes, to).await.unwrap_or(Reaction::NoAnswer)
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

async fn try_deliver(bytes: &[u8], to: SocketAddr) -> Result<Reaction> {
    let mut tcp = connect(to, None).await?;
    tcp.write_all(bytes).await?;
    tcp.write_all(&[&[23, 3, 3, 0, 64], &[0x5a; 64][..]].concat()).await?;
    let mut first = [0; 1];
    let answered = timeout(Duration::from_secs(60), tcp.read_exact(&mut first)).await;
    if !matches!(answered, Ok(Ok(_))) || first != [22] {
        return Ok(Reaction::NoAnswer);
    }
    Ok(if ends(&mut tcp).await { Reaction::Accepted } else { Reaction::Rejected })
}

/// Whether the server soon ends the connection.
async fn ends(tcp: &mut TcpStream) -> bool {
    let mut buffer = vec![0; 4096];
    let reading = async { while let Ok(1..) = tcp.read(&mut buffer).await {} };
    timeout(WAIT, reading).await.is_ok()
}

fn name() -> Result<ServerName<'static>> {
    Ok(ServerName::try_from(SERVER_NAME)?)
}
