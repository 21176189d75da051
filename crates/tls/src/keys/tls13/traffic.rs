//! Traffic secrets: the keys of one direction, and key updates. RFC 9846 7.2, 7.3

use tercel_crypto::{AeadAlgorithm, HashAlgorithm, HmacKey, Prk, ShortSecret};

use super::finished_key::FinishedKey;
use crate::error::Error;
use crate::keys::label::{ExpandLabel, Label, derive, expand_labels};
use crate::keys::suite::Suite;
use crate::keys::write_key::WriteKey;
use crate::record::protection::{Construction, Protection};

/// The traffic secret of one direction.
pub(crate) struct TrafficSecret {
    secret: ShortSecret,
    hash: HashAlgorithm,
    aead: AeadAlgorithm,
}

impl TrafficSecret {
    pub(super) fn new(suite: &'static Suite, secret: ShortSecret) -> Self {
        Self { secret, hash: suite.hash, aead: suite.aead }
    }

    /// Restores a secret from the bytes of [`Self::as_bytes`]. Returns `None` if the length is
    /// wrong for this suite.
    pub(crate) fn from_bytes(suite: &'static Suite, bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() == suite.hash.output_len();
        fits.then(|| Self::new(suite, ShortSecret::new(bytes)))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    pub(crate) fn duplicate(&self) -> Self {
        Self { secret: self.secret.duplicate(), ..*self }
    }

    pub(crate) fn algorithm(&self) -> AeadAlgorithm {
        self.aead
    }

    /// Creates a secret of a suite with these algorithms.
    #[cfg(feature = "quic")]
    pub(crate) fn of(hash: HashAlgorithm, aead: AeadAlgorithm, secret: ShortSecret) -> Self {
        Self { secret, hash, aead }
    }

    #[cfg(feature = "quic")]
    pub(crate) fn hash(&self) -> HashAlgorithm {
        self.hash
    }

    /// Derives key and IV. RFC 9846 7.3
    pub(crate) fn write_key(&self) -> WriteKey {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        let bytes = ShortSecret::with(WriteKey::tls13_length(self.aead), |out| {
            expand_labels(key_and_iv(&prk, self.aead, out), &mut []);
        });
        WriteKey::tls13(self.aead, bytes)
    }

    /// Creates record protection with the key and the IV of [`Self::write_key`].
    pub(crate) fn protection(&self) -> Result<Protection, Error> {
        let made = self.write_key();
        Protection::new(self.aead, Construction::Tls13, made.key(), made.iv())
    }

    /// Derives `application_traffic_secret_N+1`. RFC 9846 7.2
    pub(crate) fn next(&self) -> Self {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        Self { secret: derive(&prk, Label::TRAFFIC_UPDATE, &[]), ..*self }
    }

    /// Derives the key of a Finished under this secret. RFC 9846 4.5.3
    pub(crate) fn finished_key(&self) -> FinishedKey {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        let key = derive::<{ ShortSecret::MAX_LEN }>(&prk, Label::FINISHED, &[]);
        FinishedKey(HmacKey::new(self.hash, key.as_bytes()))
    }
}

/// Returns the HKDF expansions of a traffic secret to a write key and its IV. `out` receives the
/// key, followed by the IV. RFC 9846 7.3
pub(super) fn key_and_iv<'a>(
    prk: &'a Prk,
    aead: AeadAlgorithm,
    out: &'a mut [u8],
) -> [ExpandLabel<'a>; 2] {
    let (key, iv) = out.split_at_mut(aead.key_len());
    let label = |label, out| ExpandLabel { prk, label, context: &[], out };
    [label(Label::KEY, key), label(Label::IV, iv)]
}
