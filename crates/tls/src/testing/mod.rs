//! Tests that need private items of several modules: published traces, a misbehaving peer with the
//! right keys, measurements of private types.

mod futures;
mod key_limits;
mod measure;
mod misbehaving_peer;
mod post_handshake_auth;
mod renewed_tickets;
mod resumed_certificate_types;
mod ticket_requests;
// The tests of the traces use published private keys, for which a test seam is needed.
#[cfg(debug_assertions)]
mod traces;
