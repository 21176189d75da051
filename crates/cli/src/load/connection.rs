//! The loop of one connection: it repeats the measured operation until the measurement ends.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tercel::ServerName;
use tercel::ech::Offer;
use tercel_tokio::{Connector, HandshakeError, TlsStream};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::http1::{self, Reader};
use super::http2::Http2Connection;
#[cfg(feature = "http3")]
use super::http3::{Http3Connection, QuicClient};
use super::options::Mode;
use super::schedule::Schedule;
use super::statistics::{Negotiated, Statistics};
use super::transport::Transport;
use crate::explain;

/// The operation and the state that all connections of a thread share.
pub(crate) struct Workload {
    pub(crate) mode: Mode,
    pub(crate) address: SocketAddr,
    pub(crate) name: ServerName<'static>,
    pub(crate) connector: Connector,
    /// What each connection over TCP offers.
    pub(crate) ech: Offer,
    /// The client for connections over QUIC, if they are used.
    #[cfg(feature = "http3")]
    pub(crate) quic: Option<QuicClient>,
    /// The request over HTTP/1.1, or the head of the request if content follows.
    pub(crate) http1_head: Vec<u8>,
    /// The head of the request over HTTP/2 and HTTP/3.
    pub(crate) http2_head: hyper::Request<()>,
    /// Whether a server that does not choose HTTP/2 is a failure.
    pub(crate) needs_http2: bool,
    pub(crate) timeout: Duration,
    pub(crate) statistics: RefCell<Statistics>,
    pub(crate) counters: Arc<LiveCounters>,
}

/// Counters that other threads may read during the run.
#[derive(Debug, Default)]
pub(crate) struct LiveCounters {
    pub(crate) done: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// The time window in which results count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}

/// The reason why an iteration failed, and the stage in which it failed.
#[derive(Debug)]
pub(crate) struct Failure {
    stage: &'static str,
    why: String,
}

/// A loop over connections, one at a time.
pub(crate) struct ConnectionLoop {
    workload: Rc<Workload>,
    client: TransportClient,
    http: Option<HttpConnection>,
    /// The start time of the current iteration.
    started: Option<Instant>,
}

/// The client with which a loop connects.
#[derive(Clone)]
pub(crate) enum TransportClient {
    /// The connector of the workload.
    Tcp,
    /// A client that has the sessions of one loop.
    #[cfg(feature = "http3")]
    Quic(QuicClient),
}

/// A connection for requests, of the version that was negotiated.
enum HttpConnection {
    Http1(Box<TlsStream<TcpStream>>, Reader),
    Http2(Http2Connection),
    #[cfg(feature = "http3")]
    Http3(Http3Connection),
}

impl Workload {
    /// The client of a new loop.
    pub(crate) fn client(&self) -> TransportClient {
        #[cfg(feature = "http3")]
        if let Some(quic) = &self.quic {
            return TransportClient::Quic(quic.for_loop());
        }
        TransportClient::Tcp
    }

    /// Connects and runs the handshake.
    pub(crate) async fn connect(&self, client: TransportClient) -> Result<Transport, Failure> {
        let transport = match client {
            TransportClient::Tcp => Transport::Tcp(Box::new(self.connect_tcp().await?)),
            #[cfg(feature = "http3")]
            TransportClient::Quic(quic) => {
                let handshake = quic.connect(&self.name, self.timeout);
                Transport::Quic(self.within("handshake", handshake).await?)
            }
        };
        self.statistics.borrow_mut().negotiated(Negotiated::of(transport.info()));
        Ok(transport)
    }

    async fn connect_tcp(&self) -> Result<TlsStream<TcpStream>, Failure> {
        let connecting = async {
            let socket = TcpStream::connect(self.address).await?;
            socket.set_nodelay(true)?;
            io::Result::Ok(socket)
        };
        let socket = self.within("connect", connecting).await?;
        let mut socket = Some(socket);
        let open = || {
            // There is no second attempt: it would be another operation.
            let socket = socket.take();
            async { socket.ok_or_else(|| io::Error::other("the server rejected ECH")) }
        };
        let (name, offer) = (self.name.clone(), self.ech.clone());
        self.within("handshake", self.connector.connect_with_ech(name, offer, open)).await
    }

    /// Connects for requests.
    async fn connect_http(&self, client: TransportClient) -> Result<HttpConnection, Failure> {
        let stream = match self.connect(client).await? {
            Transport::Tcp(stream) => *stream,
            #[cfg(feature = "http3")]
            Transport::Quic(quic) => {
                let begun = self.within("request", Http3Connection::new(quic)).await;
                return begun.map(HttpConnection::Http3);
            }
        };
        if stream.info().alpn.as_deref() == Some(b"h2") {
            let begun = self.within("request", Http2Connection::new(stream)).await;
            return begun.map(HttpConnection::Http2);
        }
        if self.needs_http2 {
            return Err(Failure { stage: "handshake", why: "HTTP/2 not negotiated".to_owned() });
        }
        Ok(HttpConnection::Http1(Box::new(stream), Reader::new()))
    }

    /// Closes a connection. Errors while closing are ignored, except the time limit.
    async fn close(&self, transport: Transport) -> Result<(), Failure> {
        self.within("close", transport.close()).await
    }

    /// Limits the time of one step, and adds the stage to its error.
    async fn within<T>(
        &self,
        stage: &'static str,
        step: impl Future<Output = io::Result<T>>,
    ) -> Result<T, Failure> {
        match timeout(self.timeout, step).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure { stage, why: describe(&error) }),
            Err(_) => Err(Failure { stage, why: "timed out".to_owned() }),
        }
    }

    /// Counts bytes of content.
    fn count(&self, bytes: u64, window: Window) {
        if window.contains(Instant::now()) {
            self.statistics.borrow_mut().bytes += bytes;
        }
    }

    pub(crate) fn failed(&self, failure: &Failure) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        self.statistics.borrow_mut().error(&format!("{}: {}", failure.stage, failure.why));
    }
}

impl ConnectionLoop {
    pub(crate) fn new(workload: Rc<Workload>) -> Self {
        let client = workload.client();
        Self { workload, client, http: None, started: None }
    }

    /// Prepares the first iteration: a session to resume, or a connection.
    pub(crate) async fn prepare(&mut self) {
        let prepared = match self.workload.mode {
            Mode::Full | Mode::Idle(_) => Ok(()),
            Mode::Resumed => match self.workload.connect(self.client.clone()).await {
                Ok(transport) => self.workload.close(transport).await,
                Err(failure) => Err(failure),
            },
            Mode::Bulk | Mode::Upload(_) | Mode::Requests => {
                let connected = self.workload.connect_http(self.client.clone()).await;
                connected.map(|http| self.http = Some(http))
            }
        };
        if let Err(failure) = prepared {
            self.workload.failed(&failure);
        }
    }

    /// Runs iterations until the window ends.
    pub(crate) async fn run(mut self, mut schedule: Schedule, window: Window) {
        let iterations = async {
            loop {
                let from = schedule.next(&self.workload.statistics).await;
                self.started = Some(from);
                let iteration = self.iteration(from, window).await;
                self.started = None;
                if let Err(failure) = iteration {
                    self.workload.failed(&failure);
                    self.http = None;
                    // This pause prevents a flood of connections to an unavailable server.
                    tokio::time::sleep(FAILURE_PAUSE).await;
                }
            }
        };
        // Only the time limit ends the loop.
        let _: Result<(), _> = tokio::time::timeout_at(window.end.into(), iterations).await;
        if !schedule.is_fixed() {
            return;
        }
        // Iterations that did not finish have waited at least this long. They are counted, because
        // they are the slowest iterations, and the latencies would look too good without them.
        let mut statistics = self.workload.statistics.borrow_mut();
        if let Some(started) = self.started {
            statistics.record_latency(window.end.saturating_duration_since(started));
        }
        for waited in schedule.waiting(window.end) {
            statistics.record_latency(waited);
            statistics.not_started += 1;
        }
    }

    async fn iteration(&mut self, from: Instant, window: Window) -> Result<(), Failure> {
        if self.workload.mode.speaks_http() {
            self.run_request(from, window).await
        } else {
            self.run_handshake(from, window).await
        }
    }

    async fn run_handshake(&mut self, from: Instant, window: Window) -> Result<(), Failure> {
        let transport = self.workload.connect(self.client.clone()).await?;
        let resumed = transport.info().resumed;
        let expected = resumed == (self.workload.mode == Mode::Resumed);
        if expected {
            self.done(from, window);
        }
        self.workload.close(transport).await?;
        match expected {
            true => Ok(()),
            false if resumed => Err(Failure { stage: "handshake", why: "resumed".to_owned() }),
            false => Err(Failure { stage: "handshake", why: "not resumed".to_owned() }),
        }
    }

    async fn run_request(&mut self, from: Instant, window: Window) -> Result<(), Failure> {
        let workload = Rc::clone(&self.workload);
        let mut http = match self.http.take() {
            Some(http) => http,
            None => workload.connect_http(self.client.clone()).await?,
        };
        let length = if let Mode::Upload(length) = workload.mode { length } else { 0 };
        let counting = Rc::clone(&workload);
        let sent = move |bytes| counting.count(bytes, window);
        let received = |bytes| {
            if length == 0 {
                workload.count(bytes, window);
            }
        };
        let exchange = async {
            match &mut http {
                HttpConnection::Http1(stream, reader) => {
                    stream.write_all(&workload.http1_head).await?;
                    if length > 0 {
                        http1::send_content(stream, length, sent).await?;
                    }
                    reader.answer(stream, received).await
                }
                HttpConnection::Http2(http2) => {
                    http2.exchange(&workload.http2_head, length, sent, received).await
                }
                #[cfg(feature = "http3")]
                HttpConnection::Http3(http3) => {
                    // Boxed, so that the loops of other protocols stay small.
                    let exchange = http3.exchange(&workload.http2_head, length, sent, received);
                    Box::pin(exchange).await
                }
            }
        };
        let answer = workload.within("request", exchange).await?;
        if !(200..=399).contains(&answer.status) {
            return Err(Failure { stage: "request", why: format!("status {}", answer.status) });
        }
        self.done(from, window);
        if answer.keep_alive {
            self.http = Some(http);
            return Ok(());
        }
        match http {
            HttpConnection::Http1(stream, _) => workload.close(Transport::Tcp(stream)).await,
            HttpConnection::Http2(http2) => workload.within("close", http2.close()).await,
            #[cfg(feature = "http3")]
            HttpConnection::Http3(http3) => {
                workload.close(Transport::Quic(http3.into_transport())).await
            }
        }
    }

    fn done(&mut self, from: Instant, window: Window) {
        self.started = None;
        let now = Instant::now();
        if window.contains(now) {
            self.workload.counters.done.fetch_add(1, Ordering::Relaxed);
            self.workload.statistics.borrow_mut().done(now.saturating_duration_since(from));
        }
    }
}

impl Window {
    fn contains(self, moment: Instant) -> bool {
        self.begin <= moment && moment <= self.end
    }
}

impl Failure {
    pub(crate) fn new(stage: &'static str, error: &io::Error) -> Self {
        Self { stage, why: describe(error) }
    }

    pub(crate) fn closed(stage: &'static str) -> Self {
        Self { stage, why: "connection closed by peer".to_owned() }
    }
}

fn describe(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<HandshakeError>());
    match inner {
        Some(HandshakeError::Protocol { refusal: Some(refusal), .. }) => refusal.to_string(),
        Some(HandshakeError::Protocol { error, .. }) => explain::tls(*error),
        Some(error) => error.to_string(),
        None => explain::connection(error),
    }
}

const FAILURE_PAUSE: Duration = Duration::from_millis(10);
