//! The common part of all exported functions: no panic reaches the caller, and pointers to objects
//! are checked for NULL and counted as references during the call.

use core::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::lock::Place;

/// An object that programs know by its address, counted by references.
///
/// The address is that of an [`Arc`]: each reference that a program owns is a strong count.
pub(crate) trait Object: Sized {
    /// Called before a function uses the object.
    fn enter(&self) {}

    /// Called after a function has used the object.
    fn leave(&self) {}
}

/// The use of an object by a function.
pub(crate) struct Entered<'a, T: Object>(&'a T);

impl<'a, T: Object> Entered<'a, T> {
    pub(crate) fn new(object: &'a T) -> Self {
        object.enter();
        Self(object)
    }
}

impl<T: Object> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

thread_local! {
    /// The objects whose last reference this thread is dropping.
    static ENDING: Place<Vec<*const c_void>> = const { Place::new(Vec::new()) };
}

fn change_ending<T>(change: impl FnOnce(&mut Vec<*const c_void>) -> T) -> T {
    let mut ending = ENDING.with(Place::take);
    let result = change(&mut ending);
    // An empty list has no memory, so that none is left when the thread ends.
    if !ending.is_empty() {
        ENDING.with(|place| place.replace(ending));
    }
    result
}

/// The end of an object, which calls functions of the program: for a function that is called with
/// the object meanwhile, it does not exist. Counting another reference would drop it twice.
pub(crate) struct Ending(*const c_void);

impl Ending {
    pub(crate) fn new<T: Object>(object: &T) -> Self {
        let address = core::ptr::from_ref(object).cast();
        change_ending(|ending| ending.push(address));
        Self(address)
    }

    fn has(object: *const c_void) -> bool {
        change_ending(|ending| ending.contains(&object))
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        change_ending(|ending| ending.retain(|object| *object != self.0));
    }
}

/// The pointer for a program, which owns a reference.
pub(crate) fn give<T: Object>(object: Arc<T>) -> *mut T {
    Arc::into_raw(object).cast_mut()
}

/// Returns a reference of the callee's own to a program's object, so that the object exists until
/// the end of the call even if a callback frees it.
///
/// # Safety
/// The pointer is NULL, or from [`give`] and not freed.
pub(crate) unsafe fn object<T: Object>(pointer: *const T) -> Option<Arc<T>> {
    if pointer.is_null() || Ending::has(pointer.cast()) {
        return None;
    }
    // SAFETY: by this function's contract, the pointer is from `Arc::into_raw`, and the program's
    // reference still counts.
    unsafe {
        Arc::increment_strong_count(pointer);
        Some(Arc::from_raw(pointer))
    }
}

/// Takes back a program's reference to an object.
///
/// # Safety
/// The pointer is NULL, or from [`give`]; the program does not use this reference again.
pub(crate) unsafe fn take<T: Object>(pointer: *const T) -> Option<Arc<T>> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: as this function's contract.
    Some(unsafe { Arc::from_raw(pointer) })
}

/// Runs the body of a function. `None`, for a NULL object, and a panic give the default result.
pub(crate) fn run<T>(default: T, body: impl FnOnce() -> Option<T>) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Some(result)) => result,
        Ok(None) => default,
        Err(_) => {
            crate::errors::push_internal();
            default
        }
    }
}

/// Defines exported functions.
///
/// ```text
/// fn NAME(object: &Type, ...; argument: type, ...) -> type = default { body }
/// ```
///
/// Objects before the semicolon are passed as pointers by the program and arrive as references that
/// are counted during the call. The default is the result if one of them is NULL or the body
/// panics.
macro_rules! functions {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident($($object:ident: &$type:ty),*; $($argument:ident: $raw:ty),* $(,)?)
            -> $result:ty = $default:expr => $body:block
    )*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub(crate) unsafe extern "C" fn $name(
                $($object: *mut $type,)* $($argument: $raw,)*
            ) -> $result {
                $crate::entry::run($default, || {
                    $(
                        // SAFETY: the caller's duty, see the documentation of the crate.
                        let $object = unsafe { $crate::entry::object::<$type>($object) }?;
                        #[allow(unused_variables)]
                        let $object = &$object;
                        let _entered = $crate::entry::Entered::new(&**$object);
                    )*
                    #[allow(clippy::redundant_closure_call)]
                    Some((|| $body)())
                })
            }
        )*
    };
}
pub(crate) use functions;
