//! Received bytes.

use tercel::ReceiveBuffer;

use crate::entry::bytes::Bytes;
use crate::entry::owned::{self, Owned, with};
use crate::entry::pointers::{self, Memory, Place};
use crate::entry::{entry, value};
use crate::status::Status;
use crate::status::codes::TERCEL_MISUSE_INVALID_ARGUMENT;

/// A buffer of received bytes: the caller writes to its free space, the library consumes. It
/// grows as needed to the size of a record.
pub struct Input(Owned<ReceiveBuffer>);

owned_handle!(Input, ReceiveBuffer);

/// Creates an empty buffer. A capacity of 0 is allowed; for bulk transfer use a multiple of 16384.
/// NULL if memory for the capacity cannot be had.
#[unsafe(no_mangle)]
pub extern "C" fn tercel_input_new(capacity: usize) -> *mut Input {
    pointers::or_null(|| {
        // More would not be a buffer for records. The check prevents the end of the process, which
        // follows from an allocation that fails.
        if capacity > MAX_CAPACITY {
            return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
        }
        Ok(owned::new(ReceiveBuffer::with_capacity(capacity)))
    })
}

/// The largest capacity at the beginning.
const MAX_CAPACITY: usize = 1 << 30;

/// Frees a buffer. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_input_free(input: *mut Input) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { owned::free(input) });
}

/// Returns free space behind the unread bytes, for the caller to receive into, and its length,
/// which is never 0. NULL after an error. Call tercel_input_filled afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_input_space(input: *mut Input, len: *mut usize) -> *mut u8 {
    // SAFETY: the caller's duty.
    pointers::or_null(|| unsafe {
        let mut len = Place::new(len, 0)?;
        with(input, |input| {
            pointers::separate(&[&len], &[Memory::range(input.memory())], &[])?;
            let space = input.spare();
            len.set(space.len());
            Ok(space.as_mut_ptr())
        })
    })
}

/// Appends the first bytes of tercel_input_space, which the caller has written. The count is at
/// most the length that tercel_input_space returned; 0 is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_input_filled(input: *mut Input, count: usize) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(input, |input| {
            let end = input.memory().start.addr() + input.capacity();
            if count > end - input.unread().as_ptr_range().end.addr() {
                return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
            }
            input.filled(count);
            Ok(())
        })
    })
}

/// Appends a copy of these bytes, for callers that already have them in memory, which is not memory
/// of this buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_input_append(
    input: *mut Input,
    data: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let data = Memory::new(data, len)?;
        with(input, |input| {
            Memory::separate(&[Memory::range(input.memory())], &[data])?;
            input.extend(data.read());
            Ok(())
        })
    })
}

/// Returns the bytes that are not consumed yet. After the end of a connection these are bytes of
/// the protocol that follows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_input_unread(input: *const Input) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe { with(input, |input| Ok(Bytes::some(input.unread()))) })
}

/// Frees the memory of a buffer while its connection is idle. Unread bytes are kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_input_release(input: *mut Input) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(input, |input| {
            input.release();
            Ok(())
        })
    })
}
