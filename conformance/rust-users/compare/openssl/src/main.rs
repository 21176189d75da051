//! The timed programs: see `timed_programs`.

use anyhow::Result;
use tokio::net::TcpStream;
use tokio_native_tls::TlsStream;

struct Tls(tokio_native_tls::TlsConnector);

impl timed_programs::Implementation for Tls {
    type Stream = TlsStream<TcpStream>;

    fn new(authority: &[u8]) -> Result<Self> {
        let authority = native_tls::Certificate::from_pem(authority)?;
        let connector = native_tls::TlsConnector::builder()
            .disable_built_in_roots(true)
            .add_root_certificate(authority)
            .build()?;
        Ok(Self(connector.into()))
    }

    async fn connect(&self, name: &'static str, socket: TcpStream) -> Result<Self::Stream> {
        Ok(self.0.connect(name, socket).await?)
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    timed_programs::run::<Tls>(&arguments, |authority| {
        let authority = reqwest::Certificate::from_pem(authority)?;
        reqwest::Client::builder().tls_certs_only([authority]).build()
    })
}
