//! A gRPC service on tonic over TLS: grpc.health.v1, which reports the status SERVING.
//!
//!     cargo run -p tercel-hyper --example grpc_server -- CHAIN.pem KEY.pem 127.0.0.1:8443

use std::error::Error;

use tercel_hyper::HttpsListener;
use tercel_hyper::tercel::{Credential, ServerConfig};
use tonic::transport::Server;
use tonic_health::ServingStatus;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [chain, key, address] = all.as_slice() else {
        return Err("usage: grpc_server CHAIN.pem KEY.pem ADDRESS:PORT".into());
    };
    let credential = Credential::from_pem(&std::fs::read(chain)?, &std::fs::read(key)?)?;
    let config = ServerConfig::builder().credential(credential).alpn(&["h2"]).build()?;
    let listener = HttpsListener::bind(address, config).await?;
    println!("https://{}", listener.get_ref().local_addr()?);
    let (status, service) = tonic_health::server::health_reporter();
    status.set_service_status("example", ServingStatus::Serving).await;
    Server::builder().add_service(service).serve_with_incoming(listener).await?;
    Ok(())
}
