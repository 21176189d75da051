//! The work of a server that compares two large ClientHellos. RFC 9846 4.2.2

use std::time::{Duration, Instant};

use tercel::wire::NamedGroup;
use tercel::{Error, Handshake, Next, ReceiveBuffer};

use crate::fixtures::{NAME, client, server};

#[test]
fn a_retry_with_thousands_of_extensions_is_compared_quickly() {
    let server = server().groups(&[NamedGroup::SECP384R1]).build().unwrap();
    let client = client().key_shares(&[NamedGroup::X25519]).build().unwrap();
    let mut handshake = Handshake::client(client, NAME.try_into().unwrap());
    let mut hello = Vec::new();
    handshake.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
    // Both ClientHellos have as many unknown extensions as possible. The second has a share that
    // claims to be for the requested group.
    let first = with_unknown_extensions(&hello);
    let share = hello.windows(4).position(|four| four == [0, 29, 0, 32]).expect("a share");
    hello[share + 1] = 24;
    let second = with_unknown_extensions(&hello);
    let (mut server, mut received) = (Handshake::server(server), ReceiveBuffer::new());
    received.extend(&first);
    assert!(matches!(server.advance(&mut received, &mut Vec::new()), Ok(Next::Receive)));
    let start = Instant::now();
    received.extend(&second);
    // The comparison succeeds: only the share itself is wrong.
    let error = server.advance(&mut received, &mut Vec::new()).unwrap_err();
    assert_eq!(error, Error::Peer(tercel::error::PeerError::BadKeyShare));
    // The comparison takes some milliseconds. With a search for each extension, it would take a
    // minute.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

/// Adds empty extensions of unknown types to the ClientHello in this record, and divides it into
/// records.
fn with_unknown_extensions(record: &[u8]) -> Vec<u8> {
    let message = &record[5..];
    let mut at = 4 + 2 + 32;
    at += 1 + usize::from(message[at]);
    at += 2 + usize::from(u16::from_be_bytes([message[at], message[at + 1]]));
    at += 1 + usize::from(message[at]);
    let mut extensions = message[at + 2..].to_vec();
    let room = 60_000 - extensions.len();
    for kind in (0..u16::MAX).rev().filter(|kind| (0x2000..0xf000).contains(kind)).take(room / 4) {
        extensions.extend_from_slice(&kind.to_be_bytes());
        extensions.extend_from_slice(&[0, 0]);
    }
    let mut body = message[4..at].to_vec();
    body.extend_from_slice(&u16::try_from(extensions.len()).unwrap().to_be_bytes());
    body.extend_from_slice(&extensions);
    let mut message = vec![1];
    message.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes()[1..]);
    message.extend_from_slice(&body);
    let mut records = Vec::new();
    for piece in message.chunks(1 << 14) {
        records.extend_from_slice(&[22, 3, 3]);
        records.extend_from_slice(&u16::try_from(piece.len()).unwrap().to_be_bytes());
        records.extend_from_slice(piece);
    }
    records
}
