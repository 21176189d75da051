//! Shared handles: immutable, counted, and used by any number of threads.

use core::mem::ManuallyDrop;
use std::sync::Arc;

use super::Result;
use crate::status::codes::TERCEL_MISUSE_NULL_POINTER;

/// Creates a handle with one reference.
pub(crate) fn new<T: Send + Sync>(value: T) -> *const T {
    Arc::into_raw(Arc::new(value))
}

/// Returns another reference to the content of a handle.
///
/// # Safety
/// The caller's duty for `handle`.
pub(crate) unsafe fn get<T>(handle: *const T) -> Result<Arc<T>> {
    if handle.is_null() {
        return Err(TERCEL_MISUSE_NULL_POINTER);
    }
    // SAFETY: by this function's contract, the pointer is from `new` and has a reference, which
    // stays with the caller.
    let arc = ManuallyDrop::new(unsafe { Arc::from_raw(handle) });
    Ok(Arc::clone(&arc))
}

/// Adds a reference to a handle, and returns the handle. NULL is returned unchanged.
///
/// # Safety
/// The caller's duty for `handle`.
pub(crate) unsafe fn retain<T>(handle: *const T) -> *const T {
    if !handle.is_null() {
        // SAFETY: by this function's contract, the pointer is from `new` and has a reference.
        unsafe { Arc::increment_strong_count(handle) }
    }
    handle
}

/// Removes a reference from a handle; the last one frees it. NULL has no effect.
///
/// # Safety
/// The caller's duty for `handle`; the removed reference is not used again.
pub(crate) unsafe fn release<T>(handle: *const T) -> Result<()> {
    if !handle.is_null() {
        // SAFETY: by this function's contract, the pointer is from `new` and has a reference.
        drop(unsafe { Arc::from_raw(handle) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reference_frees_the_content() {
        let content = Arc::new(());
        let handle = new(Arc::clone(&content));
        // SAFETY: the handle is from `new`; two references are made and two removed.
        unsafe {
            let same = retain(handle);
            release(handle).unwrap();
            assert_eq!(Arc::strong_count(&content), 2);
            drop(get(same));
            release(same).unwrap();
            release(core::ptr::null::<u8>()).unwrap();
        }
        assert_eq!(Arc::strong_count(&content), 1);
    }
}
