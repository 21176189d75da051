//! A pool of buffers per thread, which streams use while data moves.
//!
//! An idle connection has no such buffer, so ten thousand idle connections cost only the few
//! buffers of a thread.

use std::cell::RefCell;

use tercel::ReceiveBuffer;

/// Capacity for received bytes: four records of the largest size, so that bulk data needs few
/// reads.
const RECEIVED_CAPACITY: usize = 4 * MAX_RECORD;

/// Capacity for sealed bytes: four records of the largest size.
pub(crate) const SEALED_LENGTH: usize = 4 * MAX_RECORD + 256;

/// A record of the largest size. RFC 9846 5.2
const MAX_RECORD: usize = 16 * 1024 + 256;

/// The maximum number of buffers of each kind in a pool.
const MAX_POOLED: usize = 8;

#[derive(Default)]
struct Pool {
    received: Vec<ReceiveBuffer>,
    bytes: Vec<Vec<u8>>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// Takes an empty buffer for received bytes.
pub(crate) fn take_received() -> ReceiveBuffer {
    with(|pool| pool.received.pop())
        .unwrap_or_else(|| ReceiveBuffer::with_capacity(RECEIVED_CAPACITY))
}

/// Whether the buffer has the size of a pool buffer.
pub(crate) fn is_pooled(buffer: &ReceiveBuffer) -> bool {
    buffer.capacity() == RECEIVED_CAPACITY
}

/// Returns a buffer without unread bytes to the pool. Buffers of other sizes are dropped, because
/// reads into them would be small.
pub(crate) fn return_received(buffer: ReceiveBuffer) {
    if buffer.is_empty() && is_pooled(&buffer) {
        with(|pool| {
            if pool.received.len() < MAX_POOLED {
                pool.received.push(buffer);
            }
        });
    }
}

/// Takes a buffer of [`SEALED_LENGTH`] initialised bytes.
pub(crate) fn take_bytes() -> Vec<u8> {
    with(|pool| pool.bytes.pop()).unwrap_or_else(|| vec![0; SEALED_LENGTH])
}

/// Returns a buffer from [`take_bytes`]. It must contain no secret.
pub(crate) fn return_bytes(buffer: Vec<u8>) {
    if buffer.len() == SEALED_LENGTH {
        with(|pool| {
            if pool.bytes.len() < MAX_POOLED {
                pool.bytes.push(buffer);
            }
        });
    }
}

/// Calls `use_pool` with the pool of this thread. Returns the default value in a thread that is
/// ending, where the pool no longer exists and streams allocate buffers.
fn with<T: Default>(use_pool: impl FnOnce(&mut Pool) -> T) -> T {
    POOL.try_with(|pool| use_pool(&mut pool.borrow_mut())).unwrap_or_default()
}
