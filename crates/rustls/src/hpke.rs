//! HPKE with X25519, for a client's Encrypted ClientHello.
//!
//! ```
//! use tercel_rustls::hpke::{ALL_SUPPORTED_SUITES, DH_KEM_X25519_HKDF_SHA256_AES_128};
//! use tercel_rustls::rustls::client::{EchConfig, EchGreaseConfig};
//! use tercel_rustls::rustls::pki_types::EchConfigListBytes;
//!
//! # fn run(from_dns: EchConfigListBytes<'static>) -> Result<(), tercel_rustls::rustls::Error> {
//! let config = EchConfig::new(from_dns, ALL_SUPPORTED_SUITES)?;
//! let (placeholder, _) = DH_KEM_X25519_HKDF_SHA256_AES_128.generate_key_pair()?;
//! let grease = EchGreaseConfig::new(DH_KEM_X25519_HKDF_SHA256_AES_128, placeholder);
//! # let _ = (config, grease); Ok(()) }
//! ```

use std::fmt;

use rustls::Error;
use rustls::crypto::hpke::{
    EncapsulatedSecret, Hpke, HpkeOpener, HpkePrivateKey, HpkePublicKey, HpkeSealer, HpkeSuite,
};
use rustls::internal::msgs::enums::{HpkeAead, HpkeKdf, HpkeKem};
use rustls::internal::msgs::handshake::HpkeSymmetricCipherSuite;
use tercel_crypto::{self as crypto, AeadAlgorithm, HashAlgorithm, HpkeKey};

use crate::error;

/// All suites.
pub static ALL_SUPPORTED_SUITES: &[&dyn Hpke] = &[
    DH_KEM_X25519_HKDF_SHA256_AES_128,
    DH_KEM_X25519_HKDF_SHA256_AES_256,
    DH_KEM_X25519_HKDF_SHA256_CHACHA20_POLY1305,
];

/// X25519 and HKDF with SHA-256, AES-128-GCM.
pub static DH_KEM_X25519_HKDF_SHA256_AES_128: &dyn Hpke =
    &Suite(AeadAlgorithm::Aes128Gcm, HpkeAead::AES_128_GCM);

/// X25519 and HKDF with SHA-256, AES-256-GCM.
pub static DH_KEM_X25519_HKDF_SHA256_AES_256: &dyn Hpke =
    &Suite(AeadAlgorithm::Aes256Gcm, HpkeAead::AES_256_GCM);

/// X25519 and HKDF with SHA-256, ChaCha20-Poly1305.
pub static DH_KEM_X25519_HKDF_SHA256_CHACHA20_POLY1305: &dyn Hpke =
    &Suite(AeadAlgorithm::ChaCha20Poly1305, HpkeAead::CHACHA20_POLY_1305);

/// A suite with an AEAD, and rustls' name of the AEAD.
struct Suite(AeadAlgorithm, HpkeAead);

impl Suite {
    fn parts(&self) -> crypto::HpkeSuite {
        crypto::HpkeSuite { kdf: HashAlgorithm::Sha256, aead: self.0 }
    }
}

impl Hpke for Suite {
    fn seal(
        &self,
        info: &[u8],
        aad: &[u8],
        plaintext: &[u8],
        public_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Vec<u8>), Error> {
        let (encapsulated, mut sealer) = self.setup_sealer(info, public_key)?;
        Ok((encapsulated, sealer.seal(aad, plaintext)?))
    }

    fn setup_sealer(
        &self,
        info: &[u8],
        public_key: &HpkePublicKey,
    ) -> Result<(EncapsulatedSecret, Box<dyn HpkeSealer + 'static>), Error> {
        let made = crypto::HpkeSender::new(self.parts(), &public_key.0, info);
        let (sender, encapsulated) = made.map_err(error::other)?;
        Ok((EncapsulatedSecret(encapsulated.to_vec()), Box::new(Sealer(sender))))
    }

    fn open(
        &self,
        encapsulated: &EncapsulatedSecret,
        info: &[u8],
        aad: &[u8],
        ciphertext: &[u8],
        private_key: &HpkePrivateKey,
    ) -> Result<Vec<u8>, Error> {
        self.setup_opener(encapsulated, info, private_key)?.open(aad, ciphertext)
    }

    fn setup_opener(
        &self,
        encapsulated: &EncapsulatedSecret,
        info: &[u8],
        private_key: &HpkePrivateKey,
    ) -> Result<Box<dyn HpkeOpener + 'static>, Error> {
        let key = HpkeKey::from_private(private_key.secret_bytes()).map_err(error::other)?;
        let recipient = crypto::HpkeRecipient::new(self.parts(), &key, &encapsulated.0, info);
        Ok(Box::new(Opener(recipient.map_err(error::other)?)))
    }

    fn generate_key_pair(&self) -> Result<(HpkePublicKey, HpkePrivateKey), Error> {
        let key = HpkeKey::generate().map_err(error::other)?;
        let public = key.public_key().map_err(error::other)?;
        let private = key.private_key().map_err(error::other)?;
        Ok((HpkePublicKey(public.to_vec()), HpkePrivateKey::from(private.as_bytes().to_vec())))
    }

    fn suite(&self) -> HpkeSuite {
        HpkeSuite {
            kem: HpkeKem::DHKEM_X25519_HKDF_SHA256,
            sym: HpkeSymmetricCipherSuite { kdf_id: HpkeKdf::HKDF_SHA256, aead_id: self.1 },
        }
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.suite().fmt(f)
    }
}

#[derive(Debug)]
struct Sealer(crypto::HpkeSender);

impl HpkeSealer for Sealer {
    fn seal(&mut self, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error> {
        let mut out = vec![0; plaintext.len().saturating_add(AeadAlgorithm::TAG_LEN)];
        self.0.seal(aad, plaintext, &mut out).map_err(error::other)?;
        Ok(out)
    }
}

#[derive(Debug)]
struct Opener(crypto::HpkeRecipient);

impl HpkeOpener for Opener {
    fn open(&mut self, aad: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Error> {
        self.0.open(aad, ciphertext).map_err(error::other)
    }
}
