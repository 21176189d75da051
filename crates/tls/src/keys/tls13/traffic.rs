//! Traffic secrets: the keys of one direction, and the secret that follows. RFC 9846 7.2, 7.3
//!
//! Must not know: which direction it is. Next: `keys/direction.rs`.

use tercel_crypto::{AeadAlgorithm, Digest, HashAlgorithm, HmacKey, Prk, Secret, ShortSecret};

use super::handshake::HandshakeKeys;
use super::label::{derive_secret, expand_label};
use crate::error::Error;
use crate::keys::direction::WriteKey;
use crate::keys::suite::Suite;
use crate::record::protection::Protection;

/// A secret from which one direction's keys are made, and its successor.
pub(crate) struct TrafficSecret {
    secret: ShortSecret,
    hash: HashAlgorithm,
    aead: AeadAlgorithm,
}

impl TrafficSecret {
    pub(super) fn new(suite: &'static Suite, secret: &Secret) -> Self {
        let secret = ShortSecret::new(secret.as_bytes());
        Self { secret, hash: suite.hash, aead: suite.aead }
    }

    /// Out of what [`Self::as_bytes`] gave, if that is as long as this suite's secrets are.
    pub(crate) fn from_bytes(suite: &'static Suite, bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() == suite.hash.output_len();
        fits.then(|| Self::new(suite, &Secret::new(bytes)))
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

    /// Key and IV. RFC 9846 7.3
    pub(crate) fn write_key(&self) -> WriteKey {
        expand_write_key(&Prk::from_bytes(self.hash, self.secret.as_bytes()), self.aead)
    }

    /// What that key and IV protect.
    pub(crate) fn protection(&self) -> Result<Protection, Error> {
        let made = self.write_key();
        Protection::tls13(self.aead, made.key(), made.iv())
    }

    /// `application_traffic_secret_N+1`. RFC 9846 7.2
    pub(crate) fn next(&self) -> Self {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        let next = derive_secret(&prk, b"traffic upd", &[]);
        Self { secret: ShortSecret::new(next.as_bytes()), ..*self }
    }

    /// The `verify_data` of a Finished made under this secret. RFC 9846 4.5.3
    pub(crate) fn verify_data(&self, transcript: &Digest) -> Digest {
        self.finished_key().sign(&[transcript])
    }

    /// Compares in constant time.
    pub(crate) fn verifies(&self, transcript: &Digest, verify_data: &[u8]) -> bool {
        self.finished_key().verify(&[transcript], verify_data)
    }

    fn finished_key(&self) -> HmacKey {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        let key = derive_secret(&prk, b"finished", &[]);
        HmacKey::new(self.hash, key.as_bytes())
    }

    /// All that a handshake makes of its traffic secret, which is absorbed once for it.
    pub(crate) fn into_handshake_keys(self) -> HandshakeKeys {
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        HandshakeKeys {
            write_key: expand_write_key(&prk, self.aead),
            finished_key: ShortSecret::with(self.hash.output_len(), |out| {
                expand_label(&prk, b"finished", &[], out);
            }),
            hash: self.hash,
        }
    }
}

fn expand_write_key(prk: &Prk, aead: AeadAlgorithm) -> WriteKey {
    WriteKey::with(aead, AeadAlgorithm::NONCE_LEN, |key, iv| {
        expand_label(prk, b"key", &[], key);
        expand_label(prk, b"iv", &[], iv);
    })
}
