//! Key exchange over `tercel-crypto`. See `kx_group.rs` for the groups.

use std::fmt;

use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use tercel_crypto::{CryptoError, KeyExchange, KeyExchangeAlgorithm};

use crate::error;

/// A group, and the algorithm of its shares.
pub(crate) struct Group {
    name: NamedGroup,
    algorithm: KeyExchangeAlgorithm,
    /// The Diffie-Hellman component of a hybrid.
    component: Option<NamedGroup>,
    is_for_tls12: bool,
}

impl Group {
    pub(crate) const fn new(name: NamedGroup, algorithm: KeyExchangeAlgorithm) -> Self {
        Self { name, algorithm, component: None, is_for_tls12: true }
    }

    pub(crate) const fn only_tls13(self) -> Self {
        Self { is_for_tls12: false, ..self }
    }

    pub(crate) const fn hybrid_with(self, component: NamedGroup) -> Self {
        Self { component: Some(component), is_for_tls12: false, ..self }
    }
}

impl SupportedKxGroup for Group {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let exchange = KeyExchange::generate(self.algorithm).map_err(refusal)?;
        Ok(Box::new(Exchange { name: self.name, component: self.component, exchange }))
    }

    fn start_and_complete(&self, peer_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (pub_key, secret) =
            KeyExchange::respond(self.algorithm, peer_share).map_err(refusal)?;
        let secret = SharedSecret::from(secret.as_bytes());
        Ok(CompletedKeyExchange { group: self.name, pub_key, secret })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        self.name
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        self.is_for_tls12 || version == ProtocolVersion::TLSv1_3
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// A key pair whose share was sent, or is about to be. Its private keys do not move with it.
struct Exchange {
    name: NamedGroup,
    component: Option<NamedGroup>,
    exchange: KeyExchange,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer_share: &[u8]) -> Result<SharedSecret, Error> {
        let secret = self.exchange.agree_in_place(peer_share).map_err(refusal)?;
        Ok(SharedSecret::from(secret.as_bytes()))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        let (_, share) = self.exchange.traditional()?;
        Some((self.component?, share))
    }

    fn complete_hybrid_component(
        self: Box<Self>,
        peer_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        let secret = self.exchange.agree_traditional_in_place(peer_share).map_err(refusal)?;
        Ok(SharedSecret::from(secret.as_bytes()))
    }

    fn pub_key(&self) -> &[u8] {
        self.exchange.public_share()
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}

/// A share that is malformed is a fault of the peer (RFC 9846 4.3.8); any other failure is one of
/// this machine.
fn refusal(error: CryptoError) -> Error {
    match error {
        CryptoError::InvalidShare => PeerMisbehaved::InvalidKeyShare.into(),
        other => error::other(other),
    }
}
