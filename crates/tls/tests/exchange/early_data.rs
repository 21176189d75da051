//! Early data: read early, passed over, rejected; never twice, and never more than allowed. RFC 9846 8
//!
//! Must not know: how a guard remembers. Next: `replay.rs`.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{
    AdmitEarlyData, ClientConfig, Clock, Connection, EarlyData, Handshake, Local, Next, Peer,
    Policy, Received, ReplayGuard, ServerConfig,
};

use crate::identity::{client, server};
use crate::pair::Pair;
use crate::resumption::Dial;

/// Says yes once for each value.
struct Once(ReplayGuard);

impl AdmitEarlyData for Once {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        let expires = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() + 120));
        self.0.insert_once(unique, expires, now)
    }
}

pub(crate) fn guard() -> Policy<dyn AdmitEarlyData> {
    let long_ago = UnixTime::since_unix_epoch(Duration::from_secs(0));
    Policy::Here(Arc::new(Once(ReplayGuard::new(100, long_ago))))
}

/// What became of one visit with early data.
#[derive(Debug, PartialEq, Eq)]
struct Early {
    resumed: bool,
    client: EarlyData,
    server: EarlyData,
    /// What the server read before the handshake was complete.
    read: Vec<u8>,
    /// What the client read, sent by the server ahead of the client's Finished and after.
    answered: Vec<u8>,
}

/// A visit in which the client says `words` early if it can; the hello can be played twice.
fn early_visit(
    client_config: &Arc<ClientConfig>,
    server_config: &Arc<ServerConfig>,
    words: &[u8],
) -> (Early, Vec<u8>) {
    let mut client =
        Handshake::client(Arc::clone(client_config), "server.example".try_into().unwrap());
    let mut server = Handshake::server(Arc::clone(server_config));
    let (mut to_client, mut to_server) = (Received::new(), Received::new());
    let mut out = Vec::new();
    assert!(matches!(client.advance(&mut to_client, &mut out), Ok(Next::Receive)));
    if let Some(sender) = client.early_sender() {
        sender.seal_to(words, &mut out).unwrap();
    }
    let first_flight = out.clone();
    let mut read = Vec::new();
    let (mut of_client, mut of_server) = (None, None);
    let mut half = false;
    while of_client.is_none() || of_server.is_none() {
        to_server.extend(&out);
        out.clear();
        while of_server.is_none() {
            match server.advance(&mut to_server, &mut out).unwrap() {
                Next::EarlyData(bytes) => read.extend_from_slice(&bytes),
                Next::Connected(connection) => of_server = Some(connection),
                Next::Receive => break,
                other => panic!("{other:?}"),
            }
        }
        if let Some(sender) = server.half_rtt_sender() {
            if !half {
                sender.seal_to(b"half ", &mut out).unwrap();
                half = true;
            }
        }
        to_client.extend(&out);
        out.clear();
        if of_client.is_none() {
            if let Next::Connected(connection) = client.advance(&mut to_client, &mut out).unwrap() {
                of_client = Some(connection);
            }
        }
    }
    let (mut of_client, mut of_server) = (of_client.unwrap(), of_server.unwrap());
    of_server.sender.seal_to(b"whole", &mut out).unwrap();
    to_client.extend(&out);
    let mut answered = Vec::new();
    while let Ok(tercel::Opened::Data(data)) = of_client.receiver.open(&mut to_client) {
        answered.extend_from_slice(data);
    }
    let early = Early {
        resumed: of_client.facts.resumed,
        client: of_client.facts.early_data,
        server: of_server.facts.early_data,
        read,
        answered,
    };
    // What became of early data outlasts the process.
    let saved = (of_client.save().unwrap(), of_server.save().unwrap());
    let of_client = Connection::restore_client(&saved.0, client_config).unwrap();
    let of_server = Connection::restore_server(&saved.1, server_config).unwrap();
    assert_eq!(of_client.facts.early_data, early.client);
    assert_eq!(of_server.facts.early_data, early.server);
    if early.client == EarlyData::Accepted {
        let (mut ours, mut theirs) = ([0; 32], [1; 32]);
        of_client.early_exporter.unwrap().export(b"x", None, &mut ours).unwrap();
        of_server.early_exporter.unwrap().export(b"x", None, &mut theirs).unwrap();
        assert_eq!(ours, theirs);
    }
    (early, first_flight)
}

#[test]
fn early_data_is_read_early() {
    let client = client().early_data(true).build().unwrap();
    let server = server().early_data(14336, guard()).build().unwrap();
    let (first, _) = early_visit(&client, &server, b"early");
    assert_eq!((first.resumed, first.client), (false, EarlyData::NotOffered));
    assert_eq!(first.answered, b"half whole");
    let (second, _) = early_visit(&client, &server, b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Accepted));
    assert_eq!(second.server, EarlyData::Accepted);
    assert_eq!(second.read, b"early");
    assert_eq!(second.answered, b"half whole");
}

#[test]
fn early_data_without_a_guard_is_passed_over() {
    let dial = Dial::new();
    let client = client().early_data(true).build().unwrap();
    let refuses = Policy::Here(Arc::new(Never) as Arc<dyn AdmitEarlyData>);
    let server = server().early_data(14336, refuses).clock(dial).build().unwrap();
    early_visit(&client, &server, b"early");
    let (second, _) = early_visit(&client, &server, b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Rejected));
    assert_eq!(second.server, EarlyData::Rejected);
    assert!(second.read.is_empty());
    assert_eq!(second.answered, b"half whole");
}

/// Says no.
pub(crate) struct Never;

impl AdmitEarlyData for Never {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        false
    }
}

#[test]
fn a_replayed_flight_is_not_read_twice() {
    let client = client().early_data(true).build().unwrap();
    let server = server().early_data(14336, guard()).build().unwrap();
    early_visit(&client, &server, b"early");
    let (second, flight) = early_visit(&client, &server, b"pay once");
    assert_eq!(second.read, b"pay once");
    let mut replayed = Received::new();
    replayed.extend(&flight);
    let mut handshake = Handshake::server(server);
    let step = handshake.advance(&mut replayed, &mut Vec::new());
    assert!(matches!(step, Ok(Next::Receive)), "{step:?}");
}

#[test]
fn early_data_is_rejected_when_the_protocol_changed() {
    let first = client().early_data(true).alpn(&["a", "b"]).session_context(b"x");
    let client = first.build().unwrap();
    let tickets = Arc::new(tercel::RotatingTickets::new(UnixTime::now()).unwrap());
    let server = |protocol: &str| {
        let tickets = Arc::clone(&tickets);
        server().tickets(tickets).alpn(&[protocol]).early_data(14336, guard()).build().unwrap()
    };
    early_visit(&client, &server("a"), b"early");
    let (second, _) = early_visit(&client, &server("b"), b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Rejected));
}

/// The session is good under any suite with its hash, its early data is not. RFC 9846 4.3.10, 4.3.11
#[test]
fn early_data_is_rejected_when_the_suite_changed() {
    let client = client().early_data(true).build().unwrap();
    let tickets = Arc::new(tercel::RotatingTickets::new(UnixTime::now()).unwrap());
    let server = |suite| {
        let server = server().tickets(tickets.clone()).early_data(14336, guard());
        server.cipher_suites(&[suite]).unwrap().build().unwrap()
    };
    early_visit(&client, &server(CipherSuite::TLS_AES_128_GCM_SHA256), b"early");
    let other = server(CipherSuite::TLS_CHACHA20_POLY1305_SHA256);
    let (second, _) = early_visit(&client, &other, b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Rejected));
}

#[test]
fn a_session_without_a_protocol_has_early_data_whatever_is_on_offer() {
    let client = client().early_data(true).alpn(&["a"]).build().unwrap();
    let server = server().early_data(14336, guard()).build().unwrap();
    early_visit(&client, &server, b"early");
    let (second, _) = early_visit(&client, &server, b"early");
    assert_eq!((second.client, second.server), (EarlyData::Accepted, EarlyData::Accepted));
}

#[test]
fn early_data_that_a_retry_rejects_is_known_to_both_sides() {
    let p256 = [tercel::wire::NamedGroup::SECP256R1];
    let client = client().early_data(true).key_shares(&p256).build().unwrap();
    let tickets = Arc::new(tercel::RotatingTickets::new(UnixTime::now()).unwrap());
    let server = |group| {
        let tickets = Arc::clone(&tickets);
        server().tickets(tickets).groups(&[group]).early_data(14336, guard()).build().unwrap()
    };
    early_visit(&client, &server(tercel::wire::NamedGroup::SECP256R1), b"early");
    let retries = server(tercel::wire::NamedGroup::SECP384R1);
    let (second, _) = early_visit(&client, &retries, b"early");
    assert_eq!((second.client, second.server), (EarlyData::Rejected, EarlyData::Rejected));
    assert!(second.resumed && second.read.is_empty());
}

/// A server without early data has to bear what another one has promised, in records of any size.
/// RFC 9846 4.3.10
#[test]
fn early_data_that_another_server_promised_is_passed_over() {
    let (p256, p384) =
        ([tercel::wire::NamedGroup::SECP256R1], [tercel::wire::NamedGroup::SECP384R1]);
    for (group, fragment) in [(p256, 1 << 14), (p256, 64), (p384, 1 << 14), (p384, 64)] {
        let client = client().early_data(true).key_shares(&p256).max_fragment(fragment);
        let client = client.build().unwrap();
        let tickets = Arc::new(tercel::RotatingTickets::new(UnixTime::now()).unwrap());
        let server = || server().tickets(Arc::clone(&tickets) as Arc<dyn tercel::TicketSealer>);
        let promises = server().groups(&p256).early_data(1 << 17, guard()).build().unwrap();
        early_visit(&client, &promises, b"early");
        let without = server().groups(&group).build().unwrap();
        let (second, _) = early_visit(&client, &without, &[7; 1 << 17]);
        assert_eq!((second.client, second.server), (EarlyData::Rejected, EarlyData::Rejected));
        assert!(second.resumed && second.read.is_empty());
    }
}

/// RFC 9846 4.3.10
#[test]
fn early_data_that_is_passed_over_comes_to_an_end() {
    let p256 = [tercel::wire::NamedGroup::SECP256R1];
    let client = client().early_data(true).key_shares(&p256).build().unwrap();
    let tickets = Arc::new(tercel::RotatingTickets::new(UnixTime::now()).unwrap());
    let server = || server().tickets(Arc::clone(&tickets) as Arc<dyn tercel::TicketSealer>);
    let promises = server().groups(&p256).early_data(100, guard()).build().unwrap();
    early_visit(&client, &promises, b"early");
    let (_, flight) = early_visit(&client, &promises, b"early");
    // A header, a content type and a tag are the least there is, 2^14 bytes between them the most.
    for length in [17, 17 + (1 << 14)] {
        for group in [tercel::wire::NamedGroup::SECP256R1, tercel::wire::NamedGroup::SECP384R1] {
            let without = server().groups(&[group]).build().unwrap();
            let mut handshake = Handshake::server(without);
            let mut received = Received::new();
            received.extend(&flight);
            handshake.advance(&mut received, &mut Vec::new()).unwrap();
            let [.., high, low] = usize::to_be_bytes(length);
            let record = [&[23, 3, 3, high, low][..], &vec![9; length]].concat();
            let mut passed = 0;
            let error = loop {
                received.extend(&record);
                match handshake.advance(&mut received, &mut Vec::new()) {
                    Ok(_) => passed += record.len(),
                    Err(error) => break error,
                }
            };
            assert_eq!(error, Peer::TooMuchSkippedEarlyData.into());
            assert!((200_000..300_000).contains(&passed), "{length}: {passed}");
        }
    }
}

#[test]
fn early_data_with_an_age_that_does_not_fit_is_rejected() {
    let (ours, theirs) = (Dial::new(), Dial::new());
    let client =
        client().early_data(true).clock(Arc::clone(&ours) as Arc<dyn Clock>).build().unwrap();
    let server = server()
        .early_data(14336, guard())
        .clock(Arc::clone(&theirs) as Arc<dyn Clock>)
        .build()
        .unwrap();
    early_visit(&client, &server, b"early");
    // The flight was held back for five minutes on its way.
    theirs.turn(300);
    let (second, _) = early_visit(&client, &server, b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Rejected));
}

/// What was said early cannot be taken back. RFC 9846 E.3
#[test]
fn who_offered_early_data_takes_no_older_version() {
    let client = client().early_data(true).build().unwrap();
    let newer = server().early_data(100, guard()).build().unwrap();
    early_visit(&client, &newer, b"early");
    let older = server().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let failure = Pair::new(&client, &older, "server.example").connect().unwrap_err();
    assert_eq!(failure.client, Some(Peer::WrongVersionForEarlyData.into()));
}

#[test]
fn early_data_ends_at_its_limit() {
    let client = client().early_data(true).build().unwrap();
    let server = server().early_data(100, guard()).build().unwrap();
    early_visit(&client, &server, b"early");
    let mut handshake = Handshake::client(client, "server.example".try_into().unwrap());
    let mut out = Vec::new();
    handshake.advance(&mut Received::new(), &mut out).unwrap();
    let sender = handshake.early_sender().unwrap();
    assert_eq!(sender.early_data_left(), Some(100));
    sender.seal_to(&[7; 60], &mut out).unwrap();
    assert!(sender.seal_to(&[7; 60], &mut out).is_err());
    assert_eq!(sender.early_data_left(), Some(40));
    // The other door lets through what there is room for.
    let mut room = [0; 500];
    let sealed = sender.seal(&[7; 60], &mut room).unwrap();
    assert_eq!((sealed.consumed, sender.early_data_left()), (40, Some(0)));
    assert_eq!(sender.seal(&[7; 60], &mut room), Err(Local::EarlyDataLimit.into()));
}
