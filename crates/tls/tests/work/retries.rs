//! Second ClientHellos with many extensions, which a server compares with those of the first one.
//! RFC 9846 4.2.2

use std::sync::Arc;

use tercel::wire::NamedGroup;
use tercel::{Handshake, Next, ReceiveBuffer, ServerConfig};

use crate::configs::server;
use crate::fixtures::{NAME, client};
use crate::unknown_extensions::with_unknown_extensions;
use crate::{Case, ROOM, counted, no_question};

/// ClientHellos with more and more extensions, for a server with this number of credentials.
pub(crate) fn cases(scale: usize) -> Vec<Case> {
    let config = server(scale).groups(&[NamedGroup::SECP384R1]).build().unwrap();
    let case = |halves: usize| {
        let config = Arc::clone(&config);
        Case {
            kind: "unknown extensions, after a retry".to_owned(),
            halves,
            scale,
            run: Box::new(move || show(&config, ROOM / 2 * halves)),
        }
    };
    (0..=2).map(case).collect()
}

/// Sends two ClientHellos with unknown extensions of this total length. Only the server's part is
/// counted.
fn show(config: &Arc<ServerConfig>, bytes: usize) {
    let client = client().key_shares(&[NamedGroup::X25519]).build().unwrap();
    let mut client = Handshake::client(client, NAME.try_into().unwrap());
    let mut hello = Vec::new();
    assert!(matches!(client.advance(&mut ReceiveBuffer::new(), &mut hello), Ok(Next::Receive)));
    let first = with_unknown_extensions(&hello, bytes);
    // The second one has a share that claims to be for the requested group. The comparison
    // succeeds: only the share itself is wrong.
    let share = hello.windows(4).position(|four| four == [0, 29, 0, 32]).expect("a share");
    hello[share + 1] = 24;
    let second = with_unknown_extensions(&hello, bytes);
    let (mut server, mut received) = (Handshake::server(Arc::clone(config)), ReceiveBuffer::new());
    for (hello, over) in [(first, false), (second, true)] {
        received.extend(&hello);
        assert_eq!(counted(&mut server, &mut received, &mut Vec::new(), &no_question), over);
    }
}
