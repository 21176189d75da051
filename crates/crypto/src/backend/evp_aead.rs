//! `EVP_AEAD_CTX`: AWS-LC's AEAD with one expanded key.
//!
//! The operations split their buffers and call AWS-LC. `aead.rs` decides whether a key uses them.
//!
//! In the FIPS module, AES-GCM is an approved service only if the module checks that nonces do not
//! repeat. The AEADs for records do: see [`RecordNonces`].

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
use core::ops::Deref;
use core::ptr;

use super::check;
use super::lc;
#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
use super::memory::cleanse;
use crate::algorithm::{AeadAlgorithm, RecordNonces};
use crate::error::CryptoError;

const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

/// A context on which `EVP_AEAD_CTX_init` has succeeded. It is not moved. Its owner calls
/// [`Self::clean_up`] and wipes it.
///
/// It is `MaybeUninit` because an algorithm defines only the part of the state that it uses, and
/// `UnsafeCell` because the FIPS module writes to a context with [`RecordNonces`] when it seals.
#[repr(transparent)]
pub(super) struct Context(UnsafeCell<MaybeUninit<lc::EVP_AEAD_CTX>>);

// SAFETY: the context owns everything it points to except the algorithm's table, which is static
// and immutable. No call below writes to it between `EVP_AEAD_CTX_init` and the clean-up: seal
// and open take it `const` and AWS-LC documents concurrent use as allowed. The exception is a
// context with `RecordNonces`, for which `aead.rs` makes a `Sealer` by `&mut` only.
unsafe impl Send for Context {}
// SAFETY: as for `Send`.
unsafe impl Sync for Context {}

impl Context {
    /// Expands a key in place. If the call succeeds, the place is initialised.
    ///
    /// With `nonces`, seals write to the context if AWS-LC is its FIPS module.
    pub(super) fn init(
        place: &mut MaybeUninit<Self>,
        algorithm: AeadAlgorithm,
        nonces: Option<RecordNonces>,
        key: &[u8],
    ) -> Result<(), CryptoError> {
        // The check of nonces is not used without need: a TLS 1.3 context could not be replaced by
        // a new one in the middle of its records, as parking does.
        let nonces = if cfg!(feature = "fips") { nonces } else { None };
        // SAFETY: these functions return pointers to static tables.
        let aead = unsafe {
            match (algorithm, nonces) {
                (AeadAlgorithm::Aes128Gcm, None) => lc::EVP_aead_aes_128_gcm(),
                (AeadAlgorithm::Aes256Gcm, None) => lc::EVP_aead_aes_256_gcm(),
                (AeadAlgorithm::Aes128Gcm, Some(RecordNonces::Tls13)) => {
                    lc::EVP_aead_aes_128_gcm_tls13()
                }
                (AeadAlgorithm::Aes256Gcm, Some(RecordNonces::Tls13)) => {
                    lc::EVP_aead_aes_256_gcm_tls13()
                }
                (AeadAlgorithm::Aes128Gcm, Some(RecordNonces::Tls12)) => {
                    lc::EVP_aead_aes_128_gcm_tls12()
                }
                (AeadAlgorithm::Aes256Gcm, Some(RecordNonces::Tls12)) => {
                    lc::EVP_aead_aes_256_gcm_tls12()
                }
                (AeadAlgorithm::ChaCha20Poly1305, _) => lc::EVP_aead_chacha20_poly1305(),
            }
        };
        let context = place.as_mut_ptr().cast::<lc::EVP_AEAD_CTX>();
        // SAFETY: `Context` has the layout of AWS-LC's context, so `context` is aligned and large
        // enough; `key` is passed with its length; there is no engine.
        let code = unsafe {
            lc::EVP_AEAD_CTX_init(context, aead, key.as_ptr(), key.len(), TAG_LEN, ptr::null_mut())
        };
        check(code, CryptoError::Internal)
    }

    /// Frees what the context owns. It does not wipe the context.
    ///
    /// # Safety
    ///
    /// The context must not be used again.
    #[inline]
    pub(super) unsafe fn clean_up(&mut self) {
        // SAFETY: the context is initialised, and by the caller's promise not used again.
        unsafe { lc::EVP_AEAD_CTX_cleanup(self.0.get_mut().as_mut_ptr()) };
    }

    /// Encrypts `input` followed by `extra` into `out`, and writes the tag after them
    /// (`input.len() + extra.len() + TAG_LEN` bytes).
    #[inline(always)]
    pub(super) fn seal(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: &[u8],
        extra: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(out.len() == input.len() + extra.len() + TAG_LEN);
        let (body, tail) = out.split_at_mut(input.len());
        let (from, to) = (input.as_ptr(), body.as_mut_ptr());
        // SAFETY: `body` has `input.len()` bytes, and `tail` has its length; both are exclusive
        // borrows, so neither overlaps the other or an input.
        unsafe { self.seal_raw(nonce, aad, from, to, input.len(), extra, tail) }
    }

    /// Encrypts `body` in place and writes the tag.
    #[inline]
    pub(super) fn seal_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &mut [u8],
        tag: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(tag.len() == TAG_LEN);
        let (out, len) = (body.as_mut_ptr(), body.len());
        // SAFETY: input and output are the same, which AWS-LC allows; `tag` is a separate borrow.
        unsafe { self.seal_raw(nonce, aad, out.cast_const(), out, len, &[], tag) }
    }

    /// Decrypts `body` into `out` (equal lengths) if the tag is valid, else wipes `out`.
    #[inline(always)]
    pub(super) fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &[u8],
        tag: &[u8],
        out: &mut [u8],
    ) -> Result<(), CryptoError> {
        assert!(out.len() == body.len());
        // SAFETY: `out` has `body.len()` bytes and is an exclusive borrow.
        unsafe { self.open_raw(nonce, aad, body.as_ptr(), out.as_mut_ptr(), body.len(), tag) }
    }

    /// Decrypts `body` in place if the tag is valid, else wipes `body`.
    #[inline]
    pub(super) fn open_in_place(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        body: &mut [u8],
        tag: &[u8],
    ) -> Result<(), CryptoError> {
        let (out, len) = (body.as_mut_ptr(), body.len());
        // SAFETY: input and output are the same, which AWS-LC allows.
        unsafe { self.open_raw(nonce, aad, out.cast_const(), out, len, tag) }
    }

    /// # Safety
    ///
    /// `input` must be readable and `out` writable for `len` bytes. They must be at the same
    /// address or not overlap, and neither may overlap `tail`, of `extra.len() + TAG_LEN` bytes.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the parameters of the AEAD interface")]
    unsafe fn seal_raw(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: *const u8,
        out: *mut u8,
        len: usize,
        extra: &[u8],
        tail: &mut [u8],
    ) -> Result<(), CryptoError> {
        let mut written = 0;
        // SAFETY: every pointer is passed with the length of its slice (for `input` and `out` by
        // the caller's promise); the context is initialised.
        let code = unsafe {
            lc::EVP_AEAD_CTX_seal_scatter(
                self.0.get().cast(),
                out,
                tail.as_mut_ptr(),
                &raw mut written,
                tail.len(),
                nonce.as_ptr(),
                nonce.len(),
                input,
                len,
                extra.as_ptr(),
                extra.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        // The lengths and aliasing are checked above, so the only remaining failures are the
        // algorithm's limit and, in a FIPS module, a nonce that does not follow the previous one.
        check(code, CryptoError::LimitExceeded)?;
        debug_assert_eq!(written, tail.len());
        Ok(())
    }

    /// # Safety
    ///
    /// `input` must be readable and `out` writable for `len` bytes. They must be at the same
    /// address or not overlap.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the parameters of the AEAD interface")]
    unsafe fn open_raw(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        input: *const u8,
        out: *mut u8,
        len: usize,
        tag: &[u8],
    ) -> Result<(), CryptoError> {
        // SAFETY: as in `seal_raw`. On failure AWS-LC fills all of `out` with zeros.
        let code = unsafe {
            lc::EVP_AEAD_CTX_open_gather(
                self.0.get().cast(),
                out,
                nonce.as_ptr(),
                nonce.len(),
                input,
                len,
                tag.as_ptr(),
                tag.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        check(code, CryptoError::Rejected)
    }
}

/// A context of its own, by which kernels compare themselves with AWS-LC.
#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
pub(super) struct BoxedContext(Box<Context>);

#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
impl BoxedContext {
    pub(super) fn new(algorithm: AeadAlgorithm, key: &[u8]) -> Result<Self, CryptoError> {
        let mut place = Box::new_uninit();
        Context::init(&mut place, algorithm, None, key)?;
        // SAFETY: `init` succeeded, so the context is initialised.
        Ok(Self(unsafe { place.assume_init() }))
    }
}

#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
impl Deref for BoxedContext {
    type Target = Context;

    #[inline]
    fn deref(&self) -> &Context {
        &self.0
    }
}

#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
impl Drop for BoxedContext {
    fn drop(&mut self) {
        // AES-GCM's clean-up wipes nothing, so the expanded key is wiped here.
        // SAFETY: the context is exclusively borrowed, and not used again after this.
        unsafe {
            self.0.clean_up();
            cleanse(&raw mut *self.0);
        }
    }
}
