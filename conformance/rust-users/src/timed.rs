//! Tercel for the timed programs that use streams.

use std::sync::Arc;

use anyhow::Result;
use tercel_tokio::tercel::{ClientConfig, pki::Roots};
use tercel_tokio::{Connector, TlsStream};
use tokio::net::TcpStream;

pub(crate) struct Tls(Connector);

impl timed_programs::Implementation for Tls {
    type Stream = TlsStream<TcpStream>;

    fn new(authority: &[u8]) -> Result<Self> {
        let mut roots = Roots::new();
        roots.add_pem(authority)?;
        let config = ClientConfig::builder().roots(roots).without_resumption().build()?;
        Ok(Self(Connector::new(config)))
    }

    async fn connect(&self, name: &'static str, socket: TcpStream) -> Result<Self::Stream> {
        Ok(self.0.connect(name.try_into()?, socket).await?)
    }
}
