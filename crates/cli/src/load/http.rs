//! A client that repeats one request over HTTP/1.1 (RFC 9112) or HTTP/2 (RFC 9113). Content is
//! counted and discarded.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::client::conn::{http1, http2};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tercel_tokio::TlsStream;
use tokio::net::TcpStream;

use super::url::Url;
use crate::explain;

/// The head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) keep_alive: bool,
}

/// The heads of a request for both versions, and the length of its content.
pub(crate) struct Requests {
    http1: Request<()>,
    http2: Request<()>,
    length: Option<u64>,
}

impl Requests {
    /// A GET request, or a POST request with this many bytes of content.
    pub(crate) fn new(url: &Url, length: Option<u64>) -> Result<Self, hyper::http::Error> {
        let mut head = Request::new(());
        head.headers_mut().insert(USER_AGENT, HeaderValue::from_static("tercel"));
        if length.is_some() {
            *head.method_mut() = Method::POST;
            let kind = HeaderValue::from_static("application/octet-stream");
            head.headers_mut().insert(CONTENT_TYPE, kind);
        }
        let path: PathAndQuery = url.path.parse()?;
        let authority: Authority = url.authority.parse()?;
        let (mut http1, mut http2) = (head.clone(), head);
        // Only HTTP/1.1 has a Host field. RFC 9112 3.2, RFC 9113 8.3.1
        http1.headers_mut().insert(HOST, HeaderValue::from_str(authority.as_str())?);
        *http1.uri_mut() = path.clone().into();
        *http2.uri_mut() = Uri::builder()
            .scheme(Scheme::HTTPS)
            .authority(authority)
            .path_and_query(path)
            .build()?;
        Ok(Self { http1, http2, length })
    }
}

/// A connection on which one request at a time is sent.
pub(crate) struct HttpConnection {
    sender: RequestSender,
    /// Sends and receives; `None` when it has ended.
    driver: Option<Pin<Box<dyn Future<Output = hyper::Result<()>>>>>,
}

enum RequestSender {
    Http1(http1::SendRequest<Content>),
    Http2(http2::SendRequest<Content>),
}

impl HttpConnection {
    /// Begins HTTP of the version that was negotiated.
    pub(crate) async fn new(stream: TlsStream<TcpStream>) -> io::Result<Self> {
        let is_http2 = stream.info().alpn.as_deref() == Some(b"h2");
        let io = TokioIo::new(stream);
        if is_http2 {
            let (sender, driver) =
                http2::handshake(LocalExecutor, io).await.map_err(explain::http)?;
            let driver = Some(Box::pin(driver) as _);
            return Ok(Self { sender: RequestSender::Http2(sender), driver });
        }
        let (sender, driver) = http1::handshake(io).await.map_err(explain::http)?;
        Ok(Self { sender: RequestSender::Http1(sender), driver: Some(Box::pin(driver)) })
    }

    /// Sends a request and reads the whole response. `sent` and `received` are called for each part
    /// of their content.
    pub(crate) async fn exchange(
        &mut self,
        requests: &Requests,
        sent: impl FnMut(u64) + Unpin + 'static,
        mut received: impl FnMut(u64),
    ) -> io::Result<Answer> {
        let Self { sender, driver } = self;
        let content = |left| Content { left, sent: Box::new(sent) };
        let content = content(requests.length.unwrap_or(0));
        let exchange = async {
            let response = match sender {
                RequestSender::Http1(sender) => {
                    sender.send_request(requests.http1.clone().map(|()| content)).await
                }
                RequestSender::Http2(sender) => {
                    sender.send_request(requests.http2.clone().map(|()| content)).await
                }
            }?;
            let status = response.status().as_u16();
            let mut body = response.into_body();
            while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
            {
                if let Some(data) = frame?.data_ref() {
                    received(data.len() as u64);
                }
            }
            // The sender is closed if the server does not keep the connection.
            let keep_alive = match sender {
                RequestSender::Http1(sender) => sender.ready().await.is_ok(),
                RequestSender::Http2(sender) => sender.ready().await.is_ok(),
            };
            Ok(Answer { status, keep_alive })
        };
        let mut exchange = pin!(exchange);
        let exchange = poll_fn(|context| {
            if let Some(running) = driver {
                if let Poll::Ready(ended) = running.as_mut().poll(context) {
                    *driver = None;
                    ended?;
                }
            }
            exchange.as_mut().poll(context)
        });
        exchange.await.map_err(explain::http)
    }

    /// Waits until a connection that is not kept is closed.
    pub(crate) async fn close(self) -> io::Result<()> {
        let Self { sender, driver } = self;
        drop(sender);
        match driver {
            Some(driver) => driver.await.map_err(explain::http),
            None => Ok(()),
        }
    }
}

/// The content of a request: zeros, which are counted.
struct Content {
    left: u64,
    sent: Box<dyn FnMut(u64) + Unpin>,
}

impl Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let length = self.left.min(ZEROS.len() as u64);
        if length == 0 {
            return Poll::Ready(None);
        }
        self.left -= length;
        (self.sent)(length);
        let zeros = Bytes::from_static(&ZEROS);
        Poll::Ready(Some(Ok(Frame::data(zeros.slice(..length as usize)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// Runs tasks of a connection on the thread of its loop.
#[derive(Clone, Copy)]
struct LocalExecutor;

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for LocalExecutor {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(task);
    }
}

/// A part of the content: several records of the largest size.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
