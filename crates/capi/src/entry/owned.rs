//! Owned handles: created by a function, freed by another one, and used by one thread at a time.

use core::cell::UnsafeCell;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicU8, Ordering};

use super::Result;
use crate::status::codes::{
    TERCEL_INTERNAL_PANIC, TERCEL_MISUSE_HANDLE_IN_USE, TERCEL_MISUSE_NULL_POINTER,
};

/// The content of an owned handle, with a mark of its use.
///
/// A second thread that uses a handle at the same time gets an error, and so does a callback that
/// uses the handle for which it is called. If a panic interrupted a function, the handle only
/// returns errors from then on, and can be freed. A handle that is freed during its use, for
/// example by a callback, exists until the use ends.
///
/// `fixed` does not change: any number of threads can read it, also while the handle is in use.
pub(crate) struct Owned<T, F = ()> {
    state: AtomicU8,
    value: UnsafeCell<T>,
    fixed: F,
}

const FREE: u8 = 0;
const IN_USE: u8 = 1;
const POISONED: u8 = 2;
/// Added to the others: the end of the use frees the handle.
const FREED: u8 = 4;

/// A type of handles that `tercel.h` declares.
pub(crate) trait Handle: Sized {
    type Value: Send;
    type Fixed: Send + Sync;

    fn wrap(owned: Owned<Self::Value, Self::Fixed>) -> Self;
    fn owned(&self) -> &Owned<Self::Value, Self::Fixed>;
}

/// Makes a structure with one field a type of owned handles. The structure is written out, because
/// cbindgen does not see what macros make.
macro_rules! owned_handle {
    ($handle:ident, $value:ty) => {
        owned_handle!($handle, $value, ());
    };
    ($handle:ident, $value:ty, $fixed:ty) => {
        impl $crate::entry::owned::Handle for $handle {
            type Value = $value;
            type Fixed = $fixed;

            fn wrap(owned: $crate::entry::owned::Owned<$value, $fixed>) -> Self {
                Self(owned)
            }

            fn owned(&self) -> &$crate::entry::owned::Owned<$value, $fixed> {
                &self.0
            }
        }
    };
}

/// Creates a handle, which [`free`] frees.
pub(crate) fn new<H: Handle<Fixed = ()>>(value: H::Value) -> *mut H {
    with_fixed(value, ())
}

/// Creates a handle with a part that does not change.
pub(crate) fn with_fixed<H: Handle>(value: H::Value, fixed: H::Fixed) -> *mut H {
    let owned = Owned { state: AtomicU8::new(FREE), value: UnsafeCell::new(value), fixed };
    Box::into_raw(Box::new(H::wrap(owned)))
}

/// Frees a handle, at the end of its use if it is in use. NULL has no effect.
///
/// # Safety
/// The caller's duty for `handle`, which is not used again.
pub(crate) unsafe fn free<H: Handle>(handle: *mut H) -> Result<()> {
    if handle.is_null() {
        return Ok(());
    }
    // SAFETY: by this function's contract, the handle is from `new` and not freed.
    let before = unsafe { &*handle }.owned().state.fetch_or(FREED, Ordering::AcqRel);
    match before {
        // SAFETY: the handle is not in use, and by this function's contract it is not used again.
        FREE | POISONED => unsafe { delete(handle) },
        _ => {}
    }
    Ok(())
}

/// # Safety
/// The handle is from `new`. No reference to it exists, and it is not used again.
unsafe fn delete<H: Handle>(handle: *mut H) {
    // SAFETY: as this function's contract.
    drop(unsafe { Box::from_raw(handle) });
}

/// Calls `body` with the content of a handle.
///
/// # Safety
/// The caller's duty for `handle`.
pub(crate) unsafe fn with<H: Handle, R>(
    handle: *const H,
    body: impl FnOnce(&mut H::Value) -> Result<R>,
) -> Result<R> {
    // SAFETY: as this function's contract.
    let guard = unsafe { Use::begin(handle)? };
    let value = guard.value();
    // SAFETY: the state was FREE, so no other reference to the content exists, and no other is made
    // before the guard is dropped. The handle exists as long as the guard.
    let result = body(unsafe { &mut *value });
    guard.end();
    result
}

/// Calls `body` with the part of a handle that does not change.
///
/// # Safety
/// The caller's duty for `handle`.
pub(crate) unsafe fn with_fixed_part<H: Handle, R>(
    handle: *const H,
    body: impl FnOnce(&H::Fixed) -> Result<R>,
) -> Result<R> {
    if handle.is_null() {
        return Err(TERCEL_MISUSE_NULL_POINTER);
    }
    // SAFETY: by this function's contract, the handle is from `new` and not freed. The part is
    // never changed, and its type allows that several threads read it.
    body(unsafe { &(*handle).owned().fixed })
}

/// The use of a handle by one thread. If it is dropped before its end, the handle is poisoned.
struct Use<H: Handle>(*const H);

impl<H: Handle> Use<H> {
    /// # Safety
    /// The caller's duty for `handle`.
    unsafe fn begin(handle: *const H) -> Result<Self> {
        if handle.is_null() {
            return Err(TERCEL_MISUSE_NULL_POINTER);
        }
        // SAFETY: by this function's contract, the handle is from `new` and not freed. Only shared
        // references to it are made.
        let state = &unsafe { &*handle }.owned().state;
        match state.compare_exchange(FREE, IN_USE, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Self(handle)),
            Err(POISONED) => Err(TERCEL_INTERNAL_PANIC),
            Err(_) => Err(TERCEL_MISUSE_HANDLE_IN_USE),
        }
    }

    fn value(&self) -> *mut H::Value {
        // SAFETY: the handle is not freed before the end of this use.
        unsafe { &*self.0 }.owned().value.get()
    }

    fn end(self) {
        // The end is not repeated if freeing the handle panics.
        ManuallyDrop::new(self).leave(FREE);
    }

    /// Stores the state after the use, or frees the handle if that was demanded meanwhile.
    fn leave(&self, next: u8) {
        // SAFETY: the handle is not freed before the end of this use.
        let state = &unsafe { &*self.0 }.owned().state;
        if state.compare_exchange(IN_USE, next, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: the state is IN_USE and FREED: `free` has left it to this use to free the
            // handle. The handle is from `new`, whose pointer allows that.
            unsafe { delete(self.0.cast_mut()) }
        }
    }
}

impl<H: Handle> Drop for Use<H> {
    fn drop(&mut self) {
        self.leave(POISONED);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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

    struct Watched(Owned<Arc<()>, u32>);
    owned_handle!(Watched, Arc<()>, u32);

    #[test]
    fn a_handle_that_is_freed_in_its_use_exists_until_the_use_ends() {
        for panics in [false, true] {
            let content = Arc::new(());
            let handle = with_fixed::<Watched>(Arc::clone(&content), 1);
            // SAFETY: the handle is from `with_fixed`. It is used only before the end of its use.
            let status = entry(|| unsafe {
                with(handle, |value| {
                    free(handle).unwrap();
                    assert_eq!(Arc::strong_count(value), 2);
                    assert_eq!(with(handle, |_| Ok(())), Err(TERCEL_MISUSE_HANDLE_IN_USE));
                    if panics { panic!("on purpose") } else { Ok(()) }
                })
            });
            assert_eq!(status, if panics { TERCEL_INTERNAL_PANIC } else { TERCEL_OK });
            assert_eq!(Arc::strong_count(&content), 1);
        }
    }

    #[test]
    fn the_fixed_part_can_be_read_during_a_use_and_after_a_panic() {
        let handle = with_fixed::<Watched>(Arc::new(()), 7);
        // SAFETY: the handle is from `with_fixed`, and freed once.
        unsafe {
            let read = || with_fixed_part(handle, |fixed| Ok(*fixed));
            assert_eq!(with(handle, |_| read()), Ok(7));
            _ = entry(|| with(handle, |_| -> Result<()> { panic!("on purpose") }));
            assert_eq!(read(), Ok(7));
            free(handle).unwrap();
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
