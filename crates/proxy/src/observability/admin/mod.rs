//! The admin listener: `/metrics` for Prometheus and `/healthz` for load balancers.
//!
//! The listener is meant for a private address, but does not trust its clients: the number of
//! connections, the size of a request and its duration are limited, and each connection serves one
//! request. All requests are read-only, and no secrets are exposed.

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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::observability::metrics::{self, Metrics};
use crate::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Maximum number of concurrent connections; others wait in the accept queue.
const CONNECTIONS: usize = 32;

/// Maximum size of a request head in bytes.
const HEAD: usize = 16 * 1024;

/// Maximum number of header fields in a request.
const FIELDS: usize = 64;

/// Timeout for receiving a request head.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// Timeout for a whole connection.
const CONNECTION_TIME: Duration = Duration::from_secs(15);

/// The health state that `/healthz` reports.
#[derive(Debug, Default)]
pub struct Health {
    phase: AtomicU8,
    expected: AtomicUsize,
    listening: AtomicUsize,
}

const SERVING: u8 = 1;
const DRAINING: u8 = 2;
const THREAD_LOST: u8 = 3;

impl Health {
    /// Creates the state of a process that is starting.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Records that the process serves from now on, with this many listeners.
    pub fn serving(&self, listeners: usize) {
        self.expected.store(listeners, Ordering::Relaxed);
        self.listening.store(listeners, Ordering::Relaxed);
        self.phase.store(SERVING, Ordering::Release);
    }

    /// Records that a listener has failed permanently.
    pub fn listener_lost(&self) {
        let less = |listening: usize| Some(listening.saturating_sub(1));
        let _ = self.listening.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Records that a thread has ended that the process needs.
    pub fn thread_lost(&self) {
        self.phase.store(THREAD_LOST, Ordering::Release);
    }

    /// Records that the process is draining: load balancers should send new connections elsewhere.
    pub fn draining(&self) {
        self.phase.store(DRAINING, Ordering::Release);
    }

    /// The body of the `/healthz` response; an error means status 503.
    ///
    /// # Errors
    ///
    /// Before [`Health::serving`], after [`Health::draining`], and if a listener or a thread has
    /// failed.
    pub fn check(&self) -> Result<String, String> {
        // The phase is loaded first: the listener counts were stored before it became SERVING.
        let phase = self.phase.load(Ordering::Acquire);
        let (expected, listening) =
            (self.expected.load(Ordering::Relaxed), self.listening.load(Ordering::Relaxed));
        match phase {
            SERVING if listening < expected => {
                Err(format!("{listening} of {expected} listeners are running\n"))
            }
            SERVING => Ok("serving\n".to_owned()),
            DRAINING => Err("draining\n".to_owned()),
            THREAD_LOST => Err("a thread exited unexpectedly\n".to_owned()),
            _ => Err("starting\n".to_owned()),
        }
    }
}

/// Serves the admin listener until the future is dropped. Drop it only after a drain, so that
/// `/healthz` reports the drain.
///
/// # Errors
///
/// No error is returned: if `accept` fails, it is called again after a pause.
pub async fn serve(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
) -> Infallible {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    // Dropping this future aborts the connections.
    let mut connections = tokio::task::JoinSet::new();
    let mut backoff = AcceptBackoff::new();
    loop {
        while connections.try_join_next().is_some() {}
        let permit = Arc::clone(&permits).acquire_owned().await;
        let transport = match listener.accept().await {
            Ok((transport, _)) => transport,
            Err(error) => {
                if !backoff.is_failing() {
                    tracing::warn!(%error, "admin listener: accept failed");
                }
                tokio::time::sleep(backoff.after(&error)).await;
                continue;
            }
        };
        backoff.reset();
        let (metrics, health) = (Arc::clone(&metrics), Arc::clone(&health));
        connections.spawn(async move {
            answer_in_time(transport, metrics, health).await;
            drop(permit);
        });
    }
}

/// Serves one request on one connection, and closes it when its time ends.
async fn answer_in_time(
    transport: impl AsyncRead + AsyncWrite + Unpin,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
) {
    let answered = answer(transport, metrics, health);
    let _ = tokio::time::timeout(CONNECTION_TIME, answered).await;
}

/// Serves one request on one connection.
async fn answer(
    transport: impl AsyncRead + AsyncWrite + Unpin,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
) {
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
        tracing::debug!(%error, "admin request failed");
    }
}

fn respond(method: &Method, path: &str, metrics: &Metrics, health: &Health) -> Response<String> {
    if !matches!(path, "/metrics" | "/healthz") {
        return text(StatusCode::NOT_FOUND, "not found; see /metrics and /healthz\n".to_owned());
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n".to_owned());
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
