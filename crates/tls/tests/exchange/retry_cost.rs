//! A server that compares two large ClientHellos. `tests/work` counts the work. RFC 9846 4.2.2

use tercel::wire::NamedGroup;
use tercel::{Error, Handshake, Next, ReceiveBuffer};

use crate::fixtures::{NAME, client, server};
use crate::unknown_extensions::with_unknown_extensions;

#[test]
fn a_retry_with_thousands_of_extensions_is_compared() {
    let server = server().groups(&[NamedGroup::SECP384R1]).build().unwrap();
    let client = client().key_shares(&[NamedGroup::X25519]).build().unwrap();
    let mut handshake = Handshake::client(client, NAME.try_into().unwrap());
    let mut hello = Vec::new();
    handshake.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
    // Both ClientHellos have as many unknown extensions as possible. The second has a share that
    // claims to be for the requested group.
    let first = with_unknown_extensions(&hello, 60_000 - hello.len());
    let share = hello.windows(4).position(|four| four == [0, 29, 0, 32]).expect("a share");
    hello[share + 1] = 24;
    let second = with_unknown_extensions(&hello, 60_000 - hello.len());
    let (mut server, mut received) = (Handshake::server(server), ReceiveBuffer::new());
    received.extend(&first);
    assert!(matches!(server.advance(&mut received, &mut Vec::new()), Ok(Next::Receive)));
    received.extend(&second);
    // The comparison succeeds: only the share itself is wrong.
    let error = server.advance(&mut received, &mut Vec::new()).unwrap_err();
    assert_eq!(error, Error::Peer(tercel::error::PeerError::BadKeyShare));
}
