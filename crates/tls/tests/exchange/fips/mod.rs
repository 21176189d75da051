//! FIPS 140-3: the option `fips`, the statuses of configurations and connections, and the peers
//! that are refused. `docs/fips.md` has the rules.

mod enforcement;
mod handshakes;
mod refusals;
mod status;

use std::sync::Arc;

use tercel::fips::{FipsStatus, fips_module};
use tercel::pki::{Roots, load_certs_pem, load_key_pem};
use tercel::{ClientConfig, Credential, ServerConfig};

use crate::fixtures::{Kind, client, credential, server};

/// The status of everything that is approved, with the module of this build.
fn approved() -> FipsStatus {
    match fips_module().expect("the module has passed its self-tests").certificate {
        Some(_) => FipsStatus::Certified,
        None => FipsStatus::InProcess,
    }
}

fn approved_client() -> Arc<ClientConfig> {
    client().fips(true).build().unwrap()
}

fn approved_server() -> Arc<ServerConfig> {
    server().fips(true).build().unwrap()
}

/// A server with two credentials, so that every suite of TLS 1.2 can be used.
fn server_with_rsa() -> tercel::server::ServerConfigBuilder {
    server().credential(credential(Kind::Rsa2048))
}

/// The chains in the file `chains.pem`.
#[derive(Clone, Copy, Debug)]
enum WeakChain {
    /// The issuer has an RSA key of 1024 bits.
    ShortKey,
    /// The leaf is signed with SHA-1.
    Sha1,
}

const CHAINS: &[u8] = include_bytes!("chains.pem");

fn weak_credential(which: WeakChain) -> Credential {
    let certificates = load_certs_pem(CHAINS).unwrap();
    let first = match which {
        WeakChain::ShortKey => 1,
        WeakChain::Sha1 => 3,
    };
    let chain = certificates[first..first + 2].to_vec();
    Credential::new(chain, &load_key_pem(CHAINS).unwrap()).unwrap()
}

/// The root of the weak chains.
fn weak_roots() -> Roots {
    let mut roots = Roots::new();
    roots.add_der(&load_certs_pem(CHAINS).unwrap()[0]).unwrap();
    roots
}
