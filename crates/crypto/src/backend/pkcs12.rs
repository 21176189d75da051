//! PKCS#12 files.

use core::ffi::{CStr, c_void};
use core::ptr;

use super::failed;
use super::handle::{Bytes, Handle, Object};
use super::lc;
use super::memory::wipe;
use crate::error::{CryptoError, Pkcs12Error};

/// The contents of a file: the private key, if there is one, as PKCS#8; and the certificates, in
/// the order of the file.
pub(crate) struct Contents {
    pub(crate) key: Option<Bytes>,
    pub(crate) certificates: Vec<Vec<u8>>,
}

/// Verifies the MAC of `file` with `password`, and decrypts the contents.
pub(crate) fn open(file: &[u8], password: &CStr) -> Result<Contents, Pkcs12Error> {
    // SAFETY: the result is null, or we own it.
    let stack = unsafe { Handle::new(lc::OPENSSL_sk_new_null(), CryptoError::Internal)? };
    let mut input = lc::CBS { data: file.as_ptr(), len: file.len() };
    let mut key = ptr::null_mut();
    // SAFETY: `input` covers `file`, and `password` ends in NUL. A `STACK_OF(X509)` is an
    // `OPENSSL_STACK` of pointers to X509, and `stack` is one without elements.
    let opened = unsafe {
        // Errors of other users of AWS-LC on this thread would be taken for the reason.
        lc::ERR_clear_error();
        let stack = stack.as_ptr().cast();
        lc::PKCS12_get_key_and_certs(&raw mut key, stack, &raw mut input, password.as_ptr())
    };
    if opened != 1 {
        return Err(reason());
    }
    let key = match key.is_null() {
        true => None,
        // SAFETY: `key` is a valid object, and we own it.
        false => Some(to_pkcs8(&unsafe { Handle::new(key, CryptoError::Internal)? })?),
    };
    Ok(Contents { key, certificates: certificates(&stack)? })
}

/// The reason of the first error, which is the most specific one. Clears the error queue.
fn reason() -> Pkcs12Error {
    // SAFETY: the call only reads the error queue of the calling thread.
    let first = unsafe { lc::ERR_peek_error() };
    let reason = match (lc::ERR_GET_LIB(first), lc::ERR_GET_REASON(first)) {
        (lc::ERR_LIB_PKCS12, lc::PKCS12_R_MAC_VERIFY_FAILURE) => Pkcs12Error::WrongPassword,
        (lc::ERR_LIB_PKCS8, lc::PKCS8_R_MISSING_MAC) => Pkcs12Error::NoMac,
        (lc::ERR_LIB_PKCS8, lc::PKCS8_R_MULTIPLE_PRIVATE_KEYS_IN_PKCS12) => {
            Pkcs12Error::SeveralKeys
        }
        (lc::ERR_LIB_PKCS8, lc::PKCS8_R_INVALID_CHARACTERS) => Pkcs12Error::UnsupportedCharacter,
        (lc::ERR_LIB_PKCS8, reason) if UNSUPPORTED.contains(&reason) => Pkcs12Error::Unsupported,
        (lc::ERR_LIB_DIGEST, _)
        | (lc::ERR_LIB_EVP, lc::EVP_R_UNSUPPORTED_ALGORITHM)
        | (lc::ERR_LIB_EC, lc::EC_R_UNKNOWN_GROUP) => Pkcs12Error::Unsupported,
        _ => Pkcs12Error::Malformed,
    };
    failed(CryptoError::Internal);
    reason
}

/// The reasons of AWS-LC for an algorithm or a form that it does not have.
const UNSUPPORTED: [i32; 13] = [
    lc::PKCS8_R_METHOD_NOT_SUPPORTED,
    lc::PKCS8_R_PKCS12_PUBLIC_KEY_INTEGRITY_NOT_SUPPORTED,
    lc::PKCS8_R_UNKNOWN_ALGORITHM,
    lc::PKCS8_R_UNKNOWN_CIPHER,
    lc::PKCS8_R_UNKNOWN_CIPHER_ALGORITHM,
    lc::PKCS8_R_UNKNOWN_DIGEST,
    lc::PKCS8_R_UNKNOWN_HASH,
    lc::PKCS8_R_UNSUPPORTED_CIPHER,
    lc::PKCS8_R_UNSUPPORTED_KEYLENGTH,
    lc::PKCS8_R_UNSUPPORTED_KEY_DERIVATION_FUNCTION,
    lc::PKCS8_R_UNSUPPORTED_PRF,
    lc::PKCS8_R_UNSUPPORTED_PRIVATE_KEY_ALGORITHM,
    lc::PKCS8_R_UNSUPPORTED_SALT_TYPE,
];

/// The encoding fails for kinds of keys that AWS-LC reads but does not write, such as RSA keys that
/// are restricted to PSS.
fn to_pkcs8(key: &Handle<lc::EVP_PKEY>) -> Result<Bytes, Pkcs12Error> {
    // SAFETY: a `CBB` is plain data, and zeros are its state before `CBB_init`.
    let mut builder: lc::CBB = unsafe { core::mem::zeroed() };
    let (mut start, mut len) = (ptr::null_mut(), 0);
    // SAFETY: the key is valid; `builder` is initialised first, and not moved. `CBB_cleanup` may
    // be called on a builder that failed at any point. After `CBB_finish` the block is ours.
    unsafe {
        let written = lc::CBB_init(&raw mut builder, 0) == 1
            && lc::EVP_marshal_private_key(&raw mut builder, key.as_ptr()) == 1
            && lc::CBB_finish(&raw mut builder, &raw mut start, &raw mut len) == 1;
        if !written {
            lc::CBB_cleanup(&raw mut builder);
            failed(CryptoError::Internal);
            return Err(Pkcs12Error::Unsupported);
        }
        Ok(Bytes::new(start, len)?)
    }
}

fn certificates(stack: &Handle<lc::OPENSSL_STACK>) -> Result<Vec<Vec<u8>>, CryptoError> {
    // SAFETY: the stack is valid.
    let count = unsafe { lc::OPENSSL_sk_num(stack.as_ptr()) };
    (0..count)
        .map(|index| {
            let mut start = ptr::null_mut();
            // SAFETY: the stack is valid and contains valid certificates, which it owns. As
            // `start` is null, the encoding is a new block, which is ours.
            unsafe {
                let certificate = lc::OPENSSL_sk_value(stack.as_ptr(), index).cast();
                let len = lc::i2d_X509(certificate, &raw mut start);
                let len = usize::try_from(len).map_err(|_| failed(CryptoError::Internal))?;
                Ok(Bytes::new(start, len)?.to_vec())
            }
        })
        .collect()
}

/// The hash function of a file's MAC.
#[derive(Clone, Copy)]
pub(crate) struct MacHash(&'static lc::EVP_MD);

impl MacHash {
    /// Reads an encoded AlgorithmIdentifier. `None` if AWS-LC does not have the function.
    pub(crate) fn from_algorithm(encoded: &[u8]) -> Option<Self> {
        let mut input = lc::CBS { data: encoded.as_ptr(), len: encoded.len() };
        // SAFETY: `input` covers `encoded`. The result is null, or a static object.
        let hash = unsafe { lc::EVP_parse_digest_algorithm(&raw mut input).as_ref() };
        hash.map(Self).ok_or_else(|| failed(CryptoError::Internal)).ok()
    }

    /// The length of the blocks that the function processes.
    pub(crate) fn block_len(self) -> usize {
        // SAFETY: the object is valid.
        unsafe { lc::EVP_MD_block_size(self.0) }
    }

    /// The digest of `message`, hashed again until the function was applied `count` times, at
    /// least once.
    pub(crate) fn iterated(self, message: &[u8], count: u32) -> Option<Vec<u8>> {
        let (mut digest, mut next, mut len) = ([0; MAX_DIGEST], [0; MAX_DIGEST], 0);
        let mut hash = |input: &[u8], out: &mut [u8; MAX_DIGEST]| {
            // SAFETY: `input` is valid for reads of its length, and `out` for writes of the longest
            // digest; they do not overlap.
            let hashed = unsafe {
                let (input, input_len) = (input.as_ptr().cast(), input.len());
                let len = &raw mut len;
                lc::EVP_Digest(input, input_len, out.as_mut_ptr(), len, self.0, ptr::null_mut())
            };
            (hashed == 1).then_some(usize::try_from(len).unwrap_or(0))
        };
        let len = hash(message, &mut digest)?;
        for _ in 1..count {
            hash(digest.get(..len)?, &mut next)?;
            core::mem::swap(&mut digest, &mut next);
        }
        let result = digest.get(..len)?.to_vec();
        wipe(&mut digest);
        wipe(&mut next);
        Some(result)
    }

    /// HMAC with this function. RFC 2104
    pub(crate) fn mac(self, key: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let (mut mac, mut len) = ([0; MAX_DIGEST], 0);
        // SAFETY: the slices are valid for reads of their lengths, and `mac` for writes of the
        // longest digest.
        let made = unsafe {
            let (message, message_len) = (message.as_ptr(), message.len());
            let (key, key_len) = (key.as_ptr().cast(), key.len());
            let (out, len) = (mac.as_mut_ptr(), &raw mut len);
            lc::HMAC(self.0, key, key_len, message, message_len, out, len)
        };
        let len = usize::try_from(len).ok().filter(|_| !made.is_null())?;
        mac.get(..len).map(<[u8]>::to_vec)
    }
}

/// EVP_MAX_MD_SIZE
const MAX_DIGEST: usize = 64;

/// A stack of certificates.
impl Object for lc::OPENSSL_STACK {
    unsafe fn free(object: *mut Self) {
        unsafe extern "C" fn free_certificate(certificate: *mut c_void) {
            // SAFETY: the stack owns its certificates.
            unsafe { lc::X509_free(certificate.cast()) };
        }
        // SAFETY: the caller's promise; the elements are certificates.
        unsafe { lc::sk_pop_free(object, Some(free_certificate)) };
    }
}
