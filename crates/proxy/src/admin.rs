//! The address for operators: `/metrics` for Prometheus and `/healthz` for a load balancer.
//!
//! It is meant for a private address, yet assumes no friends: so many connections at a time, one request on each, bounded in
//! size and time. Nothing here changes anything, and nothing secret is told.
//!
//! Must not know: clients and backends. Next: [`crate::metrics`], the answer's text.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tercel_tokio::AcceptBackoff;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::metrics::{self, Metrics};
use crate::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Connections served at a time; others wait in the listener's queue.
const CONNECTIONS: usize = 32;

/// Largest request head, in bytes.
const HEAD: usize = 16 * 1024;

/// Most header fields of a request.
const FIELDS: usize = 64;

/// Time for a request to come.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// Time for a connection as a whole.
const CONNECTION_TIME: Duration = Duration::from_secs(15);

/// Whether the process serves, as `/healthz` tells it.
#[derive(Debug, Default)]
pub struct Health {
    phase: AtomicU8,
    wanted: AtomicUsize,
    listening: AtomicUsize,
}

const SERVING: u8 = 1;
const DRAINING: u8 = 2;

impl Health {
    /// Not serving yet.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Serving from now on, with so many listeners.
    pub fn serving(&self, listeners: usize) {
        self.wanted.store(listeners, Ordering::Relaxed);
        self.listening.store(listeners, Ordering::Relaxed);
        self.phase.store(SERVING, Ordering::Release);
    }

    /// A listener is gone and will not be back.
    pub fn listener_lost(&self) {
        let less = |listening: usize| Some(listening.saturating_sub(1));
        let _ = self.listening.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// New connections should go elsewhere: the process is about to end.
    pub fn draining(&self) {
        self.phase.store(DRAINING, Ordering::Release);
    }

    /// What to answer, in words; an error if the process is not to be sent new connections.
    ///
    /// # Errors
    /// Before [`Health::serving`], after [`Health::draining`], and while a listener is gone.
    pub fn check(&self) -> Result<String, String> {
        // First: the numbers of a process that serves were there before it did.
        let phase = self.phase.load(Ordering::Acquire);
        let (wanted, listening) =
            (self.wanted.load(Ordering::Relaxed), self.listening.load(Ordering::Relaxed));
        match phase {
            SERVING if listening < wanted => {
                Err(format!("{listening} of {wanted} listeners are left\n"))
            }
            SERVING => Ok("serving\n".to_owned()),
            DRAINING => Err("draining\n".to_owned()),
            _ => Err("starting\n".to_owned()),
        }
    }
}

/// Serves the operators' address until the future is dropped. It is to outlive a drain, so that `/healthz` can tell of it.
///
/// # Errors
/// None that end it: a failed `accept` is tried again after a pause.
pub async fn serve(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
) -> Infallible {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    // Dropped with this future, and with it the connections.
    let mut connections = tokio::task::JoinSet::new();
    let mut backoff = AcceptBackoff::new();
    loop {
        while connections.try_join_next().is_some() {}
        let permit = Arc::clone(&permits).acquire_owned().await;
        let transport = match listener.accept().await {
            Ok((transport, _)) => transport,
            Err(error) => {
                if !backoff.is_failing() {
                    tracing::warn!(%error, "the operators' address cannot accept a connection");
                }
                tokio::time::sleep(backoff.after(&error)).await;
                continue;
            }
        };
        backoff.reset();
        let (metrics, health) = (Arc::clone(&metrics), Arc::clone(&health));
        connections.spawn(async move {
            let answered = answer(transport, metrics, health);
            let _ = tokio::time::timeout(CONNECTION_TIME, answered).await;
            drop(permit);
        });
    }
}

/// One connection, one request.
async fn answer(transport: TcpStream, metrics: Arc<Metrics>, health: Arc<Health>) {
    let respond = service_fn(move |request: Request<Incoming>| {
        let response = respond(request.method(), request.uri().path(), &metrics, &health);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .keep_alive(false)
        .max_buf_size(HEAD)
        .max_headers(FIELDS)
        .serve_connection(TokioIo::new(transport), respond)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a request at the operators' address failed");
    }
}

fn respond(method: &Method, path: &str, metrics: &Metrics, health: &Health) -> Response<String> {
    if !matches!(path, "/metrics" | "/healthz") {
        return text(StatusCode::NOT_FOUND, "there are /metrics and /healthz\n".to_owned());
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "GET only\n".to_owned());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if path == "/metrics" {
        let mut response = text(StatusCode::OK, metrics.render());
        let of_metrics = HeaderValue::from_static(metrics::CONTENT_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, of_metrics);
        return response;
    }
    match health.check() {
        Ok(body) => text(StatusCode::OK, body),
        Err(body) => text(StatusCode::SERVICE_UNAVAILABLE, body),
    }
}

fn text(status: StatusCode, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
mod tests;
