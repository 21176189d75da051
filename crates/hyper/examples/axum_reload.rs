//! An axum application whose certificate is replaced without a restart, when its files change.
//!
//!     cargo run -p tercel-hyper --example axum_reload -- CHAIN.pem KEY.pem 127.0.0.1:8443
//!
//! Then overwrite both files, for instance with a renewed certificate: new connections get it.

use std::error::Error;
use std::time::Duration;

use axum::{Router, routing::get};
use tercel_hyper::HttpsListener;
use tercel_hyper::tercel::{ServerConfig, files::CertificateWatcher};

/// The time between two looks at the files.
const INTERVAL: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let [chain, key, address] = <[String; 3]>::try_from(Vec::from_iter(std::env::args().skip(1)))
        .map_err(|_| "usage: axum_reload CHAIN.pem KEY.pem ADDRESS:PORT")?;
    // Open connections and handshakes in progress keep the certificate that they have.
    //
    // Sessions outlive the replacement: a client resumes if the new certificate is valid for the
    // name that the client requested, and otherwise performs a full handshake, in which it gets
    // the new certificate. See "Credential" in docs/sessions.md of the repository.
    //
    // To reload on SIGHUP instead, wait for `tokio::signal::unix::signal(SignalKind::hangup())`,
    // and replace the set with the result of `tercel::files::CredentialFiles::load`.
    let watcher = CertificateWatcher::new(chain, key).interval(INTERVAL);
    let config = ServerConfig::builder()
        .replaceable_credentials(watcher.start(|change| eprintln!("{change}"))?)
        .alpn(&["h2", "http/1.1"])
        .build()?;
    let listener = HttpsListener::bind(address, config).await?;
    println!("https://{}", listener.get_ref().local_addr()?);
    let app = Router::new().route("/", get(|| async { "hello over TLS\n" }));
    axum::serve(listener, app).await?;
    Ok(())
}
