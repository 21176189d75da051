//! The fleet secret, and what is sealed and named under it.
//!
//! Every seal has a key of its own, drawn with it, so that nodes which know nothing of each other never use one nonce
//! twice under one key, however much a fleet seals. Must not know: what is sealed, and who keeps it.
//! Next: [`crate::sessions`], [`crate::ticket_keys`], [`crate::early_data`].
//!
//! ```text
//! sealed: salt 16 | nonce 12 | ciphertext | tag 16
//! ```

use std::path::Path;

use tercel::crypto::{
    AeadAlgorithm, AeadKey, CryptoError, HashAlgorithm, Prk, Secret, fill_random,
};
use zeroize::Zeroizing;

use crate::error::FleetError;
use crate::files::read_private;

/// What all nodes of a fleet know and the store does not.
pub(crate) struct FleetSecret {
    prk: Prk,
    name: String,
}

impl FleetSecret {
    pub(crate) fn read(path: &Path, name: &str) -> Result<Self, FleetError> {
        let content = read_private(path)?;
        let secret = content.trim_ascii_end();
        if secret.len() < SHORTEST {
            return Err(FleetError::Content(
                path.to_owned(),
                "a fleet secret has at least 32 bytes",
            ));
        }
        Ok(Self::new(secret, name))
    }

    pub(crate) fn new(secret: &[u8], name: &str) -> Self {
        Self { prk: Prk::extract(HashAlgorithm::Sha256, SALT, secret), name: name.to_owned() }
    }

    /// The key for one purpose of this fleet. The purpose ends where its zero byte is.
    pub(crate) fn key(&self, purpose: &str) -> FleetKey {
        let key = self.prk.expand_secret(&[purpose.as_bytes(), &[0], self.name.as_bytes()], 32);
        FleetKey(Prk::from_bytes(HashAlgorithm::Sha256, key.as_bytes()))
    }
}

/// A key for one purpose.
pub(crate) struct FleetKey(Prk);

impl FleetKey {
    /// What `value` is called where it must not be known, in hexadecimal.
    pub(crate) fn name(&self, value: &[u8]) -> String {
        hexadecimal(&self.0.hmac().sign(&[NAME, value]))
    }

    /// `content`, sealed and bound to `context`.
    pub(crate) fn seal(&self, context: &[u8], content: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let mut sealed = vec![0; START];
        fill_random(&mut sealed)?;
        let (key, nonce) = self.subkey(&sealed)?;
        let room = content.len().saturating_add(AeadAlgorithm::TAG_LEN);
        let mut ciphertext = vec![0; room];
        key.seal(&nonce, context, content, &[], &mut ciphertext)?;
        sealed.append(&mut ciphertext);
        Ok(sealed)
    }

    /// What was sealed with this context; `None` if it was not, or is damaged.
    pub(crate) fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (start, ciphertext) = sealed.split_at_checked(START)?;
        let length = ciphertext.len().checked_sub(AeadAlgorithm::TAG_LEN)?;
        let (key, nonce) = self.subkey(start).ok()?;
        let mut content = Zeroizing::new(vec![0; length]);
        key.open(&nonce, context, ciphertext, &mut content).ok()?;
        Some(content)
    }

    fn subkey(&self, start: &[u8]) -> Result<(AeadKey, [u8; NONCE]), CryptoError> {
        let (salt, nonce) = start.split_at_checked(SUBKEY_SALT).unwrap_or_default();
        let key: Secret = self.0.expand_secret(&[SUBKEY, salt], 32);
        let nonce = nonce.first_chunk().copied().unwrap_or_default();
        Ok((AeadKey::new(AeadAlgorithm::Aes256Gcm, key.as_bytes())?, nonce))
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

const SHORTEST: usize = 32;
const SALT: &[u8] = b"tercel fleet 1";
const NAME: &[u8] = b"name";
const SUBKEY: &[u8] = b"subkey";
const SUBKEY_SALT: usize = 16;
const NONCE: usize = AeadAlgorithm::NONCE_LEN;
const START: usize = SUBKEY_SALT + NONCE;

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: u8, name: &str, purpose: &str) -> FleetKey {
        FleetSecret::new(&[secret; 32], name).key(purpose)
    }

    #[test]
    fn what_was_sealed_opens_and_nothing_else() {
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
    fn two_seals_of_the_same_have_nothing_in_common() {
        let [a, b] = [0, 1].map(|_| key(1, "a", "p").seal(b"", b"content").unwrap());
        assert_ne!(a[..16], b[..16]);
        assert_ne!(a[28..], b[28..]);
    }

    #[test]
    fn names_hide_what_they_name_and_differ_between_fleets() {
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

    #[test]
    fn hexadecimal_is_what_it_is_called() {
        assert_eq!(hexadecimal(&[0, 0x1f, 0xab, 0xff]), "001fabff");
    }
}
