//! The common part of all functions: a panic does not reach the caller, pointers are checked, and
//! handles are used by one thread at a time.

pub mod bytes;
#[macro_use]
pub(crate) mod owned;
pub(crate) mod pointers;
pub(crate) mod shared;
pub(crate) mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::Status;
use crate::status::codes::{TERCEL_INTERNAL_PANIC, TERCEL_OK};

/// The result of a function's body. The error is the status that the function returns.
pub(crate) type Result<T> = core::result::Result<T, Status>;

/// Runs the body of a function that returns a status.
pub(crate) fn entry(body: impl FnOnce() -> Result<()>) -> Status {
    match caught(body) {
        Ok(()) => TERCEL_OK,
        Err(status) => status,
    }
}

/// Runs the body of a function that returns a value. After an error it returns the default.
pub(crate) fn value<T: Default>(body: impl FnOnce() -> Result<T>) -> T {
    caught(body).unwrap_or_default()
}

/// Runs a body, and turns a panic into an error.
///
/// The handles in use are then poisoned by [`owned::with`], so that nothing reads what a panic left
/// behind; all other values are dropped with the body.
fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(TERCEL_INTERNAL_PANIC))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(entry(|| panic!("on purpose")), TERCEL_INTERNAL_PANIC);
        assert_eq!(value(|| -> Result<usize> { panic!("on purpose") }), 0);
    }
}
