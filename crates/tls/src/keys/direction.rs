//! The keys of one direction, in either version: what is kept so that a key can be made, and made again.
//!
//! Must not know: which direction it is, connections. Next: [`super::tls13`], [`super::tls12`].

use tercel_crypto::{AeadAlgorithm, ShortSecret};

use super::suite::Suite;
use super::tls13::TrafficSecret;
use crate::error::Error;
use crate::record::protection::{Construction, Protection};

/// Keys of one direction. A secret, so that a transport other than records can make its own keys from it.
pub(crate) enum Keys {
    Tls13(TrafficSecret),
    /// TLS 1.3, while the handshake lasts: expanded already, for these are never updated.
    Handshake13(WriteKey),
    Tls12(WriteKey),
}

impl Keys {
    /// What protects records from here on.
    pub(crate) fn protection(&self) -> Result<Protection, Error> {
        match self {
            Self::Tls13(secret) => secret.protection(),
            Self::Handshake13(key) => Protection::tls13(key.algorithm, key.key(), key.iv()),
            Self::Tls12(key) => Protection::tls12(key.algorithm, key.key(), key.iv()),
        }
    }

    /// What protects records after so many of them, with the key still to be made.
    pub(crate) fn parked(&self, sequence: u64) -> Protection {
        let (algorithm, construction) = match self {
            Self::Tls13(secret) => (secret.algorithm(), Construction::Tls13),
            Self::Handshake13(key) => (key.algorithm, Construction::Tls13),
            Self::Tls12(key) => (key.algorithm, Construction::tls12(key.algorithm)),
        };
        Protection::parked(algorithm, construction, sequence)
    }

    /// Key and IV as bytes.
    pub(crate) fn write_key(&self) -> WriteKey {
        match self {
            Self::Tls13(secret) => secret.write_key(),
            Self::Handshake13(key) | Self::Tls12(key) => key.duplicate(),
        }
    }

    /// TLS 1.3, once the handshake is over: the traffic secret.
    pub(crate) fn traffic_secret(&self) -> Option<&TrafficSecret> {
        match self {
            Self::Tls13(secret) => Some(secret),
            Self::Handshake13(_) | Self::Tls12(_) => None,
        }
    }

    pub(crate) fn is_tls13(&self) -> bool {
        !matches!(self, Self::Tls12(_))
    }

    /// All of it.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Tls13(secret) => secret.as_bytes(),
            Self::Handshake13(key) | Self::Tls12(key) => key.bytes.as_bytes(),
        }
    }

    /// Out of what [`Self::as_bytes`] gave, if that is as long as this suite's is.
    pub(crate) fn from_bytes(suite: &'static Suite, bytes: &[u8]) -> Option<Self> {
        if suite.is_tls13() {
            return TrafficSecret::from_bytes(suite, bytes).map(Self::Tls13);
        }
        let length = suite.aead.key_len().saturating_add(Construction::tls12(suite.aead).iv_len());
        let fits = bytes.len() == length;
        fits.then(|| {
            Self::Tls12(WriteKey { algorithm: suite.aead, bytes: ShortSecret::new(bytes) })
        })
    }
}

/// Keys that are to be used from here on.
pub(crate) struct NewKeys {
    keys: Keys,
    /// What the traffic secret leads to, if it was made together with the other direction's.
    ready: Option<WriteKey>,
}

impl NewKeys {
    /// TLS 1.3, once the handshake is over: a traffic secret and what it leads to.
    pub(crate) fn tls13(secret: TrafficSecret, write_key: WriteKey) -> Self {
        Self { keys: Keys::Tls13(secret), ready: Some(write_key) }
    }

    /// What protects records from here on, in place of what did before.
    pub(crate) fn replace(&self, place: &mut Option<Protection>) -> Result<(), Error> {
        let (expanded, construction);
        let made = match (&self.ready, &self.keys) {
            (_, Keys::Tls12(key)) => {
                construction = Construction::tls12(key.algorithm);
                key
            }
            (Some(key), _) | (None, Keys::Handshake13(key)) => {
                construction = Construction::Tls13;
                key
            }
            (None, Keys::Tls13(secret)) => {
                construction = Construction::Tls13;
                expanded = secret.write_key();
                &expanded
            }
        };
        Protection::replace(place, made.algorithm, construction, made.key(), made.iv())
    }

    #[cfg(test)]
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn into_keys(self) -> Keys {
        self.keys
    }
}

impl From<Keys> for NewKeys {
    fn from(keys: Keys) -> Self {
        Self { keys, ready: None }
    }
}

/// The keys of a direction, if it has any: in one place from the first to the last, whatever is moved around them. A
/// move would leave a copy behind.
#[derive(Default)]
pub(crate) struct KeyCell(Option<Box<Keys>>);

impl KeyCell {
    pub(crate) fn of(keys: Keys) -> Self {
        Self(Some(Box::new(keys)))
    }

    /// These in place of those before.
    pub(crate) fn put(&mut self, keys: Keys) {
        match &mut self.0 {
            Some(cell) => **cell = keys,
            none => *none = Some(Box::new(keys)),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    pub(crate) fn get(&self) -> Option<&Keys> {
        self.0.as_deref()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut Keys> {
        self.0.as_deref_mut()
    }
}

/// One direction's write_key and write_iv. RFC 9846 7.3, RFC 5246 6.3
pub(crate) struct WriteKey {
    algorithm: AeadAlgorithm,
    /// The key, then the IV.
    bytes: ShortSecret,
}

impl WriteKey {
    /// `write` fills in a key and an IV of these lengths.
    pub(crate) fn with(
        algorithm: AeadAlgorithm,
        iv_len: usize,
        write: impl FnOnce(&mut [u8], &mut [u8]),
    ) -> Self {
        let length = algorithm.key_len().saturating_add(iv_len);
        let bytes = ShortSecret::with(length, |bytes| {
            let (key, iv) = bytes.split_at_mut(algorithm.key_len());
            write(key, iv);
        });
        Self { algorithm, bytes }
    }

    /// Of a key with its IV behind it, [`Self::tls13_length`] bytes.
    pub(crate) fn tls13(algorithm: AeadAlgorithm, bytes: ShortSecret) -> Self {
        Self { algorithm, bytes }
    }

    /// Bytes of a key and its IV in TLS 1.3. RFC 9846 5.3
    pub(crate) fn tls13_length(algorithm: AeadAlgorithm) -> usize {
        algorithm.key_len().saturating_add(AeadAlgorithm::NONCE_LEN)
    }

    pub(crate) fn algorithm(&self) -> AeadAlgorithm {
        self.algorithm
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.bytes.as_bytes().get(..self.algorithm.key_len()).unwrap_or_default()
    }

    pub(crate) fn iv(&self) -> &[u8] {
        self.bytes.as_bytes().get(self.algorithm.key_len()..).unwrap_or_default()
    }

    pub(crate) fn duplicate(&self) -> Self {
        Self { algorithm: self.algorithm, bytes: self.bytes.duplicate() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::suite;

    #[test]
    fn keys_of_every_suite_come_back_from_their_bytes_and_from_no_others() {
        for suite in &suite::ALL {
            let length = match (suite.is_tls13(), suite.aead) {
                (true, _) => suite.hash.output_len(),
                (false, AeadAlgorithm::ChaCha20Poly1305) => 32 + 12,
                (false, aead) => aead.key_len() + 4,
            };
            let bytes: Vec<u8> = (0..64).collect();
            for wrong in (0..64).filter(|wrong| *wrong != length) {
                assert!(Keys::from_bytes(suite, &bytes[..wrong]).is_none(), "{suite:?} {wrong}");
            }
            let keys = Keys::from_bytes(suite, &bytes[..length]).unwrap();
            assert_eq!(keys.as_bytes(), &bytes[..length]);
            assert_eq!(keys.traffic_secret().is_some(), suite.is_tls13());
            keys.protection().unwrap();
        }
    }
}
