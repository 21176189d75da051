//! Wiping, comparing, random bytes.
//!
//! What it is for: AWS-LC's three calls on plain memory. What it must not know: anything else.
//! Where to look next: `memory.rs` and `random.rs` above.

use aws_lc_sys as lc;

use super::check;
use crate::CryptoError;

pub(crate) fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    // SAFETY: both are readable for the length they share.
    a.len() == b.len()
        && unsafe { lc::CRYPTO_memcmp(a.as_ptr().cast(), b.as_ptr().cast(), a.len()) } == 0
}

#[inline]
pub(crate) fn wipe(bytes: &mut [u8]) {
    // SAFETY: an exclusive borrow of exactly this many bytes.
    unsafe { lc::OPENSSL_cleanse(bytes.as_mut_ptr().cast(), bytes.len()) };
}

/// Overwrites a whole value with zeros.
///
/// # Safety
///
/// `value` must be exclusively accessible, and all zeros must be a valid value of `T`, or `T`
/// not be used again.
#[inline]
pub(super) unsafe fn cleanse<T>(value: *mut T) {
    // SAFETY: the caller's promise, over exactly the size of the value.
    unsafe { lc::OPENSSL_cleanse(value.cast(), size_of::<T>()) };
}

pub(crate) fn fill_random(out: &mut [u8]) -> Result<(), CryptoError> {
    // SAFETY: an exclusive borrow of exactly this many bytes.
    let code = unsafe { lc::RAND_bytes(out.as_mut_ptr(), out.len()) };
    check(code, CryptoError::Internal)
}

/// Overwrites numbers with zeros.
pub(crate) fn wipe_words<T: Word>(words: &mut [T]) {
    // SAFETY: an exclusive borrow of words, for which zeros are valid.
    unsafe { lc::OPENSSL_cleanse(words.as_mut_ptr().cast(), size_of_val(words)) };
}

/// Numbers of which hash states consist.
///
/// # Safety
///
/// All zeros must be a valid value.
pub(crate) unsafe trait Word: Copy {}

// SAFETY: zero is a number.
unsafe impl Word for u32 {}
// SAFETY: zero is a number.
unsafe impl Word for u64 {}
