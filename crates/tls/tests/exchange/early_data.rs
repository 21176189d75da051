//! Early data: accepted, skipped or rejected; never read twice, and never more than allowed.
//! RFC 9846 8

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, EarlyData, Handshake, Next, Policy, ReceiveBuffer, ServerConfig,
    clock::Clock,
    error::{InternalError, PeerError},
    session::{AdmitEarlyData, ReplayGuard, ReplayGuardId},
};

use crate::fixtures::{client, server};
use crate::pair::Pair;
use crate::resumption::ManualClock;

/// A guard that accepts each value once.
struct SingleUse {
    guard: ReplayGuard,
    id: Option<ReplayGuardId>,
}

impl AdmitEarlyData for SingleUse {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        let expires = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() + 120));
        self.guard.insert_once(unique, expires, now)
    }

    fn id(&self) -> Option<ReplayGuardId> {
        self.id
    }
}

pub(crate) fn guard() -> Policy<dyn AdmitEarlyData> {
    guard_with(None)
}

/// A guard with an ID that others have, too, as if all of them asked one.
pub(crate) fn common_guard() -> Policy<dyn AdmitEarlyData> {
    guard_with(Some([1; 16]))
}

fn guard_with(id: Option<ReplayGuardId>) -> Policy<dyn AdmitEarlyData> {
    let guard = ReplayGuard::new(100, UnixTime::since_unix_epoch(Duration::from_secs(0)));
    Policy::Here(Arc::new(SingleUse { guard, id }))
}

/// The result of a connection with early data.
#[derive(Debug, PartialEq, Eq)]
struct Early {
    resumed: bool,
    client: EarlyData,
    server: EarlyData,
    /// The data that the server read before the handshake was complete.
    read: Vec<u8>,
    /// The data that the client read, sent by the server before and after the client's Finished.
    answered: Vec<u8>,
}

/// Makes a connection on which the client sends early data if it can. Also returns the ClientHello,
/// so that it can be replayed.
fn early_visit(
    client_config: &Arc<ClientConfig>,
    server_config: &Arc<ServerConfig>,
    words: &[u8],
) -> (Early, Vec<u8>) {
    let mut client =
        Handshake::client(Arc::clone(client_config), "server.example".try_into().unwrap());
    let mut server = Handshake::server(Arc::clone(server_config));
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
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
        resumed: of_client.info.resumed,
        client: of_client.info.early_data,
        server: of_server.info.early_data,
        read,
        answered,
    };
    if cfg!(feature = "fips") {
        return (early, first_flight); // The FIPS module does not continue a saved connection.
    }
    // The result of early data is part of a saved connection.
    let saved = (of_client.save().unwrap(), of_server.save().unwrap());
    let of_client = Connection::restore_client(&saved.0, client_config).unwrap();
    let of_server = Connection::restore_server(&saved.1, server_config).unwrap();
    assert_eq!(of_client.info.early_data, early.client);
    assert_eq!(of_server.info.early_data, early.server);
    if early.client == EarlyData::Accepted {
        let (mut ours, mut theirs) = ([0; 32], [1; 32]);
        of_client.early_exporter.unwrap().export(b"x", None, &mut ours).unwrap();
        of_server.early_exporter.unwrap().export(b"x", None, &mut theirs).unwrap();
        assert_eq!(ours, theirs);
    }
    (early, first_flight)
}

/// RFC 9846 2, 4.6
#[test]
fn early_data_is_read_before_the_handshake_is_complete() {
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

/// An attacker on the path appends an end_of_early_data to the record of the ClientHello, so that
/// the server expects no early data. RFC 9846 5.1
#[test]
fn no_message_may_follow_the_hello_that_offers_early_data() {
    let client = client().early_data(true).build().unwrap();
    let server = server().early_data(14336, guard()).build().unwrap();
    for appended in [&[5, 0, 0, 0][..], &[5]] {
        early_visit(&client, &server, b"early");
        let name = "server.example".try_into().unwrap();
        let mut handshake = Handshake::client(Arc::clone(&client), name);
        let mut hello = Vec::new();
        handshake.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
        assert!(handshake.early_sender().is_some());
        let length = u16::from_be_bytes([hello[3], hello[4]]);
        let end = 5 + usize::from(length);
        let longer = length + u16::try_from(appended.len()).unwrap();
        hello[3..5].copy_from_slice(&longer.to_be_bytes());
        hello.splice(end..end, appended.iter().copied());
        let mut received = ReceiveBuffer::new();
        received.extend(&hello);
        let mut handshake = Handshake::server(Arc::clone(&server));
        let error = loop {
            match handshake.advance(&mut received, &mut Vec::new()) {
                Ok(Next::EarlyData(data)) => assert!(data.is_empty()),
                Ok(next) => panic!("{next:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, PeerError::ExcessHandshakeData.into());
    }
}

#[test]
fn early_data_without_a_replay_guard_is_skipped() {
    let clock = ManualClock::new();
    let client = client().early_data(true).build().unwrap();
    let refuses = Policy::Here(Arc::new(RejectAll) as Arc<dyn AdmitEarlyData>);
    let server = server().early_data(14336, refuses).clock(clock).build().unwrap();
    early_visit(&client, &server, b"early");
    let (second, _) = early_visit(&client, &server, b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Rejected));
    assert_eq!(second.server, EarlyData::Rejected);
    assert!(second.read.is_empty());
    assert_eq!(second.answered, b"half whole");
}

/// Rejects all early data.
pub(crate) struct RejectAll;

impl AdmitEarlyData for RejectAll {
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
    let mut replayed = ReceiveBuffer::new();
    replayed.extend(&flight);
    let mut handshake = Handshake::server(server);
    let step = handshake.advance(&mut replayed, &mut Vec::new());
    assert!(matches!(step, Ok(Next::Receive)), "{step:?}");
}

#[test]
fn early_data_is_rejected_when_the_protocol_changed() {
    let first = client().early_data(true).alpn(&["a", "b"]).session_context(b"x");
    let client = first.build().unwrap();
    let tickets = Arc::new(tercel::session::RotatingTickets::new(UnixTime::now()).unwrap());
    let server = |protocol: &str| {
        let tickets = Arc::clone(&tickets);
        server().tickets(tickets).alpn(&[protocol]).early_data(14336, guard()).build().unwrap()
    };
    early_visit(&client, &server("a"), b"early");
    let (second, _) = early_visit(&client, &server("b"), b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Rejected));
}

/// A session can be resumed with any suite that has the session's hash, but its early data is
/// accepted only with the session's suite. RFC 9846 4.3.10, 4.3.11
#[test]
fn early_data_is_rejected_when_the_suite_changed() {
    let client = client().early_data(true).build().unwrap();
    let tickets = Arc::new(tercel::session::RotatingTickets::new(UnixTime::now()).unwrap());
    let server = |suite| {
        let server = server().tickets(tickets.clone()).early_data(14336, guard());
        server.cipher_suites(&[suite]).build().unwrap()
    };
    early_visit(&client, &server(CipherSuite::TLS_AES_128_GCM_SHA256), b"early");
    let other = server(CipherSuite::TLS_CHACHA20_POLY1305_SHA256);
    let (second, _) = early_visit(&client, &other, b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Rejected));
}

#[test]
fn a_session_without_a_protocol_allows_early_data_with_any_offer() {
    let client = client().early_data(true).alpn(&["a"]).build().unwrap();
    let server = server().early_data(14336, guard()).build().unwrap();
    early_visit(&client, &server, b"early");
    let (second, _) = early_visit(&client, &server, b"early");
    assert_eq!((second.client, second.server), (EarlyData::Accepted, EarlyData::Accepted));
}

#[test]
fn both_sides_report_early_data_that_a_retry_rejected() {
    let p256 = [tercel::wire::NamedGroup::SECP256R1];
    let client = client().early_data(true).key_shares(&p256).build().unwrap();
    let tickets = Arc::new(tercel::session::RotatingTickets::new(UnixTime::now()).unwrap());
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

/// A server without early data must skip the early data that another server has allowed, in records
/// of any size. RFC 9846 4.3.10
#[test]
fn early_data_that_another_server_allowed_is_skipped() {
    let (p256, p384) =
        ([tercel::wire::NamedGroup::SECP256R1], [tercel::wire::NamedGroup::SECP384R1]);
    for (group, fragment) in [(p256, 1 << 14), (p256, 64), (p384, 1 << 14), (p384, 64)] {
        let client = client().early_data(true).key_shares(&p256).max_fragment(fragment);
        let client = client.build().unwrap();
        let tickets = Arc::new(tercel::session::RotatingTickets::new(UnixTime::now()).unwrap());
        let server =
            || server().tickets(Arc::clone(&tickets) as Arc<dyn tercel::session::TicketSealer>);
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
fn skipped_early_data_is_limited() {
    let p256 = [tercel::wire::NamedGroup::SECP256R1];
    let client = client().early_data(true).key_shares(&p256).build().unwrap();
    let tickets = Arc::new(tercel::session::RotatingTickets::new(UnixTime::now()).unwrap());
    let server =
        || server().tickets(Arc::clone(&tickets) as Arc<dyn tercel::session::TicketSealer>);
    let promises = server().groups(&p256).early_data(100, guard()).build().unwrap();
    early_visit(&client, &promises, b"early");
    let (_, flight) = early_visit(&client, &promises, b"early");
    // The shortest record has a content type and a tag, the longest 2^14 bytes more.
    for length in [17, 17 + (1 << 14)] {
        for group in [tercel::wire::NamedGroup::SECP256R1, tercel::wire::NamedGroup::SECP384R1] {
            let without = server().groups(&[group]).build().unwrap();
            let mut handshake = Handshake::server(without);
            let mut received = ReceiveBuffer::new();
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
            assert_eq!(error, PeerError::TooMuchSkippedEarlyData.into());
            assert!((200_000..300_000).contains(&passed), "{length}: {passed}");
        }
    }
}

/// RFC 9846 4.3.11.1
#[test]
fn early_data_with_a_wrong_ticket_age_is_rejected() {
    let (ours, theirs) = (ManualClock::new(), ManualClock::new());
    let client =
        client().early_data(true).clock(Arc::clone(&ours) as Arc<dyn Clock>).build().unwrap();
    let server = server()
        .early_data(14336, guard())
        .clock(Arc::clone(&theirs) as Arc<dyn Clock>)
        .build()
        .unwrap();
    early_visit(&client, &server, b"early");
    // The flight arrives after five minutes.
    theirs.advance_by(300);
    let (second, _) = early_visit(&client, &server, b"early");
    assert_eq!((second.resumed, second.client), (true, EarlyData::Rejected));
}

/// Early data that was sent cannot be taken back. RFC 9846 E.3
#[test]
fn a_client_that_offered_early_data_refuses_tls12() {
    let client = client().early_data(true).build().unwrap();
    let newer = server().early_data(100, guard()).build().unwrap();
    early_visit(&client, &newer, b"early");
    let older = server().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let failure = Pair::new(&client, &older, "server.example").connect().unwrap_err();
    assert_eq!(failure.client, Some(PeerError::WrongVersionForEarlyData.into()));
}

#[test]
fn early_data_is_limited() {
    let client = client().early_data(true).build().unwrap();
    let server = server().early_data(100, guard()).build().unwrap();
    early_visit(&client, &server, b"early");
    let mut handshake = Handshake::client(client, "server.example".try_into().unwrap());
    let mut out = Vec::new();
    handshake.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    let sender = handshake.early_sender().unwrap();
    assert_eq!(sender.early_data_left(), Some(100));
    sender.seal_to(&[7; 60], &mut out).unwrap();
    assert!(sender.seal_to(&[7; 60], &mut out).is_err());
    assert_eq!(sender.early_data_left(), Some(40));
    // `Sender::seal` sends as much as the limit leaves.
    let mut room = [0; 500];
    let sealed = sender.seal(&[7; 60], &mut room).unwrap();
    assert_eq!((sealed.consumed, sender.early_data_left()), (40, Some(0)));
    assert_eq!(sender.seal(&[7; 60], &mut room), Err(InternalError::EarlyDataLimit.into()));
}
