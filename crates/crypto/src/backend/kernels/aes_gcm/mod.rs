//! AES-GCM with keys of 128 and 256 bits, NIST SP 800-38D, with VAES and VPCLMULQDQ.
//!
//! AWS-LC's AES-GCM takes three to five times as long as this one for short records, because it
//! encrypts the counter block of the tag, the data, and the last partial block one after the other,
//! and hashes additional data, data and lengths one after the other. Here all of these are lanes of
//! the same vectors.
//!
//! | task | see |
//! |---|---|
//! | the operations on vectors | `vector.rs` |
//! | the vector of the processor, and that of tests | `avx512.rs`, `portable.rs` |
//! | multiply in the field of GHASH | `ghash.rs` |
//! | expand keys | `key.rs` |
//! | the parameters and the state of an operation | `parameters.rs` |
//! | seal and open | `message.rs` |
//! | the inner loop for long messages | `chunks.rs` |
//! | compare with AWS-LC | `self_test.rs`, `tests.rs` |
//!
//! All text but `avx512.rs` is generic over the vector, so that tools which do not support AVX-512,
//! such as Valgrind, check the text that runs in production.
//!
//! # Why this is sound
//!
//! The instructions may run only on processors that have them: a [`Key`] is made by
//! [`Key::expand_in`] only, which must be called only if [`is_available`], and messages are
//! processed with a [`Key`]. Pointers come from slices of the caller, with their lengths, and each
//! access is to a vector that is within the message, or by a masked instruction.

#![allow(
    clippy::cast_possible_truncation,
    reason = "lengths have limits, and words are taken apart"
)]

mod avx512;
mod chunks;
mod ghash;
mod key;
mod message;
mod parameters;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
pub(crate) mod portable;
mod self_test;
#[cfg(test)]
pub(super) mod tests;
mod vector;

pub(in crate::backend) use avx512::is_available;
pub(super) use self_test::self_test;

use core::mem::MaybeUninit;

use crate::backend::memory::wipe;
use crate::backend::stack;
use crate::error::CryptoError;

pub(in crate::backend) use key::Key;
use message::MAX_SHORT;
use parameters::Message;

/// The limit of NIST SP 800-38D 5.2.1.1 for one message: 2^39 - 256 bits.
const MAX_LEN: u64 = (1 << 36) - 32;

const TAG_LEN: usize = 16;

/// The steps of [`stack::wipe_steps_after`] for [`Entries::long`]: one and a half times the use of
/// the stack, which a test measures.
const STEPS: usize = if cfg!(lanes_large_frames) { 24 } else { 3 };

/// What is sealed or opened: input and output of `len` bytes, at the same address or disjoint.
#[derive(Clone, Copy)]
pub(in crate::backend) struct Data {
    pub(in crate::backend) input: *const u8,
    pub(in crate::backend) out: *mut u8,
    pub(in crate::backend) len: usize,
}

impl Key {
    /// Expands a key of 16 or 32 bytes in place, so that no copy of it is left elsewhere.
    ///
    /// # Safety
    ///
    /// [`is_available`] must have returned true.
    pub(in crate::backend) unsafe fn expand_in<'a>(
        place: &'a mut MaybeUninit<Self>,
        key: &[u8],
    ) -> &'a mut Self {
        // SAFETY: the caller's promise.
        unsafe { expand_in::<Avx512>(place, key) }
    }

    /// Encrypts the input and `extra` to the output, which has room for both, and writes the tag.
    ///
    /// # Safety
    ///
    /// The input must be readable for `data.len` bytes, the output writable for `extra.len()` more;
    /// `tag` must be writable for 16 bytes and disjoint from them.
    #[inline]
    pub(in crate::backend) unsafe fn seal(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        data: Data,
        extra: &[u8],
        tag: *mut u8,
    ) -> Result<(), CryptoError> {
        // SAFETY: the caller's promise; a key exists only if the processor has the instructions.
        unsafe { seal::<Avx512>(self, (nonce, aad), data, extra, tag) }
    }

    /// Decrypts the input to the output if `tag` is valid, else wipes the output.
    ///
    /// # Safety
    ///
    /// Input and output must be valid for `data.len` bytes.
    #[inline]
    pub(in crate::backend) unsafe fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        data: Data,
        tag: &[u8; TAG_LEN],
    ) -> Result<(), CryptoError> {
        // SAFETY: the caller's promise; a key exists only if the processor has the instructions.
        unsafe { open::<Avx512>(self, (nonce, aad), data, tag) }
    }
}

/// The functions that are compiled for a vector type.
///
/// # Safety of the functions
///
/// As for the functions of the same names in `key.rs` and `message.rs`.
trait Entries {
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn expand(place: &mut Key, key: &[u8]);
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn absorb(key: &Key, aad: &[u8], last: &mut [u8; 16]);
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn short<const SEAL: bool>(key: &Key, message: &Message<'_>);
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn long<const SEAL: bool>(key: &Key, message: &Message<'_>);
    /// Runs work with [`Self::long`], and overwrites the stack that it has used. In some builds the
    /// compiler moves the block that encrypts the tag there, for lack of registers.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of the vector.
    unsafe fn wiping_after(work: &mut dyn FnMut());
}

/// # Safety
///
/// As for [`Key::expand_in`].
unsafe fn expand_in<'a, E: Entries>(place: &'a mut MaybeUninit<Key>, key: &[u8]) -> &'a mut Key {
    let place = place.write(Key::EMPTY);
    // SAFETY: the caller's promise.
    leaving_nothing(|| unsafe { E::expand(place, key) });
    place
}

/// # Safety
///
/// As for [`Key::seal`].
#[inline(always)]
unsafe fn seal<E: Entries>(
    key: &Key,
    (nonce, aad): (&[u8; 12], &[u8]),
    mut data: Data,
    mut extra: &[u8],
    tag: *mut u8,
) -> Result<(), CryptoError> {
    if (data.len + extra.len()) as u64 > MAX_LEN {
        return Err(CryptoError::LimitExceeded);
    }
    if extra.len() > 1 {
        // SAFETY: the output has room for input and extra bytes.
        unsafe {
            data.input.copy_to(data.out, data.len);
            extra.as_ptr().copy_to_nonoverlapping(data.out.add(data.len), extra.len());
        }
        data = Data { input: data.out, len: data.len + extra.len(), ..data };
        extra = &[];
    }
    let message = Message {
        nonce,
        aad_block: aad,
        aad_len: aad.len(),
        input: data.input,
        input_len: data.len,
        extra: extra.first().copied(),
        out: data.out,
        received_tag: tag,
        tag,
    };
    // SAFETY: the caller's promise.
    unsafe { run::<E, true>(key, &message) };
    Ok(())
}

/// # Safety
///
/// As for [`Key::open`].
#[inline(always)]
unsafe fn open<E: Entries>(
    key: &Key,
    (nonce, aad): (&[u8; 12], &[u8]),
    data: Data,
    tag: &[u8; TAG_LEN],
) -> Result<(), CryptoError> {
    if data.len as u64 > MAX_LEN {
        return Err(CryptoError::Rejected);
    }
    let mut difference = [0; TAG_LEN];
    let message = Message {
        nonce,
        aad_block: aad,
        aad_len: aad.len(),
        input: data.input,
        input_len: data.len,
        extra: None,
        out: data.out,
        received_tag: tag.as_ptr(),
        tag: difference.as_mut_ptr(),
    };
    // SAFETY: the caller's promise.
    unsafe { run::<E, false>(key, &message) };
    // All bytes are compared before the branch.
    if u128::from_ne_bytes(difference) == 0 {
        return Ok(());
    }
    // SAFETY: the output is writable for as many bytes, and all were written before.
    reject(unsafe { core::slice::from_raw_parts_mut(data.out, data.len) }, &mut difference)
}

/// Wipes what was decrypted, and the difference of the tags, which reveals the valid tag.
#[cold]
#[inline(never)]
fn reject(out: &mut [u8], difference: &mut [u8]) -> Result<(), CryptoError> {
    wipe(out);
    wipe(difference);
    Err(CryptoError::Rejected)
}

/// # Safety
///
/// As for `message::short`.
#[inline(always)]
unsafe fn run<E: Entries, const SEAL: bool>(key: &Key, message: &Message<'_>) {
    if message.aad_block.len() > 16 {
        // SAFETY: the caller's promise.
        return unsafe { run_with_long_aad::<E, SEAL>(key, message) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        if message.len() <= MAX_SHORT {
            leaving_nothing(|| E::short::<SEAL>(key, message));
        } else {
            E::wiping_after(&mut || E::long::<SEAL>(key, message));
        }
    }
}

/// # Safety
///
/// As for `message::short`.
#[cold]
#[inline(never)]
unsafe fn run_with_long_aad<E: Entries, const SEAL: bool>(key: &Key, message: &Message<'_>) {
    let mut block = [0; 16];
    // SAFETY: the caller's promise.
    unsafe {
        leaving_nothing(|| E::absorb(key, message.aad_block, &mut block));
        run::<E, SEAL>(key, &Message { aad_block: &block, ..*message });
    }
    // It depends on the hash key.
    wipe(&mut block);
}

/// Runs a part of the kernel other than [`Entries::long`]. It overwrites the stack that the part
/// has used if the crate was compiled for size or with few optimisations: the compiler then moves
/// vectors there. In other builds it does not, which tests check, and overwriting would take longer
/// than sealing a short record.
#[inline(always)]
fn leaving_nothing(mut work: impl FnMut()) {
    #[cfg(lanes_large_frames)]
    stack::wipe_after(&mut work);
    #[cfg(not(lanes_large_frames))]
    work();
}

/// The entries for the processor's instructions.
enum Avx512 {}

impl Entries for Avx512 {
    unsafe fn expand(place: &mut Key, key: &[u8]) {
        // SAFETY: the caller's promise.
        unsafe { avx512::aes_gcm_expand(place, key) };
    }

    unsafe fn absorb(key: &Key, aad: &[u8], last: &mut [u8; 16]) {
        // SAFETY: the caller's promise.
        unsafe { avx512::aes_gcm_absorb(key, aad, last) };
    }

    #[inline(always)]
    unsafe fn short<const SEAL: bool>(key: &Key, message: &Message<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            if SEAL {
                avx512::aes_gcm_seal_short(key, message);
            } else {
                avx512::aes_gcm_open_short(key, message);
            }
        }
    }

    #[inline(always)]
    unsafe fn long<const SEAL: bool>(key: &Key, message: &Message<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            match (SEAL, key.rounds) {
                (true, 10) => avx512::aes_gcm_seal_long_128(key, message),
                (true, _) => avx512::aes_gcm_seal_long_256(key, message),
                (false, 10) => avx512::aes_gcm_open_long_128(key, message),
                (false, _) => avx512::aes_gcm_open_long_256(key, message),
            }
        }
    }

    #[inline(always)]
    unsafe fn wiping_after(work: &mut dyn FnMut()) {
        // SAFETY: the caller's promise.
        unsafe { stack::wipe_steps_after(STEPS, work) };
    }
}
