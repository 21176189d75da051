//! A pool of buffers per thread, which streams use while data moves.
//!
//! An idle connection has no such buffer, so ten thousand idle connections cost only the few
//! buffers of a thread.

use std::cell::RefCell;

use tercel::ReceiveBuffer;

/// Capacity for received bytes: four records of the largest size, so that bulk data needs few
/// reads.
const RECEIVED_CAPACITY: usize = 4 * MAX_RECORD;

/// The plaintext of the records that a buffer for sealed bytes has room for: four records of
/// maximum size, and sixteen.
pub(crate) const SHORT_PIECE: usize = 4 * MAX_PLAINTEXT;
pub(crate) const LONG_PIECE: usize = 16 * MAX_PLAINTEXT;

/// The lengths of buffers for sealed bytes, with room for a control message before the data.
const SHORT_SEALED: usize = 4 * MAX_RECORD + 256;
const LONG_SEALED: usize = 16 * MAX_RECORD + 256;

/// The most plaintext in a record. RFC 9846 5.1
const MAX_PLAINTEXT: usize = 16 * 1024;

/// A record of the largest size. RFC 9846 5.2
const MAX_RECORD: usize = 16 * 1024 + 256;

/// The maximum number of buffers of a kind in a pool.
const MAX_POOLED: usize = 8;

/// The same for buffers of [`LONG_SEALED`] bytes. They are four times as long, and in use only
/// while data is sealed, unless the transport blocks.
const MAX_LONG_POOLED: usize = 2;

#[derive(Default)]
struct Pool {
    received: Vec<ReceiveBuffer>,
    short: Vec<Vec<u8>>,
    long: Vec<Vec<u8>>,
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

/// Takes a buffer of initialised bytes that has room for the records of this plaintext, or for
/// those of its first [`LONG_PIECE`] bytes.
pub(crate) fn take_bytes(plaintext: &[u8]) -> Vec<u8> {
    if plaintext.len() <= SHORT_PIECE {
        with(|pool| pool.short.pop()).unwrap_or_else(|| vec![0; SHORT_SEALED])
    } else {
        with(|pool| pool.long.pop()).unwrap_or_else(|| vec![0; LONG_SEALED])
    }
}

/// Returns a buffer from [`take_bytes`]. It must contain no secret.
pub(crate) fn return_bytes(buffer: Vec<u8>) {
    with(|pool| {
        let (kept, most) = match buffer.len() {
            SHORT_SEALED => (&mut pool.short, MAX_POOLED),
            LONG_SEALED => (&mut pool.long, MAX_LONG_POOLED),
            _ => return,
        };
        if kept.len() < most {
            kept.push(buffer);
        }
    });
}

/// Calls `use_pool` with the pool of this thread. Returns the default value in a thread that is
/// ending, where the pool no longer exists and streams allocate buffers.
fn with<T: Default>(use_pool: impl FnOnce(&mut Pool) -> T) -> T {
    POOL.try_with(|pool| use_pool(&mut pool.borrow_mut())).unwrap_or_default()
}
