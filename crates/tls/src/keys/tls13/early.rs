//! The early secret: binders and early data. RFC 9846 7.1

use std::sync::OnceLock;

use tercel_crypto::{Digest, HmacKey, InterleavedHash, Prk, SharedSecret, ShortSecret};

use super::exporter::ExporterSecret;
use super::finished_key::FinishedKey;
use super::handshake::HandshakeSecret;
use super::traffic::TrafficSecret;
use crate::keys::constants::Constants;
use crate::keys::label::{Label, derive, derive_interleaved, derive_secrets};
use crate::keys::suite::Suite;

/// The early secret, the first stage of the key schedule.
pub(crate) struct EarlySecret {
    /// `None` without a pre-shared key. Then the early secret is a constant.
    prk: Option<Prk>,
    /// The salt of the handshake secret, if it was derived together with a binder.
    handshake_secret_salt: OnceLock<HmacKey>,
    suite: &'static Suite,
    for_binder_only: bool,
}

impl EarlySecret {
    /// Extracts the early secret. Without a pre-shared key, zeros are used instead. RFC 9846 7.1
    pub(crate) fn new(suite: &'static Suite, psk: Option<&[u8]>) -> Self {
        let prk =
            psk.map(|psk| Prk::extract_with(&Constants::of(suite.hash).early_secret_salt, psk));
        Self { prk, handshake_secret_salt: OnceLock::new(), suite, for_binder_only: false }
    }

    /// Extracts the early secret, and derives the binder key and the salt of the next stage. Each
    /// step needs the result of the previous one, so the steps are interleaved with the hashing of
    /// a ClientHello instead of with each other.
    pub(crate) fn with_binder_key(
        suite: &'static Suite,
        psk: &[u8],
        kind: PskKind,
        interleaved: &mut InterleavedHash<'_>,
    ) -> (Self, FinishedKey) {
        let (hash, constants) = (suite.hash, Constants::of(suite.hash));
        let empty_hash: &[u8] = &constants.empty_hash;
        let secret: ShortSecret = interleaved.mac(&constants.early_secret_salt, &[psk]);
        let [prk] = interleaved.keys(hash, [secret.as_bytes()]).map(Prk::from_key);
        let labels = [(kind.binder_label(), empty_hash), (Label::DERIVED, empty_hash)];
        let [key, salt]: [ShortSecret; 2] = derive_interleaved(interleaved, &prk, labels);
        let [key, salt] = interleaved.keys(hash, [key.as_bytes(), salt.as_bytes()]);
        let [finished]: [ShortSecret; 1] =
            derive_interleaved(interleaved, &Prk::from_key(key), [(Label::FINISHED, &[])]);
        let [finished] = interleaved.keys(hash, [finished.as_bytes()]);
        let early = Self {
            prk: Some(prk),
            handshake_secret_salt: OnceLock::from(salt),
            suite,
            for_binder_only: false,
        };
        (early, FinishedKey(finished))
    }

    /// Creates an early secret that is used for a binder only.
    pub(crate) fn for_binder(suite: &'static Suite, psk: &[u8]) -> Self {
        Self { for_binder_only: true, ..Self::new(suite, Some(psk)) }
    }

    /// Returns the same secret for another suite with the same hash. RFC 9846 4.3.11
    pub(crate) fn for_suite(self, suite: &'static Suite) -> Self {
        Self { suite, ..self }
    }

    fn prk(&self) -> &Prk {
        self.prk.as_ref().unwrap_or(&Constants::of(self.suite.hash).early_secret)
    }

    /// Computes the binder, with which a client proves possession of the key: an HMAC over the
    /// transcript, which ends with the ClientHello without its binders. RFC 9846 4.3.11.2
    pub(crate) fn binder(&self, kind: PskKind, transcript_hash: &Digest) -> Digest {
        let finished_key =
            derive::<{ ShortSecret::MAX_LEN }>(&self.binder_key(kind), Label::FINISHED, &[]);
        HmacKey::new(self.suite.hash, finished_key.as_bytes()).sign(&[transcript_hash])
    }

    /// Derives the binder key. The first call also derives the salt of the next stage, which
    /// depends only on the pre-shared key.
    fn binder_key(&self, kind: PskKind) -> Prk {
        let (hash, prk) = (self.suite.hash, self.prk());
        let empty_hash: &[u8] = &Constants::of(hash).empty_hash;
        let label = kind.binder_label();
        if self.for_binder_only || self.handshake_secret_salt.get().is_some() {
            return Prk::from_bytes(
                hash,
                derive::<{ ShortSecret::MAX_LEN }>(prk, label, empty_hash).as_bytes(),
            );
        }
        let [key, salt]: [ShortSecret; 2] =
            derive_secrets(prk, [(label, empty_hash), (Label::DERIVED, empty_hash)]);
        let [key, salt] = HmacKey::batch(hash, [key.as_bytes(), salt.as_bytes()]);
        _ = self.handshake_secret_salt.set(salt);
        Prk::from_key(key)
    }

    /// Derives the client's early traffic secret and the early exporter secret. `transcript_hash`
    /// covers the ClientHello.
    pub(crate) fn early_secrets(
        &self,
        transcript_hash: &Digest,
    ) -> (TrafficSecret, ExporterSecret) {
        let [traffic, exporter] = derive_secrets(
            self.prk(),
            [
                (Label::CLIENT_EARLY_TRAFFIC, transcript_hash),
                (Label::EARLY_EXPORTER, transcript_hash),
            ],
        );
        (TrafficSecret::new(self.suite, traffic), ExporterSecret::new(self.suite.hash, exporter))
    }

    /// Derives the early exporter secret. `transcript_hash` covers the ClientHello.
    pub(crate) fn early_exporter_secret(&self, transcript_hash: &Digest) -> ExporterSecret {
        let secret = derive(self.prk(), Label::EARLY_EXPORTER, transcript_hash);
        ExporterSecret::new(self.suite.hash, secret)
    }

    /// Extracts the handshake secret from the (EC)DHE shared secret.
    pub(crate) fn into_handshake(self, shared: &SharedSecret) -> HandshakeSecret {
        let constants = Constants::of(self.suite.hash);
        let prk = match (self.handshake_secret_salt.get(), &self.prk) {
            (Some(salt), _) => Prk::extract_with(salt, shared.as_bytes()),
            (None, None) => Prk::extract_with(&constants.handshake_secret_salt, shared.as_bytes()),
            // This is a client's external key, whose binder was computed with another
            // `EarlySecret`.
            (None, Some(prk)) => {
                let salt =
                    derive::<{ ShortSecret::MAX_LEN }>(prk, Label::DERIVED, &constants.empty_hash);
                Prk::extract(self.suite.hash, salt.as_bytes(), shared.as_bytes())
            }
        };
        HandshakeSecret::new(prk, self.suite)
    }
}

/// The origin of a pre-shared key, which determines the binder's label. RFC 9846 7.1
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
