//! A plain HTTP backend that names itself in its answers, counts requests, and can misbehave.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{self, AsyncReadExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The behaviour of the backend on its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behaviour {
    /// Answers immediately.
    Answers,
    /// Answers after a delay.
    Slow(Duration),
    /// Closes the connection after the first byte.
    ClosesEarly,
    /// Resets the connection after the first byte.
    Resets,
    /// Reads and never answers.
    Silent,
}

/// A running backend; it stops listening when dropped.
#[derive(Debug)]
pub struct Backend {
    address: SocketAddr,
    counters: Arc<Counters>,
    task: JoinHandle<()>,
}

/// Counts of connections and requests.
#[derive(Debug, Default)]
struct Counters {
    connections: AtomicU64,
    open: AtomicUsize,
    /// Paths under [`ONCE`], and how often each was requested.
    once: Mutex<HashMap<String, u32>>,
    /// Queries of requests whose connections have ended.
    ended: Mutex<HashSet<String>>,
}

/// The ended connections to a backend.
#[derive(Clone, Debug)]
pub struct Ended(Arc<Counters>);

impl Ended {
    /// Whether the connection has ended over which this query was requested.
    #[must_use]
    pub fn has(&self, query: &str) -> bool {
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner).contains(query)
    }
}

const SEND_BUFFER: u32 = 64 * 1024;

/// Clients request each path under this prefix once: a second request is a replay.
pub const ONCE: &str = "/once/";

/// The filler of long bodies, and their maximum length.
static FILLING: LazyLock<Bytes> = LazyLock::new(|| vec![b'x'; 32 << 20].into());

impl Backend {
    /// Listens on a port of 127.0.0.1 and serves there, under this name. Needs a Tokio runtime.
    ///
    /// `/bytes/N` is answered with N bytes, 32 MB at most, `/after/N` after N milliseconds, any
    /// other path with a short text.
    ///
    /// # Errors
    /// If the backend cannot listen.
    pub async fn start(name: &str, behaviour: Behaviour) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        // The system would have room for megabytes of each answer that is not read, and hundreds of
        // them would exhaust the memory that it has for TCP. Accepted sockets inherit the size.
        socket.set_send_buffer_size(SEND_BUFFER)?;
        // Hundreds of clients may connect at once. The backlog is long, because a full queue of the
        // system would delay clients.
        let listener = socket.listen(4096)?;
        let address = listener.local_addr()?;
        let (name, counters): (Arc<str>, _) = (name.into(), Arc::<Counters>::default());
        let shared = counters.clone();
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // Accepting failed, most likely because no file descriptors are free. Some are
                    // freed later.
                    sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let (name, counters) = (name.clone(), shared.clone());
                tokio::spawn(async move {
                    let number = counters.connections.fetch_add(1, Ordering::Relaxed);
                    counters.open.fetch_add(1, Ordering::Relaxed);
                    // Connections are cut on purpose, and the clients count the failures.
                    let _ = serve(stream, &name, number, behaviour, &counters).await;
                    counters.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(Self { address, counters, task })
    }

    /// The address that the backend listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of open connections.
    #[must_use]
    pub fn open(&self) -> usize {
        self.counters.open.load(Ordering::Relaxed)
    }

    /// Which connections have ended, by the query of a request.
    #[must_use]
    pub fn ended(&self) -> Ended {
        Ended(Arc::clone(&self.counters))
    }

    /// How often a path under [`ONCE`] was requested.
    #[must_use]
    pub fn times(&self, path: &str) -> u32 {
        self.counters.lock().get(path).copied().unwrap_or(0)
    }

    /// The paths under [`ONCE`] that were requested more than once.
    #[must_use]
    pub fn repeated(&self) -> Vec<String> {
        let counters = self.counters.lock();
        counters.iter().filter(|(_, times)| **times > 1).map(|(path, _)| path.clone()).collect()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Counters {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, u32>> {
        self.once.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(
    mut stream: TcpStream,
    name: &str,
    number: u64,
    behaviour: Behaviour,
    counters: &Counters,
) -> Result<()> {
    stream.set_nodelay(true)?;
    let delay = match behaviour {
        Behaviour::Answers => Duration::ZERO,
        Behaviour::Slow(time) => time,
        Behaviour::ClosesEarly | Behaviour::Resets => {
            // Closing with unread bytes would reset the connection.
            let _ = stream.read(&mut vec![0; 4096]).await?;
            if behaviour == Behaviour::Resets {
                stream.set_zero_linger()?;
            }
            return Ok(());
        }
        Behaviour::Silent => {
            io::copy(&mut stream, &mut io::sink()).await?;
            return Ok(());
        }
    };
    let query = &Mutex::new(None);
    let respond = service_fn(|request: Request<Incoming>| async move {
        let path = request.uri().path();
        if let Some(last) = request.uri().query() {
            *query.lock().unwrap_or_else(PoisonError::into_inner) = Some(last.to_owned());
        }
        if path.starts_with(ONCE) {
            *counters.lock().entry(path.to_owned()).or_default() += 1;
        }
        let number_in = |prefix| path.strip_prefix(prefix)?.parse::<u32>().ok();
        let after = number_in("/after/").unwrap_or(0);
        sleep(delay + Duration::from_millis(after.into())).await;
        let body = match number_in("/bytes/") {
            Some(length) => FILLING.slice(..length as usize),
            None => format!("{name} {number} {path}\n").into(),
        };
        Response::builder().header("x-backend", name).body(Full::new(body))
    });
    // A client may close its half of the connection before the answer.
    let server =
        http1::Builder::new().half_close(true).serve_connection(TokioIo::new(stream), respond);
    let served = server.await;
    let query = query.lock().unwrap_or_else(PoisonError::into_inner).take();
    counters.ended.lock().unwrap_or_else(PoisonError::into_inner).extend(query);
    Ok(served?)
}
