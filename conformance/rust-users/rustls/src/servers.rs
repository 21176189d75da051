//! Servers of this process: axum-server, tonic's, and quinn's.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use axum_server::tls_rustls::RustlsConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};

use crate::certificates::Certificates;

/// The names of servers with their ports.
pub(crate) struct Servers(Vec<(&'static str, u16)>);

impl Servers {
    pub(crate) async fn start(certificates: &Certificates) -> Result<Self> {
        Ok(Self(vec![
            ("axum-server", axum_server(certificates).await?),
            ("tonic", tonic(certificates).await?),
            ("quinn", quinn(certificates)?),
        ]))
    }

    pub(crate) fn port(&self, name: &str) -> Result<u16> {
        let found = self.0.iter().find(|(server, _)| *server == name);
        Ok(found.context("no such server")?.1)
    }
}

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// Returns the body of each request, over HTTP/1.1 or HTTP/2.
async fn axum_server(certificates: &Certificates) -> Result<u16> {
    let (chain, key) = (certificates.chain.clone(), certificates.key.clone());
    let config = RustlsConfig::from_pem(chain.into(), key.into()).await?;
    let app = Router::new().route("/", post(|body: Bytes| async { body }));
    let listener = std::net::TcpListener::bind(loopback())?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let server = axum_server::from_tcp_rustls(listener, config)?;
    tokio::spawn(server.serve(app.into_make_service()));
    Ok(port)
}

/// The health service of gRPC.
async fn tonic(certificates: &Certificates) -> Result<u16> {
    let (_, health) = tonic_health::server::health_reporter();
    let identity = Identity::from_pem(&certificates.chain, &certificates.key);
    let listener = TcpListener::bind(loopback()).await?;
    let port = listener.local_addr()?.port();
    let server = Server::builder()
        .tls_config(ServerTlsConfig::new().identity(identity))?
        .add_service(health)
        .serve_with_incoming(TcpIncoming::from(listener));
    tokio::spawn(server);
    Ok(port)
}

/// Returns what a stream carries.
fn quinn(certificates: &Certificates) -> Result<u16> {
    let chain = CertificateDer::pem_slice_iter(certificates.chain.as_bytes());
    let chain = chain.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(certificates.key.as_bytes())?;
    // quinn's `with_single_cert` has a fixed provider.
    let mut config =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    config.max_early_data_size = u32::MAX;
    let config = quinn::crypto::rustls::QuicServerConfig::try_from(config)?;
    let config = quinn::ServerConfig::with_crypto(Arc::new(config));
    let endpoint = Arc::new(quinn::Endpoint::server(config, loopback())?);
    let port = endpoint.local_addr()?.port();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                let connection = incoming.await?;
                let (mut send, mut receive) = connection.accept_bi().await?;
                send.write_all(&receive.read_to_end(1 << 20).await?).await?;
                send.finish()?;
                connection.closed().await;
                anyhow::Ok(())
            });
        }
    });
    Ok(port)
}
