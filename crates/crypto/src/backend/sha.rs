//! `SHA256_CTX` and `SHA512_CTX` as plain values.
//!
//! With these contexts, a hash can be computed on the stack, and can start from a stored chaining
//! value, as for an HMAC key. See `hash.rs` and `hmac.rs` above.
//!
//! A context is `MaybeUninit` because its block buffer is initialised only as far as it is filled;
//! clearing it first costs as much as the rest of the wrapper. Every constructor initialises all
//! other fields. AWS-LC documents that its functions always return 1, so the return code is
//! checked only in debug builds.

use core::mem::MaybeUninit;

use super::lc;
use super::memory::cleanse;

/// The operations of both contexts.
pub(crate) trait Context: Sized {
    /// The chaining value.
    type Chaining: Copy;

    /// A context after one block that led to `chaining`, for a digest of `digest_len` bytes.
    fn after_one_block(chaining: &Self::Chaining, digest_len: u32) -> Self;

    /// Sets a used context to the state of [`Self::after_one_block`]. The context's last block may
    /// stay until it is overwritten or wiped.
    fn restart(&mut self, chaining: &Self::Chaining, digest_len: u32);

    /// The chaining value; the message must end at a block boundary.
    fn chaining(&self) -> Self::Chaining;

    /// Appends bytes to the message.
    fn update(&mut self, bytes: &[u8]);

    /// Writes the digest into `out`, which must have its length; ends the use of the context.
    fn finish(&mut self, out: &mut [u8]);

    /// Overwrites the context with zeros, after hashing a secret.
    #[cfg_attr(feature = "fips", allow(dead_code, reason = "the FIPS module computes the MACs"))]
    fn wipe(&mut self);
}

/// SHA-1 of a whole message.
pub(crate) fn sha1(message: &[u8]) -> [u8; 20] {
    let mut out = [0; 20];
    // SAFETY: `message` is passed with its length; `out` has the 20 bytes that are written.
    let written = unsafe { lc::SHA1(message.as_ptr(), message.len(), out.as_mut_ptr()) };
    debug_assert!(!written.is_null());
    out
}

/// The compression function of SHA-512: compresses one block into `state`.
pub(crate) fn compress_512(state: &mut [u64; 8], block: &[[u8; 8]; 16]) {
    let mut context = Sha512::after_one_block(state, 64);
    // SAFETY: the call reads the 128 bytes of the block, and reads and writes the context's
    // chaining value, which is defined.
    unsafe { lc::SHA512_Transform(context.0.as_mut_ptr(), block.as_ptr().cast()) };
    *state = context.chaining();
    // SAFETY: the field is ours and exclusively borrowed. Nothing else here is secret.
    unsafe { cleanse(&raw mut (*context.0.as_mut_ptr()).h) };
}

/// Implements [`Context`] for `$Sha`, whose fields have the same names for each hash function:
/// chaining values `$Chaining`, digests of `$lengths` bytes, blocks of `$block` bits. `finish` is
/// given, because the functions differ in it.
macro_rules! context {
    ($Sha:ident, $Chaining:ty, $lengths:pat, $block:literal, $update:ident, $($finish:tt)*) => {
        impl Context for $Sha {
            type Chaining = $Chaining;

            #[inline]
            fn after_one_block(chaining: &$Chaining, digest_len: u32) -> Self {
                let mut context = Self(MaybeUninit::uninit());
                context.restart(chaining, digest_len);
                context
            }

            #[inline]
            fn restart(&mut self, chaining: &$Chaining, digest_len: u32) {
                assert!(matches!(digest_len, $lengths));
                let fields = self.0.as_mut_ptr();
                // SAFETY: the fields are ours; each is written except the block buffer.
                unsafe {
                    (*fields).h = *chaining;
                    (*fields).Nl = $block;
                    (*fields).Nh = 0;
                    (*fields).num = 0;
                    (*fields).md_len = digest_len;
                }
            }

            fn chaining(&self) -> $Chaining {
                // SAFETY: these fields are defined.
                unsafe {
                    assert!((*self.0.as_ptr()).num == 0);
                    (*self.0.as_ptr()).h
                }
            }

            #[inline]
            fn update(&mut self, bytes: &[u8]) {
                let context = self.0.as_mut_ptr();
                // SAFETY: the context is started; `bytes` is passed with its length.
                let code = unsafe { lc::$update(context, bytes.as_ptr().cast(), bytes.len()) };
                debug_assert_eq!(code, 1);
            }

            $($finish)*

            #[inline]
            fn wipe(&mut self) {
                // SAFETY: the context is plain data, exclusively borrowed; zeros are valid.
                unsafe { cleanse(self.0.as_mut_ptr()) };
            }
        }
    };
}

/// A SHA-256 computation in progress.
#[derive(Clone)]
pub(crate) struct Sha256(MaybeUninit<lc::SHA256_CTX>);

impl Sha256 {
    #[inline]
    pub(crate) fn new() -> Self {
        let mut context = MaybeUninit::uninit();
        // SAFETY: the call defines every field except the block buffer.
        let code = unsafe { lc::SHA256_Init(context.as_mut_ptr()) };
        debug_assert_eq!(code, 1);
        Self(context)
    }
}

context! {
    Sha256, [u32; 8], 32, 512, SHA256_Update,
    #[inline]
    fn finish(&mut self, out: &mut [u8]) {
        assert!(out.len() == 32);
        // SAFETY: the context is started; it writes 32 bytes, the length of `out`.
        let code = unsafe { lc::SHA256_Final(out.as_mut_ptr(), self.0.as_mut_ptr()) };
        debug_assert_eq!(code, 1);
    }
}

/// A SHA-384 or SHA-512 computation in progress. Both functions share context and compression
/// function.
#[derive(Clone)]
pub(crate) struct Sha512(MaybeUninit<lc::SHA512_CTX>);

impl Sha512 {
    #[inline]
    pub(crate) fn new_384() -> Self {
        let mut context = MaybeUninit::uninit();
        // SAFETY: the call defines every field except the block buffer.
        let code = unsafe { lc::SHA384_Init(context.as_mut_ptr()) };
        debug_assert_eq!(code, 1);
        Self(context)
    }

    #[inline]
    pub(crate) fn new_512() -> Self {
        let mut context = MaybeUninit::uninit();
        // SAFETY: the call defines every field except the block buffer.
        let code = unsafe { lc::SHA512_Init(context.as_mut_ptr()) };
        debug_assert_eq!(code, 1);
        Self(context)
    }

    /// The number of bytes that complete the current block.
    pub(crate) fn to_boundary(&self) -> usize {
        // SAFETY: the context was initialised, so `num` has a value.
        match unsafe { (*self.0.as_ptr()).num } {
            0 => 0,
            begun => 128_usize.saturating_sub(begun as usize),
        }
    }

    /// Continues at a block boundary from `chaining`, the result of compressing this number of
    /// blocks elsewhere.
    pub(crate) fn resume_from(&mut self, chaining: &[u64; 8], blocks: u64) {
        let fields = self.0.as_mut_ptr();
        // SAFETY: the fields are ours, and all of them are defined.
        unsafe {
            assert!((*fields).num == 0);
            (*fields).h = *chaining;
            let (low, wraps) = (*fields).Nl.overflowing_add(blocks * 1024); // bits
            (*fields).Nl = low;
            (*fields).Nh += u64::from(wraps);
        }
    }
}

context! {
    Sha512, [u64; 8], 48 | 64, 1024, SHA512_Update,
    #[inline]
    fn finish(&mut self, out: &mut [u8]) {
        // SAFETY: this field is defined.
        let digest_len = unsafe { (*self.0.as_ptr()).md_len };
        assert!(out.len() == digest_len as usize);
        // SAFETY: the context is started; the called function is the one for `md_len`, and writes
        // `md_len` bytes, which is the length of `out`.
        let code = unsafe {
            if digest_len == 48 {
                lc::SHA384_Final(out.as_mut_ptr(), self.0.as_mut_ptr())
            } else {
                lc::SHA512_Final(out.as_mut_ptr(), self.0.as_mut_ptr())
            }
        };
        debug_assert_eq!(code, 1);
    }
}
