//! What happens once two sides are connected: data, keys that change, and the end.
//!
//! For: senders, receivers, exporters and key logs. Must not know: how it was negotiated.
//! Next: `reads.rs`.

use std::sync::{Arc, Mutex};

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{Error, Filled, KeyLog, KeyLogFile, Local, Misuse, Opened, Padding, Peer, Side};

use crate::identity::{NAME, client, server};
use crate::pair::{Delivery, End, Ends, Pair, records};

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
fn opening_into_the_readers_buffer_gives_the_same() {
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
        // What was not for the reader is not left in its buffer.
        assert!(!out.windows(2).any(|window| window == [1, 0]));
    }
}

#[test]
fn exporters_agree() {
    for version in BOTH_VERSIONS {
        let ends = connect(version);
        let export = |side, label: &[u8], context: Option<&[u8]>| {
            let end = if side == Side::Client { &ends.client } else { &ends.server };
            let mut out = [0; 50];
            end.connection.exporter.export(label, context, &mut out).unwrap();
            out
        };
        for context in [None, Some(&b""[..]), Some(b"context")] {
            let ours = export(Side::Client, b"EXPORTER-test", context);
            assert_eq!(ours, export(Side::Server, b"EXPORTER-test", context));
            assert_ne!(ours, export(Side::Server, b"EXPORTER-other", context));
            assert_ne!(ours, export(Side::Server, b"EXPORTER-test", Some(b"another")));
        }
        // In TLS 1.3 no context is an empty one. RFC 9846 7.5, RFC 5705 4
        let same = export(Side::Client, b"EXPORTER-test", None)
            == export(Side::Client, b"EXPORTER-test", Some(b""));
        assert_eq!(same, version == TLS13);
    }
}

#[test]
fn both_sides_log_the_same_secrets() {
    for (version, labels) in [
        (
            TLS13,
            &[
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
                "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                "CLIENT_TRAFFIC_SECRET_0",
                "SERVER_TRAFFIC_SECRET_0",
                "EXPORTER_SECRET",
            ][..],
        ),
        (TLS12, &["CLIENT_RANDOM"]),
    ] {
        let (ours, theirs) = (Arc::new(Log::default()), Arc::new(Log::default()));
        let client = client().versions(&[version]).key_log(ours.clone()).build().unwrap();
        let server = server().key_log(theirs.clone()).build().unwrap();
        let mut hello = Vec::new();
        let ends = Pair::new(&client, &server, NAME)
            .tap_to_server(|bytes| hello.extend_from_slice(bytes))
            .connect()
            .unwrap();
        let (ours, theirs) = (ours.lines.lock().unwrap(), theirs.lines.lock().unwrap());
        assert_eq!(*ours, *theirs);
        assert_eq!(ours.iter().map(|line| line.0.as_str()).collect::<Vec<_>>(), labels);
        // The random is the one in the hello, behind two headers and a version.
        assert!(ours.iter().all(|line| line.1 == hello[11..43]));
        if version == TLS13 {
            let (read, write) = ends.client.connection.traffic_secrets().unwrap();
            assert_eq!((&ours[2].2, &ours[3].2), (&write, &read));
        }
    }
}

#[test]
fn a_key_log_file_has_a_line_for_each_secret() {
    let path = std::env::temp_dir().join(format!("tercel-key-log-{}", std::process::id()));
    let log = Arc::new(KeyLogFile::append(&path).unwrap());
    let client = client().versions(&[TLS12]).key_log(log).build().unwrap();
    Pair::new(&client, &server().build().unwrap(), NAME).connect().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let fields: Vec<_> = text.trim_end_matches('\n').split(' ').collect();
    let lengths: Vec<_> = fields.iter().map(|field| field.len()).collect();
    assert_eq!((fields[0], &lengths[1..]), ("CLIENT_RANDOM", &[64, 96][..]));
}

#[test]
fn keys_change_in_either_direction_and_in_both() {
    let mut ends = connect(TLS13);
    let mut seen = vec![ends.client.connection.traffic_secrets().unwrap()];
    for round in 0..6 {
        let side = BOTH_SIDES[round % 2];
        let request = round >= 2;
        let (from, to) = ends.both(side);
        let mut wire = Vec::new();
        from.connection.sender.update_key(request, &mut wire).unwrap();
        assert_eq!(from.connection.sender.sequence(), 0);
        assert_eq!(to.read(&wire, Delivery::Whole).unwrap(), b"");
        // What was requested is done before the next data, and once.
        let mut answer = Vec::new();
        to.connection.sender.control(&mut answer).unwrap();
        assert_eq!(records(&answer).len(), usize::from(request));
        to.connection.sender.control(&mut answer).unwrap();
        assert_eq!(records(&answer).len(), usize::from(request));
        assert_eq!(from.read(&answer, Delivery::Whole).unwrap(), b"");
        ends.talk();
        let (read, write) = ends.client.connection.traffic_secrets().unwrap();
        let other = ends.server.connection.traffic_secrets().unwrap();
        assert_eq!((&write, &read), (&other.0, &other.1));
        let (old_read, old_write) = seen.last().unwrap();
        assert_eq!(*old_write != write, request || side == Side::Client);
        assert_eq!(*old_read != read, request || side == Side::Server);
        seen.push((read, write));
    }
}

#[test]
fn an_update_that_crosses_data_is_answered_with_the_next_data() {
    let mut ends = connect(TLS13);
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    ends.client.connection.sender.update_key(true, &mut to_server).unwrap();
    ends.server.connection.sender.seal_to(b"on its way", &mut to_client).unwrap();
    assert_eq!(ends.client.read(&to_client, Delivery::Whole).unwrap(), b"on its way");
    ends.server.read(&to_server, Delivery::Whole).unwrap();
    to_client.clear();
    ends.server.connection.sender.seal_to(b"later", &mut to_client).unwrap();
    assert_eq!(records(&to_client).len(), 2);
    assert_eq!(ends.client.read(&to_client, Delivery::Whole).unwrap(), b"later");
    ends.talk();
}

#[test]
fn a_request_for_an_update_is_not_repeated_before_it_is_granted() {
    let mut ends = connect(TLS13);
    let (client, server) = ends.both(Side::Client);
    // Asks; what the server has to say to that.
    let mut ask = |client: &mut End| {
        let (mut request, mut answer) = (Vec::new(), Vec::new());
        client.connection.sender.update_key(true, &mut request).unwrap();
        assert_eq!(server.read(&request, Delivery::Whole), Ok(Vec::new()));
        server.connection.sender.control(&mut answer).unwrap();
        answer
    };
    let first = ask(client);
    assert_eq!(records(&first).len(), 1);
    // The answer is on its way: our key changes again, but we ask for no other. RFC 9846 4.7.3
    assert!(ask(client).is_empty());
    assert_eq!(client.read(&first, Delivery::Whole), Ok(Vec::new()));
    let second = ask(client);
    assert_eq!(records(&second).len(), 1);
    assert_eq!(client.read(&second, Delivery::Whole), Ok(Vec::new()));
    ends.talk();
}

#[test]
fn after_the_peers_alert_there_is_nothing_to_seal() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        let mut wire = Vec::new();
        let alert = AlertDescription::INTERNAL_ERROR;
        ends.client.connection.sender.abort(alert, &mut wire).unwrap();
        ends.server.read(&wire, Delivery::Whole).unwrap_err();
        let sealed = ends.server.connection.sender.seal(b"data", &mut [0; 1000]);
        assert_eq!(sealed, Err(Local::Failed.into()));
    }
}

#[test]
fn tls12_has_no_key_update() {
    let mut ends = connect(TLS12);
    let refused = ends.client.connection.sender.update_key(true, &mut Vec::new());
    assert_eq!(refused, Err(Misuse::WrongVersion.into()));
    assert_eq!(ends.client.connection.traffic_secrets(), Err(Misuse::WrongVersion.into()));
    ends.talk();
}

#[test]
fn close_notify_ends_reading() {
    for version in BOTH_VERSIONS {
        for side in BOTH_SIDES {
            let mut ends = connect(version);
            let (from, to) = ends.both(side);
            let mut wire = Vec::new();
            from.connection.sender.seal_to(b"last words", &mut wire).unwrap();
            from.connection.sender.close(&mut wire).unwrap();
            let length = wire.len();
            from.connection.sender.close(&mut wire).unwrap();
            assert_eq!(wire.len(), length, "a second close says nothing");
            let refused = from.connection.sender.seal_to(b"more", &mut wire);
            assert_eq!(refused, Err(Local::Closed.into()));

            assert_eq!(to.read(&wire, Delivery::Whole).unwrap(), b"last words");
            assert_eq!(to.connection.receiver.open(&mut to.received), Ok(Opened::Closed));
            assert_eq!(to.connection.receiver.end_of_input(), Ok(()));
            let mut answer = Vec::new();
            if version == TLS13 {
                // Only one direction has ended. RFC 9846 6.1
                to.connection.sender.seal_to(b"goodbye", &mut answer).unwrap();
                assert_eq!(from.read(&answer, Delivery::Whole).unwrap(), b"goodbye");
            } else {
                // The answer is a close_notify. RFC 5246 7.2.1
                to.connection.sender.control(&mut answer).unwrap();
                from.read(&answer, Delivery::Whole).unwrap();
                assert_eq!(from.connection.receiver.open(&mut from.received), Ok(Opened::Closed));
                assert!(to.connection.sender.seal_to(b"goodbye", &mut answer).is_err());
            }
        }
    }
}

#[test]
fn an_end_without_close_notify_is_a_truncation() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        let mut wire = Vec::new();
        ends.client.connection.sender.seal_to(b"cut short", &mut wire).unwrap();
        wire.pop();
        let end = &mut ends.server;
        assert_eq!(end.read(&wire, Delivery::Whole).unwrap(), b"");
        assert_eq!(end.connection.receiver.end_of_input(), Err(Error::Truncated));
        assert_eq!(end.connection.receiver.open(&mut end.received), Err(Error::Truncated));

        let tolerant = server().tolerate_truncation(true).build().unwrap();
        let client = client().versions(&[version]).build().unwrap();
        let mut ends = Pair::new(&client, &tolerant, NAME).connect().unwrap();
        let end = &mut ends.server;
        assert_eq!(end.connection.receiver.end_of_input(), Ok(()));
        assert_eq!(end.connection.receiver.open(&mut end.received), Ok(Opened::Closed));
    }
}

#[test]
fn a_record_that_does_not_open_is_the_end_and_is_told() {
    for version in BOTH_VERSIONS {
        for side in BOTH_SIDES {
            let mut ends = connect(version);
            let (from, to) = ends.both(side);
            let mut wire = Vec::new();
            from.connection.sender.seal_to(b"data", &mut wire).unwrap();
            *wire.last_mut().unwrap() ^= 1;
            let failed = Error::from(Peer::BadRecordMac);
            assert_eq!(to.read(&wire, Delivery::Whole), Err(failed));
            assert_eq!(to.connection.receiver.open(&mut to.received), Err(failed));
            let mut answer = Vec::new();
            to.connection.sender.control(&mut answer).unwrap();
            let told = Error::AlertReceived(AlertDescription::BAD_RECORD_MAC);
            assert_eq!(from.read(&answer, Delivery::Whole), Err(told));
            let refused = to.connection.sender.seal_to(b"more", &mut answer);
            assert_eq!(refused, Err(Local::Failed.into()));
        }
    }
}

#[test]
fn an_alert_of_the_applications_choice_arrives() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        let mut wire = Vec::new();
        ends.server.connection.sender.abort(AlertDescription::INTERNAL_ERROR, &mut wire).unwrap();
        let told = Error::AlertReceived(AlertDescription::INTERNAL_ERROR);
        assert_eq!(ends.client.read(&wire, Delivery::Whole), Err(told));
        // A fatal alert is not answered. RFC 9846 6.2
        wire.clear();
        ends.client.connection.sender.control(&mut wire).unwrap();
        assert!(wire.is_empty());
    }
}

#[test]
fn records_keep_to_the_receivers_limit() {
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).record_size_limit(100).build().unwrap();
        let server = server().record_size_limit(700).build().unwrap();
        let mut to_client = Vec::new();
        let mut ends = Pair::new(&client, &server, NAME)
            .tap_to_client(|bytes| to_client.extend_from_slice(bytes))
            .connect()
            .unwrap();
        // TLS 1.3 counts the content type, and protects most of the handshake. RFC 8449 4
        let type_byte = usize::from(version == TLS13);
        let overhead = if version == TLS13 { 17 } else { 24 };
        let longest = |side| if side == Side::Client { 700 } else { 100 };
        if version == TLS13 {
            let sealed = records(&to_client).into_iter().filter(|record| record.0 == 23);
            assert!(sealed.clone().count() > 3);
            assert!(sealed.map(|record| record.1.len()).max().unwrap() <= 100 + 16);
        }
        for side in BOTH_SIDES {
            let (from, to) = ends.both(side);
            let mut wire = Vec::new();
            from.connection.sender.seal_to(&[5; 3000], &mut wire).unwrap();
            let lengths: Vec<_> = records(&wire).iter().map(|record| record.1.len()).collect();
            let most = longest(side) - type_byte + overhead;
            assert_eq!(lengths.iter().max(), Some(&most), "{version:?} {side:?}");
            assert_eq!(to.read(&wire, Delivery::Whole).unwrap(), vec![5; 3000]);
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
        let mut ends = Pair::new(&client, &server().build().unwrap(), NAME).connect().unwrap();
        assert_eq!(ends.client.connection.sender.max_fragment(), 300);
        let mut wire = Vec::new();
        ends.client.connection.sender.seal_to(&[1; 1000], &mut wire).unwrap();
        assert_eq!(records(&wire).len(), 4);
        assert_eq!(ends.server.read(&wire, Delivery::Whole).unwrap(), [1; 1000]);
        ends.talk();
    }
}

fn connect(version: ProtocolVersion) -> Ends {
    let client = client().versions(&[version]).build().unwrap();
    Pair::new(&client, &server().build().unwrap(), NAME).connect().unwrap()
}

/// Label, client random, secret.
type Line = (String, Vec<u8>, Vec<u8>);

#[derive(Default)]
struct Log {
    lines: Mutex<Vec<Line>>,
}

impl KeyLog for Log {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let line = (label.to_owned(), client_random.to_vec(), secret.to_vec());
        self.lines.lock().unwrap().push(line);
    }
}
