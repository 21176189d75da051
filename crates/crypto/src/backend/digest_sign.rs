//! Signatures of whole messages by the EVP interface, which hashes the message itself.
//!
//! ML-DSA has no other interface. The FIPS module approves the signatures of RSA and ECDSA only by
//! this one: see `rsa.rs` and `ec.rs`.

use core::ffi::c_int;
use core::ptr;

use super::handle::Handle;
use super::lc;
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

/// `EVP_DigestSignInit` or `EVP_DigestVerifyInit`.
type Init = unsafe extern "C" fn(
    *mut lc::EVP_MD_CTX,
    *mut *mut lc::EVP_PKEY_CTX,
    *const lc::EVP_MD,
    *mut lc::ENGINE,
    *mut lc::EVP_PKEY,
) -> c_int;

/// A context for one message.
fn message_context(
    key: &Handle<lc::EVP_PKEY>,
    method: Method,
    init: Init,
) -> Result<Handle<lc::EVP_MD_CTX>, CryptoError> {
    let mut parameters = ptr::null_mut();
    // SAFETY: the context is null, or new and ours; it takes its own reference to the key, and owns
    // `parameters`; `md` is null or static.
    unsafe {
        let context = Handle::new(lc::EVP_MD_CTX_new(), CryptoError::Internal)?;
        let (to, no_engine) = (&raw mut parameters, ptr::null_mut());
        let code = init(context.as_ptr(), to, method.md, no_engine, key.as_ptr());
        check(code, CryptoError::Internal)?;
        method.prepare(parameters)?;
        Ok(context)
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
    let context = message_context(key, method, lc::EVP_DigestSignInit)?;
    append(out, most, |signature| {
        let mut len = signature.len();
        // SAFETY: the context is initialised for signing; both slices are passed with their
        // lengths.
        let code = unsafe {
            lc::EVP_DigestSign(
                context.as_ptr(),
                signature.as_mut_ptr(),
                &raw mut len,
                message.as_ptr(),
                message.len(),
            )
        };
        check(code, CryptoError::Internal)?;
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
    let context = message_context(key, method, lc::EVP_DigestVerifyInit)?;
    // SAFETY: the context is initialised for verification; both slices are passed with their
    // lengths, and neither is written to.
    let code = unsafe {
        lc::EVP_DigestVerify(
            context.as_ptr(),
            signature.as_ptr(),
            signature.len(),
            message.as_ptr(),
            message.len(),
        )
    };
    check(code, CryptoError::Rejected)
}

/// AWS-LC's value for "as long as the digest".
const SALT_LEN_OF_DIGEST: i32 = -1;
