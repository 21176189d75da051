//! Header protection of QUIC packets. RFC 9001 5.4

use core::fmt;

use crate::algorithm::AeadAlgorithm;
use crate::backend::header_protection::{AesKey, chacha20};
use crate::error::CryptoError;
use crate::memory::wipe;

/// An expanded key for header protection, boxed and wiped on drop. RFC 9001 5.4.1
pub struct HeaderProtectionKey(Form);

enum Form {
    Aes(AesKey),
    ChaCha20(Box<[u8; 32]>),
}

impl HeaderProtectionKey {
    /// The length of the sample from which a mask is computed. RFC 9001 5.4.2
    pub const SAMPLE_LEN: usize = 16;

    /// Expands the key that belongs to packets with this AEAD algorithm. The key is as long as the
    /// key of the algorithm.
    ///
    /// # Errors
    ///
    /// [`CryptoError::InvalidKey`] when its length is not [`AeadAlgorithm::key_len`].
    pub fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        if key.len() != algorithm.key_len() {
            return Err(CryptoError::InvalidKey);
        }
        Ok(Self(match algorithm {
            AeadAlgorithm::Aes128Gcm | AeadAlgorithm::Aes256Gcm => Form::Aes(AesKey::new(key)?),
            AeadAlgorithm::ChaCha20Poly1305 => {
                let mut own = Box::new([0; 32]);
                own.copy_from_slice(key);
                Form::ChaCha20(own)
            }
        }))
    }

    /// The mask for a header: one byte for the first byte of the packet, and four for the packet
    /// number. RFC 9001 5.4.3, 5.4.4
    #[must_use]
    #[inline]
    pub fn mask(&self, sample: &[u8; 16]) -> [u8; 5] {
        match &self.0 {
            Form::Aes(key) => {
                let [a, b, c, d, e, ..] = key.encrypt(sample);
                [a, b, c, d, e]
            }
            Form::ChaCha20(key) => {
                let [a, b, c, d, nonce @ ..] = *sample;
                chacha20(key, u32::from_le_bytes([a, b, c, d]), &nonce)
            }
        }
    }
}

impl Drop for HeaderProtectionKey {
    fn drop(&mut self) {
        // The AES key wipes itself.
        if let Form::ChaCha20(key) = &mut self.0 {
            wipe(&mut key[..]);
        }
    }
}

impl fmt::Debug for HeaderProtectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeaderProtectionKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197 appendix C.1, C.3 (AES); RFC 9001 A.5 (ChaCha20). RFC 9001 5.4.3, 5.4.4
    #[test]
    fn masks_are_those_of_published_examples() {
        let plain: [u8; 16] = core::array::from_fn(|at| u8::try_from(at * 0x11).unwrap());
        let key: [u8; 32] = core::array::from_fn(|at| u8::try_from(at).unwrap());
        let mask = |algorithm, key: &[u8], sample| {
            HeaderProtectionKey::new(algorithm, key).unwrap().mask(sample)
        };
        let aes128 = mask(AeadAlgorithm::Aes128Gcm, &key[..16], &plain);
        assert_eq!(aes128, [0x69, 0xc4, 0xe0, 0xd8, 0x6a]);
        let aes256 = mask(AeadAlgorithm::Aes256Gcm, &key, &plain);
        assert_eq!(aes256, [0x8e, 0xa2, 0xb7, 0xca, 0x51]);
        let key = [
            0x25, 0xa2, 0x82, 0xb9, 0xe8, 0x2f, 0x06, 0xf2, 0x1f, 0x48, 0x89, 0x17, 0xa4, 0xfc,
            0x8f, 0x1b, 0x73, 0x57, 0x36, 0x85, 0x60, 0x85, 0x97, 0xd0, 0xef, 0xcb, 0x07, 0x6b,
            0x0a, 0xb7, 0xa7, 0xa4,
        ];
        let sample = [
            0x5e, 0x5c, 0xd5, 0x5c, 0x41, 0xf6, 0x90, 0x80, 0x57, 0x5d, 0x79, 0x99, 0xc2, 0x5a,
            0x5b, 0xfb,
        ];
        let chacha = mask(AeadAlgorithm::ChaCha20Poly1305, &key, &sample);
        assert_eq!(chacha, [0xae, 0xfe, 0xfe, 0x7d, 0x03]);
    }

    /// RFC 9001 5.4.1
    #[test]
    fn keys_have_the_length_of_their_algorithm() {
        use AeadAlgorithm::{Aes128Gcm, Aes256Gcm, ChaCha20Poly1305};
        for algorithm in [Aes128Gcm, Aes256Gcm, ChaCha20Poly1305] {
            for length in 0..=40 {
                let made = HeaderProtectionKey::new(algorithm, &[7; 40][..length]);
                assert_eq!(made.is_ok(), length == algorithm.key_len(), "{algorithm:?} {length}");
            }
        }
    }
}
