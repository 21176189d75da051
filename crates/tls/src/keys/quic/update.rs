//! Key updates. RFC 9001 6

use tercel_crypto::{AeadAlgorithm, HashAlgorithm, Prk, ShortSecret};

use super::packet::PacketKey;
use super::{Labels, Version, step};
use crate::error::Error;
use crate::keys::label::expand_labels;
use crate::keys::tls13::TrafficSecret;

/// The secrets of both directions, from which the keys of each key phase are derived. RFC 9001 6.1
///
/// The secrets are boxed, because moving a secret would leave a copy in memory.
pub struct KeyUpdates {
    version: Version,
    secrets: [Box<TrafficSecret>; 2],
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
    pub(crate) fn new(
        version: Version,
        local: Box<TrafficSecret>,
        remote: Box<TrafficSecret>,
    ) -> Self {
        Self { version, secrets: [local, remote] }
    }

    /// Derives the packet keys of the next key phase. The keys for headers do not change.
    /// RFC 9001 6.1
    ///
    /// # Errors
    /// If the cryptographic library fails, for example because it gets no memory.
    pub fn next_keys(&mut self) -> Result<PacketKeys, Error> {
        let Labels { key, iv, update, .. } = self.version.labels();
        let (hash, aead) = self.algorithms();
        let [local, remote] = &self.prks();
        let next = ShortSecret::batch([hash.output_len(); 2], |[of_local, of_remote]| {
            let steps = [step(local, update, of_local), step(remote, update, of_remote)];
            expand_labels(steps, &mut []);
        });
        for (secret, next) in self.secrets.iter_mut().zip(next) {
            **secret = TrafficSecret::of(hash, aead, next);
        }
        let [local, remote] = &self.prks();
        let length = aead.key_len().saturating_add(AeadAlgorithm::NONCE_LEN);
        let made = ShortSecret::batch([length; 2], |outs| {
            let [of_local, of_remote] = outs.map(|out| out.split_at_mut(aead.key_len()));
            let steps = [
                step(local, key, of_local.0),
                step(local, iv, of_local.1),
                step(remote, key, of_remote.0),
                step(remote, iv, of_remote.1),
            ];
            expand_labels(steps, &mut []);
        });
        let [local, remote] = made.map(|bytes| {
            let (key, iv) = bytes.as_bytes().split_at(aead.key_len());
            PacketKey::new(aead, key, iv)
        });
        Ok(PacketKeys { local: local?, remote: remote? })
    }

    /// Returns both secrets as keys of HKDF.
    fn prks(&self) -> [Prk; 2] {
        let (hash, _) = self.algorithms();
        Prk::batch(hash, self.secrets.each_ref().map(|secret| secret.as_bytes()))
    }

    fn algorithms(&self) -> (HashAlgorithm, AeadAlgorithm) {
        let [local, _] = &self.secrets;
        (local.hash(), local.algorithm())
    }
}

debug_fields!(KeyUpdates: version);
