//! Tests that need the inside of the crate but belong to no single module.
//!
//! What it is for: playing back published traces, and being a peer that misbehaves under the right
//! keys. Must not know: nothing, it may look everywhere; nothing outside of tests may look here.
//! Next: [`traces`], [`adversary`]; tests over the public interface are in `tests/`.

mod adversary;
mod traces;
