//! HMAC, HKDF-Expand and the PRF of TLS 1.2 as services of the FIPS module.
//!
//! See `hmac/module_key.rs` above. The functions panic if AWS-LC fails: it does so for unknown hash
//! functions and wrong lengths only, and returning would give a constant as a MAC or key.

use core::mem::MaybeUninit;
use core::ptr;

use super::lc;
use super::rsa::md;
use crate::algorithm::HashAlgorithm;

/// Writes the MAC of all parts of all groups; `out` must have the digest's length.
pub(crate) fn hmac(hash: HashAlgorithm, key: &[u8], groups: &[&[&[u8]]], out: &mut [u8]) {
    assert!(out.len() == hash.output_len());
    let mut context = Context::new();
    let context = context.0.as_mut_ptr();
    // SAFETY: the context is initialised to its empty state and is not moved while it is used;
    // `md` is static; all slices are passed with their lengths, except `out`, to which the digest
    // of the asserted length is written.
    unsafe {
        let (start, len) = (key.as_ptr().cast(), key.len());
        assert!(lc::HMAC_Init_ex(context, start, len, md(hash), ptr::null_mut()) == 1);
        for part in groups.iter().copied().flatten() {
            assert!(lc::HMAC_Update(context, part.as_ptr(), part.len()) == 1);
        }
        assert!(lc::HMAC_Final(context, out.as_mut_ptr(), ptr::null_mut()) == 1);
    }
}

/// HKDF-Expand. RFC 5869 2.3
pub(crate) fn expand(hash: HashAlgorithm, prk: &[u8], info: &[u8], out: &mut [u8]) {
    let (start, len) = (out.as_mut_ptr(), out.len());
    // SAFETY: all slices are passed with their lengths; `md` is static.
    let code = unsafe {
        lc::HKDF_expand(start, len, md(hash), prk.as_ptr(), prk.len(), info.as_ptr(), info.len())
    };
    assert!(code == 1);
}

/// The PRF of TLS 1.2. RFC 5246 5
pub(crate) fn tls12_prf(
    hash: HashAlgorithm,
    secret: &[u8],
    label: &[u8],
    seeds: [&[u8]; 2],
    out: &mut [u8],
) {
    let [first, second] = seeds;
    // SAFETY: all slices are passed with their lengths; `md` is static.
    let code = unsafe {
        lc::CRYPTO_tls1_prf(
            md(hash),
            out.as_mut_ptr(),
            out.len(),
            secret.as_ptr(),
            secret.len(),
            label.as_ptr().cast(),
            label.len(),
            first.as_ptr(),
            first.len(),
            second.as_ptr(),
            second.len(),
        )
    };
    assert!(code == 1);
}

/// A context on the stack, wiped on drop. AWS-LC's context has no pointers into itself.
struct Context(MaybeUninit<lc::HMAC_CTX>);

impl Context {
    fn new() -> Self {
        let mut context = MaybeUninit::uninit();
        // SAFETY: the call defines all bytes of the context.
        unsafe { lc::HMAC_CTX_init(context.as_mut_ptr()) };
        Self(context)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is initialised and not used again; the call wipes it.
        unsafe { lc::HMAC_CTX_cleanup(self.0.as_mut_ptr()) };
    }
}
