//! Certificates.

use core::ffi::c_long;
use core::ptr;

use super::key::Key;
use crate::sys::evp::{EVP_PKEY_get_group_name, EVP_PKEY_get_security_bits, OBJ_txt2nid};
use crate::sys::x509::{
    X509, X509_check_private_key, X509_free, X509_get_extension_flags, X509_get_signature_info,
    X509_get0_pubkey, X509_up_ref, d2i_X509, i2d_X509,
};

super::owned! {
    /// A certificate.
    Certificate, X509, X509_free, X509_up_ref
}

impl Certificate {
    /// The pointer, for a caller that takes over a reference of its own.
    pub(crate) fn to_raw(&self) -> *mut X509 {
        core::mem::ManuallyDrop::new(self.clone()).as_ptr()
    }

    /// Parses the certificate at the beginning of these bytes. `None` if libcrypto refuses it.
    pub(crate) fn from_der(der: &[u8]) -> Option<Self> {
        Self::parse(der).map(|(certificate, _)| certificate)
    }

    /// Parses a certificate that has these bytes and no more.
    pub(crate) fn from_whole_der(der: &[u8]) -> Option<Self> {
        Self::parse(der).filter(|(_, is_whole)| *is_whole).map(|(certificate, _)| certificate)
    }

    /// Parses a certificate, and returns whether it has all bytes.
    fn parse(der: &[u8]) -> Option<(Self, bool)> {
        let mut start = der.as_ptr();
        let length = c_long::try_from(der.len()).ok()?;
        // SAFETY: `start` and `length` are those of `der`. A new object is returned.
        let parsed = unsafe { Self::from_raw(d2i_X509(ptr::null_mut(), &raw mut start, length)) };
        parsed.map(|certificate| (certificate, start == der.as_ptr_range().end))
    }

    /// The encoding of the certificate.
    pub(crate) fn to_der(&self) -> Option<Vec<u8>> {
        // SAFETY: the certificate exists; the function writes as many bytes as it returned before.
        super::encoding::encoded(|to| unsafe { i2d_X509(self.as_ptr(), to) })
    }

    /// Whether the private key belongs to the certificate. If not, an error is in the queue.
    pub(crate) fn has_key(&self, key: &Key) -> bool {
        // SAFETY: both objects exist during the call.
        unsafe { X509_check_private_key(self.as_ptr(), key.as_ptr()) == 1 }
    }

    /// libcrypto's number of the curve of an EC key. `None` for other keys.
    pub(crate) fn curve(&self) -> Option<i32> {
        const EC: i32 = 408;
        if self.key_type() != EC {
            return None;
        }
        let mut name = [0_u8; 64];
        let mut length = 0;
        // SAFETY: the certificate exists, and its key belongs to it. The name is written with a NUL
        // if there is room for both.
        let number = unsafe {
            let key = X509_get0_pubkey(self.as_ptr());
            let (to, room) = (name.as_mut_ptr().cast(), name.len());
            let found = EVP_PKEY_get_group_name(key, to, room, &raw mut length);
            if found == 1 { OBJ_txt2nid(name.as_ptr().cast()) } else { 0 }
        };
        Some(number).filter(|number| *number != 0)
    }

    /// The strength of the public key in bits. -1 if it is unknown.
    pub(crate) fn key_bits(&self) -> i32 {
        // SAFETY: the certificate exists, and its key belongs to it.
        unsafe {
            let key = X509_get0_pubkey(self.as_ptr());
            if key.is_null() { -1 } else { EVP_PKEY_get_security_bits(key) }
        }
    }

    /// Whether the certificate signs itself.
    pub(crate) fn is_self_signed(&self) -> bool {
        const SELF_SIGNED: u32 = 0x2000;
        // SAFETY: the certificate exists.
        unsafe { X509_get_extension_flags(self.as_ptr()) & SELF_SIGNED != 0 }
    }

    /// The strength of the signature in bits (-1 if it is unknown), and libcrypto's number of its
    /// digest, or of the signature if it has no digest. `None` for a certificate that signs itself.
    pub(crate) fn signature_strength(&self) -> Option<(i32, i32)> {
        if self.is_self_signed() {
            return None;
        }
        let (mut digest, mut algorithm, mut bits) = (0, 0, -1);
        // SAFETY: the certificate exists, and the numbers are variables.
        let known = unsafe {
            let (digest, algorithm, bits) = (&raw mut digest, &raw mut algorithm, &raw mut bits);
            X509_get_signature_info(self.as_ptr(), digest, algorithm, bits, ptr::null_mut()) == 1
        };
        let bits = if known { bits } else { -1 };
        Some((bits, if digest == 0 { algorithm } else { digest }))
    }

    /// The type of the public key, libcrypto's number of its algorithm. 0 if it cannot be decoded.
    pub(crate) fn key_type(&self) -> i32 {
        // SAFETY: the certificate exists, and its key belongs to it.
        unsafe {
            let key = X509_get0_pubkey(self.as_ptr());
            if key.is_null() { 0 } else { crate::sys::evp::EVP_PKEY_get_base_id(key) }
        }
    }
}
