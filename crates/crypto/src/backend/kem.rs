//! ML-KEM, FIPS 203, by the EVP interface: key generation, encapsulation, decapsulation.
//!
//! The caller passes the random bytes, because a hybrid draws the bytes of both components at once
//! (`key_exchange/randomness.rs` above). AWS-LC's own `EVP_PKEY_keygen` and `EVP_PKEY_encapsulate`
//! draw as many bytes from the same generator and continue with the same functions, which check
//! the modulus of a peer's key (FIPS 203 7.2) and, in the FIPS module, each new key pair (FIPS
//! 140-3 IG 10.3.A). If the caller passes no bytes, those functions are used: in the FIPS module
//! the bytes have to be drawn inside of it (FIPS 203 6).

use core::ptr;

use super::check;
use super::handle::Handle;
use super::lc;
use crate::error::CryptoError;

/// The length of an encapsulated secret.
pub(crate) const SECRET_LEN: usize = 32;

/// A parameter set of FIPS 203.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kem {
    MlKem768,
    MlKem1024,
}

impl Kem {
    pub(crate) const fn public_key_len(self) -> usize {
        match self {
            Self::MlKem768 => 1184,
            Self::MlKem1024 => 1568,
        }
    }

    pub(crate) const fn ciphertext_len(self) -> usize {
        match self {
            Self::MlKem768 => 1088,
            Self::MlKem1024 => 1568,
        }
    }

    fn nid(self) -> i32 {
        match self {
            Self::MlKem768 => lc::NID_MLKEM768,
            Self::MlKem1024 => lc::NID_MLKEM1024,
        }
    }

    /// Encapsulates to a peer's key with 32 random bytes, `m` in FIPS 203, or with bytes that
    /// AWS-LC draws if `random` is empty. Writes the ciphertext and the shared secret.
    ///
    /// A key with a coefficient beyond the modulus is refused (FIPS 203 7.2).
    pub(crate) fn encapsulate(
        self,
        random: &[u8],
        public_key: &[u8],
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(ciphertext.len() == self.ciphertext_len() && secret.len() == SECRET_LEN);
        let (mut ciphertext_len, mut secret_len) = (ciphertext.len(), secret.len());
        let mut random_len = random.len();
        let context = self.public_key(public_key)?.context()?;
        // SAFETY: the context has a public key; both outputs and `random` are passed with their
        // lengths, and AWS-LC refuses lengths other than those of the parameter set.
        let code = unsafe {
            if random.is_empty() {
                lc::EVP_PKEY_encapsulate(
                    context.as_ptr(),
                    ciphertext.as_mut_ptr(),
                    &raw mut ciphertext_len,
                    secret.as_mut_ptr(),
                    &raw mut secret_len,
                )
            } else {
                lc::EVP_PKEY_encapsulate_deterministic(
                    context.as_ptr(),
                    ciphertext.as_mut_ptr(),
                    &raw mut ciphertext_len,
                    secret.as_mut_ptr(),
                    &raw mut secret_len,
                    random.as_ptr(),
                    &raw mut random_len,
                )
            }
        };
        check(code, CryptoError::InvalidShare)
    }

    fn public_key(self, bytes: &[u8]) -> Result<Handle<lc::EVP_PKEY>, CryptoError> {
        #[cfg(fips_module_3)]
        check_modulus(bytes)?;
        // SAFETY: `bytes` is passed with its length, which AWS-LC compares with that of the
        // parameter set; we own the result.
        unsafe {
            let key = lc::EVP_PKEY_kem_new_raw_public_key(self.nid(), bytes.as_ptr(), bytes.len());
            Handle::new(key, CryptoError::InvalidShare)
        }
    }
}

/// Checks that each coefficient of an encapsulation key is below the modulus (FIPS 203 7.2), which
/// version 3 of the FIPS module does not check.
#[cfg(fips_module_3)]
fn check_modulus(public_key: &[u8]) -> Result<(), CryptoError> {
    const MODULUS: u16 = 3329;
    // The last 32 bytes are a seed. Before it, three bytes have two coefficients of twelve bits.
    let (coefficients, _) = public_key.split_last_chunk::<32>().ok_or(CryptoError::InvalidShare)?;
    let is_reduced = coefficients.chunks(3).all(|chunk| match *chunk {
        [a, b, c] => {
            let [a, b, c] = [a, b, c].map(u16::from);
            (a | (b & 0x0f) << 8) < MODULUS && (b >> 4 | c << 4) < MODULUS
        }
        _ => false,
    });
    if is_reduced { Ok(()) } else { Err(CryptoError::InvalidShare) }
}

/// A decapsulation key.
pub(crate) struct KemKey {
    key: Handle<lc::EVP_PKEY>,
    kem: Kem,
}

impl KemKey {
    /// Makes a key pair from 64 random bytes, `d` and `z` in FIPS 203, or from bytes that AWS-LC
    /// draws if `seed` is empty. Writes the encapsulation key, of [`Kem::public_key_len`] bytes.
    pub(crate) fn generate(
        kem: Kem,
        seed: &[u8],
        public_key: &mut [u8],
    ) -> Result<Self, CryptoError> {
        let context = keygen_context(kem)?;
        let mut key = ptr::null_mut();
        let mut seed_len = seed.len();
        // SAFETY: the context is ready for key generation; `seed` is passed with its length, and
        // AWS-LC refuses lengths other than that of the parameter set; a new key is written to
        // `key`, and this function owns it.
        let key = unsafe {
            let code = if seed.is_empty() {
                lc::EVP_PKEY_keygen(context.as_ptr(), &raw mut key)
            } else {
                lc::EVP_PKEY_keygen_deterministic(
                    context.as_ptr(),
                    &raw mut key,
                    seed.as_ptr(),
                    &raw mut seed_len,
                )
            };
            check(code, CryptoError::Internal)?;
            Handle::new(key, CryptoError::Internal)?
        };
        let key = Self { key, kem };
        key.write_public_key(public_key)?;
        Ok(key)
    }

    fn write_public_key(&self, out: &mut [u8]) -> Result<(), CryptoError> {
        assert!(out.len() == self.kem.public_key_len());
        let mut len = out.len();
        // SAFETY: the key is valid; `out` is passed with its length.
        let code = unsafe {
            lc::EVP_PKEY_get_raw_public_key(self.key.as_ptr(), out.as_mut_ptr(), &raw mut len)
        };
        check(code, CryptoError::Internal)
    }

    /// Writes the shared secret of a ciphertext. A forged ciphertext of the right length gives an
    /// unpredictable secret, not an error (FIPS 203 6.3).
    pub(crate) fn decapsulate(
        &self,
        ciphertext: &[u8],
        secret: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(secret.len() == SECRET_LEN);
        if ciphertext.len() != self.kem.ciphertext_len() {
            return Err(CryptoError::InvalidShare);
        }
        let context = self.key.context()?;
        let mut len = secret.len();
        // SAFETY: the context has a private key; both slices are passed with their lengths.
        let code = unsafe {
            lc::EVP_PKEY_decapsulate(
                context.as_ptr(),
                secret.as_mut_ptr(),
                &raw mut len,
                ciphertext.as_ptr(),
                ciphertext.len(),
            )
        };
        check(code, CryptoError::InvalidShare)
    }
}

fn keygen_context(kem: Kem) -> Result<Handle<lc::EVP_PKEY_CTX>, CryptoError> {
    // SAFETY: the result is null, or we own it.
    let context = unsafe {
        let context = lc::EVP_PKEY_CTX_new_id(lc::EVP_PKEY_KEM, ptr::null_mut());
        Handle::new(context, CryptoError::Internal)?
    };
    // SAFETY: the context is valid.
    unsafe {
        let code = lc::EVP_PKEY_keygen_init(context.as_ptr());
        check(code, CryptoError::Internal)?;
        let code = lc::EVP_PKEY_CTX_kem_set_params(context.as_ptr(), kem.nid());
        check(code, CryptoError::Internal)?;
    }
    Ok(context)
}
