//! ChaCha20-Poly1305, RFC 8439 2.8, with AVX-512.
//!
//! See `message.rs` for the AEAD, `chacha20.rs`, `poly1305.rs` and `scalar.rs` for its parts,
//! `vector.rs` for the operations that they use, `subroutines.rs` for what is not inlined into the
//! AEAD, and `avx512.rs` for the instructions. The algorithms are generic over the vector: tests
//! run the same text without vector instructions.
//!
//! # Why this is sound
//!
//! A [`Key`] exists only on processors that have the instructions ([`is_available`]). The memory
//! of a text is accessed through pointers, because input and output may be the same; `message.rs`
//! accesses the input's and the output's bytes, and nothing else. All other memory is accessed
//! through references to arrays.
//!
//! # What remains in memory
//!
//! What is derived from the key is on the stack, below the frame of [`stack::wipe_steps_after`],
//! which overwrites it. Only key stream is above this frame, in a [`Stream`]: ciphertext and zeros
//! replace it.

mod avx512;
mod chacha20;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
pub(crate) mod comparison;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
#[allow(clippy::cast_possible_truncation, reason = "takes parts of words")]
mod definition;
mod message;
mod poly1305;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
#[allow(clippy::cast_possible_truncation, reason = "takes parts of words")]
mod portable;
mod scalar;
mod self_test;
mod subroutines;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "takes parts of words")]
pub(super) mod tests;
#[cfg(all(test, lanes_avx2))]
mod valgrind;
mod vector;

use core::mem::MaybeUninit;
use core::slice;

use avx512::Available;
use message::Stream;
pub(crate) use message::Text;
pub(super) use self_test::self_test;

use crate::algorithm::AeadAlgorithm;
use crate::backend::{memory, stack};
use crate::error::CryptoError;

const TAG_LEN: usize = AeadAlgorithm::TAG_LEN;

/// Texts of this length and longer ones are refused, as by AWS-LC. The counter of blocks, which has
/// 32 bits, would return to zero. RFC 8439 2.8
const LIMIT: u64 = ((1 << 32) - 1) * 64;

/// Whether the processor has the instructions.
pub(crate) fn is_available() -> bool {
    avx512::is_available()
}

/// A key, which exists only where [`is_available`] has returned true.
#[repr(transparent)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// Writes a key to its place. The owner of the place wipes it.
    ///
    /// # Safety
    ///
    /// [`is_available`] must have returned true.
    pub(crate) unsafe fn write<'a>(place: &'a mut MaybeUninit<Self>, bytes: &[u8; 32]) -> &'a Self {
        // SAFETY: a key has the layout of its bytes.
        unsafe { place.as_mut_ptr().cast::<[u8; 32]>().copy_from_nonoverlapping(bytes, 1) };
        // SAFETY: written above.
        unsafe { place.assume_init_ref() }
    }

    /// Encrypts a text, and writes the tag.
    ///
    /// # Safety
    ///
    /// The memory of the text must be as [`Text`] requires. `tag` must be writable for
    /// [`TAG_LEN`] bytes, which overlap nothing else.
    #[inline]
    pub(crate) unsafe fn seal(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        text: Text<'_>,
        tag: *mut u8,
    ) -> Result<(), CryptoError> {
        if text.total() as u64 >= LIMIT {
            return Err(CryptoError::LimitExceeded);
        }
        // SAFETY: the caller's promise.
        let made = unsafe { self.run::<true>(nonce, aad, &text) };
        // SAFETY: the caller's promise.
        unsafe { tag.cast::<[u8; TAG_LEN]>().write(made) };
        Ok(())
    }

    /// Decrypts a text, which has no extra bytes. If the tag is not valid, wipes the output.
    ///
    /// # Safety
    ///
    /// The memory of the text must be as [`Text`] requires.
    #[inline]
    pub(crate) unsafe fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        text: Text<'_>,
        tag: &[u8],
    ) -> Result<(), CryptoError> {
        debug_assert!(text.extra.is_empty());
        if text.total() as u64 >= LIMIT {
            return Err(CryptoError::Rejected);
        }
        // SAFETY: the caller's promise.
        let mut made = unsafe { self.run::<false>(nonce, aad, &text) };
        if memory::constant_time_eq(&made, tag) {
            return Ok(());
        }
        // The tag with which the forgery would be valid.
        memory::wipe(&mut made);
        // SAFETY: the caller's promise; the input is not used again.
        memory::wipe(unsafe { slice::from_raw_parts_mut(text.output, text.len) });
        Err(CryptoError::Rejected)
    }

    /// Encrypts or decrypts a text, wipes the stack, and returns the tag of the ciphertext.
    ///
    /// # Safety
    ///
    /// The memory of the text must be as [`Text`] requires.
    #[inline]
    unsafe fn run<const SEAL: bool>(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        text: &Text<'_>,
    ) -> [u8; TAG_LEN] {
        let mut tag = [0; TAG_LEN];
        // SAFETY: a key exists only where the instructions are available.
        let proof = unsafe { Available::new() };
        let mut stream = Stream::new();
        let mut work = || {
            // SAFETY: the caller's promise.
            tag = unsafe { avx512::run::<SEAL>(proof, (&self.0, nonce), aad, text, &mut stream) };
        };
        // SAFETY: AVX-512 is available.
        unsafe { stack::wipe_steps_after(steps(text.total()), &mut work) };
        tag
    }
}

/// The steps of [`stack::wipe_steps_after`] for a text of this length: one and a half times the
/// measured use of the stack. A test measures it.
#[inline]
fn steps(len: usize) -> usize {
    let [short, medium, long] = if cfg!(lanes_large_frames) { [12, 28, 32] } else { [3, 14, 16] };
    match len {
        0..=message::SHORT => short,
        len if len < message::CHUNK_LEN => medium,
        _ => long,
    }
}
