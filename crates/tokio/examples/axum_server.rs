//! An axum application over TLS, with HTTP/2 and HTTP/1.1.
//!
//!     cargo run -p tercel-tokio --example axum_server -- CHAIN.pem KEY.pem 127.0.0.1:8443

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use tercel::pki::{load_certs_pem, load_key_pem};
use tercel::{Credential, ServerConfig};
use tercel_tokio::{Acceptor, TlsStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [chain, key, address] = arguments()?;
    let chain = load_certs_pem(&std::fs::read(chain)?)?;
    let credential = Credential::new(chain, &load_key_pem(&std::fs::read(key)?)?)?;
    let config =
        ServerConfig::builder().credential(credential).alpn(&["h2", "http/1.1"]).build()?;
    let listener = TlsListener::bind(&address, Acceptor::new(config)).await?;
    println!("https://{}", listener.address);
    let app = Router::new().route("/", get(|| async { "hello over TLS\n" }));
    axum::serve(listener, app).await?;
    Ok(())
}

/// Connections whose handshake is complete.
struct TlsListener {
    address: SocketAddr,
    accepted: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
}

impl TlsListener {
    async fn bind(address: &str, acceptor: Acceptor) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (sender, accepted) = mpsc::channel(64);
        tokio::spawn(async move {
            loop {
                let Ok((transport, peer)) = listener.accept().await else { continue };
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                // Each handshake in a task of its own: a slow client holds up no other.
                tokio::spawn(async move {
                    match acceptor.accept(transport).await {
                        Ok(stream) => drop(sender.send((stream, peer)).await),
                        Err(error) => eprintln!("{peer}: {error}"),
                    }
                });
            }
        });
        Ok(Self { address, accepted })
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.accepted.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        Ok(self.address)
    }
}

fn arguments() -> Result<[String; 3], &'static str> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    all.try_into().map_err(|_| "usage: axum_server CHAIN.pem KEY.pem ADDRESS:PORT")
}
