//! The HPKE algorithms that are supported.

use tercel_crypto::{AeadAlgorithm, HashAlgorithm, HpkeSuite};
use tercel_wire::{HpkeAead, HpkeKdf, HpkeSymmetricCipherSuite};

/// Returns the algorithms of a cipher suite, if they are supported.
pub(crate) fn hpke_suite(suite: HpkeSymmetricCipherSuite) -> Option<HpkeSuite> {
    let kdf = match suite.kdf_id {
        HpkeKdf::HKDF_SHA256 => HashAlgorithm::Sha256,
        HpkeKdf::HKDF_SHA384 => HashAlgorithm::Sha384,
        _ => return None,
    };
    let aead = match suite.aead_id {
        HpkeAead::AES_128_GCM => AeadAlgorithm::Aes128Gcm,
        HpkeAead::AES_256_GCM => AeadAlgorithm::Aes256Gcm,
        HpkeAead::CHACHA20_POLY1305 => AeadAlgorithm::ChaCha20Poly1305,
        _ => return None,
    };
    Some(HpkeSuite { kdf, aead })
}

/// The suite that all implementations have. RFC 9849 9
pub(crate) const MANDATORY: HpkeSymmetricCipherSuite =
    HpkeSymmetricCipherSuite { kdf_id: HpkeKdf::HKDF_SHA256, aead_id: HpkeAead::AES_128_GCM };

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9849 9
    #[test]
    fn the_mandatory_suite_is_supported_and_unknown_ones_are_not() {
        let sha256_aes128 =
            HpkeSuite { kdf: HashAlgorithm::Sha256, aead: AeadAlgorithm::Aes128Gcm };
        assert_eq!(hpke_suite(MANDATORY), Some(sha256_aes128));
        let unknown = [(1, 4), (1, 0xffff), (3, 1), (0, 1), (0x1111, 0x2222)];
        for (kdf, aead) in unknown {
            let (kdf_id, aead_id) = (HpkeKdf(kdf), HpkeAead(aead));
            assert_eq!(hpke_suite(HpkeSymmetricCipherSuite { kdf_id, aead_id }), None);
        }
    }
}
