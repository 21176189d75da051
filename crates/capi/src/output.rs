//! Bytes to send.

use crate::entry::bytes::Bytes;
use crate::entry::owned::{self, Owned, with};
use crate::entry::pointers::Memory;
use crate::entry::{entry, pointers, value};
use crate::status::Status;
use crate::status::codes::TERCEL_MISUSE_INVALID_ARGUMENT;

/// A queue of bytes to send: the library appends, the caller sends from its beginning.
pub struct Output(Owned<Queue>);

owned_handle!(Output, Queue);

/// Bytes to send, of which the first ones are already sent.
#[derive(Default)]
pub struct Queue {
    bytes: Vec<u8>,
    sent: usize,
}

impl Queue {
    /// Returns the bytes to which records are appended.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        if self.sent > 0 && self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent = 0;
        }
        &mut self.bytes
    }

    /// The whole memory of the queue, with its free space.
    pub(crate) fn memory(&self) -> Memory {
        let start = self.bytes.as_ptr();
        Memory::range(start..start.wrapping_add(self.bytes.capacity()))
    }

    fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    fn send(&mut self, count: usize) {
        self.sent += count;
        // The memory moves only after as many bytes as it contains.
        if self.sent >= self.bytes.len().div_ceil(2) {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

/// Creates an empty queue. NULL if that fails.
#[unsafe(no_mangle)]
pub extern "C" fn tercel_output_new() -> *mut Output {
    pointers::or_null(|| Ok(owned::new(Queue::default())))
}

/// Frees a queue. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_output_free(output: *mut Output) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { owned::free(output) });
}

/// Returns the bytes to send. They remain in the queue until tercel_output_sent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_output_bytes(output: *const Output) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe { with(output, |output| Ok(Bytes::some(output.unsent()))) })
}

/// Removes the first bytes of the queue, because the caller has sent them. The count is at most the
/// length of tercel_output_bytes; 0 is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_output_sent(output: *mut Output, count: usize) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(output, |output| {
            if count > output.unsent().len() {
                return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
            }
            output.send(count);
            Ok(())
        })
    })
}

/// Frees the memory of a queue while its connection is idle. Bytes to send are kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_output_release(output: *mut Output) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(output, |output| {
            *output = Queue { bytes: output.unsent().to_vec(), sent: 0 };
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_bytes_leave_the_queue_in_order() {
        let mut queue = Queue::default();
        for round in 0..3_u8 {
            queue.bytes().extend([round; 10]);
            queue.send(4);
            assert_eq!(queue.unsent(), [round; 6]);
            queue.bytes().push(9);
            queue.send(6);
            assert_eq!(queue.unsent(), [9]);
            queue.send(1);
            assert!(queue.unsent().is_empty());
        }
    }
}
