//! A buffer for each thread, used while data is moved, so that waiting connections have none.

use std::cell::Cell;

/// The number of bytes read at once: they fill four records of maximum size.
pub(crate) const READ_SIZE: usize = 64 * 1024;

/// The number of bytes read at once from a socket whose data is accepted as fast as it arrives.
/// Fewer and longer system calls take less time, but a writer that blocks holds what was read.
pub(crate) const LONG_READ_SIZE: usize = 256 * 1024;

/// Size for records of a client: space to decrypt four of maximum size, the last with its inner
/// content type and padding. RFC 9846 5.2
pub(crate) const RECORDS_SIZE: usize = READ_SIZE + 256;

const BUFFER_SIZE: usize = LONG_READ_SIZE;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Calls `use_buffer` with [`BUFFER_SIZE`] initialized bytes. The buffer is not cleared between
/// calls.
pub(crate) fn with_buffer<T>(use_buffer: impl FnOnce(&mut [u8]) -> T) -> T {
    // In a nested call and while the thread exits there is no buffer, so one is allocated.
    let mut buffer = BUFFER.try_with(Cell::take).unwrap_or_default();
    if buffer.len() < BUFFER_SIZE {
        buffer.resize(BUFFER_SIZE, 0);
    }
    let result = use_buffer(&mut buffer);
    let _ = BUFFER.try_with(|kept| kept.set(buffer));
    result
}
