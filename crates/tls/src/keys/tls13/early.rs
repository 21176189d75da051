//! The early secret: what a pre-shared key proves and protects before anything else is agreed. RFC 9846 7.1
//!
//! Must not know: tickets. Next: [`super::handshake`].

use std::sync::OnceLock;

use tercel_crypto::{Digest, HashBeside, HmacKey, Prk, SharedSecret, ShortSecret};

use super::exporter::ExporterSecret;
use super::handshake::HandshakeSecret;
use super::label::{Label, derive, derive_beside, derive_secrets};
use super::traffic::TrafficSecret;
use crate::keys::constants::Constants;
use crate::keys::suite::Suite;

/// The first stage: with a pre-shared key, or without.
pub(crate) struct EarlySecret {
    /// `None`: without a pre-shared key it is the same in every handshake.
    prk: Option<Prk>,
    /// The salt of the handshake secret, once a binder was made and it along with that.
    salt: OnceLock<HmacKey>,
    suite: &'static Suite,
    goes_no_further: bool,
}

impl EarlySecret {
    /// Without a pre-shared key its place is taken by zeros. RFC 9846 7.1
    pub(crate) fn new(suite: &'static Suite, psk: Option<&[u8]>) -> Self {
        let prk = psk.map(|psk| Prk::extract_with(&Constants::of(suite.hash).zeros, psk));
        Self { prk, salt: OnceLock::new(), suite, goes_no_further: false }
    }

    /// With a pre-shared key, its binder's key and the salt of the next stage, while a hash takes in a hello beside: each step
    /// but the last waits for the one before.
    pub(crate) fn with_binder_key(
        suite: &'static Suite,
        psk: &[u8],
        kind: PskKind,
        beside: &mut HashBeside<'_>,
    ) -> (Self, BinderKey) {
        let (hash, constants) = (suite.hash, Constants::of(suite.hash));
        let empty: &[u8] = &constants.empty;
        let secret: ShortSecret = beside.mac(&constants.zeros, &[psk]);
        let [prk] = beside.keys(hash, [secret.as_bytes()]).map(Prk::from_key);
        let labels = [(kind.binder_label(), empty), (Label::DERIVED, empty)];
        let [key, salt]: [ShortSecret; 2] = derive_beside(beside, &prk, labels);
        let [key, salt] = beside.keys(hash, [key.as_bytes(), salt.as_bytes()]);
        let [finished]: [ShortSecret; 1] =
            derive_beside(beside, &Prk::from_key(key), [(Label::FINISHED, &[])]);
        let [finished] = beside.keys(hash, [finished.as_bytes()]);
        let early =
            Self { prk: Some(prk), salt: OnceLock::from(salt), suite, goes_no_further: false };
        (early, BinderKey(finished))
    }

    /// For a binder alone: the next stage will begin anew.
    pub(crate) fn for_binder(suite: &'static Suite, psk: &[u8]) -> Self {
        Self { goes_no_further: true, ..Self::new(suite, Some(psk)) }
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
        let finished_key =
            derive::<{ ShortSecret::MAX_LEN }>(&self.binder_key(kind), Label::FINISHED, &[]);
        HmacKey::new(self.suite.hash, finished_key.as_bytes()).sign(&[partial_hello])
    }

    /// A first one brings the salt of the next stage along, which depends on the key alone.
    fn binder_key(&self, kind: PskKind) -> Prk {
        let (hash, prk) = (self.suite.hash, self.prk());
        let empty: &[u8] = &Constants::of(hash).empty;
        let label = kind.binder_label();
        if self.goes_no_further || self.salt.get().is_some() {
            return Prk::from_bytes(
                hash,
                derive::<{ ShortSecret::MAX_LEN }>(prk, label, empty).as_bytes(),
            );
        }
        let [key, salt]: [ShortSecret; 2] =
            derive_secrets(prk, [(label, empty), (Label::DERIVED, empty)]);
        let [key, salt] = HmacKey::several(hash, [key.as_bytes(), salt.as_bytes()]);
        _ = self.salt.set(salt);
        Prk::from_key(key)
    }

    /// What protects early data, and [`Self::early_exporter_secret`]. `hello` is the transcript hash of the ClientHello.
    pub(crate) fn early_secrets(&self, hello: &Digest) -> (TrafficSecret, ExporterSecret) {
        let [traffic, exporter] = derive_secrets(
            self.prk(),
            [(Label::CLIENT_EARLY_TRAFFIC, hello), (Label::EARLY_EXPORTER, hello)],
        );
        (TrafficSecret::new(self.suite, traffic), ExporterSecret::new(self.suite.hash, exporter))
    }

    /// For exporters before the handshake is complete. `hello` is the transcript hash of the ClientHello.
    pub(crate) fn early_exporter_secret(&self, hello: &Digest) -> ExporterSecret {
        let secret = derive(self.prk(), Label::EARLY_EXPORTER, hello);
        ExporterSecret::new(self.suite.hash, secret)
    }

    /// Mixes in the (EC)DHE secret.
    pub(crate) fn into_handshake(self, shared: &SharedSecret) -> HandshakeSecret {
        let constants = Constants::of(self.suite.hash);
        let prk = match (self.salt.get(), &self.prk) {
            (Some(salt), _) => Prk::extract_with(salt, shared.as_bytes()),
            (None, None) => Prk::extract_with(&constants.derived, shared.as_bytes()),
            // An external key that a client goes on with: its binder was made elsewhere.
            (None, Some(prk)) => {
                let salt =
                    derive::<{ ShortSecret::MAX_LEN }>(prk, Label::DERIVED, &constants.empty);
                Prk::extract(self.suite.hash, salt.as_bytes(), shared.as_bytes())
            }
        };
        HandshakeSecret::new(prk, self.suite)
    }
}

/// What makes the binder of one pre-shared key. RFC 9846 4.3.11.2
pub(crate) struct BinderKey(HmacKey);

impl BinderKey {
    /// The HMAC over a hello without its binders.
    pub(crate) fn binder(&self, partial_hello: &Digest) -> Digest {
        self.0.sign(&[partial_hello])
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
    fn binder_label(self) -> Label {
        match self {
            Self::Resumption => Label::RESUMPTION_BINDER,
            Self::External => Label::EXTERNAL_BINDER,
            Self::Imported => Label::IMPORTED_BINDER,
        }
    }
}
