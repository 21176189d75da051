//! Private keys: exported for Tercel's own signatures where the key allows it, and signing by
//! libcrypto where it does not.

use core::ffi::c_void;
use core::ptr;

use tercel::wire::SignatureScheme;
use zeroize::Zeroizing;

use crate::sys::evp::{
    EVP_DigestSign, EVP_DigestSignInit, EVP_MD_CTX, EVP_MD_CTX_free, EVP_MD_CTX_new, EVP_PKEY,
    EVP_PKEY_CTX_set_rsa_padding, EVP_PKEY_CTX_set_rsa_pss_saltlen, EVP_PKEY_free, EVP_PKEY_new,
    EVP_PKEY_set1_RSA, EVP_PKEY_up_ref, EVP_PKEY2PKCS8, EVP_get_digestbyname, PKCS8_PRIV_KEY_INFO,
    PKCS8_PRIV_KEY_INFO_free, RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_DIGEST,
    i2d_PKCS8_PRIV_KEY_INFO,
};

super::owned! {
    /// A private or public key.
    Key, EVP_PKEY, EVP_PKEY_free, EVP_PKEY_up_ref
}

super::owned! {
    /// An exported private key.
    Exported, PKCS8_PRIV_KEY_INFO, PKCS8_PRIV_KEY_INFO_free
}

super::owned! {
    /// A computation of a signature.
    Computation, EVP_MD_CTX, EVP_MD_CTX_free
}

impl Key {
    /// A key with a reference to an RSA key. `None` for NULL.
    ///
    /// # Safety
    /// The pointer is NULL, or to an RSA key that exists during the call.
    pub(crate) unsafe fn of_rsa(rsa: *mut c_void) -> Option<Self> {
        // SAFETY: a new key is returned, or NULL; it counts another reference to the RSA key.
        unsafe {
            let key = Self::from_raw(EVP_PKEY_new())?;
            (!rsa.is_null() && EVP_PKEY_set1_RSA(key.as_ptr(), rsa) == 1).then_some(key)
        }
    }

    /// Exports the private key as PKCS #8. `None` if it cannot leave its provider or engine.
    pub(crate) fn to_pkcs8(&self) -> Option<Zeroizing<Vec<u8>>> {
        crate::errors::without_errors(|| {
            // SAFETY: the key exists. A new object is returned, or NULL.
            let exported = unsafe { Exported::from_raw(EVP_PKEY2PKCS8(self.as_ptr())) }?;
            // SAFETY: the object exists; see `encoded`.
            super::encoding::encoded(|to| unsafe { i2d_PKCS8_PRIV_KEY_INFO(exported.as_ptr(), to) })
                .map(Zeroizing::new)
        })
    }

    /// Signs with libcrypto. `None` if that fails; an error is then in the queue.
    pub(crate) fn sign(&self, scheme: SignatureScheme, content: &[u8]) -> Option<Vec<u8>> {
        let (digest, pss) = digest_of(scheme)?;
        // SAFETY: all objects exist during the calls, and lengths are those of the buffers.
        unsafe {
            let computation = Computation::from_raw(EVP_MD_CTX_new())?;
            let digest = digest.map_or(ptr::null(), |name| EVP_get_digestbyname(name.as_ptr()));
            let mut context = ptr::null_mut();
            let begun = EVP_DigestSignInit(
                computation.as_ptr(),
                &raw mut context,
                digest,
                ptr::null_mut(),
                self.as_ptr(),
            );
            if begun != 1 {
                return None;
            }
            if pss {
                let padded = EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) > 0;
                let salted = EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) > 0;
                if !(padded && salted) {
                    return None;
                }
            }
            let (data, length) = (content.as_ptr(), content.len());
            let mut room = 0;
            if EVP_DigestSign(computation.as_ptr(), ptr::null_mut(), &raw mut room, data, length)
                != 1
            {
                return None;
            }
            let mut signature = vec![0; room];
            let to = signature.as_mut_ptr();
            if EVP_DigestSign(computation.as_ptr(), to, &raw mut room, data, length) != 1 {
                return None;
            }
            signature.truncate(room);
            Some(signature)
        }
    }
}

/// The digest of a scheme, if it has one, and whether it is RSASSA-PSS.
fn digest_of(scheme: SignatureScheme) -> Option<(Option<&'static core::ffi::CStr>, bool)> {
    use SignatureScheme as S;
    Some(match scheme {
        S::ECDSA_SECP256R1_SHA256 | S::RSA_PKCS1_SHA256 => (Some(c"SHA256"), false),
        S::ECDSA_SECP384R1_SHA384 | S::RSA_PKCS1_SHA384 => (Some(c"SHA384"), false),
        S::ECDSA_SECP521R1_SHA512 | S::RSA_PKCS1_SHA512 => (Some(c"SHA512"), false),
        S::RSA_PSS_RSAE_SHA256 | S::RSA_PSS_PSS_SHA256 => (Some(c"SHA256"), true),
        S::RSA_PSS_RSAE_SHA384 | S::RSA_PSS_PSS_SHA384 => (Some(c"SHA384"), true),
        S::RSA_PSS_RSAE_SHA512 | S::RSA_PSS_PSS_SHA512 => (Some(c"SHA512"), true),
        S::ED25519 => (None, false),
        _ => return None,
    })
}
