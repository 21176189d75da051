//! Key updates. RFC 9001 6

use tercel_crypto::{AeadAlgorithm, Prk, ShortSecret};

use super::Version;
use super::packet::PacketKey;
use crate::error::Error;
use crate::keys::label::{ExpandLabel, derive, expand_labels};
use crate::keys::tls13::TrafficSecret;

/// The secrets of both directions, from which the keys of each key phase are derived. RFC 9001 6.1
///
/// The secrets are boxed, because moving a secret would leave a copy in memory.
pub struct KeyUpdates {
    version: Version,
    secrets: Box<[TrafficSecret; 2]>,
}

/// The packet keys of both directions in one key phase.
#[derive(Debug)]
#[non_exhaustive]
pub struct PacketKeys {
    /// The key for packets that this side sends.
    pub local: PacketKey,
    /// The key for packets that this side receives.
    pub remote: PacketKey,
}

impl KeyUpdates {
    /// The first call of [`Self::next_keys`] returns the keys after those of these secrets.
    pub(crate) fn new(version: Version, local: TrafficSecret, remote: TrafficSecret) -> Self {
        Self { version, secrets: Box::new([local, remote]) }
    }

    /// Derives the packet keys of the next key phase. The keys for headers do not change.
    /// RFC 9001 6.1
    ///
    /// # Errors
    /// If the cryptographic library fails, for example because it gets no memory.
    pub fn next_keys(&mut self) -> Result<PacketKeys, Error> {
        let labels = self.version.labels();
        for secret in self.secrets.iter_mut() {
            let prk = Prk::from_bytes(secret.hash(), secret.as_bytes());
            let next = derive(&prk, labels.update, &[]);
            *secret = TrafficSecret::of(secret.hash(), secret.algorithm(), next);
        }
        let [local, remote] = &*self.secrets;
        let [local, remote] = [local, remote].map(|secret| self.packet_key(secret));
        Ok(PacketKeys { local: local?, remote: remote? })
    }

    fn packet_key(&self, secret: &TrafficSecret) -> Result<PacketKey, Error> {
        let (aead, labels) = (secret.algorithm(), self.version.labels());
        let prk = Prk::from_bytes(secret.hash(), secret.as_bytes());
        let length = aead.key_len().saturating_add(AeadAlgorithm::NONCE_LEN);
        let made = ShortSecret::with(length, |out| {
            let (key, iv) = out.split_at_mut(aead.key_len());
            let step = |label, out| ExpandLabel { prk: &prk, label, context: &[], out };
            expand_labels([step(labels.key, key), step(labels.iv, iv)], &mut []);
        });
        let (key, iv) = made.as_bytes().split_at(aead.key_len());
        PacketKey::new(aead, key, iv)
    }
}

debug_fields!(KeyUpdates: version);
