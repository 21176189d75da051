//! The timed programs: see `timed_programs`.

use std::sync::Arc;

use anyhow::Result;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

struct Tls(tokio_rustls::TlsConnector);

impl timed_programs::Implementation for Tls {
    type Stream = TlsStream<TcpStream>;

    fn new(authority: &[u8]) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority)?)?;
        let mut config =
            ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Self(Arc::new(config).into()))
    }

    async fn connect(&self, name: &'static str, socket: TcpStream) -> Result<Self::Stream> {
        Ok(self.0.connect(ServerName::try_from(name)?, socket).await?)
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    timed_programs::run::<Tls>(&arguments, |authority| {
        let authority = reqwest::Certificate::from_pem(authority)?;
        reqwest::Client::builder().tls_certs_only([authority]).build()
    })
}
