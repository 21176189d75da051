//! Restarts and reloads under load: no client that has connected is left without an answer.
//!
//! Connections are in each state in which a drain can find them. A client may lose a request only
//! if its connection was idle: it is closed without a byte of an answer, and the backend has not
//! seen the request.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, ready};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use tercel::ServerName;
use tercel::wire::ProtocolVersion;
use tercel_harness::backend::{Backend, Behaviour, ONCE};
use tercel_harness::folder::TemporaryFolder;
use tercel_harness::pki::{Authority, Key};
use tercel_harness::ports::free_port;
use tercel_harness::process::Signal;
use tercel_harness::proxy::{ProcessOptions, Proxy};
use tercel_harness::{clients, http, proxy};
use tercel_tokio::Connector;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{Sleep, sleep, timeout};

use crate::phase::Line;
use crate::setup::{WORKING, write_certificate};

/// The number of requests of each way to restart.
const REQUESTS: usize = 7000;
const REQUESTS_QUICK: usize = 700;
/// The number of simultaneous clients.
const CLIENTS: usize = 48;
/// The time limit of all requests of one connection.
const LIMIT: Duration = Duration::from_secs(60);
/// The terminator's time limit of a drain.
const DRAIN: u64 = 4;

/// How the terminator is restarted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Restart {
    /// The next process gets the listening socket when the previous one has ended, as from systemd.
    PassedSocket,
    /// The next process listens, and then the previous one gets SIGTERM.
    SideBySide,
    /// The same process reads its configuration again.
    Reload,
}

/// The state of a connection in which it spends most of its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Queued,
    InHandshake,
    BeforeFirstByte,
    Idle,
    Busy,
    HalfClosed,
}

const STATES: [State; 6] = [
    State::Queued,
    State::InHandshake,
    State::BeforeFirstByte,
    State::Idle,
    State::Busy,
    State::HalfClosed,
];

pub(crate) fn run(
    program: &Path,
    behind: &Runtime,
    runtime: &Runtime,
    quick: bool,
) -> Result<Vec<Line>> {
    let requests = if quick { REQUESTS_QUICK } else { REQUESTS };
    let ways = [
        (Restart::PassedSocket, "restarts, passed socket"),
        (Restart::SideBySide, "restarts, side by side"),
        (Restart::Reload, "reloads"),
    ];
    let each = ways.into_iter().map(|(restart, name)| {
        let start = Instant::now();
        let site = Site::start(program, behind, restart)?;
        let visitors = Arc::new(site.visitors()?);
        let tasks: Vec<_> =
            (0..CLIENTS).map(|_| runtime.spawn(Arc::clone(&visitors).run(requests))).collect();
        let mut faults = Vec::new();
        let restarts = site.restart_until(|| tasks.iter().all(JoinHandle::is_finished));
        for task in tasks {
            runtime.block_on(task)?;
        }
        let answered = visitors.answered.load(Ordering::Relaxed);
        let closed = visitors.closed_idle.load(Ordering::Relaxed);
        match restarts {
            Ok(restarts) => {
                println!("      {restarts} {name}: {answered} answers, {closed} idle closed");
                if restarts < 2 {
                    faults.push("fewer than two restarts".to_owned());
                }
            }
            Err(error) => faults.push(format!("{error:#}")),
        }
        let regular_failed =
            std::mem::take(&mut *visitors.lost.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Line {
            name: name.to_owned(),
            took: start.elapsed(),
            regular: answered + regular_failed.len(),
            regular_failed,
            ..Line::of_another_terminator(faults)
        })
    });
    each.collect()
}

/// A terminator that is restarted, and its backend.
struct Site {
    program: PathBuf,
    folder: TemporaryFolder,
    authority: Authority,
    backend: Arc<Backend>,
    target: SocketAddr,
    /// The socket that is passed to each process.
    socket: Option<TcpListener>,
    restart: Restart,
}

impl Site {
    fn start(program: &Path, behind: &Runtime, restart: Restart) -> Result<Self> {
        let folder = TemporaryFolder::create("tercel-restarts")?;
        let authority = Authority::new("Restarts", Key::P256)?;
        let certificates = folder.path().join("certificates");
        fs::create_dir(&certificates)?;
        write_certificate(&authority, &certificates, WORKING)?;
        let backend = Arc::new(behind.block_on(Backend::start("working", Behaviour::Answers))?);
        let mut target = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let mut socket = None;
        if restart == Restart::PassedSocket {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            // Started processes inherit the socket.
            fcntl(&listener, FcntlArg::F_SETFD(FdFlag::empty()))?;
            target = listener.local_addr()?;
            socket = Some(listener);
        }
        let program = program.to_owned();
        Ok(Self { program, folder, authority, backend, target, socket, restart })
    }

    fn process(&self, number: usize) -> Result<Proxy> {
        let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let mut options = ProcessOptions::default();
        if let Some(socket) = &self.socket {
            options.environment.push(("LISTEN_FDS", "1".to_owned()));
            options.environment.push(("LISTEN_FDS_FIRST_FD", socket.as_raw_fd().to_string()));
        }
        let file = self.folder.path().join(format!("{number}.toml"));
        Proxy::start(&self.program, &file, &self.text(admin, 0), admin, options)
    }

    fn text(&self, admin: SocketAddr, number: usize) -> String {
        format!(
            "workers = 2
drain = {DRAIN}
[admin]
address = \"{admin}\"
[timeouts]
connect = {}
[[listener]]
address = \"{}\"
certificates = \"{}\"
to = \"{}\"
alpn = \"http/1.1\"
",
            5 + number % 2,
            self.target,
            self.folder.path().join("certificates").display(),
            self.backend.address()
        )
    }

    /// Restarts the terminator again and again, and returns how often.
    fn restart_until(&self, is_done: impl Fn() -> bool) -> Result<usize> {
        let mut proxy = self.process(0)?;
        let mut restarts = 0;
        while !is_done() {
            thread::sleep(Duration::from_millis(200));
            restarts += 1;
            match self.restart {
                Restart::PassedSocket => {
                    drain(&mut proxy)?;
                    proxy = self.process(restarts)?;
                }
                Restart::SideBySide => {
                    let next = self.process(restarts)?;
                    drain(&mut proxy)?;
                    proxy = next;
                }
                Restart::Reload => proxy.reload(&self.text(proxy.admin(), restarts))?,
            }
        }
        drain(&mut proxy)?;
        Ok(restarts)
    }

    fn visitors(&self) -> Result<Visitors> {
        let roots = proxy::roots(&self.authority.root_pem())?;
        let connector = |version| -> Result<Connector> {
            let builder = tercel::ClientConfig::builder().roots(roots.clone());
            let config = builder.alpn(&["http/1.1"]).versions(&[version]).build()?;
            Ok(Connector::new(config).time_limit(Some(LIMIT)))
        };
        Ok(Visitors {
            target: self.target,
            backend: Arc::clone(&self.backend),
            connectors: [connector(ProtocolVersion::TLS1_3)?, connector(ProtocolVersion::TLS1_2)?],
            begun: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            closed_idle: AtomicUsize::new(0),
            lost: Mutex::default(),
        })
    }
}

/// Ends a terminator after a drain.
fn drain(proxy: &mut Proxy) -> Result<()> {
    proxy.signal(Signal::SIGTERM)?;
    let status = proxy.process().wait(Duration::from_secs(DRAIN + 30))?;
    ensure!(status.success(), "the terminator ended with {status}:{}", proxy.last_lines(8));
    Ok(())
}

/// Clients of one terminator.
struct Visitors {
    target: SocketAddr,
    backend: Arc<Backend>,
    /// For TLS 1.3 and TLS 1.2.
    connectors: [Connector; 2],
    begun: AtomicUsize,
    answered: AtomicUsize,
    closed_idle: AtomicUsize,
    /// Descriptions of connections without an answer.
    lost: Mutex<Vec<String>>,
}

impl Visitors {
    /// Makes one connection after the other until there are this many answers.
    async fn run(self: Arc<Self>, requests: usize) {
        self.wait_for_listener().await;
        while self.answered.load(Ordering::Relaxed) < requests {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            let state = STATES[number % STATES.len()];
            let lost = match timeout(LIMIT, self.visit(state, number)).await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => format!("{state:?}: {error:#}"),
                Err(_) => format!("{state:?}: no answer within {LIMIT:?}"),
            };
            let mut all = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(lost);
            if all.len() > 100 {
                return;
            }
        }
    }

    /// The first process may still be starting.
    async fn wait_for_listener(&self) {
        let start = Instant::now();
        while clients::connect(self.target, None).await.is_err() && start.elapsed() < LIMIT {
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Makes one connection, which is mostly in this state.
    async fn visit(&self, state: State, number: usize) -> Result<()> {
        let pause = Duration::from_millis(20 + (number as u64 * 7919) % 300);
        let transport = clients::connect(self.target, None).await.context("connect")?;
        if state == State::Queued {
            sleep(pause).await;
        }
        let in_handshake = (state == State::InHandshake).then(|| Box::pin(sleep(pause)));
        let transport = SlowStart { transport, pause: in_handshake };
        // In TLS 1.2 a client that has sent close_notify gets no answer.
        let old = number / STATES.len() % 2;
        let connector = &self.connectors[if state == State::HalfClosed { 0 } else { old }];
        let server = ServerName::try_from(WORKING)?;
        let mut stream = connector.connect(server, transport).await.context("handshake")?;
        if state == State::BeforeFirstByte {
            sleep(pause).await;
        }
        let requests = if state == State::Idle { 8 } else { 1 };
        for request in 1..=requests {
            let path = match state {
                State::Busy | State::HalfClosed => format!("/after/{}", pause.as_millis()),
                _ => format!("{ONCE}{number}/{request}"),
            };
            let sent = stream.write_all(&http::request(&path, request == requests)).await;
            if state == State::HalfClosed {
                stream.shutdown().await.context("shutdown")?;
            }
            match http::answer(&mut stream).await {
                Ok(answer) if answer.status == 200 => {}
                Ok(answer) => bail!("status {}", answer.status),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted && request > 1 => {
                    ensure!(self.backend.times(&path) == 0, "the answer of a request is lost");
                    self.closed_idle.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                Err(error) => {
                    sent.context("request")?;
                    return Err(error).with_context(|| format!("answer {request}"));
                }
            }
            self.answered.fetch_add(1, Ordering::Relaxed);
            if request < requests {
                sleep(pause / 3).await;
            }
        }
        if state != State::HalfClosed {
            stream.shutdown().await.context("shutdown")?;
        }
        Ok(())
    }
}

/// A transport that reads the first bytes only after a pause.
struct SlowStart {
    transport: TcpStream,
    pause: Option<Pin<Box<Sleep>>>,
}

impl AsyncRead for SlowStart {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        Pin::new(&mut self.transport).poll_read(context, buffer)
    }
}

impl AsyncWrite for SlowStart {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.transport).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(context)
    }
}
