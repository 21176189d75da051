//! One connection at a time, again and again, until the time is over.
//!
//! Must not know: how many others there are. Next: [`super::crew`], which runs many.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tercel::pki_types::ServerName;
use tercel_tokio::{Connector, HandshakeError, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::http::{self, Reader};
use super::options::Mode;
use super::pace::Pace;
use super::tally::{Agreed, Tally};
use crate::explain;

/// What all connections of a thread do, and what they share.
pub(crate) struct Job {
    pub(crate) mode: Mode,
    pub(crate) address: SocketAddr,
    pub(crate) name: ServerName<'static>,
    pub(crate) connector: Connector,
    /// A request, or its head if content follows.
    pub(crate) request: Vec<u8>,
    pub(crate) patience: Duration,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) live: Arc<Live>,
}

/// What others may look at while the thread is at work.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) done: AtomicU64,
    pub(crate) failed: AtomicU64,
}

/// When things count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) begin: Instant,
    pub(crate) end: Instant,
}

/// Why a turn failed, and at what.
#[derive(Debug)]
pub(crate) struct Failure {
    stage: &'static str,
    why: String,
}

/// One connection after the other.
pub(crate) struct Slot {
    job: Rc<Job>,
    stream: Option<TlsStream<TcpStream>>,
    reader: Reader,
    /// When the turn under way began.
    begun: Option<Instant>,
}

impl Job {
    /// Connects and runs the handshake.
    pub(crate) async fn connect(&self) -> Result<TlsStream<TcpStream>, Failure> {
        let connecting = async {
            let socket = TcpStream::connect(self.address).await?;
            socket.set_nodelay(true)?;
            io::Result::Ok(socket)
        };
        let socket = self.within("connect", connecting).await?;
        let handshake = self.connector.connect(self.name.clone(), socket);
        let stream = self.within("handshake", handshake).await?;
        self.tally.borrow_mut().agreed(Agreed::of(stream.facts()));
        Ok(stream)
    }

    /// Says close_notify and reads to the end. What comes on the way counts for nothing, but tickets do;
    /// and how well the server takes its leave is not judged, only that it does.
    async fn close(&self, mut stream: TlsStream<TcpStream>) -> Result<(), Failure> {
        let closing = async {
            let _ = stream.shutdown().await;
            let mut rest = [0; 512];
            while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
            Ok(())
        };
        self.within("close", closing).await
    }

    /// Limits the time of one step and says which it was.
    async fn within<T>(
        &self,
        stage: &'static str,
        step: impl Future<Output = io::Result<T>>,
    ) -> Result<T, Failure> {
        match timeout(self.patience, step).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure { stage, why: words(&error) }),
            Err(_) => Err(Failure { stage, why: "timeout".to_owned() }),
        }
    }

    pub(crate) fn failed(&self, failure: &Failure) {
        self.live.failed.fetch_add(1, Ordering::Relaxed);
        self.tally.borrow_mut().error(&format!("{}: {}", failure.stage, failure.why));
    }
}

impl Slot {
    pub(crate) fn new(job: Rc<Job>) -> Self {
        Self { job, stream: None, reader: Reader::new(), begun: None }
    }

    /// What has to be there before the first turn: a session to come back with, or a connection.
    pub(crate) async fn prepare(&mut self) {
        let prepared = match self.job.mode {
            Mode::Full | Mode::Idle(_) => Ok(()),
            Mode::Resumed => match self.job.connect().await {
                Ok(stream) => self.job.close(stream).await,
                Err(failure) => Err(failure),
            },
            Mode::Bulk | Mode::Upload(_) | Mode::Requests => {
                self.job.connect().await.map(|stream| self.stream = Some(stream))
            }
        };
        if let Err(failure) = prepared {
            self.job.failed(&failure);
        }
    }

    /// Takes turns until the window ends.
    pub(crate) async fn run(mut self, mut pace: Pace, window: Window) {
        let turns = async {
            loop {
                let from = pace.next(&self.job.tally).await;
                self.begun = Some(from);
                let turn = self.turn(from, window).await;
                self.begun = None;
                if let Err(failure) = turn {
                    self.job.failed(&failure);
                    self.stream = None;
                    self.reader = Reader::new();
                    // A server that is away is not helped by being asked without a pause.
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        };
        // There is no other end than that of the time.
        let _: Result<(), _> = tokio::time::timeout_at(window.end.into(), turns).await;
        if !pace.is_fixed() {
            return;
        }
        // Leaving out who still waits would leave out the slowest. They have waited at least this long.
        let mut tally = self.job.tally.borrow_mut();
        if let Some(begun) = self.begun {
            tally.waited(window.end.saturating_duration_since(begun));
        }
        for waited in pace.waiting(window.end) {
            tally.waited(waited);
            tally.never_begun += 1;
        }
    }

    async fn turn(&mut self, from: Instant, window: Window) -> Result<(), Failure> {
        if self.job.mode.speaks_http() {
            self.ask(from, window).await
        } else {
            self.shake_hands(from, window).await
        }
    }

    async fn shake_hands(&mut self, from: Instant, window: Window) -> Result<(), Failure> {
        let stream = self.job.connect().await?;
        let resumed = stream.facts().resumed;
        let expected = resumed == (self.job.mode == Mode::Resumed);
        if expected {
            self.done(from, window);
        }
        self.job.close(stream).await?;
        match expected {
            true => Ok(()),
            false if resumed => Err(Failure { stage: "handshake", why: "resumed".to_owned() }),
            false => Err(Failure { stage: "handshake", why: "not resumed".to_owned() }),
        }
    }

    async fn ask(&mut self, from: Instant, window: Window) -> Result<(), Failure> {
        let job = Rc::clone(&self.job);
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => job.connect().await?,
        };
        let count = |bytes: u64| {
            if window.contains(Instant::now()) {
                job.tally.borrow_mut().bytes += bytes;
            }
        };
        let reader = &mut self.reader;
        let exchange = async {
            stream.write_all(&job.request).await?;
            if let Mode::Upload(length) = job.mode {
                http::send_content(&mut stream, length, count).await?;
                reader.answer(&mut stream, |_| ()).await
            } else {
                reader.answer(&mut stream, count).await
            }
        };
        let answer = job.within("request", exchange).await?;
        if !(200..=399).contains(&answer.status) {
            return Err(Failure { stage: "request", why: format!("status {}", answer.status) });
        }
        self.done(from, window);
        if answer.keep_alive {
            self.stream = Some(stream);
            return Ok(());
        }
        self.reader = Reader::new();
        job.close(stream).await
    }

    fn done(&mut self, from: Instant, window: Window) {
        self.begun = None;
        let now = Instant::now();
        if window.contains(now) {
            self.job.live.done.fetch_add(1, Ordering::Relaxed);
            self.job.tally.borrow_mut().done(now.saturating_duration_since(from));
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
        Self { stage, why: words(error) }
    }

    pub(crate) fn closed(stage: &'static str) -> Self {
        Self { stage, why: "the peer closed the connection".to_owned() }
    }
}

fn words(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<HandshakeError>());
    match inner {
        Some(error) => error.to_string(),
        None => explain::connection(error),
    }
}

const AFTER_FAILURE: Duration = Duration::from_millis(10);
