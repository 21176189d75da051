//! Distinguished names.

use crate::sys::x509::{
    X509_NAME, X509_NAME_cmp, X509_NAME_dup, X509_NAME_free, X509_get_subject_name, d2i_X509_NAME,
    i2d_X509_NAME,
};

use super::certificate::Certificate;

super::owned! {
    /// A distinguished name.
    Name, X509_NAME, X509_NAME_free
}

impl Name {
    /// Copies a name. `None` for NULL.
    ///
    /// # Safety
    /// The pointer is NULL, or to a name that exists during the call.
    pub(crate) unsafe fn copy(pointer: *const X509_NAME) -> Option<Self> {
        if pointer.is_null() {
            return None;
        }
        // SAFETY: as this function's contract. A new object is returned, or NULL.
        unsafe { Self::from_raw(X509_NAME_dup(pointer)) }
    }

    pub(crate) fn duplicate(&self) -> Option<Self> {
        // SAFETY: the name exists.
        unsafe { Self::copy(self.as_ptr()) }
    }

    /// The pointer, for a caller that takes the name over.
    pub(crate) fn into_raw(self) -> *mut X509_NAME {
        core::mem::ManuallyDrop::new(self).as_ptr()
    }

    /// The subject of a certificate.
    pub(crate) fn subject_of(certificate: &Certificate) -> Option<Self> {
        // SAFETY: the certificate and its name exist during the call.
        unsafe { Self::copy(X509_get_subject_name(certificate.as_ptr())) }
    }

    pub(crate) fn from_der(der: &[u8]) -> Option<Self> {
        let mut start = der.as_ptr();
        let length = der.len().try_into().ok()?;
        // SAFETY: `start` and `length` are those of `der`. A new object is returned, or NULL.
        unsafe { Self::from_raw(d2i_X509_NAME(core::ptr::null_mut(), &raw mut start, length)) }
    }

    pub(crate) fn to_der(&self) -> Option<Vec<u8>> {
        // SAFETY: the name exists; see `encoded`.
        super::encoding::encoded(|to| unsafe { i2d_X509_NAME(self.as_ptr(), to) })
    }

    pub(crate) fn equals(&self, other: &Self) -> bool {
        // SAFETY: both names exist.
        unsafe { X509_NAME_cmp(self.as_ptr(), other.as_ptr()) == 0 }
    }
}
