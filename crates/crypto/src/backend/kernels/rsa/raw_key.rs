//! AWS-LC's operations on the numbers of a key, with which the kernel is compared.
//!
//! See `self_test.rs`, which compares them at run time.

use super::key_parts::{KeyParts, parts_for_kernel};
use super::number::MODULUS_LEN;
use crate::backend::check;
use crate::backend::handle::Handle;
use crate::backend::lc;
use crate::error::CryptoError;

/// A key that uses AWS-LC only, with which the kernel is compared. Its exponent is 65537.
pub(in crate::backend) struct RawKey(Handle<lc::RSA>);

impl RawKey {
    /// A public key.
    pub(in crate::backend) fn public(n: &[u8; MODULUS_LEN]) -> Result<Self, CryptoError> {
        let (n, e) = (big(n)?, big(&[1, 0, 1])?);
        // SAFETY: the numbers are valid, and are copied; we own the result.
        unsafe {
            let key = lc::RSA_new_public_key(n.as_ptr(), e.as_ptr());
            Handle::new(key, CryptoError::InvalidKey).map(Self)
        }
    }

    /// The private key with these primes.
    pub(in crate::backend) fn private(
        p: &[u8; MODULUS_LEN / 2],
        q: &[u8; MODULUS_LEN / 2],
    ) -> Result<Self, CryptoError> {
        let (p, q, e) = (big(p)?, big(q)?, big(&[1, 0, 1])?);
        let [n, p_less_1, q_less_1, d_p, d_q, d] =
            [big(&[])?, big(&[])?, big(&[])?, big(&[])?, big(&[])?, big(&[])?];
        let q_inverse = big(&[])?;
        let one = big(&[1])?;
        // SAFETY: the numbers and the context are valid; RSA_new_private_key copies its arguments,
        // and we own the result.
        unsafe {
            let context = Handle::new(lc::BN_CTX_new(), CryptoError::Internal)?;
            let context = context.as_ptr();
            let (p, q, e) = (p.as_ptr(), q.as_ptr(), e.as_ptr());
            let check = |code| check(code, CryptoError::Internal);
            let inverse = |out: &Handle<lc::BIGNUM>, of: *mut lc::BIGNUM, modulus| {
                check(i32::from(!lc::BN_mod_inverse(out.as_ptr(), of, modulus, context).is_null()))
            };
            check(lc::BN_sub(p_less_1.as_ptr(), p, one.as_ptr()))?;
            check(lc::BN_sub(q_less_1.as_ptr(), q, one.as_ptr()))?;
            check(lc::BN_mul(n.as_ptr(), p_less_1.as_ptr(), q_less_1.as_ptr(), context))?;
            inverse(&d, e, n.as_ptr())?;
            inverse(&d_p, e, p_less_1.as_ptr())?;
            inverse(&d_q, e, q_less_1.as_ptr())?;
            inverse(&q_inverse, q, p)?;
            check(lc::BN_mul(n.as_ptr(), p, q, context))?;
            let key = lc::RSA_new_private_key(
                n.as_ptr(),
                e,
                d.as_ptr(),
                p,
                q,
                d_p.as_ptr(),
                d_q.as_ptr(),
                q_inverse.as_ptr(),
            );
            Handle::new(key, CryptoError::InvalidKey).map(Self)
        }
    }

    /// The modulus and the other parts, if the kernel supports the key.
    pub(in crate::backend) fn parts(&self) -> Option<([u8; MODULUS_LEN], Box<KeyParts>)> {
        parts_for_kernel(&self.0)
    }

    /// `signature^65537` modulo `n`, or an error if the signature is not less than `n`.
    pub(in crate::backend) fn recover(
        &self,
        signature: &[u8; MODULUS_LEN],
    ) -> Result<[u8; MODULUS_LEN], CryptoError> {
        self.transform(lc::RSA_verify_raw, signature)
    }

    /// `block^d` modulo `n`, or an error if the block is not less than `n`.
    pub(in crate::backend) fn sign(
        &self,
        block: &[u8; MODULUS_LEN],
    ) -> Result<[u8; MODULUS_LEN], CryptoError> {
        self.transform(lc::RSA_sign_raw, block)
    }

    fn transform(
        &self,
        operation: RawOperation,
        input: &[u8; MODULUS_LEN],
    ) -> Result<[u8; MODULUS_LEN], CryptoError> {
        let (mut output, mut len) = ([0; MODULUS_LEN], 0);
        // SAFETY: the key is valid; input and output are passed with their lengths.
        let code = unsafe {
            operation(
                self.0.as_ptr(),
                &raw mut len,
                output.as_mut_ptr(),
                output.len(),
                input.as_ptr(),
                input.len(),
                lc::RSA_NO_PADDING,
            )
        };
        check(code, CryptoError::Rejected)?;
        Ok(output)
    }
}

/// The type of RSA_sign_raw and RSA_verify_raw.
type RawOperation =
    unsafe extern "C" fn(*mut lc::RSA, *mut usize, *mut u8, usize, *const u8, usize, i32) -> i32;

/// The number with these big-endian bytes.
pub(super) fn big(bytes: &[u8]) -> Result<Handle<lc::BIGNUM>, CryptoError> {
    // SAFETY: the bytes are passed with their length; we own the result.
    unsafe {
        let number = lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), core::ptr::null_mut());
        Handle::new(number, CryptoError::Internal)
    }
}
