//! Tests that need the inside of the crate but belong to no single module.
//!
//! What it is for: playing back published traces, being a peer that misbehaves under the right keys,
//! measuring what is not public. Must not know: nothing, it may look everywhere; nothing outside of tests may look here.
//! Next: [`traces`], [`adversary`]; tests over the public interface are in `tests/`.

mod adversary;
mod futures;
mod late_authentication;
mod measure;
mod renewed_tickets;
mod resumed_forms;
mod spent_keys;
mod ticket_requests;
// With published private keys, which takes a test seam.
#[cfg(debug_assertions)]
mod traces;
