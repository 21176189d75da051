//! A hyper client with connection pool, HTTP/2 and HTTP/1.1, over TLS.
//!
//!     cargo run -p tercel-tokio --example http_client -- ROOTS.pem https://localhost:8443/

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Empty};
use hyper::Uri;
use hyper::body::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tercel::pki::Roots;
use tercel::pki_types::ServerName;
use tercel::{ClientConfig, wire::ProtocolVersion};
use tercel_tokio::{Connector, TlsStream};
use tokio::net::TcpStream;
use tower_service::Service;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [roots, uri] = all.as_slice() else {
        return Err("usage: http_client ROOTS.pem URI".into());
    };
    let mut trusted = Roots::new();
    trusted.add_pem(&std::fs::read(roots)?)?;
    let config = ClientConfig::builder().roots(trusted).alpn(&["h2", "http/1.1"]).build()?;
    let client: Client<_, Empty<Bytes>> =
        Client::builder(TokioExecutor::new()).build(HttpsConnector(Connector::new(config)));
    let answer = client.get(uri.parse()?).await?;
    println!("{:?} {}", answer.version(), answer.status());
    print!("{}", String::from_utf8_lossy(&answer.into_body().collect().await?.to_bytes()));
    Ok(())
}

/// Connects to the host of a URI, then runs TLS with its name.
#[derive(Clone)]
struct HttpsConnector(Connector);

impl Service<Uri> for HttpsConnector {
    type Response = HttpsStream;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<HttpsStream, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.0.clone();
        Box::pin(async move {
            let host = uri.host().ok_or("a URI without a host")?.to_owned();
            let transport = TcpStream::connect((host.as_str(), uri.port_u16().unwrap_or(443)));
            let name = ServerName::try_from(host.clone())?;
            let stream = connector.connect(name, transport.await?).await?;
            Ok(HttpsStream(TokioIo::new(stream)))
        })
    }
}

/// Reports to the connection pool of hyper which protocol was negotiated.
struct HttpsStream(TokioIo<TlsStream<TcpStream>>);

impl Connection for HttpsStream {
    fn connected(&self) -> Connected {
        let info = self.0.inner().info();
        debug_assert!(info.version >= ProtocolVersion::TLS1_2);
        match info.alpn.as_deref() {
            Some(b"h2") => Connected::new().negotiated_h2(),
            _ => Connected::new(),
        }
    }
}

impl Read for HttpsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, out)
    }
}

impl Write for HttpsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }
}
