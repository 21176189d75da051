//! Signatures of whole messages by the EVP interface, which hashes the message itself.
//!
//! ML-DSA has no other interface. The FIPS module approves the signatures of RSA and ECDSA only by
//! this one: see `rsa.rs` and `ec.rs`.

use core::ptr;

use super::lc;

use super::handle::Handle;
use super::{append, check};
use crate::error::CryptoError;

/// How a message is signed.
#[derive(Clone, Copy)]
pub(super) struct Method {
    /// The hash function, or null for an algorithm that includes its own.
    pub(super) md: *const lc::EVP_MD,
    /// Whether an RSA key signs by PSS.
    pub(super) is_pss: bool,
}

impl Method {
    /// For an algorithm that includes its hash function.
    pub(super) const WITHOUT_HASH: Self = Self { md: ptr::null(), is_pss: false };

    fn prepare(self, parameters: *mut lc::EVP_PKEY_CTX) -> Result<(), CryptoError> {
        if !self.is_pss {
            return Ok(());
        }
        // SAFETY: the caller passes the parameters of a context that it has just initialised. The
        // hash function of MGF1 is that of the message by default.
        unsafe {
            let code = lc::EVP_PKEY_CTX_set_rsa_padding(parameters, lc::RSA_PKCS1_PSS_PADDING);
            check(code, CryptoError::Internal)?;
            let code = lc::EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, SALT_LEN_OF_DIGEST);
            check(code, CryptoError::Internal)
        }
    }
}

/// Signs a message and appends the signature, of at most `most` bytes.
pub(super) fn sign(
    key: &Handle<lc::EVP_PKEY>,
    method: Method,
    message: &[u8],
    most: usize,
    out: &mut Vec<u8>,
) -> Result<(), CryptoError> {
    let context = message_context()?;
    append(out, most, |signature| {
        let (mut len, mut parameters) = (signature.len(), ptr::null_mut());
        // SAFETY: the context is new and takes its own reference to the key; it owns `parameters`;
        // `md` is null or static; both slices are passed with their lengths.
        unsafe {
            let code = lc::EVP_DigestSignInit(
                context.as_ptr(),
                &raw mut parameters,
                method.md,
                ptr::null_mut(),
                key.as_ptr(),
            );
            check(code, CryptoError::Internal)?;
            method.prepare(parameters)?;
            let code = lc::EVP_DigestSign(
                context.as_ptr(),
                signature.as_mut_ptr(),
                &raw mut len,
                message.as_ptr(),
                message.len(),
            );
            check(code, CryptoError::Internal)?;
        }
        Ok(len)
    })
}

/// Verifies a signature of a message.
pub(super) fn verify(
    key: &Handle<lc::EVP_PKEY>,
    method: Method,
    message: &[u8],
    signature: &[u8],
) -> Result<(), CryptoError> {
    let (context, mut parameters) = (message_context()?, ptr::null_mut());
    // SAFETY: as in `sign`; neither input is written to.
    unsafe {
        let code = lc::EVP_DigestVerifyInit(
            context.as_ptr(),
            &raw mut parameters,
            method.md,
            ptr::null_mut(),
            key.as_ptr(),
        );
        check(code, CryptoError::Internal)?;
        method.prepare(parameters)?;
        let code = lc::EVP_DigestVerify(
            context.as_ptr(),
            signature.as_ptr(),
            signature.len(),
            message.as_ptr(),
            message.len(),
        );
        check(code, CryptoError::Rejected)
    }
}

fn message_context() -> Result<Handle<lc::EVP_MD_CTX>, CryptoError> {
    // SAFETY: the result is null, or we own it.
    unsafe { Handle::new(lc::EVP_MD_CTX_new(), CryptoError::Internal) }
}

/// AWS-LC's value for "as long as the digest".
const SALT_LEN_OF_DIGEST: i32 = -1;
