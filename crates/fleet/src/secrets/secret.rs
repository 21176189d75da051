//! The fleet secret, and the keys derived from it.
//!
//! Each sealed value has a subkey of its own, derived with a random salt. So nodes that do not
//! coordinate never use a nonce twice under one key, even if the fleet seals many values.
//!
//! ```text
//! sealed:               salt 16 | nonce 12 | ciphertext | tag 16
//! with the FIPS module: salt 16 | ciphertext | tag 16 | nonce 12
//! ```
//!
//! Nodes with and without the FIPS module cannot open each other's values.

use std::path::Path;

use tercel::crypto::{AeadAlgorithm, CryptoError, HashAlgorithm};
use tercel_crypto::{AeadKey, Prk, RandomNonceKey, Secret, fill_random};
use zeroize::Zeroizing;

use super::files::read_private;
use crate::error::FleetError;
use crate::hex;

/// The secret that all nodes of a fleet have and the store does not have, bound to the name of the
/// fleet.
pub(crate) struct FleetSecret {
    prk: Prk,
    name: String,
}

impl FleetSecret {
    pub(crate) fn read(path: &Path, name: &str) -> Result<Self, FleetError> {
        let content = read_private(path)?;
        let secret = content.trim_ascii_end();
        if secret.len() < MIN_LENGTH {
            return Err(FleetError::Content(
                path.to_owned(),
                "a fleet secret needs at least 32 bytes",
            ));
        }
        Ok(Self::new(secret, name))
    }

    pub(crate) fn new(secret: &[u8], name: &str) -> Self {
        Self { prk: Prk::extract(HashAlgorithm::Sha256, SALT, secret), name: name.to_owned() }
    }

    /// Derives the key for one purpose. A zero byte separates the purpose from the fleet name.
    pub(crate) fn key(&self, purpose: &str) -> FleetKey {
        let key = self.prk.expand_secret(&[purpose.as_bytes(), &[0], self.name.as_bytes()], 32);
        FleetKey(Prk::from_bytes(HashAlgorithm::Sha256, key.as_bytes()))
    }
}

/// A key of the fleet for one purpose.
pub(crate) struct FleetKey(Prk);

impl FleetKey {
    /// A keyed digest of `value` in hexadecimal. As a name in the store, the digest does not reveal
    /// `value`.
    pub(crate) fn name(&self, value: &[u8]) -> String {
        hex::encode(&self.0.hmac().sign(&[NAME, value]))
    }

    /// Encrypts `content` and authenticates it together with `context`.
    pub(crate) fn seal(&self, context: &[u8], content: &[u8]) -> Result<Vec<u8>, CryptoError> {
        match RandomNonceKey::IS_REQUIRED {
            true => self.seal_with_nonce_of_module(context, content),
            false => self.seal_with_own_nonce(context, content),
        }
    }

    /// Decrypts a value that `seal` made with this context; `None` if it has another
    /// context or is damaged.
    pub(crate) fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        match RandomNonceKey::IS_REQUIRED {
            true => self.open_with_nonce_of_module(context, sealed),
            false => self.open_with_own_nonce(context, sealed),
        }
    }

    fn seal_with_own_nonce(&self, context: &[u8], content: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let mut sealed = vec![0; SALT_LEN + NONCE];
        fill_random(&mut sealed)?;
        let (salt, nonce) = sealed.split_first_chunk().ok_or(CryptoError::Internal)?;
        let nonce = nonce.first_chunk().ok_or(CryptoError::Internal)?;
        let room = content.len().saturating_add(AeadAlgorithm::TAG_LEN);
        let mut ciphertext = vec![0; room];
        self.own_nonce_key(salt)?.seal(nonce, context, content, &[], &mut ciphertext)?;
        sealed.append(&mut ciphertext);
        Ok(sealed)
    }

    fn open_with_own_nonce(&self, context: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (salt, rest) = sealed.split_first_chunk()?;
        let (nonce, ciphertext) = rest.split_first_chunk()?;
        let length = ciphertext.len().checked_sub(AeadAlgorithm::TAG_LEN)?;
        let mut content = Zeroizing::new(vec![0; length]);
        self.own_nonce_key(salt).ok()?.open(nonce, context, ciphertext, &mut content).ok()?;
        Some(content)
    }

    fn own_nonce_key(&self, salt: &[u8; SALT_LEN]) -> Result<AeadKey, CryptoError> {
        AeadKey::new(AeadAlgorithm::Aes256Gcm, self.subkey(SUBKEY, salt).as_bytes())
    }

    fn seal_with_nonce_of_module(
        &self,
        context: &[u8],
        content: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        let mut salt = [0; SALT_LEN];
        fill_random(&mut salt)?;
        // The content is encrypted in place. A larger allocation would leave a copy of it behind,
        // so the first one has room for everything. It is wiped if sealing fails.
        let length = content.len().saturating_add(SALT_LEN + RandomNonceKey::OVERHEAD);
        let mut sealed = Zeroizing::new(Vec::with_capacity(length));
        sealed.extend_from_slice(&salt);
        sealed.extend_from_slice(content);
        sealed.resize(length, 0);
        let value = sealed.get_mut(SALT_LEN..).ok_or(CryptoError::Internal)?;
        self.module_nonce_key(&salt)?.seal_in_place(context, value, content.len())?;
        Ok(std::mem::take(&mut *sealed))
    }

    fn open_with_nonce_of_module(
        &self,
        context: &[u8],
        sealed: &[u8],
    ) -> Option<Zeroizing<Vec<u8>>> {
        let (salt, value) = sealed.split_first_chunk()?;
        let mut content = Zeroizing::new(value.to_vec());
        let length = self.module_nonce_key(salt).ok()?.open_in_place(context, &mut content).ok()?;
        content.truncate(length);
        Some(content)
    }

    fn module_nonce_key(&self, salt: &[u8; SALT_LEN]) -> Result<RandomNonceKey, CryptoError> {
        RandomNonceKey::new(self.subkey(SUBKEY_FOR_MODULE_NONCE, salt).as_bytes())
    }

    fn subkey(&self, label: &[u8], salt: &[u8; SALT_LEN]) -> Secret {
        self.0.expand_secret(&[label, salt], 32)
    }
}

const MIN_LENGTH: usize = 32;
const SALT: &[u8] = b"tercel fleet 1";
const NAME: &[u8] = b"name";
const SUBKEY: &[u8] = b"subkey";
const SUBKEY_FOR_MODULE_NONCE: &[u8] = b"subkey 2";
const SALT_LEN: usize = 16;
const NONCE: usize = AeadAlgorithm::NONCE_LEN;

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: u8, name: &str, purpose: &str) -> FleetKey {
        FleetSecret::new(&[secret; 32], name).key(purpose)
    }

    #[test]
    fn sealed_values_open_with_the_same_key_and_context_only() {
        let sealed = key(1, "a", "p").seal(b"context", b"content").unwrap();
        assert_eq!(**key(1, "a", "p").open(b"context", &sealed).unwrap(), *b"content");
        assert!(key(1, "a", "p").open(b"another", &sealed).is_none());
        for other in [key(2, "a", "p"), key(1, "b", "p"), key(1, "a", "q")] {
            assert!(other.open(b"context", &sealed).is_none());
        }
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert!(key(1, "a", "p").open(b"context", &damaged).is_none(), "byte {at}");
            assert!(key(1, "a", "p").open(b"context", &sealed[..at]).is_none(), "length {at}");
        }
    }

    #[test]
    fn values_of_the_two_layouts_refuse_each_other() {
        let key = key(1, "a", "p");
        for content in [&b""[..], b"content", &[1; 300]] {
            let own = key.seal_with_own_nonce(b"context", content).unwrap();
            let module = key.seal_with_nonce_of_module(b"context", content).unwrap();
            // The allocation did not grow while it had the content.
            assert_eq!(module.capacity(), module.len());
            assert_eq!(**key.open_with_own_nonce(b"context", &own).unwrap(), *content);
            assert_eq!(**key.open_with_nonce_of_module(b"context", &module).unwrap(), *content);
            assert!(key.open_with_own_nonce(b"context", &module).is_none());
            assert!(key.open_with_nonce_of_module(b"context", &own).is_none());
            assert!(key.open_with_nonce_of_module(b"another", &module).is_none());
            for length in 0..module.len() {
                assert!(key.open_with_nonce_of_module(b"context", &module[..length]).is_none());
            }
        }
    }

    #[test]
    fn sealing_twice_gives_different_ciphertexts() {
        let [a, b] = [0, 1].map(|_| key(1, "a", "p").seal(b"", b"content").unwrap());
        assert_ne!(a[..16], b[..16]);
        assert_ne!(a[28..], b[28..]);
    }

    #[test]
    fn names_depend_on_secret_fleet_and_value() {
        let name = key(1, "a", "p").name(b"id");
        assert_eq!(name, key(1, "a", "p").name(b"id"));
        assert_eq!(name.len(), 64);
        for other in [
            key(2, "a", "p").name(b"id"),
            key(1, "b", "p").name(b"id"),
            key(1, "a", "p").name(b"ie"),
        ] {
            assert_ne!(name, other);
        }
    }
}
