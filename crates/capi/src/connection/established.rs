//! What the handshake established: keying material and facts.

use super::Connection;
use crate::entry::bytes::Bytes;
use crate::entry::owned::{self, with};
use crate::entry::pointers::Memory;
use crate::entry::{entry, value};
use crate::fact::Fact;
use crate::status::Status;

/// Fills memory with keying material for this label and context. Both may be NULL and 0; in TLS 1.2
/// an absent context differs from an empty one, which is a pointer and 0. RFC 9846 7.5, RFC 5705
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_export(
    connection: *const Connection,
    label: *const u8,
    label_len: usize,
    context: *const u8,
    context_len: usize,
    out: *mut u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let label = Memory::or_empty(label, label_len)?;
        let absent = context.is_null();
        let context = Memory::or_empty(context, context_len)?;
        let out = Memory::new(out, len)?;
        Memory::separate(&[out], &[label, context])?;
        with(connection, |state| {
            let context = Some(context.read()).filter(|_| !absent);
            state.send(|half| half.exporter.export(label.read(), context, out.write()))
        })
    })
}

/// As tercel_connection_export, with the secret of early data, if early data was accepted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_export_early(
    connection: *const Connection,
    label: *const u8,
    label_len: usize,
    context: *const u8,
    context_len: usize,
    out: *mut u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let label = Memory::or_empty(label, label_len)?;
        let context = Memory::or_empty(context, context_len)?;
        let out = Memory::new(out, len)?;
        Memory::separate(&[out], &[label, context])?;
        with(connection, |state| {
            state.send(|half| match &half.early_exporter {
                Some(exporter) => exporter.export(label.read(), Some(context.read()), out.write()),
                None => Err(tercel::error::Misuse::InvalidArgument.into()),
            })
        })
    })
}

/// Returns a fact that is a number; 0 if it is absent. Both halves have all facts, and any thread
/// can read them, also while another one uses the connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_fact(connection: *const Connection, fact: Fact) -> u64 {
    // SAFETY: the caller's duty.
    value(|| unsafe { owned::with_fixed_part(connection, |facts| Ok(facts.number(fact))) })
}

/// Returns a fact that consists of bytes; data is NULL if it is absent, or has no value at this
/// index. Facts with one value have it at index 0. They are valid until this handle is freed. Any
/// thread can read them, as tercel_connection_fact.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_fact_bytes(
    connection: *const Connection,
    fact: Fact,
    index: usize,
) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe { owned::with_fixed_part(connection, |facts| Ok(facts.bytes(fact, index))) })
}
