//! A server in this process that accepts each flight once, from its start.
//!
//! A terminator refuses early data for two minutes after its start, so it cannot be used to check
//! the detection of accepted flights.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;
use tercel::pki::{load_certs_pem, load_key_pem};
use tercel::pki_types::UnixTime;
use tercel::{Credential, Policy, ServerConfig, session::ReplayGuard};
use tercel_harness::pki::Pem;
use tercel_tokio::Acceptor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server that serves until it is dropped.
pub(crate) struct ReferenceServer {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl ReferenceServer {
    /// Starts the server on the current runtime.
    pub(crate) async fn start(pem: &Pem) -> Result<Self> {
        let chain = load_certs_pem(pem.certificates.as_bytes())?;
        let credential = Credential::new(chain, &load_key_pem(pem.key.as_bytes())?)?;
        let long_ago = UnixTime::since_unix_epoch(Duration::ZERO);
        let guard = std::sync::Arc::new(ReplayGuard::new(1000, long_ago));
        let config = ServerConfig::builder().credential(credential);
        let acceptor = Acceptor::new(config.early_data(16_384, Policy::Here(guard)).build()?);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((transport, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                // A client that is refused sees the error.
                tokio::spawn(async move { answer(&acceptor, transport).await });
            }
        });
        Ok(Self { address, task })
    }
}

impl Drop for ReferenceServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(acceptor: &Acceptor, transport: TcpStream) -> Result<()> {
    let mut stream = acceptor.accept(transport).await?;
    let mut request = stream.take_early_data();
    while !request.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await?;
    Ok(stream.shutdown().await?)
}
