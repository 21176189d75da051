//! A gRPC client on tonic over TLS: calls grpc.health.v1 to check the health of a service.
//!
//!     cargo run -p tercel-hyper --example grpc_client -- \
//!         ROOTS.pem https://localhost:8443 example

use std::error::Error;

use tercel_hyper::HttpsConnector;
use tercel_hyper::tercel::ClientConfig;
use tercel_hyper::tercel::pki::Roots;
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
    // Tonic is built without its own TLS; this endpoint uses Tercel.
    let endpoint = Endpoint::from_shared(uri.clone())?;
    let channel = endpoint.connect_with_connector(HttpsConnector::new(config)).await?;
    let request = HealthCheckRequest { service: service.clone() };
    let response = HealthClient::new(channel).check(request).await?;
    println!("{}", response.into_inner().status().as_str_name());
    Ok(())
}
