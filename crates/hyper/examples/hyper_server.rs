//! A hyper server over TLS, with HTTP/2 and HTTP/1.1.
//!
//!     cargo run -p tercel-hyper --example hyper_server -- CHAIN.pem KEY.pem 127.0.0.1:8443

use std::convert::Infallible;
use std::error::Error;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tercel_hyper::HttpsListener;
use tercel_hyper::tercel::{Credential, ServerConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [chain, key, address] = all.as_slice() else {
        return Err("usage: hyper_server CHAIN.pem KEY.pem ADDRESS:PORT".into());
    };
    let credential = Credential::from_pem(&std::fs::read(chain)?, &std::fs::read(key)?)?;
    let config =
        ServerConfig::builder().credential(credential).alpn(&["h2", "http/1.1"]).build()?;
    let mut listener = HttpsListener::bind(address, config).await?;
    println!("https://{}", listener.get_ref().local_addr()?);
    loop {
        let (stream, _) = listener.accept().await;
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            let served = builder.serve_connection(TokioIo::new(stream), service_fn(hello)).await;
            if let Err(error) = served {
                eprintln!("{error}");
            }
        });
    }
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from("hello over TLS\n")))
}
