//! Connections that are parked at any time behave like connections that are not parked, except for
//! their use of memory.

use std::sync::Arc;

use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{ClientConfig, Opened, ReceiveBuffer, ServerConfig, Side, Stream};
use tercel_crypto::deterministic::with_seed;

use crate::fixtures::{Kind, NAME, client, connect, credential};
use crate::pair::{Delivery, End, Ends, Pair};

const SUITES: [(ProtocolVersion, CipherSuite); 6] = [
    (ProtocolVersion::TLS1_3, CipherSuite::TLS_AES_128_GCM_SHA256),
    (ProtocolVersion::TLS1_3, CipherSuite::TLS_AES_256_GCM_SHA384),
    (ProtocolVersion::TLS1_3, CipherSuite::TLS_CHACHA20_POLY1305_SHA256),
    (ProtocolVersion::TLS1_2, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    (ProtocolVersion::TLS1_2, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    (ProtocolVersion::TLS1_2, CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
];

#[test]
fn parking_at_any_time_changes_nothing_on_the_wire() {
    for (version, suite) in SUITES {
        let (client, server) = configs(suite);
        let connect = || Pair::new(&client, &server, NAME).connect().unwrap();
        let (expected, plain) = with_seed(7, || play(connect(), version, |_, _| {}));
        assert!(expected.len() > 10_000, "{suite:?}");
        for seed in 0..20 {
            let mut random = Random(seed);
            let (wire, exported) = with_seed(7, || {
                play(connect(), version, |client, server| match random.below(8) {
                    0 => client.connection.park(),
                    1 => server.connection.park(),
                    2 => client.connection.sender.park(),
                    3 => server.connection.receiver.park(),
                    4 => {
                        client.connection.park();
                        client.connection.park();
                        server.connection.park();
                    }
                    _ => {}
                })
            });
            assert!(wire == expected, "{suite:?}, parked with seed {seed}");
            assert_eq!(exported, plain, "{suite:?}, parked with seed {seed}");
        }
    }
}

#[test]
fn a_thousand_records_are_sealed_across_parking() {
    for (version, suite) in SUITES {
        let (client, server) = configs(suite);
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        for round in 0..1000_u32 {
            let side = [Side::Client, Side::Server][usize::from(round % 3 == 0)];
            let data = round.to_be_bytes();
            assert_eq!(ends.transfer(side, &data, Delivery::Whole), data, "{suite:?}, {round}");
            ends.client.connection.park();
            ends.server.connection.park();
            if version == ProtocolVersion::TLS1_3 && round % 100 == 50 {
                let (mut update, mut answer) = (Vec::new(), Vec::new());
                ends.client.connection.sender.update_key(true, &mut update).unwrap();
                ends.client.connection.park();
                assert_eq!(ends.server.read(&update, Delivery::Whole).unwrap(), b"");
                ends.server.connection.sender.control(&mut answer).unwrap();
                ends.server.connection.park();
                assert_eq!(ends.client.read(&answer, Delivery::Whole).unwrap(), b"");
            }
        }
    }
}

#[test]
fn a_partial_message_survives_parking() {
    // The tickets are in records of 64 bytes. They are delivered byte by byte, and the connection
    // is parked after each byte.
    let server = ServerConfig::builder().credential(credential(Kind::P256)).max_fragment(64);
    let (client, server) = (client().build().unwrap(), server.build().unwrap());
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let mut wire = ends.client.received.unread().to_vec();
    assert!(wire.len() > 300, "tickets are in transit");
    ends.server.connection.sender.seal_to(b"data", &mut wire).unwrap();
    ends.client.received = ReceiveBuffer::new();
    let mut data = Vec::new();
    for byte in wire {
        let End { connection, received } = &mut ends.client;
        received.extend(&[byte]);
        while let Opened::Data(piece) = connection.receiver.open(received).unwrap() {
            data.extend_from_slice(piece);
        }
        connection.park();
        received.release();
    }
    assert_eq!(data, b"data");
    let ends = Pair::new(&client, &server, NAME).connect().unwrap();
    assert!(ends.client.connection.info.resumed, "the tickets were stored");
}

#[test]
fn a_half_rtt_sender_may_be_parked() {
    // `half_rtt_sender` returns a reference to the sender of the handshake, so the handshake
    // continues with a sender that was parked.
    let server_config = ServerConfig::builder().credential(credential(Kind::P256)).build().unwrap();
    let client_config = client().build().unwrap();
    let mut server = tercel::Handshake::server(server_config);
    let mut client = tercel::Handshake::client(client_config, NAME.try_into().unwrap());
    let (mut to_server, mut to_client) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let mut out = Vec::new();
    client.advance(&mut to_client, &mut out).unwrap();
    to_server.extend(&out);
    out.clear();
    server.advance(&mut to_server, &mut out).unwrap();
    let lent = server.half_rtt_sender().expect("a server may send early");
    lent.park();
    lent.seal_to(b"early", &mut out).unwrap();
    lent.park();
    to_client.extend(&out);
    out.clear();
    let tercel::Next::Connected(mut client) = client.advance(&mut to_client, &mut out).unwrap()
    else {
        panic!("no connection")
    };
    to_server.extend(&out);
    out.clear();
    let tercel::Next::Connected(_) = server.advance(&mut to_server, &mut out).unwrap() else {
        panic!("no connection")
    };
    to_client.extend(&out);
    assert_eq!(client.receiver.open(&mut to_client), Ok(Opened::Data(&mut b"early".to_vec())));
    assert_eq!(client.receiver.open(&mut to_client), Ok(Opened::More), "tickets are opened, too");
}

#[test]
fn a_parked_connection_fails_and_ends_like_any_other() {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let mut ends = connect(version);
        ends.client.connection.park();
        ends.server.connection.park();
        let mut wire = Vec::new();
        ends.server.connection.sender.seal_to(b"data", &mut wire).unwrap();
        *wire.last_mut().unwrap() ^= 1;
        let error = ends.client.read(&wire, Delivery::Whole).unwrap_err();
        assert_eq!(error, tercel::error::PeerError::BadRecordMac.into());
        ends.client.connection.park();
        let mut alert = Vec::new();
        ends.client.connection.sender.control(&mut alert).unwrap();
        let reported = ends.server.read(&alert, Delivery::Whole).unwrap_err();
        assert_eq!(reported, tercel::Error::AlertReceived(error.alert().unwrap()));
    }
}

#[test]
fn a_parked_stream_keeps_unread_data() {
    let mut ends = connect(ProtocolVersion::TLS1_3);
    let mut wire = Vec::new();
    ends.server.connection.sender.seal_to(&[3; 1000], &mut wire).unwrap();
    ends.server.connection.sender.seal_to(&[4; 1000], &mut wire).unwrap();
    let transport = std::io::Cursor::new(wire);
    let End { connection, received } = ends.client;
    let mut stream = Stream::new(transport, connection, received);
    let mut out = [0; 2000];
    for at in 0..2000 {
        std::io::Read::read_exact(&mut stream, &mut out[at..=at]).unwrap();
        stream.park();
    }
    assert_eq!((&out[..1000], &out[1000..]), (&[3; 1000][..], &[4; 1000][..]));
}

/// Configurations whose handshakes are repeatable for a seed: no signature is randomized.
fn configs(suite: CipherSuite) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let client = client().cipher_suites(&[suite]).groups(&[NamedGroup::X25519]);
    let server = ServerConfig::builder().credential(credential(Kind::Ed25519));
    (client.without_resumption().build().unwrap(), server.build().unwrap())
}

/// Sends data in both directions, all kinds of key updates and close_notify. Calls `meanwhile`
/// between all steps. Returns all sent bytes, and an exported secret.
pub(crate) fn play(
    mut ends: Ends,
    version: ProtocolVersion,
    mut meanwhile: impl FnMut(&mut End, &mut End),
) -> (Vec<u8>, [u8; 32]) {
    let (mut all, mut random) = (Vec::new(), Random(99));
    for round in 0..60 {
        let side = [Side::Client, Side::Server][random.below(2)];
        let mut wire = Vec::new();
        let data: Vec<u8> = (0..random.below(900)).map(|at| at.to_le_bytes()[0]).collect();
        meanwhile(&mut ends.client, &mut ends.server);
        let (from, _) = ends.both(side);
        if version == ProtocolVersion::TLS1_3 && random.below(3) == 0 {
            let request = random.below(2) == 0;
            from.connection.sender.update_key(request, &mut wire).unwrap();
        }
        meanwhile(&mut ends.client, &mut ends.server);
        let (from, _) = ends.both(side);
        from.connection.sender.seal_to(&data, &mut wire).unwrap();
        all.extend_from_slice(&wire);
        // Delivers the bytes in two parts.
        let (now, later) = wire.split_at(random.below(wire.len() + 1));
        let mut read = ends.both(side).1.read(now, Delivery::Whole).unwrap();
        meanwhile(&mut ends.client, &mut ends.server);
        read.extend(ends.both(side).1.read(later, Delivery::Pieces(round)).unwrap());
        assert_eq!(read, data);
    }
    let mut exported = [0; 32];
    meanwhile(&mut ends.client, &mut ends.server);
    let exporter = &ends.client.connection.exporter;
    exporter.export(b"EXPORTER-parked", None, &mut exported).unwrap();
    let (client, server) = ends.both(Side::Client);
    client.connection.sender.close(&mut all).unwrap();
    meanwhile(client, server);
    server.connection.sender.close(&mut all).unwrap();
    (all, exported)
}

/// A random number generator that is repeatable for a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (self.0 >> 33) as usize % bound
    }
}
