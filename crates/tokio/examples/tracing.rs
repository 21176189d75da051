//! Logs the events of handshakes with a server, the second of which resumes the first's session:
//! `cargo run -p tercel-tokio --example tracing -- www.rust-lang.org 443`
//!
//! `SSL_CERT_FILE=ca.pem` in the environment replaces the authorities of the operating system.

use std::error::Error;
use std::time::Duration;

use tercel::ServerName;
use tercel_tokio::{Connector, tercel::ClientConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tracing::Level;

/// The time limit for each connection.
const LIMIT: Duration = Duration::from_secs(15);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Applications usually log events of DEBUG of some targets only: see `EnvFilter` of the crate
    // tracing-subscriber, and the filter `tercel=debug`.
    tracing_subscriber::fmt().with_max_level(Level::DEBUG).init();

    let [host, port] = <[String; 2]>::try_from(std::env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "usage: tracing HOST PORT")?;
    let (port, name) = (port.parse()?, ServerName::try_from(host.clone())?);
    let connector = Connector::new(ClientConfig::builder().native_roots().build()?);
    for _ in 0..2 {
        timeout(LIMIT, Box::pin(request(&connector, &host, port, name.clone()))).await??;
    }
    Ok(())
}

/// Requests a page and reads its beginning, which follows the tickets of the session.
async fn request(
    connector: &Connector,
    host: &str,
    port: u16,
    name: ServerName<'static>,
) -> Result<(), Box<dyn Error>> {
    let transport = TcpStream::connect((host, port)).await?;
    let mut stream = connector.connect(name, transport).await?;
    stream.write_all(format!("GET / HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).await?;
    let count = stream.read(&mut [0; 4096]).await?;
    tracing::info!("received {count} bytes");
    Ok(stream.close().await?)
}
