//! The early secret: what a pre-shared key proves and protects before anything else is agreed. RFC 9846 7.1
//!
//! Must not know: tickets. Next: [`super::handshake`].

use tercel_crypto::{Digest, Prk, SharedSecret};

use super::exporter::ExporterSecret;
use super::handshake::HandshakeSecret;
use super::label::derive_secret;
use super::traffic::TrafficSecret;
use crate::keys::constants::Constants;
use crate::keys::suite::Suite;

/// The first stage: with a pre-shared key, or without.
pub(crate) struct EarlySecret {
    /// `None`: without a pre-shared key it is the same in every handshake.
    prk: Option<Prk>,
    suite: &'static Suite,
}

impl EarlySecret {
    /// Without a pre-shared key its place is taken by zeros. RFC 9846 7.1
    pub(crate) fn new(suite: &'static Suite, psk: Option<&[u8]>) -> Self {
        let prk = psk.map(|psk| Prk::extract_with(&Constants::of(suite.hash).zeros, psk));
        Self { prk, suite }
    }

    /// The same secret in another suite of its hash. RFC 9846 4.3.11
    pub(crate) fn for_suite(self, suite: &'static Suite) -> Self {
        Self { suite, ..self }
    }

    fn prk(&self) -> &Prk {
        self.prk.as_ref().unwrap_or(&Constants::of(self.suite.hash).early_secret)
    }

    /// The HMAC over a hello without its binders, by which a client shows that it has the key. RFC 9846 4.3.11.2
    pub(crate) fn binder(&self, kind: PskKind, partial_hello: &Digest) -> Digest {
        let empty = &Constants::of(self.suite.hash).empty;
        let binder_key = derive_secret(self.prk(), kind.binder_label(), empty);
        TrafficSecret::new(self.suite, &binder_key).verify_data(partial_hello)
    }

    /// Protects early data. `hello` is the transcript hash of the ClientHello.
    pub(crate) fn client_early_traffic_secret(&self, hello: &Digest) -> TrafficSecret {
        TrafficSecret::new(self.suite, &derive_secret(self.prk(), b"c e traffic", hello))
    }

    /// For exporters before the handshake is complete. `hello` is the transcript hash of the ClientHello.
    pub(crate) fn early_exporter_secret(&self, hello: &Digest) -> ExporterSecret {
        ExporterSecret::new(self.suite.hash, &derive_secret(self.prk(), b"e exp master", hello))
    }

    /// Mixes in the (EC)DHE secret.
    pub(crate) fn into_handshake(self, shared: &SharedSecret) -> HandshakeSecret {
        let constants = Constants::of(self.suite.hash);
        let prk = match &self.prk {
            None => Prk::extract_with(&constants.derived, shared.as_bytes()),
            Some(prk) => {
                let salt = derive_secret(prk, b"derived", &constants.empty);
                Prk::extract(self.suite.hash, salt.as_bytes(), shared.as_bytes())
            }
        };
        HandshakeSecret { prk, suite: self.suite }
    }
}

/// Where a pre-shared key comes from, which its binder says too. RFC 9846 7.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PskKind {
    Resumption,
    External,
    /// RFC 9258 5.2
    Imported,
}

impl PskKind {
    fn binder_label(self) -> &'static [u8] {
        match self {
            Self::Resumption => b"res binder",
            Self::External => b"ext binder",
            Self::Imported => b"imp binder",
        }
    }
}
