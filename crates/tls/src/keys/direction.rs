//! The secrets of one direction in either version, from which record protection is created.

use tercel_crypto::ShortSecret;

use super::suite::Suite;
use super::tls13::{HandshakeTraffic, TrafficSecret};
use super::write_key::WriteKey;
use crate::error::Error;
use crate::record::protection::{Construction, Protection};

/// The secret or key of one direction. For application data of TLS 1.3 it is the traffic secret, so
/// that a transport other than the record layer can derive its own keys.
pub(crate) enum Keys {
    Tls13(TrafficSecret),
    /// Key and IV of TLS 1.3 handshake traffic. The secret is not needed, since it is never
    /// updated.
    Handshake13(WriteKey),
    Tls12(WriteKey),
}

impl Keys {
    /// Creates record protection with these keys, starting at sequence number 0.
    pub(crate) fn protection(&self) -> Result<Protection, Error> {
        let key = self.write_key();
        Protection::new(key.algorithm, self.construction(), key.key(), key.iv())
    }

    /// Creates parked record protection, which has protected `sequence` records.
    pub(crate) fn parked(&self, sequence: u64) -> Protection {
        let algorithm = match self {
            Self::Tls13(secret) => secret.algorithm(),
            Self::Handshake13(key) | Self::Tls12(key) => key.algorithm,
        };
        Protection::parked(algorithm, self.construction(), sequence)
    }

    fn construction(&self) -> Construction {
        match self {
            Self::Tls13(_) | Self::Handshake13(_) => Construction::Tls13,
            Self::Tls12(key) => Construction::tls12(key.algorithm),
        }
    }

    /// Returns a copy of key and IV.
    pub(crate) fn write_key(&self) -> WriteKey {
        match self {
            Self::Tls13(secret) => secret.write_key(),
            Self::Handshake13(key) | Self::Tls12(key) => key.duplicate(),
        }
    }

    /// Returns the application traffic secret, which exists only in TLS 1.3.
    pub(crate) fn traffic_secret(&self) -> Option<&TrafficSecret> {
        match self {
            Self::Tls13(secret) => Some(secret),
            Self::Handshake13(_) | Self::Tls12(_) => None,
        }
    }

    pub(crate) fn is_tls13(&self) -> bool {
        !matches!(self, Self::Tls12(_))
    }

    /// Returns the secret, or key and IV, as bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Tls13(secret) => secret.as_bytes(),
            Self::Handshake13(key) | Self::Tls12(key) => key.bytes.as_bytes(),
        }
    }

    /// Restores keys from the bytes of [`Self::as_bytes`]. Returns `None` if the length is wrong
    /// for this suite.
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

impl From<HandshakeTraffic> for Keys {
    #[inline]
    fn from(traffic: HandshakeTraffic) -> Self {
        match traffic {
            HandshakeTraffic::Key(key) => Self::Handshake13(key),
            #[cfg(feature = "quic")]
            HandshakeTraffic::Secret(secret) => Self::Tls13(secret),
        }
    }
}

/// Keys to be installed.
pub(crate) struct NewKeys {
    keys: Keys,
    /// Key and IV, if they were already derived from the traffic secret. Both directions are
    /// derived together.
    write_key: Option<WriteKey>,
}

impl NewKeys {
    /// Creates the value from an application traffic secret of TLS 1.3, and its key and IV.
    pub(crate) fn tls13(secret: TrafficSecret, write_key: WriteKey) -> Self {
        Self { keys: Keys::Tls13(secret), write_key: Some(write_key) }
    }

    /// Installs these keys in `place`, where they replace the previous record protection.
    pub(crate) fn replace(&self, place: &mut Option<Protection>) -> Result<(), Error> {
        let expanded;
        let made = match (&self.write_key, &self.keys) {
            (Some(key), _) | (None, Keys::Handshake13(key) | Keys::Tls12(key)) => key,
            (None, Keys::Tls13(secret)) => {
                expanded = secret.write_key();
                &expanded
            }
        };
        let construction = self.keys.construction();
        Protection::replace(place, made.algorithm, construction, made.key(), made.iv())
    }

    #[cfg(any(test, feature = "quic"))]
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn into_keys(self) -> Keys {
        self.keys
    }
}

impl From<Keys> for NewKeys {
    fn from(keys: Keys) -> Self {
        Self { keys, write_key: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::suite;
    use tercel_crypto::AeadAlgorithm;

    #[test]
    fn keys_of_every_suite_are_restored_only_from_bytes_of_their_length() {
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
