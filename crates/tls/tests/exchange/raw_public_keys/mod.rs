//! Raw public keys in place of certificates, on either side, in both versions. RFC 7250
//!
//! For: agreeing on a form, showing it, judging it; here is what all of its files use. Must not know: message layouts.
//! Next: `agreement.rs`, then `trust.rs` and `resumed.rs`.

mod agreement;
mod resumed;
mod trust;

use tercel::crypto::SigningKey;
use tercel::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel::wire::{CertificateType, ProtocolVersion};
use tercel::{
    ClientConfig, ClientConfigBuilder, Credential, Error, Peer, ServerConfig, ServerConfigBuilder,
};

use crate::identity::{Kind, NAME, leaf};
use crate::pair::{Ends, Failure, Pair};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
const RAW: CertificateType = CertificateType::RAW_PUBLIC_KEY;
const X509: CertificateType = CertificateType::X509;

fn key(kind: Kind) -> (SubjectPublicKeyInfoDer<'static>, PrivateKeyDer<'static>) {
    let (_, private) = leaf(kind, &[NAME]);
    let public = SigningKey::from_der(&private).unwrap().public_key_spki();
    (public.into(), PrivateKeyDer::Pkcs8(private.into()))
}

pub(crate) fn public(kind: Kind) -> SubjectPublicKeyInfoDer<'static> {
    key(kind).0
}

pub(crate) fn raw(kind: Kind) -> Credential {
    let (public, private) = key(kind);
    Credential::raw_public_key(public, &private).unwrap()
}

/// A client that trusts this server's key and nobody else.
fn client_of(kind: Kind, version: ProtocolVersion) -> ClientConfigBuilder {
    ClientConfig::builder().trusted_raw_keys(vec![public(kind)]).versions(&[version])
}

fn server_with(credentials: impl IntoIterator<Item = Credential>) -> ServerConfigBuilder {
    credentials.into_iter().fold(ServerConfig::builder(), ServerConfigBuilder::credential)
}

fn connect(client: ClientConfigBuilder, server: ServerConfigBuilder) -> Result<Ends, Failure> {
    Pair::new(&client.build().unwrap(), &server.build().unwrap(), NAME).connect()
}

fn error(peer: Peer) -> Option<Error> {
    Some(Error::Peer(peer))
}
