//! One side of a handshake with arbitrary bytes.
//!
//! The randomness of this side is fixed, so that recorded flights of a peer stay valid.

use tercel::Side;

use crate::configs::CONFIGS;
use crate::peer::Peer;
use crate::script::Script;

/// A server with an arbitrary client.
///
/// The first byte selects the configuration. Three more bytes are the lengths of the parts in which
/// the rest arrives (0: all at once). Returns whether the server connected.
pub fn server_handshake(input: &[u8]) -> bool {
    alone(Side::Server, input)
}

/// A client with an arbitrary server; see [`server_handshake`].
pub fn client_handshake(input: &[u8]) -> bool {
    alone(Side::Client, input)
}

/// The limit of a flight: it has each message once, with some certificates and a key share.
const MAX_ANSWER: usize = 16 << 10;

fn alone(side: Side, input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let choice = usize::from(script.byte().unwrap_or_default());
    let lengths = [(); 3].map(|()| usize::from(script.byte().unwrap_or_default()));
    let mut peer = Peer::new(side, choice % CONFIGS);
    peer.room = if choice & CONFIGS == 0 { 0 } else { 1 << 15 };
    // The first call is without input, so that a client sends its ClientHello.
    peer.receive(&[]);
    for length in lengths.into_iter().cycle() {
        let rest = script.rest().len();
        if rest == 0 {
            break;
        }
        peer.receive(script.take(if length == 0 { rest } else { length }));
        assert!(peer.out.len() < MAX_ANSWER, "an answer of {} bytes", peer.out.len());
    }
    let connected = peer.connection.is_some();
    peer.end();
    connected
}
