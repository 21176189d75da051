//! A misbehaving peer with the right keys, and what the two sides say to it.
//!
//! What it is for: the rules that a peer can break only from inside an encrypted handshake.
//! Must not know: the public interface's niceties. Next: [`order`]; [`puppet`] is the peer.

mod cast;
mod order;
mod puppet;
mod records;
