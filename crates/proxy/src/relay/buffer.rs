//! A buffer for each thread, used while data is moved, so that waiting connections have none.

use std::cell::Cell;

/// The number of bytes read from a backend at once: they fill four records of maximum size.
pub(crate) const READ_SIZE: usize = 64 * 1024;

/// Size of the buffer: space to decrypt four records of maximum size, the last with its inner
/// content type and padding. RFC 9846 5.2
pub(crate) const BUFFER_SIZE: usize = READ_SIZE + 256;

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
