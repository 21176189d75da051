//! Raw public keys instead of certificates, for both sides and in both versions. RFC 7250
//!
//! This file has the helpers for the tests in this folder.

mod agreement;
mod resumed;
mod trust;

use tercel::crypto::SigningKey;
use tercel::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel::wire::{CertificateType, ProtocolVersion};
use tercel::{
    ClientConfig, Credential, Error, ServerConfig, client::ClientConfigBuilder, error::PeerError,
    server::ServerConfigBuilder,
};

use crate::fixtures::{Kind, NAME, leaf};
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

/// A client that trusts only this server's key.
fn client_of(kind: Kind, version: ProtocolVersion) -> ClientConfigBuilder {
    ClientConfig::builder().trusted_raw_keys(vec![public(kind)]).versions(&[version])
}

fn server_with(credentials: impl IntoIterator<Item = Credential>) -> ServerConfigBuilder {
    credentials.into_iter().fold(ServerConfig::builder(), ServerConfigBuilder::credential)
}

fn connect(client: ClientConfigBuilder, server: ServerConfigBuilder) -> Result<Ends, Failure> {
    Pair::new(&client.build().unwrap(), &server.build().unwrap(), NAME).connect()
}

fn error(peer: PeerError) -> Option<Error> {
    Some(Error::Peer(peer))
}
