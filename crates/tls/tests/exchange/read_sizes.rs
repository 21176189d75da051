//! The same handshake and data, with any division of the bytes into reads.
//!
//! No result may depend on where a read ends. Randomness comes from a seed, so that the bytes can
//! be compared.

use std::sync::Arc;

use tercel::wire::{NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, Error, Handshake, Next, Opened, ReceiveBuffer, ServerConfig, Side,
    server::ClientAuth,
};
use tercel_crypto::deterministic::with_seed;

use crate::fixtures::{Kind, NAME, client, credential, plain, roots};
use crate::pair::{Delivery, Pair};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

#[test]
fn every_delivery_leads_to_the_same_bytes() {
    for version in BOTH_VERSIONS {
        for group in [NamedGroup::X25519MLKEM768, NamedGroup::X25519, NamedGroup::SECP256R1] {
            if version == ProtocolVersion::TLS1_2 && group == NamedGroup::X25519MLKEM768 {
                continue;
            }
            // Ed25519 is used because it is the only signature without randomness.
            let client = client()
                .versions(&[version])
                .alpn(&["h2", "http/1.1"])
                .credential(credential(Kind::Ed25519))
                .without_resumption()
                .build()
                .unwrap();
            let server = ServerConfig::builder()
                .groups(&[group])
                .alpn(&["http/1.1"])
                .credential(credential(Kind::Ed25519))
                .client_auth(ClientAuth::Required, roots())
                // Tickets are off, because ticket keys belong to the configuration and are random.
                .without_tickets()
                .build()
                .unwrap();
            let run = |delivery| whole_exchange(&client, &server, delivery);
            let expected = run(Delivery::Whole);
            assert!(expected == run(Delivery::Whole), "{version:?} {group:?} is not repeatable");
            assert!(expected == run(Delivery::Bytes), "{version:?} {group:?} by bytes");
            for seed in 0..20 {
                let pieces = run(Delivery::Pieces(seed));
                assert!(expected == pieces, "{version:?} {group:?} seed {seed}");
            }
        }
    }
}

/// All bytes of each direction.
fn whole_exchange(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    delivery: Delivery,
) -> (Vec<u8>, Vec<u8>) {
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    with_seed(8449, || {
        let mut ends = Pair::new(client, server, NAME)
            .delivery(delivery)
            .tap_to_server(|bytes| to_server.extend_from_slice(bytes))
            .tap_to_client(|bytes| to_client.extend_from_slice(bytes))
            .connect()
            .unwrap();
        for length in [1, 1000, 40_000] {
            let data = vec![0x61; length];
            for (side, wire) in [(Side::Client, &mut to_server), (Side::Server, &mut to_client)] {
                let (from, to) = ends.both(side);
                let start = wire.len();
                from.connection.sender.seal_to(&data, wire).unwrap();
                assert_eq!(to.read(&wire[start..], delivery).unwrap(), data);
            }
        }
    });
    (to_server, to_client)
}

#[test]
fn an_end_of_input_within_the_handshake_is_a_truncation() {
    for version in BOTH_VERSIONS {
        let (config, _) = plain();
        let ours = client().versions(&[version]).build().unwrap();
        let mut hello = Vec::new();
        Handshake::client(ours, NAME.try_into().unwrap())
            .advance(&mut ReceiveBuffer::new(), &mut hello)
            .unwrap();
        for length in 0..hello.len() {
            let mut server = Handshake::server(plain_server());
            let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
            received.extend(&hello[..length]);
            server.advance(&mut received, &mut out).unwrap();
            assert!(out.is_empty());
            assert_eq!(server.end_of_input(), Err(Error::Truncated));
        }
        let mut client = Handshake::client(config, NAME.try_into().unwrap());
        client.advance(&mut ReceiveBuffer::new(), &mut Vec::new()).unwrap();
        assert_eq!(client.end_of_input(), Err(Error::Truncated));
    }
}

fn plain_server() -> Arc<ServerConfig> {
    plain().1
}

#[test]
fn data_in_the_same_read_as_the_handshake_is_kept() {
    for version in BOTH_VERSIONS {
        // In TLS 1.2 data directly follows the server's last flight. In TLS 1.3 it directly follows
        // the client's last flight.
        let client = client().versions(&[version]).build().unwrap();
        let server = plain_server();
        let (first, second) = if version == ProtocolVersion::TLS1_3 {
            (Side::Client, Side::Server)
        } else {
            (Side::Server, Side::Client)
        };
        let mut handshakes = [
            (Side::Client, Handshake::client(client, NAME.try_into().unwrap())),
            (Side::Server, Handshake::server(server)),
        ];
        let (mut wires, mut done) = ([ReceiveBuffer::new(), ReceiveBuffer::new()], Vec::new());
        while done.len() < 2 {
            for at in 0..2 {
                let (side, handshake) = &mut handshakes[at];
                if done.iter().any(|(over, _)| over == side) {
                    continue;
                }
                let mut out = Vec::new();
                let step = handshake.advance(&mut wires[at], &mut out).unwrap();
                if let Next::Connected(mut connection) = step {
                    connection.sender.seal_to(b"at once", &mut out).unwrap();
                    done.push((*side, connection));
                }
                wires[1 - at].extend(&out);
            }
        }
        assert_eq!((done[0].0, done[1].0), (first, second));
        let at = usize::from(second == Side::Server);
        let opened = done[1].1.receiver.open(&mut wires[at]).unwrap();
        assert_eq!(opened, Opened::Data(&mut b"at once".to_vec()[..]));
    }
}

#[test]
fn the_memory_of_a_buffer_has_read_and_free_bytes() {
    let mut buffer = ReceiveBuffer::new();
    assert!(buffer.memory().is_empty());
    for length in [1, 4096, 20_000] {
        buffer.extend(&vec![0; length]);
        let free = buffer.spare().as_ptr_range();
        // The call for free bytes may have moved the buffer.
        let memory = buffer.memory();
        assert!(memory.start < free.start && free.end <= memory.end);
        assert!(memory.contains(&buffer.unread().as_ptr()));
    }
}
