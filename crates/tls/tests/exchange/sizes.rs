//! Data of every size, in buffers and records of every size: sealing, opening, limits, padding.

use std::sync::Arc;

use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{Filled, Padding, Side, error::Misuse, session::RotatingTickets};

use crate::fixtures::{NAME, client, connect, server};
use crate::pair::{Delivery, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];
const BOTH_SIDES: [Side; 2] = [Side::Client, Side::Server];

#[test]
fn a_mebibyte_goes_each_way() {
    let data: Vec<u8> = (0..1 << 20).map(|at: u32| (at % 251) as u8).collect();
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        for side in BOTH_SIDES {
            assert!(ends.transfer(side, &data, Delivery::Pieces(9)) == data);
        }
    }
}

#[test]
fn sealing_into_a_slice_takes_what_fits() {
    let data = vec![7; 40_000];
    for version in BOTH_VERSIONS {
        for room in [64, 1000, 20_000, 60_000] {
            let mut ends = connect(version);
            let (mut rest, mut read, mut out) = (&data[..], Vec::new(), vec![0; room]);
            while !rest.is_empty() {
                let sealed = ends.client.connection.sender.seal(rest, &mut out).unwrap();
                assert!(sealed.consumed > 0);
                rest = &rest[sealed.consumed..];
                read.extend(ends.server.read(&out[..sealed.written], Delivery::Whole).unwrap());
            }
            assert!(read == data);
        }
        let mut ends = connect(version);
        let refused = ends.client.connection.sender.seal(&data, &mut [0; 8]);
        assert_eq!(refused, Err(Misuse::OutputTooSmall.into()));
        ends.talk();
    }
}

#[test]
fn the_sealed_length_is_enough() {
    for version in BOTH_VERSIONS {
        for length in [0, 1, 16_383, 16_384, 16_385, 100_000] {
            let mut ends = connect(version);
            let data = vec![1; length];
            let mut out = vec![0; ends.client.connection.sender.sealed_length(length)];
            let sealed = ends.client.connection.sender.seal(&data, &mut out).unwrap();
            assert_eq!(sealed.consumed, length);
        }
    }
}

#[test]
fn opening_into_a_buffer_of_the_reader_gives_the_same() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        let mut wire = Vec::new();
        let sender = &mut ends.client.connection.sender;
        sender.seal_to(b"first", &mut wire).unwrap();
        if version == TLS13 {
            sender.update_key(true, &mut wire).unwrap();
        }
        sender.seal_to(b"second", &mut wire).unwrap();
        sender.close(&mut wire).unwrap();
        let (receiver, received) =
            (&mut ends.server.connection.receiver, &mut ends.server.received);
        let mut out = vec![0; receiver.max_opened_length()];
        assert_eq!(receiver.open_into(received, &mut out), Ok(Filled::More));
        received.extend(&wire);
        assert_eq!(receiver.open_into(received, &mut [0; 4]), Ok(Filled::TooSmall));
        assert_eq!(receiver.open_into(received, &mut out), Ok(Filled::Data(5)));
        assert_eq!(&out[..5], b"first");
        assert_eq!(receiver.open_into(received, &mut out), Ok(Filled::Data(6)));
        assert_eq!(&out[..6], b"second");
        out.fill(0xee);
        assert_eq!(receiver.open_into(received, &mut out), Ok(Filled::Closed));
        // Content other than application data is removed from the reader's buffer.
        assert!(!out.windows(2).any(|window| window == [1, 0]));
    }
}

#[test]
fn records_obey_the_receivers_limit() {
    for version in BOTH_VERSIONS {
        let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
        let client = client().versions(&[version]).record_size_limit(100).build().unwrap();
        // The limit of this connection applies, not that of the connection that made the session.
        for (resumed, limit) in [(false, 700), (true, 500)] {
            let server = server().tickets(tickets.clone()).record_size_limit(limit);
            let server = server.build().unwrap();
            let mut to_client = Vec::new();
            let mut ends = Pair::new(&client, &server, NAME)
                .tap_to_client(|bytes| to_client.extend_from_slice(bytes))
                .connect()
                .unwrap();
            assert_eq!(ends.client.connection.info.resumed, resumed);
            // In TLS 1.3 the limit includes the content type, and applies to most of the handshake.
            // RFC 8449 4
            let type_byte = usize::from(version == TLS13);
            let overhead = if version == TLS13 { 17 } else { 24 };
            let longest = |side| if side == Side::Client { usize::from(limit) } else { 100 };
            if version == TLS13 {
                let sealed = records(&to_client).into_iter().filter(|record| record.0 == 23);
                assert!(sealed.clone().count() > 3 - usize::from(resumed));
                assert!(sealed.map(|record| record.1.len()).max().unwrap() <= 100 + 16);
            }
            for side in BOTH_SIDES {
                let (from, to) = ends.both(side);
                let mut wire = Vec::new();
                from.connection.sender.seal_to(&[5; 3000], &mut wire).unwrap();
                let lengths: Vec<_> = records(&wire).iter().map(|record| record.1.len()).collect();
                let most = longest(side) - type_byte + overhead;
                assert_eq!(lengths.iter().max(), Some(&most), "{version:?} {side:?} {resumed}");
                assert_eq!(to.read(&wire, Delivery::Whole).unwrap(), vec![5; 3000]);
            }
        }
    }
}

#[test]
fn padding_hides_lengths() {
    let client = client().versions(&[TLS13]).padding(Padding::Block(256)).build().unwrap();
    let server = server().padding(Padding::Block(512)).build().unwrap();
    for delivery in [Delivery::Whole, Delivery::Bytes] {
        let mut ends = Pair::new(&client, &server, NAME).delivery(delivery).connect().unwrap();
        for (side, block) in [(Side::Client, 256), (Side::Server, 512)] {
            for length in [1, 100, 256, 257, 2000, 16_384, 20_000] {
                let (from, to) = ends.both(side);
                let mut wire = Vec::new();
                from.connection.sender.seal_to(&vec![5; length], &mut wire).unwrap();
                for (_, fragment) in records(&wire) {
                    assert_eq!((fragment.len() - 17) % block, 0, "{side:?} {length}");
                }
                assert_eq!(to.read(&wire, delivery).unwrap(), vec![5; length]);
            }
        }
    }
}

#[test]
fn fragments_are_as_small_as_configured() {
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).max_fragment(300).build().unwrap();
        let server = server().build().unwrap();
        for resumed in [false, true] {
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            assert_eq!(ends.client.connection.info.resumed, resumed);
            assert_eq!(ends.client.connection.sender.max_fragment(), 300);
            let mut wire = Vec::new();
            ends.client.connection.sender.seal_to(&[1; 1000], &mut wire).unwrap();
            assert_eq!(records(&wire).len(), 4);
            assert_eq!(ends.server.read(&wire, Delivery::Whole).unwrap(), [1; 1000]);
            ends.talk();
        }
    }
}
