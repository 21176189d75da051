//! Key updates, exporters and key logs.

use std::sync::{Arc, Mutex};

use tercel::wire::ProtocolVersion;
use tercel::{
    Side,
    error::Misuse,
    key_log::{KeyLog, KeyLogFile},
};

use crate::fixtures::{NAME, client, connect, server};
use crate::pair::{Delivery, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];
const BOTH_SIDES: [Side; 2] = [Side::Client, Side::Server];

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
        // In TLS 1.3, an absent context gives the same result as an empty context. RFC 9846 7.5,
        // RFC 5705 4
        let same = export(Side::Client, b"EXPORTER-test", None)
            == export(Side::Client, b"EXPORTER-test", Some(b""));
        assert_eq!(same, version == TLS13);
    }
}

#[test]
fn no_part_of_a_random_value_repeats() {
    for version in BOTH_VERSIONS {
        let (client, server) = (client().versions(&[version]).build().unwrap(), server());
        let server = server.build().unwrap();
        let mut parts = Vec::new();
        for _ in 0..4 {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            Pair::new(&client, &server, NAME)
                .tap_to_server(|bytes| ours.extend_from_slice(bytes))
                .tap_to_client(|bytes| theirs.extend_from_slice(bytes))
                .connect()
                .unwrap();
            // The random follows a header and the version. The last eight bytes of a TLS 1.2
            // server's random are fixed. RFC 9846 4.2.3
            for (sent, length) in [(ours, 32), (theirs, if version == TLS12 { 24 } else { 32 })] {
                let (_, hello) = records(&sent).swap_remove(0);
                parts.extend(hello[6..6 + length].chunks(8).map(<[u8]>::to_vec));
            }
        }
        let all = parts.len();
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts.len(), all, "{version:?}");
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
        // The random in the log is that of the ClientHello, where it follows two headers and the
        // version.
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
        // An answer to an update request is sent once, before the next data.
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
fn a_requested_update_is_sent_with_the_next_data() {
    let mut ends = connect(TLS13);
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    ends.client.connection.sender.update_key(true, &mut to_server).unwrap();
    ends.server.connection.sender.seal_to(b"in transit", &mut to_client).unwrap();
    assert_eq!(ends.client.read(&to_client, Delivery::Whole).unwrap(), b"in transit");
    ends.server.read(&to_server, Delivery::Whole).unwrap();
    to_client.clear();
    ends.server.connection.sender.seal_to(b"later", &mut to_client).unwrap();
    assert_eq!(records(&to_client).len(), 2);
    assert_eq!(ends.client.read(&to_client, Delivery::Whole).unwrap(), b"later");
    ends.talk();
}

#[test]
fn tls12_has_no_key_update() {
    let mut ends = connect(TLS12);
    let refused = ends.client.connection.sender.update_key(true, &mut Vec::new());
    assert_eq!(refused, Err(Misuse::WrongVersion.into()));
    assert_eq!(ends.client.connection.traffic_secrets(), Err(Misuse::WrongVersion.into()));
    ends.talk();
}

/// A line of the key log: label, client random, secret.
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
