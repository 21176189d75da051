//! Buffers that belong to threads and are lent to streams while bytes move.
//!
//! A connection that waits for its peer holds none of them, so ten thousand idle connections cost a
//! thread's few buffers and no more. Must not know: records. Next: [`crate::incoming`], [`crate::outgoing`].

use std::cell::RefCell;

use tercel::Received;

/// Room for received bytes: four records of the largest size, so that bulk comes in few reads.
const RECEIVED: usize = 4 * RECORD;

/// Room for sealed bytes: four records of the largest size.
pub(crate) const SEALED: usize = 4 * RECORD + 256;

/// A record of the largest size. RFC 9846 5.2
const RECORD: usize = 16 * 1024 + 256;

/// Buffers of each kind that a thread keeps.
const KEPT: usize = 8;

#[derive(Default)]
struct Pool {
    received: Vec<Received>,
    bytes: Vec<Vec<u8>>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// An empty buffer for what a transport gives.
pub(crate) fn lend_received() -> Received {
    with(|pool| pool.received.pop()).unwrap_or_else(|| Received::with_capacity(RECEIVED))
}

/// Whether this is, by its size, one of those that are lent.
pub(crate) fn is_lent(buffer: &Received) -> bool {
    buffer.capacity() == RECEIVED
}

/// Takes a buffer back in which nothing is unread. A smaller one of somebody's own would only make reads small.
pub(crate) fn give_back_received(buffer: Received) {
    if buffer.is_empty() && is_lent(&buffer) {
        with(|pool| {
            if pool.received.len() < KEPT {
                pool.received.push(buffer);
            }
        });
    }
}

/// A buffer of [`SEALED`] initialised bytes.
pub(crate) fn lend_bytes() -> Vec<u8> {
    with(|pool| pool.bytes.pop()).unwrap_or_else(|| vec![0; SEALED])
}

/// Takes a buffer of [`lend_bytes`] back. What was in it must be no secret, or wiped.
pub(crate) fn give_back_bytes(buffer: Vec<u8>) {
    if buffer.len() == SEALED {
        with(|pool| {
            if pool.bytes.len() < KEPT {
                pool.bytes.push(buffer);
            }
        });
    }
}

/// A thread that ends has no pool any more; its last streams then do with buffers of their own.
fn with<T: Default>(use_pool: impl FnOnce(&mut Pool) -> T) -> T {
    POOL.try_with(|pool| use_pool(&mut pool.borrow_mut())).unwrap_or_default()
}
