//! One request over HTTP/1.1 or HTTP/2, as ALPN decided, and what HTTP/3 shares with them.
//! RFC 9110, RFC 9112, RFC 9113

use std::future::poll_fn;
use std::io::{self, Write};
use std::net::TcpStream;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use hyper::body::{Body, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{ACCEPT, HOST, HeaderValue, USER_AGENT};
use hyper::http::response::Parts;
use hyper::http::uri::{Scheme, Uri};
use hyper::{Method, Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tercel::{Connection, ReceiveBuffer};
use tercel_tokio::TlsStream;
use tokio::task::JoinHandle;

use crate::explain;
use crate::negotiated::printable;
use crate::output;
use crate::target::Address;

/// A request without content.
#[derive(Clone, Debug)]
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: Method,
    pub(crate) address: &'a Address,
    /// The limit for the whole response.
    pub(crate) timeout: Duration,
    /// Whether the head of the response is not printed.
    pub(crate) quiet: bool,
}

impl HttpRequest<'_> {
    /// Sends the request. Prints the head of the response on standard error, and its content on
    /// standard output.
    pub(crate) fn run(
        &self,
        socket: TcpStream,
        connection: Connection,
        received: ReceiveBuffer,
    ) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot create a runtime")?;
        runtime.block_on(async {
            socket.set_nonblocking(true)?;
            let socket = tokio::net::TcpStream::from_std(socket)?;
            let stream = Box::new(TlsStream::new(socket, connection, received));
            let exchange = Box::pin(tokio::time::timeout(self.timeout, self.exchange(stream)));
            match exchange.await {
                Ok(Ok(driver)) => {
                    // The connection closes when the request has been dropped. The response is
                    // complete, so errors are ignored.
                    let _ = tokio::time::timeout(CLOSE_LIMIT, driver).await;
                    Ok(())
                }
                Ok(Err(error)) => Err(error),
                Err(_) => Err(self.timed_out()),
            }
        })
    }

    /// Sends the request and prints the response. Returns the task that drives the connection.
    async fn exchange(&self, stream: Box<Stream>) -> Result<JoinHandle<()>> {
        let (response, driver) = match stream.info().alpn.as_deref() {
            Some(b"h2") => self.send_http2(stream).await?,
            None | Some(b"http/1.1") => self.send_http1(stream).await?,
            Some(other) => bail!(
                "the server chose the protocol `{}`; a request needs h2 or http/1.1",
                printable(other)
            ),
        };
        let (head, mut body) = response.into_parts();
        if !self.quiet {
            print_head(&head);
        }
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            if let Some(data) = frame.map_err(failed)?.data_ref() {
                print_content(data)?;
            }
        }
        output::print("")?;
        Ok(driver)
    }

    async fn send_http1(
        &self,
        stream: Box<Stream>,
    ) -> Result<(Response<Incoming>, JoinHandle<()>)> {
        let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        let driver = tokio::spawn(async { drop(driver.await) });
        let mut request: Request<String> = self.request(self.address.request_target().parse()?);
        let authority = HeaderValue::from_str(&self.address.authority())?;
        request.headers_mut().insert(HOST, authority);
        Ok((sender.send_request(request).await.map_err(failed)?, driver))
    }

    async fn send_http2(
        &self,
        stream: Box<Stream>,
    ) -> Result<(Response<Incoming>, JoinHandle<()>)> {
        let begun = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (mut sender, driver) = begun.await.map_err(failed)?;
        let driver = tokio::spawn(async { drop(driver.await) });
        let request: Request<String> = self.request(self.absolute_uri()?);
        let response = sender.send_request(request).await;
        Ok((response.map_err(failed)?, driver))
    }

    /// The URL of the request.
    pub(super) fn absolute_uri(&self) -> Result<Uri> {
        let uri = Uri::builder().scheme(Scheme::HTTPS).authority(self.address.authority());
        Ok(uri.path_and_query(self.address.request_target()).build()?)
    }

    /// The error for a response that is late.
    pub(super) fn timed_out(&self) -> anyhow::Error {
        let seconds = self.timeout.as_secs();
        anyhow!("the response did not arrive within {seconds} s (--timeout)")
    }

    /// A request without content.
    pub(super) fn request<C: Default>(&self, uri: Uri) -> Request<C> {
        let mut request = Request::new(C::default());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static("tercel"));
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("*/*"));
        request
    }
}

type Stream = TlsStream<tokio::net::TcpStream>;

/// Prints a part of the content on standard output.
pub(super) fn print_content(data: &[u8]) -> Result<()> {
    io::stdout().lock().write_all(data).map_err(|error| output::write_error(&error))
}

/// Prints the status line and the fields on standard error.
pub(super) fn print_head(head: &Parts) {
    let version = match head.version {
        Version::HTTP_3 => "HTTP/3",
        Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    };
    let mut text = format!("{version} {}", head.status);
    for (name, value) in &head.headers {
        text.push_str(&format!("\n{name}: {}", visible(value.as_bytes())));
    }
    explain::print_line(format_args!("{text}"));
}

/// The value of a field. Bytes that are not visible ASCII could affect a terminal.
fn visible(value: &[u8]) -> String {
    let escape = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte).to_string(),
        other => other.escape_ascii().to_string(),
    };
    value.iter().map(escape).collect()
}

fn failed(error: hyper::Error) -> anyhow::Error {
    anyhow!("HTTP: {}", explain::connection(&explain::http(error)))
}

/// The limit for closing the connection after the response.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cannot_affect_a_terminal() {
        assert_eq!(visible(b"W/\"1\\2\" a\t\xc2\x9b2J"), r#"W/"1\2" a\t\xc2\x9b2J"#);
    }
}
