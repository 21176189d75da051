//! `SHA256_CTX` and `SHA512_CTX` as plain values.
//!
//! What it is for: hashing on the stack, and starting from a kept chaining value, which is what
//! a keyed HMAC is. What it must not know: HMAC's padding. Where to look next: `hash.rs` and
//! `hmac.rs` above.
//!
//! AWS-LC documents that these functions always return 1, so the code is looked at in debug
//! builds only.

use aws_lc_sys as lc;

use super::memory::cleanse;

const SHA256_BLOCK_BITS: u32 = 512;
const SHA512_BLOCK_BITS: u64 = 1024;

/// A running SHA-256.
#[derive(Clone)]
pub(crate) struct Sha256(lc::SHA256_CTX);

impl Sha256 {
    #[inline]
    pub(crate) fn new() -> Self {
        let mut context = lc::SHA256_CTX::default();
        // SAFETY: writes this one context.
        let code = unsafe { lc::SHA256_Init(&raw mut context) };
        debug_assert_eq!(code, 1);
        Self(context)
    }

    /// Continues after one block, which led to `chaining_value`.
    #[inline]
    pub(crate) fn after_one_block(chaining_value: &[u32; 8]) -> Self {
        Self(lc::SHA256_CTX {
            h: *chaining_value,
            Nl: SHA256_BLOCK_BITS,
            md_len: 32,
            ..Default::default()
        })
    }

    #[inline]
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        // SAFETY: `bytes` comes with its own length.
        let code =
            unsafe { lc::SHA256_Update(&raw mut self.0, bytes.as_ptr().cast(), bytes.len()) };
        debug_assert_eq!(code, 1);
    }

    /// The chaining value, on a block boundary.
    pub(crate) fn chaining_value(&self) -> [u32; 8] {
        debug_assert_eq!(self.0.num, 0);
        self.0.h
    }

    /// Writes the digest; the context is of no use afterwards.
    #[inline]
    pub(crate) fn finish(&mut self, out: &mut [u8]) {
        assert!(out.len() == 32 && self.0.md_len == 32);
        // SAFETY: writes `md_len` bytes, as many as `out` has.
        let code = unsafe { lc::SHA256_Final(out.as_mut_ptr(), &raw mut self.0) };
        debug_assert_eq!(code, 1);
    }

    /// Overwrites everything, for a context that took in a secret.
    #[inline]
    pub(crate) fn wipe(&mut self) {
        // SAFETY: plain data, exclusively borrowed; zeros are valid numbers.
        unsafe { cleanse(&raw mut self.0) };
    }
}

/// A running SHA-384 or SHA-512, which share context and compression function.
#[derive(Clone)]
pub(crate) struct Sha512(lc::SHA512_CTX);

impl Sha512 {
    #[inline]
    pub(crate) fn new_384() -> Self {
        let mut context = lc::SHA512_CTX::default();
        // SAFETY: writes this one context.
        let code = unsafe { lc::SHA384_Init(&raw mut context) };
        debug_assert_eq!(code, 1);
        Self(context)
    }

    #[inline]
    pub(crate) fn new_512() -> Self {
        let mut context = lc::SHA512_CTX::default();
        // SAFETY: writes this one context.
        let code = unsafe { lc::SHA512_Init(&raw mut context) };
        debug_assert_eq!(code, 1);
        Self(context)
    }

    /// Continues after one block, which led to `chaining_value`, towards a digest of 48 or 64
    /// bytes.
    #[inline]
    pub(crate) fn after_one_block(chaining_value: &[u64; 8], digest_len: u32) -> Self {
        assert!(digest_len == 48 || digest_len == 64);
        Self(lc::SHA512_CTX {
            h: *chaining_value,
            Nl: SHA512_BLOCK_BITS,
            md_len: digest_len,
            ..Default::default()
        })
    }

    #[inline]
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        // SAFETY: `bytes` comes with its own length.
        let code =
            unsafe { lc::SHA512_Update(&raw mut self.0, bytes.as_ptr().cast(), bytes.len()) };
        debug_assert_eq!(code, 1);
    }

    /// The chaining value, on a block boundary.
    pub(crate) fn chaining_value(&self) -> [u64; 8] {
        debug_assert_eq!(self.0.num, 0);
        self.0.h
    }

    /// Writes the digest; the context is of no use afterwards.
    #[inline]
    pub(crate) fn finish(&mut self, out: &mut [u8]) {
        assert!(out.len() == self.0.md_len as usize);
        // SAFETY: each writes `md_len` bytes, as many as `out` has, and is the one that belongs
        // to that length.
        let code = unsafe {
            if self.0.md_len == 48 {
                lc::SHA384_Final(out.as_mut_ptr(), &raw mut self.0)
            } else {
                lc::SHA512_Final(out.as_mut_ptr(), &raw mut self.0)
            }
        };
        debug_assert_eq!(code, 1);
    }

    /// Overwrites everything, for a context that took in a secret.
    #[inline]
    pub(crate) fn wipe(&mut self) {
        // SAFETY: plain data, exclusively borrowed; zeros are valid numbers.
        unsafe { cleanse(&raw mut self.0) };
    }
}
