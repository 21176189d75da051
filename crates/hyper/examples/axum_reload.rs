//! An axum application whose certificate is replaced without a restart, when its files change.
//!
//!     cargo run -p tercel-hyper --example axum_reload -- CHAIN.pem KEY.pem 127.0.0.1:8443
//!
//! Then overwrite both files, for instance with a renewed certificate: new connections get it.

use std::time::{Duration, SystemTime};
use std::{error::Error, sync::Arc, thread};

use axum::{Router, routing::get};
use tercel_hyper::HttpsListener;
use tercel_hyper::tercel::certificates::Credentials;
use tercel_hyper::tercel::{Credential, ServerConfig};

/// The time between two looks at the files.
const INTERVAL: Duration = Duration::from_secs(1);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let [chain, key, address] = <[String; 3]>::try_from(Vec::from_iter(std::env::args().skip(1)))
        .map_err(|_| "usage: axum_reload CHAIN.pem KEY.pem ADDRESS:PORT")?;
    let files = CredentialFiles { chain, key };
    let modified = files.modified()?;
    let credentials = Arc::new(Credentials::new(vec![files.load()?]));
    let config = ServerConfig::builder()
        .replaceable_credentials(Arc::clone(&credentials))
        .alpn(&["h2", "http/1.1"])
        .build()?;
    let listener = HttpsListener::bind(address, config).await?;
    println!("https://{}", listener.get_ref().local_addr()?);
    thread::spawn(move || files.watch(modified, &credentials));
    let app = Router::new().route("/", get(|| async { "hello over TLS\n" }));
    axum::serve(listener, app).await?;
    Ok(())
}

/// The paths of a certificate chain and of its key.
struct CredentialFiles {
    chain: String,
    key: String,
}

impl CredentialFiles {
    /// Fails if the key is not the key of the certificate, as between the writing of both files.
    fn load(&self) -> Result<Credential> {
        Ok(Credential::from_pem(&std::fs::read(&self.chain)?, &std::fs::read(&self.key)?)?)
    }

    fn modified(&self) -> Result<[SystemTime; 2]> {
        let modified = |path| std::fs::metadata(path)?.modified();
        Ok([modified(&self.chain)?, modified(&self.key)?])
    }

    /// Replaces the credential when a file has changed. Open connections and handshakes in progress
    /// are not affected.
    ///
    /// Sessions outlive the replacement: a client resumes if the new certificate is valid for the
    /// name that the client requested, and otherwise performs a full handshake, in which it gets
    /// the new certificate. See "Credential" in docs/sessions.md of the repository.
    ///
    /// To reload on SIGHUP instead, wait for `tokio::signal::unix::signal(SignalKind::hangup())`.
    fn watch(&self, mut last: [SystemTime; 2], credentials: &Credentials) {
        loop {
            thread::sleep(INTERVAL);
            // A file may be absent while it is replaced.
            let Ok(modified) = self.modified() else { continue };
            if modified == last {
                continue;
            }
            last = modified;
            match self.load() {
                Ok(credential) => credentials.replace(vec![credential]),
                Err(error) => eprintln!("the certificate in use stays: {error}"),
            }
        }
    }
}
