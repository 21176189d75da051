//! Private keys by themselves: read from PEM, and signing by EVP_DigestSign(3).
//!
//! Shared with the worker for BoringSSL, by `crate::library`. Must not know: TLS. Next: `configuration.rs`.

use lab_scenario::{Key, Result, Scheme, Unable};

use crate::library::hash::MessageDigest;
use crate::library::pkey::{PKey, Private};
use crate::library::rsa::Padding;
use crate::library::sign::{RsaPssSaltlen, Signer};

/// A key from PEM, ready to sign by this scheme.
pub(crate) fn key(pem: &[u8], scheme: Scheme) -> std::result::Result<Box<dyn Key>, Unable> {
    let key = PKey::private_key_from_pem(pem)?;
    Ok(Box::new(OwnKey { key, scheme }))
}

struct OwnKey {
    key: PKey<Private>,
    scheme: Scheme,
}

impl Key for OwnKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        let mut signer = match self.scheme {
            Scheme::Ed25519 => Signer::new_without_digest(&self.key)?,
            _ => Signer::new(MessageDigest::sha256(), &self.key)?,
        };
        if self.scheme == Scheme::RsaPssRsaeSha256 {
            signer.set_rsa_padding(Padding::PKCS1_PSS)?;
            signer.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
        }
        Ok(signer.sign_oneshot_to_vec(message)?)
    }
}
