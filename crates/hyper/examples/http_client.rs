//! A hyper client with connection pool, HTTP/2 and HTTP/1.1, over TLS.
//!
//!     cargo run -p tercel-hyper --example http_client -- ROOTS.pem https://localhost:8443/

use std::error::Error;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tercel_hyper::HttpsConnector;
use tercel_hyper::tercel::ClientConfig;
use tercel_hyper::tercel::pki::Roots;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [roots, uri] = all.as_slice() else {
        return Err("usage: http_client ROOTS.pem URI".into());
    };
    let mut trusted = Roots::new();
    trusted.add_pem(&std::fs::read(roots)?)?;
    let config = ClientConfig::builder().roots(trusted).alpn(&["h2", "http/1.1"]).build()?;
    let client: Client<_, Empty<Bytes>> =
        Client::builder(TokioExecutor::new()).build(HttpsConnector::new(config));
    let response = client.get(uri.parse()?).await?;
    println!("{:?} {}", response.version(), response.status());
    print!("{}", String::from_utf8_lossy(&response.into_body().collect().await?.to_bytes()));
    Ok(())
}
