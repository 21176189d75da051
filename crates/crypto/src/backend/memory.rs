//! Wiping, comparing and drawing random bytes: AWS-LC's calls on plain memory.
//!
//! See `memory.rs` and `random.rs` above.

use super::check;
use super::lc;
use crate::error::CryptoError;

// Miri cannot call AWS-LC. The functions with `cfg(miri)` let it run the text of kernels.

#[cfg(miri)]
pub(crate) fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a == b
}

#[cfg(not(miri))]
pub(crate) fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    // SAFETY: both are readable for the length they share.
    a.len() == b.len()
        && unsafe { lc::CRYPTO_memcmp(a.as_ptr().cast(), b.as_ptr().cast(), a.len()) } == 0
}

#[cfg(miri)]
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
}

#[cfg(not(miri))]
#[inline]
pub(crate) fn wipe(bytes: &mut [u8]) {
    // SAFETY: the slice is exclusively borrowed and has exactly this length.
    unsafe { lc::OPENSSL_cleanse(bytes.as_mut_ptr().cast(), bytes.len()) };
}

/// Overwrites a whole value with zeros.
///
/// # Safety
///
/// `value` must be exclusively accessible. All zeros must be a valid value of `T`, or the value
/// must not be used again.
#[inline]
pub(super) unsafe fn cleanse<T>(value: *mut T) {
    // SAFETY: the caller's promise, over exactly the size of the value.
    unsafe { lc::OPENSSL_cleanse(value.cast(), size_of::<T>()) };
}

#[cfg(miri)]
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn fill_random(out: &mut [u8]) -> Result<(), CryptoError> {
    out.fill(0x5a);
    Ok(())
}

#[cfg(not(miri))]
pub(crate) fn fill_random(out: &mut [u8]) -> Result<(), CryptoError> {
    // SAFETY: the slice is exclusively borrowed and has exactly this length.
    let code = unsafe { lc::RAND_bytes(out.as_mut_ptr(), out.len()) };
    check(code, CryptoError::Internal)
}

/// Overwrites numbers with zeros.
pub(crate) fn wipe_words<T: Word>(words: &mut [T]) {
    // SAFETY: the words are exclusively borrowed, and zeros are valid for them.
    unsafe {
        #[cfg(not(miri))]
        lc::OPENSSL_cleanse(words.as_mut_ptr().cast(), size_of_val(words));
        #[cfg(miri)]
        words.as_mut_ptr().write_bytes(0, words.len());
    }
}

/// The words of hash states.
///
/// # Safety
///
/// All zeros must be a valid value.
pub(crate) unsafe trait Word: Copy {}

// SAFETY: zero is a valid number.
unsafe impl Word for u32 {}
// SAFETY: zero is a valid number.
unsafe impl Word for u64 {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;
    use core::mem::MaybeUninit;

    #[test]
    fn wiped_words_are_zero() {
        let mut words = [0xaaaa_aaaa_u32; 9];
        wipe_words(&mut words);
        assert_eq!(words, [0; 9]);
        let mut words = [u64::MAX; 9];
        wipe_words(&mut words[1..]);
        assert_eq!(words, [u64::MAX, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_dropped_secret_is_wiped() {
        let mut cell = MaybeUninit::new(Secret::new(&[0xaa; Secret::MAX_LEN]));
        // SAFETY: the secret is initialised and not used as such after this.
        unsafe { core::ptr::drop_in_place(cell.as_mut_ptr()) };
        // SAFETY: its bytes and its length are all defined, without padding between them.
        let bytes =
            unsafe { core::slice::from_raw_parts(cell.as_ptr().cast::<u8>(), size_of::<Secret>()) };
        assert!(!bytes.contains(&0xaa));
        assert!(bytes.iter().filter(|byte| **byte == 0).count() >= Secret::MAX_LEN);
    }
}
