//! A gRPC client on tonic over TLS: calls grpc.health.v1 to check the health of a service.
//!
//!     cargo run -p tercel-tokio --example grpc_client -- ROOTS.pem https://localhost:8443 example

use std::error::Error;
use std::io;

use hyper::Uri;
use hyper_util::rt::TokioIo;
use tercel::ClientConfig;
use tercel::pki::Roots;
use tercel::pki_types::ServerName;
use tercel_tokio::{Connector, TlsStream};
use tokio::net::TcpStream;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [roots, uri, service] = all.as_slice() else {
        return Err("usage: grpc_client ROOTS.pem URI SERVICE".into());
    };
    let mut trusted = Roots::new();
    trusted.add_pem(&std::fs::read(roots)?)?;
    let config = ClientConfig::builder().roots(trusted).alpn(&["h2"]).build()?;
    let connector = Connector::new(config);
    let connect = move |uri: Uri| {
        let connector = connector.clone();
        async move { connect(&connector, &uri).await.map(TokioIo::new) }
    };
    // Tonic is built without its own TLS; this endpoint uses Tercel.
    let endpoint = Endpoint::from_shared(uri.clone())?;
    let channel = endpoint.connect_with_connector(tower::service_fn(connect)).await?;
    let asked = HealthCheckRequest { service: service.clone() };
    let answer = HealthClient::new(channel).check(asked).await?;
    println!("{}", answer.into_inner().status().as_str_name());
    Ok(())
}

async fn connect(connector: &Connector, uri: &Uri) -> io::Result<TlsStream<TcpStream>> {
    let host = uri.host().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    let port = uri.port_u16().unwrap_or(443);
    let transport = TcpStream::connect((host.as_str(), port)).await?;
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    connector.clone().port(port).connect(name, transport).await
}
