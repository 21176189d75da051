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
// The traces set published private keys, which takes a test seam.
#[cfg(debug_assertions)]
mod traces;
