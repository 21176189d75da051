//! A gRPC service on tonic over TLS: grpc.health.v1, which reports the status SERVING.
//!
//!     cargo run -p tercel-tokio --example grpc_server -- CHAIN.pem KEY.pem 127.0.0.1:8443

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tercel::pki::{load_certs_pem, load_key_pem};
use tercel::{Credential, ServerConfig};
use tercel_tokio::{Acceptor, TlsListener, TlsStream};
use tokio::net::{TcpListener, TcpStream};
use tonic::codegen::tokio_stream::Stream;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic_health::ServingStatus;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [chain, key, address] = all.as_slice() else {
        return Err("usage: grpc_server CHAIN.pem KEY.pem ADDRESS:PORT".into());
    };
    let chain = load_certs_pem(&std::fs::read(chain)?)?;
    let credential = Credential::new(chain, &load_key_pem(&std::fs::read(key)?)?)?;
    let config = ServerConfig::builder().credential(credential).alpn(&["h2"]).build()?;
    let listener = TcpListener::bind(address).await?;
    println!("https://{}", listener.local_addr()?);
    let (status, service) = tonic_health::server::health_reporter();
    status.set_service_status("example", ServingStatus::Serving).await;
    let listener = TlsListener::new(listener, Acceptor::new(config))
        .on_failure(|failure| eprintln!("{failure}"));
    Server::builder().add_service(service).serve_with_incoming(Accepted(listener)).await?;
    Ok(())
}

/// Connections with a complete handshake, as a stream for tonic.
struct Accepted(TlsListener);

impl Stream for Accepted {
    type Item = io::Result<Grpc>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_accept(context).map(|(stream, _)| Some(Ok(Grpc(stream))))
    }
}

/// Gives services information about the connection.
struct Grpc(TlsStream<TcpStream>);

impl Connected for Grpc {
    /// The negotiated server name, for `Request::extensions`.
    type ConnectInfo = Option<String>;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.0.info().server_name.clone()
    }
}

impl tokio::io::AsyncRead for Grpc {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, out)
    }
}

impl tokio::io::AsyncWrite for Grpc {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }
}
