//! AEAD key and IV of one direction. RFC 9846 7.3, RFC 5246 6.3

use tercel_crypto::{AeadAlgorithm, ShortSecret};

/// The write_key and write_iv of one direction. RFC 9846 7.3, RFC 5246 6.3
pub(crate) struct WriteKey {
    pub(super) algorithm: AeadAlgorithm,
    /// The key, followed by the IV.
    pub(super) bytes: ShortSecret,
}

impl WriteKey {
    /// Copies a key and an IV.
    pub(crate) fn new(algorithm: AeadAlgorithm, key: &[u8], iv: &[u8]) -> Self {
        let bytes = ShortSecret::with(key.len().saturating_add(iv.len()), |bytes| {
            let (to_key, to_iv) = bytes.split_at_mut(key.len());
            to_key.copy_from_slice(key);
            to_iv.copy_from_slice(iv);
        });
        Self { algorithm, bytes }
    }

    /// Creates the value from a TLS 1.3 key followed by its IV, which have [`Self::tls13_length`]
    /// bytes.
    pub(crate) fn tls13(algorithm: AeadAlgorithm, bytes: ShortSecret) -> Self {
        Self { algorithm, bytes }
    }

    /// Returns the number of bytes of a key and its IV in TLS 1.3. RFC 9846 5.3
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
