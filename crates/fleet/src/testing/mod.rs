//! Nodes against a store: one inside the test that can be made to fail, and a real one if it is installed.
//!
//! Must not know: what is not told to a node in service. Next: `fake.rs`, `real.rs`, and a file for each thing shared.

mod away;
mod early_data;
mod fake;
mod nodes;
#[cfg(unix)]
mod real;
mod secrets;
mod served;
mod sessions;
mod ticket_keys;
mod useless;
