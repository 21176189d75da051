//! GET and HEAD over HTTP/1.1 (RFC 9112) and HTTP/2 (RFC 9113). Heads are limited in size and time,
//! and the content of requests is never read.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{
    ALLOW, ALT_SVC, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode, Uri, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::explain;

/// The limits of one connection.
pub(crate) struct Limits {
    /// The maximum time without progress: no complete head, and no part of a response sent.
    pub(crate) timeout: Duration,
    /// Whether the server ends: connections then end after the responses in progress.
    pub(crate) ending: watch::Receiver<bool>,
}

/// Serves requests until one side closes. `answer` returns the response for a path, which is still
/// percent-encoded and has no query. `alt_svc` announces other protocols. RFC 7838 3
pub(crate) async fn serve<A, R>(
    io: impl AsyncRead + AsyncWrite + Unpin,
    is_http2: bool,
    limits: Limits,
    alt_svc: Option<&HeaderValue>,
    answer: A,
) -> io::Result<()>
where
    A: Fn(String) -> R,
    R: Future<Output = Response> + Send + 'static,
{
    let progress = Progress::new();
    let service = service_fn(|request: Request<Incoming>| {
        progress.advance();
        let answered = path_of(&request).map(|path| answer(path.to_owned()));
        let (is_head, is_last) = (request.method() == Method::HEAD, is_last(&request));
        let progress = progress.clone();
        let alt_svc = alt_svc.cloned();
        async move {
            let response = match answered {
                Ok(answered) => answered.await,
                Err(status) => Response::status(status),
            };
            let mut response = response.into_hyper(is_head, is_last, progress);
            if let Some(alt_svc) = alt_svc {
                response.headers_mut().insert(ALT_SVC, alt_svc);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let io = TokioIo::new(io);
    if is_http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.max_header_list_size(MAX_HEAD).max_send_buf_size(HTTP2_BUFFER);
        // Each response in progress holds a piece of its file.
        builder.max_concurrent_streams(MAX_STREAMS);
        let connection = builder.serve_connection(io, service);
        drive(connection, http2::Connection::graceful_shutdown, &progress, limits).await
    } else {
        let mut builder = http1::Builder::new();
        // A client may close its side after the last request.
        builder.half_close(true).title_case_headers(true).max_headers(MAX_FIELDS);
        let connection = builder.max_buf_size(MAX_HEAD as usize).serve_connection(io, service);
        drive(connection, http1::Connection::graceful_shutdown, &progress, limits).await
    }
}

/// Runs a connection within its limits.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    connection: C,
    shut_down: fn(Pin<&mut C>),
    progress: &Progress,
    mut limits: Limits,
) -> io::Result<()> {
    let mut connection = pin!(connection);
    let end = tokio::select! {
        ended = connection.as_mut() => return ended.map_err(explain::http),
        () = progress.until_stalled(limits.timeout) => Err(io::ErrorKind::TimedOut.into()),
        _ = limits.ending.wait_for(|ending| *ending) => Ok(()),
    };
    shut_down(connection.as_mut());
    let _ = timeout(GRACE, connection).await;
    end
}

/// The path of a request for which there can be a response other than an error.
pub(super) fn path_of<B>(request: &Request<B>) -> Result<&str, StatusCode> {
    let hosts = request.headers().get_all(HOST).iter().count();
    // RFC 9112 3.2
    if request.version() == Version::HTTP_11 && hosts != 1 {
        return Err(StatusCode::BAD_REQUEST);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    resource(request.uri()).ok_or(StatusCode::BAD_REQUEST)
}

/// The path of a target in origin form or in absolute form. Targets of other forms occur only with
/// other methods. RFC 9112 3.2
fn resource(target: &Uri) -> Option<&str> {
    let is_http = target.scheme_str().is_none_or(|scheme| matches!(scheme, "https" | "http"));
    Some(target.path()).filter(|path| is_http && path.starts_with('/'))
}

/// Whether the connection ends after this request, because it is malformed or has content.
fn is_last<B: Body>(request: &Request<B>) -> bool {
    request.version() < Version::HTTP_2
        && (!request.body().is_end_stream() || path_of(request) == Err(StatusCode::BAD_REQUEST))
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    status: StatusCode,
    content_type: &'static str,
    location: Option<HeaderValue>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Text(Bytes),
    File(File, u64),
}

impl Response {
    pub(crate) fn text(
        status: StatusCode,
        content_type: &'static str,
        text: impl Into<Bytes>,
    ) -> Self {
        Self { status, content_type, location: None, content: Content::Text(text.into()) }
    }

    /// A response with the status as its text.
    pub(crate) fn status(status: StatusCode) -> Self {
        Self::text(status, "text/plain; charset=utf-8", format!("{status}\n"))
    }

    /// A redirection to a path of this server.
    pub(crate) fn redirect(path: &str) -> Self {
        match HeaderValue::from_str(path) {
            Ok(path) => {
                Self { location: Some(path), ..Self::status(StatusCode::MOVED_PERMANENTLY) }
            }
            Err(_) => Self::status(StatusCode::BAD_REQUEST),
        }
    }

    pub(crate) fn file(content_type: &'static str, file: File, length: u64) -> Self {
        let content = Content::File(file, length);
        Self { status: StatusCode::OK, content_type, location: None, content }
    }

    #[cfg(test)]
    pub(crate) fn code(&self) -> StatusCode {
        self.status
    }

    pub(super) fn into_hyper(
        self,
        is_head: bool,
        is_last: bool,
        progress: Progress,
    ) -> hyper::Response<ResponseBody> {
        let length = match &self.content {
            Content::Text(text) => text.len() as u64,
            Content::File(_, length) => *length,
        };
        let mut fields = HeaderMap::with_capacity(8);
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        fields.insert(CONTENT_LENGTH, length.into());
        fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if is_last {
            fields.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(location) = self.location {
            fields.insert(LOCATION, location);
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            fields.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        let source = match self.content {
            _ if is_head => Source::Text(Bytes::new()),
            Content::Text(text) => Source::Text(text),
            Content::File(file, length) => Source::File(read_piece(file, length)),
        };
        let left = if is_head { 0 } else { length };
        let mut response = hyper::Response::new(ResponseBody { source, left, progress });
        *response.status_mut() = self.status;
        *response.headers_mut() = fields;
        response
    }
}

/// The content of a response while it is sent.
pub(super) struct ResponseBody {
    source: Source,
    left: u64,
    progress: Progress,
}

enum Source {
    Text(Bytes),
    /// The next piece of a file, which is read while the piece before it is sent.
    File(JoinHandle<io::Result<(File, Vec<u8>)>>),
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let piece = match &mut self.source {
            Source::Text(text) => std::mem::take(text),
            Source::File(reading) => match ready!(Pin::new(reading).poll(context))? {
                // The response is shorter than declared. The client can detect this only if the
                // connection or the stream ends with an error.
                Ok((_, piece)) if piece.is_empty() => {
                    let error = io::Error::other("file became shorter while it was sent");
                    return Poll::Ready(Some(Err(error)));
                }
                Ok((file, piece)) => {
                    let left = self.left.saturating_sub(piece.len() as u64);
                    self.source = match left {
                        0 => Source::Text(Bytes::new()),
                        _ => Source::File(read_piece(file, left)),
                    };
                    piece.into()
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            },
        };
        self.left = self.left.saturating_sub(piece.len() as u64);
        self.progress.advance();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

fn read_piece(mut file: File, left: u64) -> JoinHandle<io::Result<(File, Vec<u8>)>> {
    tokio::task::spawn_blocking(move || {
        let length = usize::try_from(left).unwrap_or(FILE_PIECE).min(FILE_PIECE);
        let mut piece = Vec::with_capacity(length);
        file.by_ref().take(length as u64).read_to_end(&mut piece)?;
        Ok((file, piece))
    })
}

/// The time of the last progress of a connection.
#[derive(Clone)]
pub(super) struct Progress(Arc<Mutex<Instant>>);

impl Progress {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(super) fn advance(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Waits until there was no progress for this time. A client that sends single bytes of a head,
    /// or only frames that are no requests, makes no progress.
    pub(super) async fn until_stalled(&self, limit: Duration) {
        loop {
            let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + limit;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

const MAX_HEAD: u32 = 16 << 10;
const MAX_FIELDS: usize = 100;
const FILE_PIECE: usize = 256 << 10;
const HTTP2_BUFFER: usize = 64 << 10;
/// The maximum number of requests in progress in a connection of HTTP/2 or HTTP/3.
pub(super) const MAX_STREAMS: u32 = 16;

/// The time for which a connection that ends may send its last responses.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9112 3.2
    #[test]
    fn targets_of_every_form() {
        let path = |target: &str| {
            let target: Uri = target.parse().unwrap();
            resource(&target).map(str::to_owned)
        };
        assert_eq!(path("/x?y#z").as_deref(), Some("/x"));
        assert_eq!(path("https://localhost:8443/x?y").as_deref(), Some("/x"));
        assert_eq!(path("HTTP://localhost").as_deref(), Some("/"));
        assert_eq!(path("*"), None);
        assert_eq!(path("ftp://x/y"), None);
        assert_eq!(path("localhost:8443"), None);
    }

    fn request(method: Method, target: &str, hosts: usize) -> Request<String> {
        let mut request = Request::new(String::new());
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().unwrap();
        for _ in 0..hosts {
            request.headers_mut().append(HOST, HeaderValue::from_static("x"));
        }
        request
    }

    #[test]
    fn requests_without_one_host_or_with_other_methods_are_refused() {
        let path = |method, target, hosts| path_of(&request(method, target, hosts)).map(str::len);
        assert_eq!(path(Method::GET, "/", 1), Ok(1));
        assert_eq!(path(Method::HEAD, "/ab?c", 1), Ok(3));
        assert_eq!(path(Method::GET, "/", 0), Err(StatusCode::BAD_REQUEST));
        assert_eq!(path(Method::GET, "/", 2), Err(StatusCode::BAD_REQUEST));
        assert_eq!(path(Method::GET, "*", 1), Err(StatusCode::BAD_REQUEST));
        assert_eq!(path(Method::OPTIONS, "*", 1), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(path(Method::POST, "/", 1), Err(StatusCode::METHOD_NOT_ALLOWED));
        let mut second = request(Method::GET, "/", 0);
        *second.version_mut() = Version::HTTP_2;
        assert_eq!(path_of(&second), Ok("/"));
    }

    #[test]
    fn connections_are_kept_only_when_that_is_safe() {
        assert!(!is_last(&request(Method::HEAD, "/", 1)));
        assert!(!is_last(&request(Method::POST, "/", 1)));
        assert!(is_last(&request(Method::GET, "/", 0)));
        let with_content = |version| {
            let mut request = request(Method::POST, "/", 1).map(|_| "content".to_owned());
            *request.version_mut() = version;
            is_last(&request)
        };
        assert!(with_content(Version::HTTP_11) && with_content(Version::HTTP_10));
        assert!(!with_content(Version::HTTP_2));
    }
}
