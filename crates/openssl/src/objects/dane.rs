//! What the records of DANE are compared with: digests, public keys, and names of certificates.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint};
use core::ptr;

use super::certificate::Certificate;
use super::key::Key;
use crate::sys::crypto::CRYPTO_free;
use crate::sys::evp::{
    EVP_Digest, EVP_MD, EVP_MD_fetch, EVP_MD_free, EVP_MD_get_size, EVP_MD_get0_provider,
    EVP_MD_up_ref, OSSL_PROVIDER_get0_name, d2i_PUBKEY,
};
use crate::sys::x509::{
    X509_VERIFY_PARAM, X509_VERIFY_PARAM_get_hostflags, X509_VERIFY_PARAM_get0_email,
    X509_VERIFY_PARAM_get0_host, X509_VERIFY_PARAM_get1_ip_asc, X509_check_email, X509_check_host,
    X509_check_ip_asc, X509_get_X509_PUBKEY, i2d_X509_PUBKEY,
};

super::owned! {
    /// A digest algorithm.
    Digest, EVP_MD, EVP_MD_free, EVP_MD_up_ref
}

impl Digest {
    /// The digest with a name of libcrypto.
    pub(crate) fn named(name: &CStr) -> Option<Self> {
        // SAFETY: the name ends with a NUL. A reference is returned, or NULL.
        unsafe { Self::from_raw(EVP_MD_fetch(ptr::null_mut(), name.as_ptr(), ptr::null())) }
    }

    /// The name of the provider that has it.
    pub(crate) fn provider(&self) -> Option<&CStr> {
        // SAFETY: the object exists, and its provider as long; the name ends with a NUL.
        unsafe {
            let provider = EVP_MD_get0_provider(self.as_ptr());
            if provider.is_null() {
                return None;
            }
            let name = OSSL_PROVIDER_get0_name(provider);
            if name.is_null() { None } else { Some(CStr::from_ptr(name)) }
        }
    }

    /// The length of its results in bytes.
    pub(crate) fn length(&self) -> usize {
        // SAFETY: the object exists.
        usize::try_from(unsafe { EVP_MD_get_size(self.as_ptr()) }).unwrap_or(0)
    }

    pub(crate) fn compute(&self, data: &[u8]) -> Option<Vec<u8>> {
        /// `EVP_MAX_MD_SIZE`.
        const MOST: usize = 64;
        let (mut out, mut length): ([u8; MOST], c_uint) = ([0; MOST], 0);
        // SAFETY: the pointers and lengths are those of the slices; there is room for each digest.
        let done = unsafe {
            let (to, from) = (out.as_mut_ptr(), data.as_ptr().cast());
            EVP_Digest(from, data.len(), to, &raw mut length, self.as_ptr(), ptr::null_mut())
        };
        let length = usize::try_from(length).ok().filter(|_| done == 1)?;
        out.get(..length).map(<[u8]>::to_vec)
    }
}

impl Key {
    /// A public key in DER that has these bytes and no more.
    pub(crate) fn public_from_whole_der(der: &[u8]) -> Option<Self> {
        let mut start = der.as_ptr();
        let length = c_long::try_from(der.len()).ok()?;
        // SAFETY: `start` and `length` are those of `der`. A new key is returned, or NULL.
        let key = unsafe { Self::from_raw(d2i_PUBKEY(ptr::null_mut(), &raw mut start, length)) };
        key.filter(|_| start == der.as_ptr_range().end)
    }
}

impl Certificate {
    /// The encoding of the public key.
    pub(crate) fn key_to_der(&self) -> Option<Vec<u8>> {
        // SAFETY: the certificate exists, and its key belongs to it; the function writes as many
        // bytes as it returned before.
        super::encoding::encoded(|to| unsafe {
            i2d_X509_PUBKEY(X509_get_X509_PUBKEY(self.as_ptr()), to)
        })
    }

    /// Whether the certificate has one of the hosts of the parameters, or these have none.
    ///
    /// # Safety
    /// The parameters exist.
    pub(crate) unsafe fn has_host_of(&self, param: *mut X509_VERIFY_PARAM) -> bool {
        // SAFETY: as this function's contract. The names end with a NUL, and exist as long as the
        // parameters.
        unsafe {
            let flags = X509_VERIFY_PARAM_get_hostflags(param);
            let hosts = || (0..).map(|index| X509_VERIFY_PARAM_get0_host(param, index));
            let mut hosts = hosts().take_while(|host: &*mut c_char| !host.is_null()).peekable();
            hosts.peek().is_none()
                || hosts
                    .any(|host| X509_check_host(self.as_ptr(), host, 0, flags, ptr::null_mut()) > 0)
        }
    }

    /// Whether the certificate has the email address of the parameters, or these have none.
    ///
    /// # Safety
    /// The parameters exist.
    pub(crate) unsafe fn has_email_of(&self, param: *mut X509_VERIFY_PARAM) -> bool {
        // SAFETY: as this function's contract. The address ends with a NUL.
        unsafe {
            let email = X509_VERIFY_PARAM_get0_email(param);
            email.is_null() || X509_check_email(self.as_ptr(), email, 0, 0) > 0
        }
    }

    /// Whether the certificate has the IP address of the parameters, or these have none.
    ///
    /// # Safety
    /// The parameters exist.
    pub(crate) unsafe fn has_address_of(&self, param: *mut X509_VERIFY_PARAM) -> bool {
        // SAFETY: as this function's contract. The text ends with a NUL, and is freed once.
        unsafe {
            let address = X509_VERIFY_PARAM_get1_ip_asc(param);
            if address.is_null() {
                return true;
            }
            let result: c_int = X509_check_ip_asc(self.as_ptr(), address, 0);
            CRYPTO_free(address.cast(), ptr::null(), 0);
            result > 0
        }
    }
}
