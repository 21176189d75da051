//! Keys of every kind and container sign, verify and refuse.

use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};
use tercel_crypto::{CryptoError, KeyKind, PublicKey, SignatureAlgorithm as A, Signer, SigningKey};

#[test]
fn generated_keys_sign_for_their_own_spki() {
    for (algorithm, kind, bits) in [
        (&rcgen::PKCS_ECDSA_P256_SHA256, KeyKind::EcdsaP256, 256),
        (&rcgen::PKCS_ECDSA_P384_SHA384, KeyKind::EcdsaP384, 384),
        (&rcgen::PKCS_ECDSA_P521_SHA512, KeyKind::EcdsaP521, 521),
        (&rcgen::PKCS_ED25519, KeyKind::Ed25519, 256),
        (&rcgen::PKCS_RSA_SHA256, KeyKind::Rsa, 2048),
    ] {
        let pair = KeyPair::generate_for(algorithm).unwrap();
        let key = SigningKey::from_der(pair.serialized_der()).unwrap();
        assert_eq!((key.kind(), key.bits()), (kind, bits));
        assert_eq!(key.public_key_spki(), pair.subject_public_key_info());
        let public = PublicKey::from_spki(&key.public_key_spki()).unwrap();
        assert_eq!((public.kind(), public.bits()), (kind, bits));
        assert_eq!(Signer::algorithms(&key), kind.algorithms());
        for algorithm in key.algorithms() {
            let signature = key.sign(*algorithm, b"message").unwrap();
            public.verify(*algorithm, b"message", &signature).unwrap();
            assert_eq!(
                public.verify(*algorithm, b"massage", &signature),
                Err(CryptoError::Rejected)
            );
        }
        let raw = PublicKey::from_raw(kind, pair.der_bytes()).unwrap();
        assert_eq!(raw.kind(), kind);
        let theirs = pair.sign(b"message").unwrap();
        let algorithm = match kind {
            KeyKind::EcdsaP256 => A::EcdsaSha256,
            KeyKind::EcdsaP384 => A::EcdsaSha384,
            KeyKind::EcdsaP521 => A::EcdsaSha512,
            KeyKind::Ed25519 => A::Ed25519,
            _ => A::RsaPkcs1Sha256,
        };
        raw.verify(algorithm, b"message", &theirs).unwrap();
    }
}
