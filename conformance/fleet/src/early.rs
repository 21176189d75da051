//! First flights with early data, recorded, and sent again and again.
//!
//! Whether a server accepted a flight can be seen from outside: behind the flight goes a record that no key
//! opens. A server that accepted the early data is waiting for more of it and must end the connection; one that
//! rejected it has to skip what it cannot open (RFC 9846 4.3.10) and goes on waiting. So no word of the server is
//! needed. Must not know: what befalls the cluster meanwhile. Next: `events.rs`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tercel::ClientConfig;
use tercel::pki::Roots;
use tercel::pki_types::ServerName;
use tercel::wire::ProtocolVersion;
use tercel_harness::good::{client_config, connect};
use tercel_harness::http;
use tercel_harness::pki::SERVER_NAME;
use tercel_tokio::Connector;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// A first flight, and what became of it so far.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    bytes: Arc<[u8]>,
    made: Instant,
    /// Whether it is sent only after what befalls the cluster.
    pub(crate) kept: bool,
    /// How often it was sent.
    pub(crate) sent: usize,
    /// How often it was accepted, when its client sent it included.
    pub(crate) accepted: usize,
}

/// What a server made of a flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Accepted,
    Rejected,
    /// It did not answer as far as a ServerHello.
    NoAnswer,
}

/// How long a server may take to end a connection whose early data went wrong.
const WAIT: Duration = Duration::from_millis(1500);

impl Flight {
    /// Of a client that was at `at` before, and has not sent it yet.
    pub(crate) async fn held_back(at: SocketAddr, roots: &Roots) -> Result<Self> {
        let config = client_config(roots.clone(), ProtocolVersion::TLS1_3, true)?;
        visit(at, &config).await?;
        let (near, mut far) = duplex(64 * 1024);
        let connector = Connector::new(config);
        let client = tokio::spawn(async move {
            let _ = connector.connect_early(name()?, near, &http::request("/early", true)).await;
            anyhow::Ok(())
        });
        let mut bytes = Vec::new();
        // It goes as far as it can without an answer.
        while let Ok(Ok(1..)) = timeout(Duration::from_millis(200), far.read_buf(&mut bytes)).await
        {
        }
        client.abort();
        Self::of(&bytes, 0)
    }

    /// Of a client that was at `at` before and then, with this flight, at `then`, and was served.
    pub(crate) async fn of_a_served_client(
        at: SocketAddr,
        then: SocketAddr,
        roots: &Roots,
    ) -> Result<Self> {
        let config = client_config(roots.clone(), ProtocolVersion::TLS1_3, true)?;
        visit(at, &config).await?;
        let mut tcp = connect(then, None).await?;
        let (near, mut far) = duplex(64 * 1024);
        let connector = Connector::new(config);
        let client = tokio::spawn(async move {
            let request = http::request("/early", true);
            let early = connector.connect_early(name()?, near, &request).await?;
            let (mut stream, accepted) = (early.stream, early.accepted);
            stream.write_all(&request[accepted..]).await?;
            ensure!(http::answer(&mut stream).await?.status == 200, "not served");
            // The server may be gone by now.
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
                        // A client that has what it wanted is gone.
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
        // A ClientHello, and behind it at least one record that is not in the clear.
        let length = bytes.get(3..5).context("no record was sent")?;
        let hello = 5 + usize::from(u16::from_be_bytes([length[0], length[1]]));
        ensure!(bytes[0] == 22 && bytes[hello..].contains(&23), "no early data was sent");
        Ok(Self {
            bytes: bytes.into(),
            made: Instant::now(),
            kept: false,
            sent: accepted,
            accepted,
        })
    }

    /// Whether a server of this freshness window that has forgotten it might still accept it: replays after that show
    /// nothing.
    pub(crate) fn is_fresh(&self, window: Duration) -> bool {
        self.made.elapsed() < window
    }

    /// How often it was accepted beyond the one time that is allowed.
    pub(crate) fn excess(&self) -> usize {
        self.accepted.saturating_sub(1)
    }

    /// Sends it to this node; whether it was accepted.
    pub(crate) async fn send(&mut self, to: SocketAddr) -> bool {
        self.sent += 1;
        let accepted = deliver(self.bytes.clone(), to).await == Verdict::Accepted;
        self.accepted += usize::from(accepted);
        accepted
    }

    /// Sends it to all these nodes at the same time.
    pub(crate) async fn send_to_all(&mut self, nodes: &[SocketAddr]) {
        let mut tasks = JoinSet::new();
        for &node in nodes {
            tasks.spawn(deliver(self.bytes.clone(), node));
        }
        while let Some(verdict) = tasks.join_next().await {
            let verdict = verdict.unwrap_or(Verdict::NoAnswer);
            self.sent += usize::from(verdict != Verdict::NoAnswer);
            self.accepted += usize::from(verdict == Verdict::Accepted);
        }
    }
}

/// Shows at a server that admits each flight once that acceptance and rejection are told apart.
pub(crate) async fn check_the_eye(at: SocketAddr, roots: &Roots) -> Result<()> {
    let mut flight = Flight::held_back(at, roots).await?;
    ensure!(flight.send(at).await, "a first flight was not seen to be accepted");
    ensure!(!flight.send(at).await, "a replay was seen to be accepted by a server alone");
    let mut served = Flight::of_a_served_client(at, at, roots).await?;
    ensure!(served.accepted == 1, "a client's early data was not accepted by a server alone");
    ensure!(!served.send(at).await, "a replay of a client was seen to be accepted");
    Ok(())
}

/// Sends each of the flights to each of the nodes, those that are kept only if `all` are to be sent.
pub(crate) async fn replay(flights: &mut [Flight], nodes: &[SocketAddr], all: bool) {
    let mut tasks = JoinSet::new();
    for (place, flight) in flights.iter().enumerate().filter(|(_, flight)| all || !flight.kept) {
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

/// An ordinary connection, which leaves a session behind.
async fn visit(at: SocketAddr, config: &Arc<ClientConfig>) -> Result<()> {
    let transport = connect(at, None).await?;
    let mut stream = Connector::new(config.clone()).connect(name()?, transport).await?;
    stream.write_all(&http::request("/", true)).await?;
    http::answer(&mut stream).await?;
    Ok(stream.shutdown().await?)
}

async fn deliver(bytes: Arc<[u8]>, to: SocketAddr) -> Verdict {
    try_deliver(&bytes, to).await.unwrap_or(Verdict::NoAnswer)
}

async fn try_deliver(bytes: &[u8], to: SocketAddr) -> Result<Verdict> {
    let mut tcp = connect(to, None).await?;
    tcp.write_all(bytes).await?;
    tcp.write_all(&[&[23, 3, 3, 0, 64], &[0x5a; 64][..]].concat()).await?;
    let mut first = [0; 1];
    let answered = timeout(Duration::from_secs(5), tcp.read_exact(&mut first)).await;
    if !matches!(answered, Ok(Ok(_))) || first != [22] {
        return Ok(Verdict::NoAnswer);
    }
    Ok(if ends(&mut tcp).await { Verdict::Accepted } else { Verdict::Rejected })
}

/// Whether the server ends the connection soon.
async fn ends(tcp: &mut TcpStream) -> bool {
    let mut buffer = vec![0; 4096];
    let reading = async { while let Ok(1..) = tcp.read(&mut buffer).await {} };
    timeout(WAIT, reading).await.is_ok()
}

fn name() -> Result<ServerName<'static>> {
    Ok(ServerName::try_from(SERVER_NAME)?)
}
