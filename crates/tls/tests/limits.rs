//! The cost that a hostile peer can cause: memory and work are both limited.
//!
//! Peers stall, flood, or divide everything into small parts; an allocator counts the memory. The
//! allocations of AWS-LC itself are not counted; they do not depend on what a peer sends.

#[path = "exchange/fixtures.rs"]
#[allow(dead_code)]
mod fixtures;
#[path = "exchange/pair.rs"]
#[allow(dead_code)]
mod pair;

use std::sync::Arc;

use allocation_counter::measure;
use fixtures::{NAME, client, connect, plain, server};
use pair::{Delivery, Pair, records};
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    Connection, Error, Handshake, Next, Policy, ReceiveBuffer, ServerConfig, Side,
    error::PeerError, session::ServerMemoryStore,
};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const KIB: usize = 1024;

/// What the feature `message-tap` adds to a connection: the tap, if one is set. Builds of the
/// workspace have the feature, because `tercel-openssl` needs it.
const TAP: usize = if cfg!(feature = "message-tap") { 24 } else { 0 };

#[test]
fn a_client_that_stalls_costs_a_few_kibibytes() {
    let (_, config) = plain();
    let hello = client_hello();
    // The client sends nothing, a header, half a ClientHello, or a whole ClientHello, and then
    // stalls.
    for length in [0, 5, hello.len() / 2, hello.len()] {
        let mut stalled = None;
        let held = held(|| {
            let mut server = Handshake::server(Arc::clone(&config));
            let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
            received.extend(&hello[..length]);
            server.advance(&mut received, &mut out).unwrap();
            stalled = Some((server, received));
        });
        assert!(stalled.is_some() && held < 16 * KIB, "{length} bytes of hello cost {held}");
    }
}

#[test]
fn a_client_that_sends_nothing_costs_nothing() {
    let (_, config) = plain();
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    let mut silent = None;
    let peak = peak(|| {
        let mut server = Handshake::server(config);
        let next = server.advance(&mut received, &mut out).unwrap();
        assert!(matches!(next, Next::Receive));
        silent = Some(server);
    });
    assert_eq!(peak, 0);
    let mut server = silent.unwrap();
    received.extend(&client_hello());
    server.advance(&mut received, &mut out).unwrap();
    assert!(!out.is_empty());
}

/// The server has sent its flight and waits for the client. The caller's buffers are not counted.
#[test]
fn a_client_that_does_not_answer_costs_a_few_kibibytes() {
    for (version, most) in [(TLS12, 5 * KIB / 2), (TLS13, 7 * KIB / 2)] {
        let client = client().versions(&[version]).build().unwrap();
        let mut client = Handshake::client(client, NAME.try_into().unwrap());
        let (mut received, mut out) = (ReceiveBuffer::new(), Vec::with_capacity(16 * KIB));
        client.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
        received.extend(&out);
        out.clear();
        let config = plain().1;
        let mut waiting = None;
        let held = held(|| {
            let mut server = Handshake::server(config);
            server.advance(&mut received, &mut out).unwrap();
            waiting = Some(server);
        });
        assert!(waiting.is_some() && !out.is_empty());
        assert!(held <= most, "{version:?}: {held}");
    }
}

#[test]
fn an_idle_connection_is_small() {
    for version in [TLS13, TLS12] {
        connect(version);
        let mut idle = None;
        let held = held(|| {
            let mut ends = connect(version);
            // After tickets and the first data a client holds no more than a server.
            ends.talk();
            for side in [Side::Client, Side::Server] {
                let (end, _) = ends.both(side);
                drop(end.connection.info.take_peer_chain());
                end.received.release();
            }
            idle = Some(Box::new(ends));
        });
        // The client has a store of its own, which also counts the bytes of its sessions.
        let most = 2 * KIB + 32 + TAP;
        assert!(idle.is_some() && held / 2 < most, "{version:?}: {held} for both ends");
    }
}

#[test]
fn a_parked_connection_is_half_a_kibibyte() {
    for version in [TLS13, TLS12] {
        // A connection's sessions are in the stores of its configurations, so the configurations
        // are kept.
        let (ours, theirs) = (client().versions(&[version]).build().unwrap(), plain().1);
        let mut ends = Pair::new(&ours, &theirs, NAME).connect().unwrap();
        ends.talk();
        for mut end in [ends.client, ends.server] {
            end.connection.park();
            let Connection { sender, receiver, exporter, .. } = end.connection;
            let inline = size_of_val(&sender) + size_of_val(&receiver) + size_of_val(&exporter);
            // The size of the halves is the memory that is freed when they are dropped.
            let heap = -measure(|| drop((sender, receiver, exporter))).bytes_current;
            let held = inline + usize::try_from(heap).unwrap();
            // The FIPS module keeps the expanded key of a TLS 1.3 sender.
            let key = if cfg!(feature = "fips") && version == TLS13 { 600 } else { 0 };
            assert!((100..=KIB / 2 + TAP + key).contains(&held), "{version:?}: {held}");
        }
    }
}

#[test]
fn a_session_in_a_servers_store_costs_about_a_kibibyte() {
    const COUNT: usize = 50;
    for (version, most) in [(TLS12, KIB + KIB / 4), (TLS13, KIB)] {
        let store = Arc::new(ServerMemoryStore::default());
        let builder = server().without_tickets().ticket_counts(1, 1);
        let theirs = builder.session_store(Policy::Here(store)).build().unwrap();
        // The second connection is resumed, because a session of TLS 1.2 grows at its first use.
        let visit = || {
            let ours = client().versions(&[version]).build().unwrap();
            for resumed in [false, true] {
                let mut ends = Pair::new(&ours, &theirs, NAME).connect().unwrap();
                ends.talk();
                assert_eq!(ends.server.connection.info.resumed, resumed);
            }
        };
        visit();
        let held = held(|| (0..COUNT).for_each(|_| visit()));
        assert!((200..=most).contains(&(held / COUNT)), "{version:?}: {held} bytes");
    }
}

#[test]
fn a_message_that_claims_to_be_huge_is_refused_by_its_header() {
    let (_, config) = plain();
    for kind in 0..=255 {
        let mut client = HostileClient::on_server(&config);
        let peak = peak(|| {
            let header = [22, 3, 1, 0, 4, kind, 0xff, 0xff, 0xff];
            let error = client.send(&header).unwrap_err();
            assert_eq!(error.alert(), Some(AlertDescription::DECODE_ERROR), "{kind}");
        });
        assert!(peak < 32 * KIB, "{kind}: {peak}");
    }
}

#[test]
fn a_hello_in_pieces_of_one_byte_costs_its_length() {
    let mut client = HostileClient::on_server(&plain().1);
    // Sends the longest possible ClientHello without its last byte.
    let length = 64 * KIB;
    let peak = peak(|| {
        client.send(&[22, 3, 1, 0, 4, 1, 1, 0, 0]).unwrap();
        for _ in 0..length - 1 {
            client.send(&[22, 3, 1, 0, 1, 0]).unwrap();
        }
    });
    assert!((length..4 * length).contains(&peak), "{peak}");
    // With the last byte the ClientHello is complete, but its content is invalid.
    client.send(&[22, 3, 1, 0, 1, 0]).unwrap_err();
}

#[test]
fn records_without_content_are_limited() {
    let empty = [22, 3, 1, 0, 0];
    let mut client = HostileClient::on_server(&plain().1);
    let peak = peak(|| {
        let (count, error) = client.flood(&empty);
        assert_eq!(error, PeerError::TooManyEmptyRecords.into());
        assert!(count < 100, "{count}");
    });
    assert!(peak < 32 * KIB, "{peak}");
    // Empty records within a message are limited too.
    let mut client = HostileClient::on_server(&plain().1);
    client.send(&[22, 3, 1, 0, 2, 1, 0]).unwrap();
    assert_eq!(client.flood(&empty).1, PeerError::TooManyEmptyRecords.into());
}

#[test]
fn warning_alerts_are_limited() {
    let mut client = HostileClient::on_server(&plain().1);
    let (count, error) = client.flood(&[21, 3, 1, 0, 2, 1, 90]);
    assert_eq!(error, PeerError::TooManyWarningAlerts.into());
    assert!(count < 100, "{count}");
}

#[test]
fn change_cipher_spec_records_are_limited() {
    let (_, config) = plain();
    let mut client = HostileClient::on_server(&config);
    client.send(&client_hello()).unwrap();
    let (count, error) = client.flood(&[20, 3, 3, 0, 1, 1]);
    assert_eq!(error, PeerError::TooManyChangeCipherSpecs.into());
    assert!(count < 100, "{count}");
}

#[test]
fn key_updates_without_data_are_limited() {
    for request in [false, true] {
        let mut ends = connect(TLS13);
        let mut refused = None;
        for count in 0..1000 {
            let mut wire = Vec::new();
            ends.client.connection.sender.update_key(request, &mut wire).unwrap();
            if let Err(error) = ends.server.read(&wire, Delivery::Whole) {
                refused = Some((count, error));
                break;
            }
        }
        let (count, error) = refused.expect("a thousand key updates");
        assert_eq!(error, PeerError::TooManyKeyUpdates.into());
        assert!(count < 100, "{count}");
    }
    // With data in between, any number of key updates is accepted, with or without a request, and
    // they use no memory.
    let mut ends = connect(TLS13);
    ends.talk();
    let mut wire = Vec::with_capacity(KIB);
    let held = held(|| {
        for _ in 0..2000 {
            wire.clear();
            ends.client.connection.sender.update_key(true, &mut wire).unwrap();
            ends.client.connection.sender.seal_to(b"data", &mut wire).unwrap();
            assert_eq!(ends.server.read(&wire, Delivery::Whole).unwrap(), b"data");
        }
    });
    assert!(held < KIB, "{held}");
    // Two thousand requests need one answer.
    wire.clear();
    ends.server.connection.sender.control(&mut wire).unwrap();
    assert_eq!(records(&wire).len(), 1);
}

#[test]
fn data_in_single_bytes_uses_no_permanent_memory() {
    for version in [TLS13, TLS12] {
        let mut ends = connect(version);
        ends.talk();
        let mut wire = Vec::new();
        for _ in 0..20_000 {
            ends.client.connection.sender.seal_to(&[3], &mut wire).unwrap();
        }
        assert_eq!(records(&wire).len(), 20_000);
        let mut count = 0;
        let peak = peak(|| {
            for piece in wire.chunks(100) {
                count += ends.server.read(piece, Delivery::Bytes).unwrap().len();
            }
        });
        assert_eq!(count, 20_000);
        assert!(peak < 8 * KIB, "{version:?}: {peak}");
    }
}

#[test]
fn an_incomplete_record_costs_one_record() {
    for version in [TLS13, TLS12] {
        let mut ends = connect(version);
        ends.talk();
        let mut wire = Vec::new();
        ends.client.connection.sender.seal_to(&[3; 16_384], &mut wire).unwrap();
        wire.pop();
        ends.server.received.release();
        let peak = peak(|| assert_eq!(ends.server.read(&wire, Delivery::Bytes).unwrap(), b""));
        assert!((16 * KIB..48 * KIB).contains(&peak), "{version:?}: {peak}");
    }
}

#[test]
fn a_handshake_in_single_bytes_costs_no_more_than_a_whole_one() {
    for version in [TLS13, TLS12] {
        let peak_of = |delivery| {
            let client = client().versions(&[version]).build().unwrap();
            let server = server().build().unwrap();
            peak(|| drop(Pair::new(&client, &server, NAME).delivery(delivery).connect().unwrap()))
        };
        let (whole, bytes) = (peak_of(Delivery::Whole), peak_of(Delivery::Bytes));
        assert!(whole < 96 * KIB, "{version:?}: {whole}");
        assert!(bytes <= whole + 16 * KIB, "{version:?}: {bytes}, whole {whole}");
    }
}

/// A server whose client is a test that sends bytes.
struct HostileClient {
    server: Handshake,
    received: ReceiveBuffer,
}

impl HostileClient {
    fn on_server(config: &Arc<ServerConfig>) -> Self {
        Self { server: Handshake::server(Arc::clone(config)), received: ReceiveBuffer::new() }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.received.extend(bytes);
        let next = self.server.advance(&mut self.received, &mut Vec::new())?;
        assert!(matches!(next, Next::Receive));
        Ok(())
    }

    /// Sends the same bytes until they are refused. Returns the number of times, and the error.
    fn flood(&mut self, bytes: &[u8]) -> (usize, Error) {
        for count in 0..10_000 {
            if let Err(error) = self.send(bytes) {
                return (count, error);
            }
        }
        panic!("a flood of {bytes:?} is not refused");
    }
}

/// The peak of allocated bytes during a call.
fn peak(run: impl FnOnce()) -> usize {
    usize::try_from(measure(run).bytes_max).unwrap()
}

/// The bytes that are still allocated after a call.
fn held(run: impl FnOnce()) -> usize {
    usize::try_from(measure(run).bytes_current).unwrap_or(0)
}

fn client_hello() -> Vec<u8> {
    let mut hello = Vec::new();
    let (config, _) = plain();
    let mut client = Handshake::client(config, NAME.try_into().unwrap());
    client.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
    hello
}
#[test]
fn alternating_floods_are_limited() {
    let (empty, warning) = ([22, 3, 1, 0, 0], [21, 3, 1, 0, 2, 1, 90]);
    let mut client = HostileClient::on_server(&plain().1);
    let (count, error) = client.flood(&[&empty[..], &warning].concat());
    assert_eq!(error.alert(), Some(AlertDescription::DECODE_ERROR));
    assert!(count < 100, "{count}");
}
