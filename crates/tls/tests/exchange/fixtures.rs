//! Certificates for tests (a root, and leaves with keys of every type), and the configurations and
//! connections with which most tests begin. Generated at run time.

use std::sync::{Arc, LazyLock, Mutex};

use rcgen::{CertificateParams, Issuer, KeyPair};
use tercel::pki::Roots;
use tercel::pki_types::{CertificateDer, PrivateKeyDer};
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Credential, ServerConfig, client::ClientConfigBuilder,
    server::ServerConfigBuilder,
};

use crate::pair::{Ends, Pair};

/// The types of keys of leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Rsa2048,
    P256,
    P384,
    P521,
    Ed25519,
}

pub(crate) const KINDS: [Kind; 5] =
    [Kind::Rsa2048, Kind::P256, Kind::P384, Kind::P521, Kind::Ed25519];

/// The default name in leaves.
pub(crate) const NAME: &str = "server.example";

/// The trusted roots.
pub(crate) fn roots() -> Roots {
    let mut roots = Roots::new();
    roots.add_der(&AUTHORITY.root).unwrap();
    roots
}

/// A credential for these names.
pub(crate) fn credential_for(kind: Kind, names: &[&str]) -> Credential {
    let (chain, key) = leaf(kind, names);
    Credential::new(chain, &PrivateKeyDer::Pkcs8(key.into())).unwrap()
}

pub(crate) fn credential(kind: Kind) -> Credential {
    credential_for(kind, &[NAME])
}

/// A credential whose leaf requires a stapled OCSP response. RFC 7633
pub(crate) fn must_staple(kind: Kind) -> Credential {
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    let oid = [1, 3, 6, 1, 5, 5, 7, 1, 24];
    let status_request = vec![0x30, 3, 2, 1, 5];
    let feature = rcgen::CustomExtension::from_oid_content(&oid, status_request);
    params.custom_extensions.push(feature);
    let (chain, key) = issue(kind, &params);
    Credential::new(chain, &PrivateKeyDer::Pkcs8(key.into())).unwrap()
}

/// The authority's certificate and private key (PKCS#8), for signing in its name.
pub(crate) fn authority() -> (CertificateDer<'static>, Vec<u8>) {
    (AUTHORITY.root.clone(), AUTHORITY.issuer.key().serialize_der())
}

/// A chain and its private key in PKCS#8.
pub(crate) fn leaf(kind: Kind, names: &[&str]) -> (Vec<CertificateDer<'static>>, Vec<u8>) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    issue(kind, &CertificateParams::new(names).unwrap())
}

fn issue(kind: Kind, params: &CertificateParams) -> (Vec<CertificateDer<'static>>, Vec<u8>) {
    let pkcs8 = key(kind);
    let key = KeyPair::try_from(pkcs8.as_slice()).unwrap();
    let leaf = params.signed_by(&key, &AUTHORITY.issuer).unwrap();
    (vec![leaf.der().clone()], pkcs8)
}

pub(crate) fn client() -> ClientConfigBuilder {
    ClientConfig::builder().roots(roots())
}

pub(crate) fn server() -> ServerConfigBuilder {
    ServerConfig::builder().credential(credential(Kind::P256))
}

/// A client and a server with default options.
pub(crate) fn plain() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    (client().build().unwrap(), server().build().unwrap())
}

/// Both ends of a connection of this version, with default options.
pub(crate) fn connect(version: ProtocolVersion) -> Ends {
    let client = client().versions(&[version]).build().unwrap();
    Pair::new(&client, &server().build().unwrap(), NAME).connect().unwrap()
}

struct Authority {
    root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| {
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "test authority");
    let key = KeyPair::generate().unwrap();
    let root = params.self_signed(&key).unwrap();
    Authority { root: root.der().clone(), issuer: Issuer::new(params, key) }
});

/// The private key for a type. All tests use the same key for a type, because generating an RSA key
/// is slow.
fn key(kind: Kind) -> Vec<u8> {
    static KEYS: Mutex<Vec<(Kind, Vec<u8>)>> = Mutex::new(Vec::new());
    let mut keys = KEYS.lock().unwrap();
    if let Some((_, key)) = keys.iter().find(|(known, _)| *known == kind) {
        return key.clone();
    }
    let algorithm = match kind {
        Kind::Rsa2048 => &rcgen::PKCS_RSA_SHA256,
        Kind::P256 => &rcgen::PKCS_ECDSA_P256_SHA256,
        Kind::P384 => &rcgen::PKCS_ECDSA_P384_SHA384,
        Kind::P521 => &rcgen::PKCS_ECDSA_P521_SHA512,
        Kind::Ed25519 => &rcgen::PKCS_ED25519,
    };
    let key = KeyPair::generate_for(algorithm).unwrap().serialize_der();
    keys.push((kind, key.clone()));
    key
}
