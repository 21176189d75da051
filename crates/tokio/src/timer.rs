//! Timers of the current tokio runtime, if it has timers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Handle;

/// Makes a timer; `None` outside of a tokio runtime and in a runtime without timers.
///
/// Tokio has no query for timers: in a runtime that was built without `enable_time`, making one
/// panics. The panic is caught here, so that the caller returns an error. The panic hook of the
/// program still reports it.
pub(crate) fn make_timer<T>(make: impl FnOnce() -> T) -> Option<T> {
    Handle::try_current().ok()?;
    catch_unwind(AssertUnwindSafe(make)).ok()
}
