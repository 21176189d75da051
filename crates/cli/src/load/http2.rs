//! An HTTP/2 client that repeats one request. Content is counted and discarded. RFC 9113

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tercel_tokio::TlsStream;
use tokio::net::TcpStream;

use super::http1::Answer;
use crate::explain;
use crate::target::Address;

/// The head of a GET request, or of a POST request if there is content.
pub(crate) fn head(url: &Address, has_content: bool) -> Result<Request<()>, hyper::http::Error> {
    let mut head = Request::new(());
    *head.uri_mut() = Uri::builder()
        .scheme(Scheme::HTTPS)
        .authority(url.authority())
        .path_and_query(url.request_target())
        .build()?;
    head.headers_mut().insert(USER_AGENT, HeaderValue::from_static("tercel"));
    if has_content {
        *head.method_mut() = Method::POST;
        let kind = HeaderValue::from_static("application/octet-stream");
        head.headers_mut().insert(CONTENT_TYPE, kind);
    }
    Ok(head)
}

/// A connection on which one request at a time is sent.
pub(crate) struct Http2Connection {
    sender: SendRequest<Content>,
    /// Sends and receives; `None` when it has ended.
    driver: Option<Pin<Box<dyn Future<Output = hyper::Result<()>>>>>,
}

impl Http2Connection {
    pub(crate) async fn new(stream: TlsStream<TcpStream>) -> io::Result<Self> {
        let begun = Box::pin(handshake(LocalExecutor, TokioIo::new(Box::new(stream)))).await;
        let (sender, driver) = begun.map_err(explain::http)?;
        Ok(Self { sender, driver: Some(Box::pin(driver)) })
    }

    /// Sends a request with this many bytes of content, and reads the whole response. `sent` and
    /// `received` are called for each part of their content.
    pub(crate) async fn exchange(
        &mut self,
        head: &Request<()>,
        length: u64,
        sent: impl FnMut(u64) + Unpin + 'static,
        mut received: impl FnMut(u64),
    ) -> io::Result<Answer> {
        let Self { sender, driver } = self;
        let request = head.clone().map(|()| Content { left: length, sent: Box::new(sent) });
        let exchange = async {
            let response = sender.send_request(request).await?;
            let status = response.status().as_u16();
            let mut body = response.into_body();
            while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
            {
                if let Some(data) = frame?.data_ref() {
                    received(data.len() as u64);
                }
            }
            // The sender is closed if the server ends the connection.
            Ok(Answer { status, keep_alive: sender.ready().await.is_ok() })
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
        let length = usize::try_from(self.left).unwrap_or(PART).min(PART);
        if length == 0 {
            return Poll::Ready(None);
        }
        self.left -= length as u64;
        (self.sent)(length as u64);
        let zeros = Bytes::from_static(&ZEROS);
        Poll::Ready(Some(Ok(Frame::data(zeros.slice(..length)))))
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

/// The length of a part of the content.
const PART: usize = 64 << 10;

static ZEROS: [u8; PART] = [0; PART];
