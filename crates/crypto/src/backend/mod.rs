//! The only home of `unsafe`: AWS-LC, wrapped call by call, and hash lanes.
//!
//! What it is for: turning foreign functions and vector instructions into safe functions. What it must not know: anything a
//! safe module could decide, such as which algorithm suits which key. Where to look next: one
//! file per family of calls.
//!
//! # Why this is sound
//!
//! Every function that leaves this module is safe to call with any arguments. The argument rests
//! on these rules, which each block's SAFETY line refers to.
//!
//! 1. **Pointers come from slices.** A pointer is passed with the length of the slice it was
//!    taken from; where a foreign function takes no length, the parameter is an array or the
//!    length is asserted first. An empty slice's pointer may dangle: AWS-LC reads nothing through
//!    a pointer whose length is zero.
//! 2. **Aliasing is decided by borrows.** Outputs are `&mut`, so they overlap nothing. Where input
//!    and output are the same memory, both pointers are derived from the one `&mut` and AWS-LC's
//!    documentation allows it.
//! 3. **Return codes are looked at.** [`check`] and [`non_null`] turn a failure into an error and
//!    clear AWS-LC's per-thread error queue, which would otherwise keep heap blocks. The hash
//!    functions are the exception: they return 1 always, by their documentation, and are asserted
//!    in debug builds only.
//! 4. **Objects have one owner.** Heap objects live in a type ([`handle`]) that frees them once, on
//!    drop, or drops the one reference it holds.
//! 5. **Contexts stay put or are plain data.** `EVP_AEAD_CTX` lives in a box from before its
//!    initialisation to after its clean-up. `SHA256_CTX` and `SHA512_CTX` are plain data (numbers
//!    and a block), may be copied and moved, and their fields are public in `openssl/sha.h`. Both
//!    kinds are `MaybeUninit`, because AWS-LC defines only the part of them it will read.
//! 6. **Threads.** `Send` and `Sync` are implemented where AWS-LC promises that a key may be used
//!    by several threads as long as none modifies it; after construction nothing here does.
//!    RSA's lazily cached values are guarded by AWS-LC's own lock.
//! 7. **Wiping.** AWS-LC's `OPENSSL_free` wipes what it frees. What we hold ourselves is wiped by
//!    `OPENSSL_cleanse`, which the compiler cannot see through.
//! 8. **Vector instructions** stand in [`lanes`] only, and run where the processor has said that it has them.
//! 9. **The stack below a frame** is written in `stack.rs` only, after the functions that had it have returned.

pub(crate) mod aead;
#[cfg(feature = "bench-bare")]
pub mod bare;
pub(crate) mod ec;
pub(crate) mod ed25519;
pub(crate) mod handle;
pub(crate) mod kem;
pub(crate) mod lanes;
pub(crate) mod memory;
pub(crate) mod ml_dsa;
pub(crate) mod pkey;
pub(crate) mod rsa;
pub(crate) mod sha;
#[cfg(lanes_avx2)]
pub(crate) mod stack;
pub(crate) mod wiped;
pub(crate) mod x25519;

use core::ffi::c_int;
use core::ptr::NonNull;

use crate::CryptoError;

/// Turns AWS-LC's "1 is success" into a `Result`.
#[inline]
fn check(code: c_int, error: CryptoError) -> Result<(), CryptoError> {
    if code == 1 { Ok(()) } else { Err(failed(error)) }
}

/// Turns AWS-LC's "null is failure" into a `Result`.
#[inline]
fn non_null<T>(pointer: *mut T, error: CryptoError) -> Result<NonNull<T>, CryptoError> {
    NonNull::new(pointer).ok_or_else(|| failed(error))
}

/// Appends what `write` writes to the front of a room of `most` bytes: as many bytes as it says, or none if it
/// fails.
fn append(
    out: &mut Vec<u8>,
    most: usize,
    write: impl FnOnce(&mut [u8]) -> Result<usize, CryptoError>,
) -> Result<(), CryptoError> {
    let start = out.len();
    out.resize(start + most, 0);
    let written = write(&mut out[start..]);
    out.truncate(start + *written.as_ref().unwrap_or(&0));
    written.map(|_| ())
}

#[cold]
fn failed(error: CryptoError) -> CryptoError {
    // SAFETY: touches the calling thread's error queue only.
    unsafe { aws_lc_sys::ERR_clear_error() };
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AeadAlgorithm, AeadKey, KeyKind, PublicKey, SigningKey};

    #[test]
    fn failures_leave_nothing_in_the_error_queue() {
        let key = AeadKey::new(AeadAlgorithm::Aes128Gcm, &[1; 16]).unwrap();
        assert!(key.open(&[0; 12], b"", &[2; 32], &mut [0; 16]).is_err());
        assert!(SigningKey::from_der(b"no key").is_err());
        assert!(PublicKey::from_spki(b"no key").is_err());
        assert!(PublicKey::from_raw(KeyKind::EcdsaP256, &[4; 65]).is_err());
        // SAFETY: looks at the calling thread's error queue only.
        assert_eq!(unsafe { aws_lc_sys::ERR_peek_error() }, 0);
    }

    #[test]
    fn codes_other_than_one_are_failures() {
        assert_eq!(check(1, CryptoError::Rejected), Ok(()));
        for code in [0, -1, 2] {
            assert_eq!(check(code, CryptoError::Rejected), Err(CryptoError::Rejected));
        }
        assert_eq!(
            non_null(core::ptr::null_mut::<u8>(), CryptoError::Internal),
            Err(CryptoError::Internal)
        );
    }
}
