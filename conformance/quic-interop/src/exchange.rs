//! What is exchanged over a connection: bytes that are echoed, or a page over HTTP/3.

use anyhow::{Context, Result, ensure};
use bytes::{Buf, Bytes};
use quinn::Connection;

/// The page that an HTTP/3 server sends, and the bytes that are echoed.
pub(crate) fn page() -> Vec<u8> {
    (0..PAGE).map(|position| b'a' + u8::try_from(position % 23).unwrap_or_default()).collect()
}

const PAGE: usize = 65_536;

/// What a browser shows, and a part of it.
const HTML: &str = "<!DOCTYPE html><title>page</title><p id=\"word\">served over HTTP/3</p>";
pub(crate) const HTML_TEXT: &str = "served over HTTP/3";

/// A client's side of exchanges over one connection.
pub(crate) enum Exchanges {
    Echo(Connection),
    Http3(h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>),
}

impl Exchanges {
    pub(crate) async fn new(alpn: &str, connection: Connection) -> Result<Self> {
        if alpn != "h3" {
            return Ok(Self::Echo(connection));
        }
        let (mut driver, sender) = h3::client::new(h3_quinn::Connection::new(connection)).await?;
        tokio::spawn(async move { driver.wait_idle().await });
        Ok(Self::Http3(sender))
    }

    /// Makes one exchange, and compares what the server sends.
    pub(crate) async fn exchange(&mut self) -> Result<()> {
        let received = match self {
            Self::Echo(connection) => {
                let (mut send, mut receive) = connection.open_bi().await?;
                let sender = tokio::spawn(async move {
                    send.write_all(&page()).await?;
                    send.finish()?;
                    anyhow::Ok(())
                });
                let received = receive.read_to_end(PAGE + 1).await?;
                sender.await??;
                received
            }
            Self::Http3(sender) => {
                let request = http::Request::get("https://localhost/page").body(())?;
                let mut stream = sender.send_request(request).await?;
                stream.finish().await?;
                let response = stream.recv_response().await?;
                ensure!(response.status() == 200, "status {}", response.status());
                let mut received = Vec::new();
                while let Some(mut data) = stream.recv_data().await? {
                    received.extend_from_slice(&data.copy_to_bytes(data.remaining()));
                }
                received
            }
        };
        ensure!(received == page(), "received {} bytes, not those of the page", received.len());
        Ok(())
    }
}

/// Serves one connection until it ends. Calls `done` after each exchange.
pub(crate) async fn serve(alpn: &str, connection: Connection, done: impl FnMut()) -> Result<()> {
    if alpn == "h3" { serve_http3(connection, done).await } else { echo(connection, done).await }
}

/// Sends back what arrives on each stream, as it arrives.
async fn echo(connection: Connection, mut done: impl FnMut()) -> Result<()> {
    loop {
        let (mut send, mut receive) = connection.accept_bi().await?;
        let mut echoed = 0;
        loop {
            match receive.read_chunk(PAGE, true).await {
                Ok(Some(chunk)) => {
                    send.write_all(&chunk.bytes).await?;
                    echoed += chunk.bytes.len();
                }
                Ok(None) => break,
                Err(error) => {
                    // Some programs end the connection without the end of the stream.
                    if echoed > 0 {
                        done();
                    }
                    return Err(error.into());
                }
            }
        }
        send.finish()?;
        done();
    }
}

async fn serve_http3(connection: Connection, mut done: impl FnMut()) -> Result<()> {
    let mut connection: h3::server::Connection<_, Bytes> =
        h3::server::Connection::new(h3_quinn::Connection::new(connection)).await?;
    while let Some(resolver) = connection.accept().await? {
        let (request, mut stream) = resolver.resolve_request().await?;
        let (kind, body) = match request.uri().path() {
            "/" => ("text/html", HTML.as_bytes().to_vec()),
            _ => ("text/plain", page()),
        };
        let response = http::Response::builder().status(200).header("content-type", kind);
        stream.send_response(response.body(())?).await.context("response")?;
        stream.send_data(Bytes::from(body)).await.context("body")?;
        stream.finish().await.context("end")?;
        done();
    }
    Ok(())
}
