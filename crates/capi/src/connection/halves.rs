//! Memory and halves of a connection, and the reason for its failure.

use core::ffi::c_char;
use core::ptr;
use std::sync::Arc;

use super::Connection;
use super::state::State;
use crate::entry::owned::{self, with};
use crate::entry::pointers::Place;
use crate::entry::{entry, text, value};
use crate::status::Status;
use crate::status::codes::TERCEL_MISUSE_WRONG_HALF;

/// Frees memory of a connection that is idle. The next function with the connection restores it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_park(connection: *mut Connection) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(connection, |state| {
            if let Some(half) = &mut state.sending {
                half.sender.park();
            }
            if let Some(half) = &mut state.receiving {
                half.receiver.park();
            }
            Ok(())
        })
    })
}

/// Moves the receiving half of a connection to a handle of its own, so that one thread can send
/// while another receives. The first handle keeps the sending half and the exporter; both have the
/// facts. Both have to be freed. tercel_connection_flush is a function of the sending half: call it
/// when the receiving one returns an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_split(
    connection: *mut Connection,
    receiving: *mut *mut Connection,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(receiving, ptr::null_mut())?;
        let facts = owned::with_fixed_part(connection, |facts| Ok(Arc::clone(facts)))?;
        with(connection, |state| {
            if state.sending.is_none() {
                return Err(TERCEL_MISUSE_WRONG_HALF);
            }
            let half = state.receiving.take().ok_or(TERCEL_MISUSE_WRONG_HALF)?;
            let state = State { sending: None, receiving: Some(half), error: String::new() };
            place.set(owned::with_fixed(state, facts));
            Ok(())
        })
    })
}

/// Writes the reason why the connection failed, for people, and a NUL, at most size bytes. Returns
/// the length of the whole text, 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_error(
    connection: *const Connection,
    text: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's duty.
    value(|| unsafe { with(connection, |state| text::write(&state.error, text, size)) })
}
