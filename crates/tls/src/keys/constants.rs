//! Values of the TLS 1.3 key schedule that do not depend on secrets. They are computed once per
//! process. RFC 9846 7.1

use std::sync::LazyLock;

use tercel_crypto::{Digest, Hash, HashAlgorithm, HmacKey, Prk};

use super::label::derive_secret;

/// The constants for one hash function.
pub(super) struct Constants {
    /// The hash of the empty string.
    pub(super) empty_hash: Digest,
    /// The salt of the early secret, which consists of zeros.
    pub(super) early_secret_salt: HmacKey,
    /// The early secret without a pre-shared key.
    pub(super) early_secret: Prk,
    /// The salt of the handshake secret without a pre-shared key.
    pub(super) handshake_secret_salt: HmacKey,
}

impl Constants {
    /// Returns the constants for this hash function, which are computed on first use.
    pub(super) fn of(hash: HashAlgorithm) -> &'static Self {
        match hash {
            HashAlgorithm::Sha384 => &SHA384,
            HashAlgorithm::Sha256 => &SHA256,
            _ => &SHA512,
        }
    }

    fn compute(hash: HashAlgorithm) -> Self {
        let zeros = [0_u8; Digest::MAX_LEN];
        let zeros = zeros.get(..hash.output_len()).unwrap_or_default();
        let empty_hash = Hash::digest(hash, &[]);
        let early_secret_salt = HmacKey::new(hash, zeros);
        let early_secret = Prk::extract_with(&early_secret_salt, zeros);
        let derived = derive_secret(&early_secret, b"derived", &empty_hash);
        let handshake_secret_salt = HmacKey::new(hash, derived.as_bytes());
        Self { empty_hash, early_secret_salt, early_secret, handshake_secret_salt }
    }
}

static SHA256: LazyLock<Constants> = LazyLock::new(|| Constants::compute(HashAlgorithm::Sha256));
static SHA384: LazyLock<Constants> = LazyLock::new(|| Constants::compute(HashAlgorithm::Sha384));
static SHA512: LazyLock<Constants> = LazyLock::new(|| Constants::compute(HashAlgorithm::Sha512));

#[cfg(test)]
mod tests {
    use super::*;

    /// The published trace of RFC 8448 3 contains the early secret and the salt for SHA-256.
    #[test]
    fn the_constants_are_those_of_the_published_trace() {
        let constants = Constants::of(HashAlgorithm::Sha256);
        let early_secret = [
            0x33, 0xad, 0x0a, 0x1c, 0x60, 0x7e, 0xc0, 0x3b, 0x09, 0xe6, 0xcd, 0x98, 0x93, 0x68,
            0x0c, 0xe2, 0x10, 0xad, 0xf3, 0x00, 0xaa, 0x1f, 0x26, 0x60, 0xe1, 0xb2, 0x2e, 0x10,
            0xf1, 0x70, 0xf9, 0x2a,
        ];
        let salt = [
            0x6f, 0x26, 0x15, 0xa1, 0x08, 0xc7, 0x02, 0xc5, 0x67, 0x8f, 0x54, 0xfc, 0x9d, 0xba,
            0xb6, 0x97, 0x16, 0xc0, 0x76, 0x18, 0x9c, 0x48, 0x25, 0x0c, 0xeb, 0xea, 0xc3, 0x57,
            0x6c, 0x36, 0x11, 0xba,
        ];
        let tag = |key: &[u8]| HmacKey::new(HashAlgorithm::Sha256, key).sign(&[b"message"]);
        assert_eq!(constants.early_secret.hmac().sign(&[b"message"]), tag(&early_secret));
        assert_eq!(constants.handshake_secret_salt.sign(&[b"message"]), tag(&salt));
    }

    #[test]
    fn each_hash_function_has_constants_of_its_own() {
        for hash in [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
            let constants = Constants::of(hash);
            assert_eq!(constants.empty_hash, Hash::digest(hash, &[]));
            assert_eq!(constants.early_secret_salt.algorithm(), hash);
            assert_eq!(constants.handshake_secret_salt.algorithm(), hash);
        }
    }
}
