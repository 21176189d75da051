//! An axum application over TLS, with HTTP/2 and HTTP/1.1.
//!
//!     cargo run -p tercel-tokio --example axum_server -- CHAIN.pem KEY.pem 127.0.0.1:8443

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use tercel::pki::{load_certs_pem, load_key_pem};
use tercel::{Credential, ServerConfig};
use tercel_tokio::{Acceptor, TlsListener, TlsStream};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [chain, key, address] = arguments()?;
    let chain = load_certs_pem(&std::fs::read(chain)?)?;
    let credential = Credential::new(chain, &load_key_pem(&std::fs::read(key)?)?)?;
    let config =
        ServerConfig::builder().credential(credential).alpn(&["h2", "http/1.1"]).build()?;
    let listener = TcpListener::bind(&address).await?;
    println!("https://{}", listener.local_addr()?);
    let listener = TlsListener::new(listener, Acceptor::new(config))
        .on_failure(|failure| eprintln!("{failure}"));
    let app = Router::new().route("/", get(|| async { "hello over TLS\n" }));
    axum::serve(Incoming(listener), app).await?;
    Ok(())
}

/// Connections with a complete handshake, as a listener for axum.
struct Incoming(TlsListener);

impl axum::serve::Listener for Incoming {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        self.0.accept().await
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.0.get_ref().local_addr()
    }
}

fn arguments() -> Result<[String; 3], &'static str> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    all.try_into().map_err(|_| "usage: axum_server CHAIN.pem KEY.pem ADDRESS:PORT")
}
