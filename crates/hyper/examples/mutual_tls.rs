//! An axum application for clients with a certificate, which answers with the client's SPIFFE ID.
//!
//!     cargo run -p tercel-hyper --example mutual_tls -- \
//!         CHAIN.pem KEY.pem CLIENT-ROOTS.pem 127.0.0.1:8443 [URI...]
//!     curl --cacert ROOTS.pem --cert CLIENT.pem --key CLIENT-KEY.pem https://localhost:8443/
//!
//! Without URIs, each client with a certificate of an authority in CLIENT-ROOTS.pem is accepted.

use std::{error::Error, net::SocketAddr, sync::Arc};

use axum::{Router, extract::ConnectInfo, routing::get};
use tercel_hyper::HttpsListener;
use tercel_hyper::tercel::certificates::{ChainPolicy, PeerIdentity, VerifyPeer};
use tercel_hyper::tercel::pki::{Refusal, RefusalReason, Roots, spiffe_id};
use tercel_hyper::tercel::{Credential, Policy, ServerConfig, server::ClientAuth};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [chain, key, client_roots, address, uris @ ..] = all.as_slice() else {
        return Err("usage: mutual_tls CHAIN.pem KEY.pem CLIENT-ROOTS.pem ADDRESS:PORT".into());
    };
    let mut roots = Roots::new();
    roots.add_pem(&std::fs::read(client_roots)?)?;
    let credential = Credential::from_pem(&std::fs::read(chain)?, &std::fs::read(key)?)?;
    let builder = ServerConfig::builder().credential(credential).alpn(&["h2", "http/1.1"]);
    let builder = if uris.is_empty() {
        builder.client_auth(ClientAuth::Required, roots)
    } else {
        let verifier = AllowedUris { chains: ChainPolicy::new(roots)?, allowed: uris.to_vec() };
        builder.client_verifier(ClientAuth::Required, Policy::Here(Arc::new(verifier)))
    };
    // To log refused clients, use `HttpsListener::new` with `TlsListener::on_failure`.
    let listener = HttpsListener::bind(address, builder.build()?).await?;
    println!("https://{}", listener.get_ref().local_addr()?);
    // Handlers can extract `ConnectInfo` only from a service that was made this way.
    let app = Router::new().route("/", get(greet)).into_make_service_with_connect_info::<Client>();
    axum::serve(listener, app).await?;
    Ok(())
}

/// The address of a client and the parameters of its connection, its certificates included.
type Client = tercel_hyper::ConnectInfo<SocketAddr>;

async fn greet(ConnectInfo(client): ConnectInfo<Client>) -> String {
    match client.tls.spiffe_id() {
        Some(id) => format!("hello {id}\n"),
        None => format!("hello {}, whose certificate has no SPIFFE ID\n", client.peer),
    }
}

/// A verifier of chains that accepts only certificates with one of these URIs.
struct AllowedUris {
    chains: ChainPolicy,
    allowed: Vec<String>,
}

impl VerifyPeer for AllowedUris {
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>> {
        self.chains.verify_peer(identity)?;
        let id = identity.chain.first().and_then(|leaf| spiffe_id(leaf).ok()?);
        if id.as_ref().is_some_and(|id| self.allowed.contains(id)) {
            return Ok(());
        }
        let refusal = identity.refusal(RefusalReason::NameMismatch);
        Err(Box::new(refusal.with_explanation("the client's SPIFFE ID is not allowed")))
    }

    /// The authorities that the server names when it requests a certificate.
    fn authorities(&self) -> Vec<Vec<u8>> {
        self.chains.authorities()
    }
}
