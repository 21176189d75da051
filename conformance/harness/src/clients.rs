//! Well-behaved clients: a steady load of requests, with an outcome for each.
//!
//! A client makes one connection after the other and stores its sessions. It records which backend
//! issued each session.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tercel::pki::Roots;
use tercel::wire::ProtocolVersion;
use tercel::{ClientConfig, ServerName, session::ClientMemoryStore};
use tercel_tokio::{Connector, EarlyConnection, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::backend::ONCE;
use crate::http::{self, Answer};

/// A kind of well-behaved client.
#[derive(Clone, Debug)]
pub struct ClientKind {
    /// The name of the kind in tables.
    pub name: &'static str,
    /// The address to which the clients connect.
    pub target: SocketAddr,
    /// The address from which the clients connect; `None` lets the system choose.
    pub source: Option<IpAddr>,
    /// The server name that the clients request.
    pub server: String,
    /// The protocol version that the clients offer.
    pub version: ProtocolVersion,
    /// Whether the clients send requests as early data when they can.
    pub early: bool,
    /// The number of requests on one connection.
    pub requests: u32,
    /// The number of clients.
    pub clients: usize,
    /// The pause of each client between two requests.
    pub pause: Duration,
    /// The time limit of a request, including its handshake.
    pub limit: Duration,
}

/// The result of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestResult {
    /// The request was answered.
    Answered,
    /// The connection was closed before the request, and the request was then sent on a new
    /// connection.
    Retried,
    /// The request failed.
    Failed(String),
}

/// A request and its outcome.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The name of the kind of client.
    pub kind: &'static str,
    /// When the request began.
    pub start: Instant,
    /// When the connection of the request began.
    pub connected: Instant,
    /// Whether the request began a new connection.
    pub connects: bool,
    /// The duration of the request, including the handshake of a new connection.
    pub took: Duration,
    /// The result of the request.
    pub result: RequestResult,
    /// Whether the request began a connection on which a session was offered.
    pub offered: bool,
    /// Whether that session was resumed.
    pub resumed: bool,
    /// Whether the session was resumed on another backend than the one that issued it.
    pub elsewhere: bool,
    /// Whether the request was accepted as early data.
    pub early: bool,
}

/// A load in progress.
#[derive(Debug)]
pub struct Load {
    stop: Arc<AtomicBool>,
    outcomes: Arc<Mutex<Vec<Outcome>>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Load {
    /// Starts these clients on one new thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(kinds: Vec<ClientKind>, roots: &Roots) -> Result<Self> {
        let (stop, outcomes) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<_>>>::default());
        let mut clients = Vec::new();
        for kind in kinds {
            for _ in 0..kind.clients {
                clients.push(Client::new(kind.clone(), roots.clone())?);
            }
        }
        let (shared_stop, shared) = (stop.clone(), outcomes.clone());
        let thread = thread::Builder::new().name("clients".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async move {
                let tasks: Vec<_> = clients
                    .into_iter()
                    .enumerate()
                    .map(|(at, client)| {
                        tokio::spawn(client.run(at, shared_stop.clone(), shared.clone()))
                    })
                    .collect();
                for task in tasks {
                    task.await?;
                }
                Ok(())
            })
        })?;
        Ok(Self { stop, outcomes, thread: Some(thread) })
    }

    /// All completed requests that began at this time or later.
    #[must_use]
    pub fn since(&self, start: Instant) -> Vec<Outcome> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.iter().filter(|outcome| outcome.start >= start).cloned().collect()
    }

    /// Lets each client complete its current request, and returns all outcomes.
    ///
    /// # Errors
    /// If a client panicked.
    pub fn stop(mut self) -> Result<Vec<Outcome>> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok().context("the client thread panicked")??;
        }
        Ok(std::mem::take(&mut *self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// One client, with at most one request at a time.
struct Client {
    kind: ClientKind,
    connector: Connector,
    server: ServerName<'static>,
    /// The backend that answered on the connection on which the stored sessions were issued.
    origin: Option<String>,
    open: Option<(TlsStream<TcpStream>, Instant, u32)>,
}

impl Client {
    fn new(kind: ClientKind, roots: Roots) -> Result<Self> {
        let config = client_config(roots, kind.version, kind.early)?;
        let server = ServerName::try_from(kind.server.clone())?;
        let connector = Connector::new(config).time_limit(Some(kind.limit));
        Ok(Self { kind, connector, server, origin: None, open: None })
    }

    async fn run(mut self, at: usize, stop: Arc<AtomicBool>, log: Arc<Mutex<Vec<Outcome>>>) {
        // Spreads the starts of the clients over one pause.
        let step = u32::try_from(at % 16).unwrap_or(0);
        sleep(self.kind.pause * step / 16).await;
        while !stop.load(Ordering::Relaxed) {
            let outcome = self.request().await;
            log.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
            sleep(self.kind.pause).await;
        }
        if let Some((mut stream, ..)) = self.open.take() {
            let _ = stream.shutdown().await;
        }
    }

    async fn request(&mut self) -> Outcome {
        let start = Instant::now();
        let mut outcome = Outcome {
            kind: self.kind.name,
            start,
            connected: start,
            connects: false,
            took: Duration::ZERO,
            result: RequestResult::Answered,
            offered: false,
            resumed: false,
            elsewhere: false,
            early: false,
        };
        let limit = self.kind.limit;
        let result = timeout(limit, self.ask(&mut outcome)).await;
        outcome.took = start.elapsed();
        match result {
            Ok(Ok(())) => {}
            Ok(Err(error)) => outcome.result = RequestResult::Failed(describe(&error)),
            Err(_) => outcome.result = RequestResult::Failed(format!("no answer within {limit:?}")),
        }
        if matches!(outcome.result, RequestResult::Failed(_)) {
            self.open = None;
        }
        outcome
    }

    async fn ask(&mut self, outcome: &mut Outcome) -> io::Result<()> {
        if let Some((mut stream, since, used)) = self.open.take() {
            outcome.connected = since;
            let last = used + 1 >= self.kind.requests;
            match exchange(&mut stream, &unique_path(), last).await {
                Ok(answer) => {
                    check(&answer)?;
                    if last {
                        finish(&mut stream).await?;
                    } else {
                        self.open = Some((stream, since, used + 1));
                    }
                    return Ok(());
                }
                // The connection was closed before any byte of an answer, so the client may retry.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {
                    outcome.result = RequestResult::Retried;
                    outcome.connected = Instant::now();
                }
                Err(error) => return Err(error),
            }
        }
        let last = self.kind.requests <= 1;
        outcome.connects = true;
        let transport = connect(self.kind.target, self.kind.source).await?;
        let request = http::request(&unique_path(), last);
        let early: &[u8] = if self.kind.early { &request } else { &[] };
        let origin = self.origin.take();
        outcome.offered = origin.is_some();
        let connected = self.connector.connect_early(self.server.clone(), transport, early).await?;
        let EarlyConnection { mut stream, accepted } = connected;
        outcome.resumed = stream.info().resumed;
        outcome.early = accepted > 0;
        stream.write_all(&request[accepted..]).await?;
        let answer = http::answer(&mut stream).await?;
        check(&answer)?;
        outcome.elsewhere = outcome.resumed && origin.is_some_and(|from| from != answer.backend);
        self.origin = Some(answer.backend);
        if last {
            finish(&mut stream).await
        } else {
            self.open = Some((stream, outcome.connected, 1));
            Ok(())
        }
    }
}

/// A client configuration with its own store for the sessions of one connection.
///
/// # Errors
/// If the configuration is invalid.
pub fn client_config(
    roots: Roots,
    version: ProtocolVersion,
    early: bool,
) -> Result<Arc<ClientConfig>> {
    let store = Arc::new(ClientMemoryStore::new(16, 1));
    let builder = ClientConfig::builder().roots(roots).versions(&[version]);
    Ok(builder.session_store(store).early_data(early).build()?)
}

/// The certificate that a server sends to a new client.
///
/// # Errors
/// If the handshake fails.
pub async fn certificate(target: SocketAddr, roots: &Roots, server: &str) -> Result<Vec<u8>> {
    let config = client_config(roots.clone(), ProtocolVersion::TLS1_3, false)?;
    let server = ServerName::try_from(server.to_owned())?;
    let mut stream = Connector::new(config).connect(server, connect(target, None).await?).await?;
    let leaf = stream.info().peer_chain().first().map(|leaf| leaf.as_ref().to_vec());
    stream.shutdown().await?;
    leaf.context("the server sent no certificate")
}

/// Makes one request with a new client.
///
/// # Errors
/// If the request is not answered, or the server does not close the connection with close_notify.
pub async fn fetch(target: SocketAddr, roots: &Roots, server: &str, path: &str) -> Result<Answer> {
    let config = client_config(roots.clone(), ProtocolVersion::TLS1_3, false)?;
    let server = ServerName::try_from(server.to_owned())?;
    let mut stream = Connector::new(config).connect(server, connect(target, None).await?).await?;
    let answer = exchange(&mut stream, path, true).await?;
    finish(&mut stream).await?;
    Ok(answer)
}

/// Connects, from this source address if one is given.
///
/// # Errors
/// If a system call fails.
pub async fn connect(target: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if let Some(source) = source {
        socket.bind((source, 0).into())?;
    }
    let stream = socket.connect(target).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn exchange(
    stream: &mut TlsStream<TcpStream>,
    path: &str,
    close: bool,
) -> io::Result<Answer> {
    stream.write_all(&http::request(path, close)).await?;
    http::answer(stream).await
}

/// Reads the end of the connection: the server closes after its answer, and must send close_notify.
async fn finish(stream: &mut TlsStream<TcpStream>) -> io::Result<()> {
    if stream.read(&mut [0; 16]).await? > 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "data after the answer"));
    }
    stream.shutdown().await
}

fn check(answer: &Answer) -> io::Result<()> {
    if answer.status == 200 {
        return Ok(());
    }
    Err(io::Error::other(format!("status {}", answer.status)))
}

fn describe(error: &io::Error) -> String {
    format!("{:?}: {error}", error.kind())
}

/// A path that no other request has.
fn unique_path() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("{ONCE}{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}
