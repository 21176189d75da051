//! One buffer for a thread, lent while bytes move.
//!
//! Must not know: what the bytes are. Next: [`crate::relay`].

use std::cell::Cell;

/// What four records of the largest size carry: so much of a backend's fills them, and no fifth one.
pub(crate) const CONTENT: usize = 64 * 1024;

/// Room to open four such records into, of which the last has its inner type behind it too. RFC 9846 5.2
pub(crate) const OPENED: usize = CONTENT + 256;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Lets `use_buffer` have [`OPENED`] initialised bytes. What it leaves there, others may find.
pub(crate) fn lend<T>(use_buffer: impl FnOnce(&mut [u8]) -> T) -> T {
    // A thread that ends has none any more; nor has one that lends already.
    let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
    if buffer.len() < OPENED {
        buffer.resize(OPENED, 0);
    }
    let result = use_buffer(&mut buffer);
    let _ = BUFFER.try_with(|kept| kept.set(buffer));
    result
}
