//! The only module with `unsafe`: AWS-LC, wrapped call by call, hash lanes, and kernels.
//!
//! The module turns foreign functions and vector instructions into safe functions, one file for
//! each family of calls. Decisions that need no `unsafe`, such as which algorithm fits a key, are
//! made in the modules above.
//!
//! # Why this is sound
//!
//! Every function that this module exports is safe to call with any arguments. The reasons are
//! these rules, to which the SAFETY comment of each block refers.
//!
//! 1. **Pointers come from slices.** A pointer is passed with the length of the slice it was
//!    taken from; where a foreign function takes no length, the parameter is an array or the
//!    length is asserted first. An empty slice's pointer may dangle: AWS-LC reads nothing through
//!    a pointer whose length is zero.
//! 2. **Borrows decide aliasing.** Outputs are `&mut`, so they overlap nothing. Where input
//!    and output are the same memory, both pointers are derived from the one `&mut` and AWS-LC's
//!    documentation allows it.
//! 3. **Return codes are checked.** [`check`] and [`non_null`] turn a failure into an error and
//!    clear AWS-LC's per-thread error queue, which would otherwise keep heap blocks. The hash
//!    functions are the exception: they return 1 always, by their documentation, and are asserted
//!    in debug builds only.
//! 4. **Objects have one owner.** Heap objects are stored in a type ([`handle`]) that frees them
//!    once, on drop, or drops the one reference it holds.
//! 5. **Contexts are never moved, or are plain data.** `EVP_AEAD_CTX` is in a box from before its
//!    initialisation to after its clean-up. `SHA256_CTX` and `SHA512_CTX` are plain data (numbers
//!    and a block), may be copied and moved, and their fields are public in `openssl/sha.h`. Both
//!    kinds are `MaybeUninit`, because AWS-LC defines only the part of them it will read.
//! 6. **Threads.** `Send` and `Sync` are implemented where AWS-LC promises that several threads
//!    may use a key as long as none modifies it; nothing here modifies a key after construction.
//!    RSA's lazily cached values are guarded by AWS-LC's own lock.
//! 7. **Wiping.** AWS-LC's `OPENSSL_free` wipes what it frees. Memory owned by this crate is wiped
//!    by `OPENSSL_cleanse`, which the compiler cannot see through.
//! 8. **Vector instructions** are used only in [`lanes`] and [`kernels`], and run only on
//!    processors that report them.
//! 9. **The stack below a frame** is written only in `stack.rs`, after the functions that used it
//!    have returned.

pub(crate) mod aead;
#[cfg(feature = "fips")]
pub(crate) mod approved_mac;
#[cfg(all(test, any(lanes_avx2, kernels)))]
mod client_requests;
mod digest_sign;
pub(crate) mod ec;
pub(crate) mod ed25519;
mod evp_aead;
#[cfg(feature = "fips")]
pub(crate) mod fips;
pub(crate) mod handle;
pub(crate) mod header_protection;
pub(crate) mod hpke;
pub(crate) mod kem;
pub(crate) mod kernels;
pub(crate) mod lanes;
pub(crate) mod memory;
pub(crate) mod ml_dsa;
pub(crate) mod pkcs12;
pub(crate) mod pkey;
pub(crate) mod random_nonce;
pub(crate) mod rsa;
pub(crate) mod secret;
pub(crate) mod self_tests;
pub(crate) mod sha;
#[cfg(any(lanes_avx2, kernels))]
pub(crate) mod stack;
pub(crate) mod wiped_future;
pub(crate) mod x25519;

use core::ffi::c_int;
use core::ptr::NonNull;

/// The bindings of AWS-LC: the library itself, or its FIPS module.
#[cfg(feature = "fips")]
use aws_lc_fips_sys as lc;
#[cfg(not(feature = "fips"))]
use aws_lc_sys as lc;

use crate::error::CryptoError;

/// Converts a return code, where 1 is success, to a `Result`.
#[inline]
fn check(code: c_int, error: CryptoError) -> Result<(), CryptoError> {
    if code == 1 { Ok(()) } else { Err(failed(error)) }
}

/// Converts a pointer, where null is failure, to a `Result`.
#[inline]
fn non_null<T>(pointer: *mut T, error: CryptoError) -> Result<NonNull<T>, CryptoError> {
    NonNull::new(pointer).ok_or_else(|| failed(error))
}

/// Appends the output of `write`, which is passed a buffer of `most` bytes and returns the number
/// of bytes written; appends nothing if it fails.
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
    // SAFETY: the call changes only the error queue of the calling thread.
    unsafe { lc::ERR_clear_error() };
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AeadAlgorithm, AeadKey, KeyKind, Pkcs12, PublicKey, SigningKey};

    #[test]
    fn failures_leave_nothing_in_the_error_queue() {
        let key = AeadKey::new(AeadAlgorithm::Aes128Gcm, &[1; 16]).unwrap();
        assert!(key.open(&[0; 12], b"", &[2; 32], &mut [0; 16]).is_err());
        assert!(SigningKey::from_der(b"no key").is_err());
        assert!(PublicKey::from_spki(b"no key").is_err());
        assert!(Pkcs12::open(b"no file", "").is_err());
        assert!(PublicKey::from_raw(KeyKind::EcdsaP256, &[4; 65]).is_err());
        // SAFETY: the call only reads the error queue of the calling thread.
        assert_eq!(unsafe { lc::ERR_peek_error() }, 0);
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
