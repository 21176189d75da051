//! Owned handles: created by a function, freed by another one, and used by one thread at a time.

use core::cell::UnsafeCell;
use core::mem;
use core::sync::atomic::{AtomicU8, Ordering};

use super::Result;
use crate::status::codes::{
    TERCEL_INTERNAL_PANIC, TERCEL_MISUSE_HANDLE_IN_USE, TERCEL_MISUSE_NULL_POINTER,
};

/// The content of an owned handle, with a mark of its use.
///
/// A second thread that uses a handle at the same time gets an error, and so does a callback that
/// uses the handle for which it is called. If a panic interrupted a function, the handle only
/// returns errors from then on, and can be freed.
pub(crate) struct Owned<T> {
    state: AtomicU8,
    value: UnsafeCell<T>,
}

const FREE: u8 = 0;
const IN_USE: u8 = 1;
const POISONED: u8 = 2;

/// A type of handles that `tercel.h` declares.
pub(crate) trait Handle: Sized {
    type Value;

    fn wrap(owned: Owned<Self::Value>) -> Self;
    fn owned(&self) -> &Owned<Self::Value>;
}

/// Makes a structure with one field a type of owned handles. The structure is written out, because
/// cbindgen does not see what macros make.
macro_rules! owned_handle {
    ($handle:ident, $value:ty) => {
        impl $crate::entry::owned::Handle for $handle {
            type Value = $value;

            fn wrap(owned: $crate::entry::owned::Owned<$value>) -> Self {
                Self(owned)
            }

            fn owned(&self) -> &$crate::entry::owned::Owned<$value> {
                &self.0
            }
        }
    };
}

/// Creates a handle, which [`free`] frees.
pub(crate) fn new<H: Handle>(value: H::Value) -> *mut H {
    let owned = Owned { state: AtomicU8::new(FREE), value: UnsafeCell::new(value) };
    Box::into_raw(Box::new(H::wrap(owned)))
}

/// Frees a handle. NULL has no effect.
///
/// # Safety
/// The caller's duty for `handle`; no other thread uses it.
pub(crate) unsafe fn free<H: Handle>(handle: *mut H) -> Result<()> {
    if !handle.is_null() {
        // SAFETY: the pointer is from `new`, and by this function's contract it is not used again.
        drop(unsafe { Box::from_raw(handle) });
    }
    Ok(())
}

/// Calls `body` with the content of a handle.
///
/// # Safety
/// The caller's duty for `handle`.
pub(crate) unsafe fn with<H: Handle, R>(
    handle: *const H,
    body: impl FnOnce(&mut H::Value) -> Result<R>,
) -> Result<R> {
    if handle.is_null() {
        return Err(TERCEL_MISUSE_NULL_POINTER);
    }
    // SAFETY: by this function's contract, the handle is from `new` and not freed. Only shared
    // references to it are made.
    let owned = unsafe { &*handle }.owned();
    let guard = Use::begin(&owned.state)?;
    // SAFETY: the state was FREE, so no other reference to the content exists, and no other is made
    // before the guard is dropped.
    let result = body(unsafe { &mut *owned.value.get() });
    guard.end();
    result
}

/// The use of a handle by one thread. If it is dropped before its end, the handle is poisoned.
struct Use<'a>(&'a AtomicU8);

impl<'a> Use<'a> {
    fn begin(state: &'a AtomicU8) -> Result<Self> {
        match state.compare_exchange(FREE, IN_USE, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Self(state)),
            Err(POISONED) => Err(TERCEL_INTERNAL_PANIC),
            Err(_) => Err(TERCEL_MISUSE_HANDLE_IN_USE),
        }
    }

    fn end(self) {
        self.0.store(FREE, Ordering::Release);
        mem::forget(self);
    }
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        self.0.store(POISONED, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::entry;
    use crate::status::codes::TERCEL_OK;

    struct Counter(Owned<u32>);
    owned_handle!(Counter, u32);

    #[test]
    fn a_handle_cannot_be_used_twice_at_once() {
        let handle = new::<Counter>(1);
        // SAFETY: the handle is from `new`, and freed once.
        unsafe {
            let nested = with(handle, |_| with(handle, |_| Ok(())));
            assert_eq!(nested, Err(TERCEL_MISUSE_HANDLE_IN_USE));
            assert_eq!(with(handle, |count| Ok(*count)), Ok(1));
            free(handle).unwrap();
        }
    }

    #[test]
    fn a_panic_poisons_all_handles_in_use() {
        let (outer, inner) = (new::<Counter>(1), new::<Counter>(2));
        // SAFETY: the handles are from `new`, and freed once.
        unsafe {
            let status =
                entry(|| with(outer, |_| with(inner, |_| -> Result<()> { panic!("on purpose") })));
            assert_eq!(status, TERCEL_INTERNAL_PANIC);
            for handle in [outer, inner] {
                assert_eq!(entry(|| with(handle, |_| Ok(()))), TERCEL_INTERNAL_PANIC);
                free(handle).unwrap();
            }
        }
    }

    #[test]
    fn null_is_an_error_and_can_be_freed() {
        // SAFETY: NULL is not used.
        unsafe {
            let none = core::ptr::null_mut::<Counter>();
            assert_eq!(entry(|| with(none, |_| Ok(()))), TERCEL_MISUSE_NULL_POINTER);
            free(none).unwrap();
        }
        assert_eq!(entry(|| Ok(())), TERCEL_OK);
    }
}
