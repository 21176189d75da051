//! One side of a handshake, alone with bytes from anywhere.
//!
//! Its randomness is always the same, so recorded flights of a peer lead it deep into a handshake.
//! Must not know: how those were recorded. Next: `examples/seed_handshakes.rs`, which does.

use tercel::Side;

use crate::configs::CONFIGS;
use crate::peer::Peer;
use crate::script::Script;

/// A server, against any client.
///
/// The first byte chooses its configuration, three more say in pieces of which lengths the rest arrives
/// (0: all at once). Whether it was connected.
pub fn server_handshake(input: &[u8]) -> bool {
    alone(Side::Server, input)
}

/// A client, against any server; see [`server_handshake`].
pub fn client_handshake(input: &[u8]) -> bool {
    alone(Side::Client, input)
}

/// A flight holds its messages once: some certificates, a share of the key exchange.
const MAX_ANSWER: usize = 16 << 10;

fn alone(side: Side, input: &[u8]) -> bool {
    let mut script = Script::new(input);
    let choice = usize::from(script.byte().unwrap_or_default());
    let lengths = [(); 3].map(|()| usize::from(script.byte().unwrap_or_default()));
    let mut peer = Peer::new(side, choice % CONFIGS);
    peer.room = if choice & CONFIGS == 0 { 0 } else { 1 << 15 };
    // Nothing comes first, so that a client speaks before it hears.
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
