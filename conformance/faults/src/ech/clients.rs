//! Clients that encrypt their ClientHello, and connect once more if the server rejects that.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use tercel::ech::{ConfigList, Offer};
use tercel::pki::Roots;
use tercel::{ClientConfig, Ech, ServerName};
use tercel_harness::http;
use tercel_tokio::Connector;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// The time limit of a request, with all its connections.
const LIMIT: Duration = Duration::from_secs(60);

/// The pause of a client between two requests.
const PAUSE: Duration = Duration::from_millis(20);

/// A server, and what is offered to it.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
    /// The encrypted name.
    pub(super) name: &'static str,
    pub(super) configs: ConfigList,
}

/// A request that has ended.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) took: Duration,
    /// Whether a second attempt was needed, or the reason why the request failed.
    pub(super) result: Result<bool, String>,
}

/// Clients that make requests until they are stopped.
pub(super) struct Clients {
    stop: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<Request>>>,
    thread: JoinHandle<Result<()>>,
}

impl Clients {
    /// Starts a client of each of these servers, on one new thread.
    pub(super) fn start(targets: Vec<Target>, roots: &Roots) -> Result<Self> {
        let (stop, requests) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<_>>>::default());
        let config = config(roots)?;
        let (stopped, shared) = (Arc::clone(&stop), Arc::clone(&requests));
        let thread = thread::Builder::new().name("ech clients".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut tasks = tokio::task::JoinSet::new();
                for target in targets {
                    let (config, stopped) = (Arc::clone(&config), Arc::clone(&stopped));
                    let shared = Arc::clone(&shared);
                    tasks.spawn(async move {
                        while !stopped.load(Ordering::Relaxed) {
                            let request = request(&config, &target).await;
                            shared.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                            sleep(PAUSE).await;
                        }
                    });
                }
                while let Some(ended) = tasks.join_next().await {
                    ended?;
                }
                Ok(())
            })
        })?;
        Ok(Self { stop, requests, thread })
    }

    /// The number of requests so far.
    pub(super) fn count(&self) -> usize {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Stops the clients after their current requests, and returns all requests.
    pub(super) fn stop(self) -> Result<Vec<Request>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow::anyhow!("the clients panicked"))??;
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *requests))
    }
}

/// Makes this number of requests, one after the other.
pub(super) fn make(target: &Target, roots: &Roots, count: usize) -> Result<Vec<Request>> {
    let config = config(roots)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(async {
        let mut requests = Vec::with_capacity(count);
        for _ in 0..count {
            requests.push(request(&config, target).await);
        }
        requests
    }))
}

/// Sessions are not resumed, so that each request is a full handshake.
fn config(roots: &Roots) -> Result<Arc<ClientConfig>> {
    Ok(ClientConfig::builder().roots(roots.clone()).without_resumption().build()?)
}

async fn request(config: &Arc<ClientConfig>, target: &Target) -> Request {
    let start = Instant::now();
    let result = match timeout(LIMIT, exchange(config, target)).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(format!("not within {LIMIT:?}")),
    };
    Request { took: start.elapsed(), result }
}

async fn exchange(config: &Arc<ClientConfig>, target: &Target) -> io::Result<bool> {
    let connections = AtomicUsize::new(0);
    let open = || async {
        connections.fetch_add(1, Ordering::Relaxed);
        TcpStream::connect(target.address).await
    };
    let name = ServerName::try_from(target.name).map_err(io::Error::other)?;
    let offer = Offer::Configs(target.configs.clone());
    let connector = Connector::new(Arc::clone(config));
    let mut stream = connector.connect_with_ech(name, offer, open).await?;
    if stream.info().ech != Ech::Accepted {
        return Err(io::Error::other(format!("not encrypted: {:?}", stream.info().ech)));
    }
    stream.write_all(&http::request("/", true)).await?;
    let answer = http::answer(&mut stream).await?;
    match answer.status {
        200 => Ok(connections.load(Ordering::Relaxed) > 1),
        status => Err(io::Error::other(format!("answered {status}"))),
    }
}
