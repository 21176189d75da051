//! What a hostile peer can cost: bytes held and work done, both bounded.
//!
//! For: peers that stall, flood or cut everything into pieces, with an allocator that counts. What
//! AWS-LC allocates by itself is not counted; it does not depend on what a peer sends.
//! Must not know: the crate's limits by name; a test says what is bearable. Next: `record/limits.rs`.

#[path = "exchange/identity.rs"]
#[allow(dead_code)]
mod identity;
#[path = "exchange/pair.rs"]
#[allow(dead_code)]
mod pair;

use std::sync::Arc;

use allocation_counter::measure;
use identity::{NAME, client, connect, plain, server};
use pair::{Delivery, Pair, records};
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    Connection, Error, Handshake, MemoryStore, Next, Peer, Policy, Received, ServerConfig, Side,
};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const KIB: usize = 1024;

#[test]
fn a_client_that_stalls_costs_a_few_kibibytes() {
    let (_, config) = plain();
    let hello = client_hello();
    // Nothing, a header, half a hello; then a whole one and silence.
    for length in [0, 5, hello.len() / 2, hello.len()] {
        let mut stalled = None;
        let held = held(|| {
            let mut server = Handshake::server(Arc::clone(&config));
            let (mut received, mut out) = (Received::new(), Vec::new());
            received.extend(&hello[..length]);
            server.advance(&mut received, &mut out).unwrap();
            stalled = Some((server, received));
        });
        assert!(stalled.is_some() && held < 16 * KIB, "{length} bytes of hello cost {held}");
    }
}

#[test]
fn a_client_that_says_nothing_costs_nothing() {
    let (_, config) = plain();
    let (mut received, mut out) = (Received::new(), Vec::new());
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

/// The flight sent, the client's answer awaited: the caller's buffers apart.
#[test]
fn a_client_that_does_not_answer_costs_a_few_kibibytes() {
    for (version, most) in [(TLS12, 5 * KIB / 2), (TLS13, 7 * KIB / 2)] {
        let client = client().versions(&[version]).build().unwrap();
        let mut client = Handshake::client(client, NAME.try_into().unwrap());
        let (mut received, mut out) = (Received::new(), Vec::with_capacity(16 * KIB));
        client.advance(&mut Received::new(), &mut out).unwrap();
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
            // Tickets and the first data: from here on a client holds no more than a server.
            ends.talk();
            for side in [Side::Client, Side::Server] {
                let (end, _) = ends.both(side);
                drop(end.connection.facts.take_peer_chain());
                end.received.release();
            }
            idle = Some(Box::new(ends));
        });
        assert!(idle.is_some() && held / 2 < 2 * KIB, "{version:?}: {held} for both ends");
    }
}

#[test]
fn a_parked_connection_is_half_a_kibibyte() {
    for version in [TLS13, TLS12] {
        // What a session's connections share is in the configurations' stores.
        let (ours, theirs) = (client().versions(&[version]).build().unwrap(), plain().1);
        let mut ends = Pair::new(&ours, &theirs, NAME).connect().unwrap();
        ends.talk();
        for mut end in [ends.client, ends.server] {
            end.connection.park();
            let Connection { sender, receiver, exporter, .. } = end.connection;
            let inline = size_of_val(&sender) + size_of_val(&receiver) + size_of_val(&exporter);
            // What dropping them gives back is what they held.
            let heap = -measure(|| drop((sender, receiver, exporter))).bytes_current;
            let held = inline + usize::try_from(heap).unwrap();
            assert!((100..=KIB / 2).contains(&held), "{version:?}: {held}");
        }
    }
}

#[test]
fn a_session_in_a_servers_store_costs_about_a_kibibyte() {
    const COUNT: usize = 50;
    for (version, most) in [(TLS12, KIB + KIB / 4), (TLS13, KIB)] {
        let store = Arc::new(MemoryStore::default());
        let builder = server().without_tickets().ticket_counts(1, 1);
        let theirs = builder.session_store(Policy::Here(store)).build().unwrap();
        // Resumed, for a session of TLS 1.2 gathers something when it is needed first.
        let visit = || {
            let ours = client().versions(&[version]).build().unwrap();
            for resumed in [false, true] {
                let mut ends = Pair::new(&ours, &theirs, NAME).connect().unwrap();
                ends.talk();
                assert_eq!(ends.server.connection.facts.resumed, resumed);
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
        let mut attack = Attack::on_server(&config);
        let peak = peak(|| {
            let header = [22, 3, 1, 0, 4, kind, 0xff, 0xff, 0xff];
            let error = attack.say(&header).unwrap_err();
            assert_eq!(error.alert(), Some(AlertDescription::DECODE_ERROR), "{kind}");
        });
        assert!(peak < 32 * KIB, "{kind}: {peak}");
    }
}

#[test]
fn a_hello_in_pieces_of_one_byte_costs_its_length() {
    let mut attack = Attack::on_server(&plain().1);
    // The longest hello there may be, but for its last byte.
    let length = 64 * KIB;
    let peak = peak(|| {
        attack.say(&[22, 3, 1, 0, 4, 1, 1, 0, 0]).unwrap();
        for _ in 0..length - 1 {
            attack.say(&[22, 3, 1, 0, 1, 0]).unwrap();
        }
    });
    assert!((length..4 * length).contains(&peak), "{peak}");
    // What it says is nonsense.
    attack.say(&[22, 3, 1, 0, 1, 0]).unwrap_err();
}

#[test]
fn records_without_content_come_to_an_end() {
    let empty = [22, 3, 1, 0, 0];
    let mut attack = Attack::on_server(&plain().1);
    let peak = peak(|| {
        let (count, error) = attack.flood(&empty);
        assert_eq!(error, Peer::TooManyEmptyRecords.into());
        assert!(count < 100, "{count}");
    });
    assert!(peak < 32 * KIB, "{peak}");
    // In the middle of a message they are no better.
    let mut attack = Attack::on_server(&plain().1);
    attack.say(&[22, 3, 1, 0, 2, 1, 0]).unwrap();
    assert_eq!(attack.flood(&empty).1, Peer::TooManyEmptyRecords.into());
}

#[test]
fn warning_alerts_come_to_an_end() {
    let mut attack = Attack::on_server(&plain().1);
    let (count, error) = attack.flood(&[21, 3, 1, 0, 2, 1, 90]);
    assert_eq!(error, Peer::TooManyWarningAlerts.into());
    assert!(count < 100, "{count}");
}

#[test]
fn change_cipher_specs_come_to_an_end() {
    let (_, config) = plain();
    let mut attack = Attack::on_server(&config);
    attack.say(&client_hello()).unwrap();
    let (count, error) = attack.flood(&[20, 3, 3, 0, 1, 1]);
    assert_eq!(error, Peer::TooManyChangeCipherSpecs.into());
    assert!(count < 100, "{count}");
}

#[test]
fn key_updates_come_to_an_end_unless_data_comes_with_them() {
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
        assert_eq!(error, Peer::TooManyKeyUpdates.into());
        assert!(count < 100, "{count}");
    }
    // With data between them each is one of many, asked for or not, and none leaves anything behind.
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
    // Two thousand requests want one answer.
    wire.clear();
    ends.server.connection.sender.control(&mut wire).unwrap();
    assert_eq!(records(&wire).len(), 1);
}

#[test]
fn data_in_pieces_of_one_byte_costs_nothing_that_stays() {
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
fn a_record_that_never_ends_costs_a_record() {
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
fn a_handshake_by_bytes_costs_no_more_than_a_whole_one() {
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

/// A server alone with whoever sends it bytes.
struct Attack {
    server: Handshake,
    received: Received,
}

impl Attack {
    fn on_server(config: &Arc<ServerConfig>) -> Self {
        Self { server: Handshake::server(Arc::clone(config)), received: Received::new() }
    }

    fn say(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.received.extend(bytes);
        let next = self.server.advance(&mut self.received, &mut Vec::new())?;
        assert!(matches!(next, Next::Receive));
        Ok(())
    }

    /// The same bytes until they are refused: how often, and with what.
    fn flood(&mut self, bytes: &[u8]) -> (usize, Error) {
        for count in 0..10_000 {
            if let Err(error) = self.say(bytes) {
                return (count, error);
            }
        }
        panic!("a flood of {bytes:?} has no end");
    }
}

/// The most bytes that were held at one time while this ran.
fn peak(run: impl FnOnce()) -> usize {
    usize::try_from(measure(run).bytes_max).unwrap()
}

/// The bytes that are still held after this ran.
fn held(run: impl FnOnce()) -> usize {
    usize::try_from(measure(run).bytes_current).unwrap_or(0)
}

fn client_hello() -> Vec<u8> {
    let mut hello = Vec::new();
    let (config, _) = plain();
    let mut client = Handshake::client(config, NAME.try_into().unwrap());
    client.advance(&mut Received::new(), &mut hello).unwrap();
    hello
}
#[test]
fn floods_of_different_kinds_do_not_excuse_each_other() {
    let (empty, warning) = ([22, 3, 1, 0, 0], [21, 3, 1, 0, 2, 1, 90]);
    let mut attack = Attack::on_server(&plain().1);
    let (count, error) = attack.flood(&[&empty[..], &warning].concat());
    assert_eq!(error.alert(), Some(AlertDescription::DECODE_ERROR));
    assert!(count < 100, "{count}");
}
