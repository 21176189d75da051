//! Bytes that belong to the library, as a function returns them.

use core::ptr;

/// Bytes that belong to a handle. They are valid until the next function that changes the handle,
/// or that frees it. If there are none, data is NULL and len is 0.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Bytes {
    /// The first byte.
    pub data: *const u8,
    /// The number of bytes.
    pub len: usize,
}

impl Bytes {
    pub(crate) const NONE: Self = Self { data: ptr::null(), len: 0 };
}

impl Default for Bytes {
    fn default() -> Self {
        Self::NONE
    }
}

impl Bytes {
    /// These bytes, or none if they are empty.
    pub(crate) fn some(bytes: &[u8]) -> Self {
        if bytes.is_empty() { Self::NONE } else { Self { data: bytes.as_ptr(), len: bytes.len() } }
    }

    /// These bytes, which may be empty, or none.
    pub(crate) fn optional(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self::NONE, |bytes| Self { data: bytes.as_ptr(), len: bytes.len() })
    }
}
