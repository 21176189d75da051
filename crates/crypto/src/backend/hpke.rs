//! HPKE, RFC 9180, in its base mode with DHKEM(X25519, HKDF-SHA256).
//!
//! Keys and contexts are objects of AWS-LC's heap, which AWS-LC wipes when it frees them. The
//! caller passes the sender's ephemeral key, so that tests can reproduce it; AWS-LC's own
//! `EVP_HPKE_CTX_setup_sender` draws as many bytes and continues with the same function.

use super::check;
use super::handle::Handle;
use super::lc;
use crate::algorithm::{AeadAlgorithm, HashAlgorithm};
use crate::error::CryptoError;

/// The length of public keys, private keys and encapsulated keys.
pub(crate) const KEY_LEN: usize = 32;

/// A recipient's key pair.
pub(crate) struct KeyPair(Handle<lc::EVP_HPKE_KEY>);

impl KeyPair {
    /// Any 32 bytes are a valid private key. RFC 9180 7.1.2
    pub(crate) fn from_private(private: &[u8; KEY_LEN]) -> Result<Self, CryptoError> {
        // SAFETY: the result is null, or we own it.
        let key = unsafe { Handle::new(lc::EVP_HPKE_KEY_new(), CryptoError::Internal)? };
        // SAFETY: the key is valid, and the array is passed with its length.
        let code =
            unsafe { lc::EVP_HPKE_KEY_init(key.as_ptr(), kem(), private.as_ptr(), private.len()) };
        check(code, CryptoError::InvalidKey)?;
        Ok(Self(key))
    }

    pub(crate) fn public(&self) -> Result<[u8; KEY_LEN], CryptoError> {
        let mut out = [0; KEY_LEN];
        let mut len = 0;
        // SAFETY: the key is initialised, and the array is passed with its length.
        let code = unsafe {
            let (out, most) = (out.as_mut_ptr(), out.len());
            lc::EVP_HPKE_KEY_public_key(self.0.as_ptr(), out, &raw mut len, most)
        };
        check(code, CryptoError::Internal)?;
        Ok(out)
    }

    pub(crate) fn write_private(&self, out: &mut [u8]) -> Result<(), CryptoError> {
        let mut len = 0;
        // SAFETY: the key is initialised, and `out` is passed with its length.
        let code = unsafe {
            let (out, most) = (out.as_mut_ptr(), out.len());
            lc::EVP_HPKE_KEY_private_key(self.0.as_ptr(), out, &raw mut len, most)
        };
        check(code, CryptoError::BufferTooSmall)
    }
}

/// An encryption context of a sender or of a recipient.
pub(crate) struct Context(Handle<lc::EVP_HPKE_CTX>);

impl Context {
    /// `ephemeral` is the sender's private key, which must be random and new. Also returns the
    /// encapsulated key.
    pub(crate) fn sender(
        (kdf, aead): (HashAlgorithm, AeadAlgorithm),
        ephemeral: &[u8],
        public_key: &[u8],
        info: &[u8],
    ) -> Result<(Self, [u8; KEY_LEN]), CryptoError> {
        let context = Self::new()?;
        let mut encapsulated = [0; KEY_LEN];
        let mut len = 0;
        let kdf = kdf_of(kdf)?;
        // SAFETY: the context is valid and not set up; all slices are passed with their lengths.
        let code = unsafe {
            lc::EVP_HPKE_CTX_setup_sender_with_seed_for_testing(
                context.0.as_ptr(),
                encapsulated.as_mut_ptr(),
                &raw mut len,
                encapsulated.len(),
                kem(),
                kdf,
                aead_of(aead),
                public_key.as_ptr(),
                public_key.len(),
                info.as_ptr(),
                info.len(),
                ephemeral.as_ptr(),
                ephemeral.len(),
            )
        };
        check(code, CryptoError::InvalidShare)?;
        Ok((context, encapsulated))
    }

    pub(crate) fn recipient(
        (kdf, aead): (HashAlgorithm, AeadAlgorithm),
        key: &KeyPair,
        encapsulated: &[u8],
        info: &[u8],
    ) -> Result<Self, CryptoError> {
        let context = Self::new()?;
        let kdf = kdf_of(kdf)?;
        // SAFETY: the context is valid and not set up, the key is initialised, and both slices
        // are passed with their lengths.
        let code = unsafe {
            lc::EVP_HPKE_CTX_setup_recipient(
                context.0.as_ptr(),
                key.0.as_ptr(),
                kdf,
                aead_of(aead),
                encapsulated.as_ptr(),
                encapsulated.len(),
                info.as_ptr(),
                info.len(),
            )
        };
        check(code, CryptoError::InvalidShare)?;
        Ok(context)
    }

    /// Fails, and writes nothing, if `out` is too short.
    pub(crate) fn seal(
        &mut self,
        aad: &[u8],
        plaintext: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        let mut len = 0;
        // SAFETY: the context is set up and exclusively borrowed; all slices are passed with their
        // lengths.
        let code = unsafe {
            lc::EVP_HPKE_CTX_seal(
                self.0.as_ptr(),
                out.as_mut_ptr(),
                &raw mut len,
                out.len(),
                plaintext.as_ptr(),
                plaintext.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        check(code, CryptoError::BufferTooSmall)
    }

    pub(crate) fn open(
        &mut self,
        aad: &[u8],
        ciphertext: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let mut len = 0;
        // SAFETY: the context is set up and exclusively borrowed; all slices are passed with their
        // lengths.
        let code = unsafe {
            lc::EVP_HPKE_CTX_open(
                self.0.as_ptr(),
                out.as_mut_ptr(),
                &raw mut len,
                out.len(),
                ciphertext.as_ptr(),
                ciphertext.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        check(code, CryptoError::Rejected)?;
        Ok(len)
    }

    fn new() -> Result<Self, CryptoError> {
        // SAFETY: the result is null, or we own it.
        unsafe { Handle::new(lc::EVP_HPKE_CTX_new(), CryptoError::Internal).map(Self) }
    }
}

fn kem() -> *const lc::EVP_HPKE_KEM {
    // SAFETY: the function has no arguments and returns a static object.
    unsafe { lc::EVP_hpke_x25519_hkdf_sha256() }
}

fn kdf_of(hash: HashAlgorithm) -> Result<*const lc::EVP_HPKE_KDF, CryptoError> {
    // SAFETY: the functions have no arguments and return static objects.
    unsafe {
        match hash {
            HashAlgorithm::Sha256 => Ok(lc::EVP_hpke_hkdf_sha256()),
            #[cfg(not(feature = "fips"))]
            HashAlgorithm::Sha384 => Ok(lc::EVP_hpke_hkdf_sha384()),
            // The FIPS module has no HKDF-SHA384 for HPKE.
            _ => Err(CryptoError::Unsupported),
        }
    }
}

fn aead_of(aead: AeadAlgorithm) -> *const lc::EVP_HPKE_AEAD {
    // SAFETY: the functions have no arguments and return static objects.
    unsafe {
        match aead {
            AeadAlgorithm::Aes128Gcm => lc::EVP_hpke_aes_128_gcm(),
            AeadAlgorithm::Aes256Gcm => lc::EVP_hpke_aes_256_gcm(),
            AeadAlgorithm::ChaCha20Poly1305 => lc::EVP_hpke_chacha20_poly1305(),
        }
    }
}
