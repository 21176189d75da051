//! An axum application over TLS, with HTTP/2 and HTTP/1.1.
//!
//!     cargo run -p tercel-hyper --example axum_server -- CHAIN.pem KEY.pem 127.0.0.1:8443

use std::error::Error;

use axum::Router;
use axum::routing::get;
use tercel_hyper::HttpsListener;
use tercel_hyper::tercel::{Credential, ServerConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [chain, key, address] = arguments()?;
    let credential = Credential::from_pem(&std::fs::read(chain)?, &std::fs::read(key)?)?;
    let config =
        ServerConfig::builder().credential(credential).alpn(&["h2", "http/1.1"]).build()?;
    let listener = HttpsListener::bind(address, config).await?;
    println!("https://{}", listener.get_ref().local_addr()?);
    let app = Router::new().route("/", get(|| async { "hello over TLS\n" }));
    axum::serve(listener, app).await?;
    Ok(())
}

fn arguments() -> Result<[String; 3], &'static str> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    all.try_into().map_err(|_| "usage: axum_server CHAIN.pem KEY.pem ADDRESS:PORT")
}
