//! The reason why early data was rejected, as each side reports it. RFC 9846 4.3.10

use std::sync::Arc;
use std::time::Duration;

use tercel::clock::Clock;
use tercel::crypto::HashAlgorithm;
use tercel::pki_types::UnixTime;
use tercel::psk::PreSharedKey;
use tercel::server::ServerConfigBuilder;
use tercel::session::{AdmitEarlyData, ReplayGuard, RotatingTickets};
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, EarlyData, EarlyDataRejection, Handshake, Next, Opened, Policy,
    Question, ReceiveBuffer, ServerConfig,
};

use crate::early_data::{RejectAll, common_guard, guard};
use crate::fixtures::{NAME, client, server};
use crate::replay::replay;
use crate::resumption::ManualClock;

pub(crate) const LIMIT: u32 = 1000;

/// Both ends of a connection on which the client offered early data, if a session allowed it.
pub(crate) struct Visit {
    client: Box<Connection>,
    server: Box<Connection>,
    /// The early data that the server read.
    read: Vec<u8>,
}

impl Visit {
    /// The state of early data that the client and the server report, with their reasons.
    fn reasons(&self) -> [(EarlyData, Option<EarlyDataRejection>); 2] {
        [&self.client, &self.server].map(|connection| {
            let info = &connection.info;
            (info.early_data, info.early_data_rejection)
        })
    }
}

pub(crate) fn visit(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Visit {
    intercepted(client, Handshake::server(Arc::clone(server)), |_| {})
}

/// Makes a connection whose first flight passes through `intercept` before it arrives. Questions
/// about early data are answered with a rejection.
fn intercepted(
    client: &Arc<ClientConfig>,
    mut theirs: Handshake,
    intercept: impl FnOnce(&[u8]),
) -> Visit {
    let mut ours = Handshake::client(Arc::clone(client), NAME.try_into().unwrap());
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let mut out = Vec::new();
    assert!(matches!(ours.advance(&mut to_client, &mut out), Ok(Next::Receive)));
    if let Some(sender) = ours.early_sender() {
        sender.seal_to(b"early", &mut out).unwrap();
    }
    intercept(&out);
    let (mut client, mut server, mut read) = (None, None, Vec::new());
    while client.is_none() || server.is_none() {
        to_server.extend(&out);
        out.clear();
        while server.is_none() {
            match theirs.advance(&mut to_server, &mut out).unwrap() {
                Next::EarlyData(bytes) => read.extend_from_slice(&bytes),
                Next::Connected(connection) => server = Some(connection),
                Next::Answer(Question::AdmitEarlyData(question)) => {
                    theirs.answer(question.answer(false)).unwrap();
                }
                Next::Receive => break,
                other => panic!("{other:?}"),
            }
        }
        to_client.extend(&out);
        out.clear();
        if client.is_none() {
            if let Next::Connected(connection) = ours.advance(&mut to_client, &mut out).unwrap() {
                client = Some(connection);
            }
        }
    }
    let (mut client, mut server) = (client.unwrap(), server.unwrap());
    // The client receives this data in every case, after any tickets.
    server.sender.seal_to(b"late", &mut out).unwrap();
    to_client.extend(&out);
    let late = client.receiver.open(&mut to_client);
    assert!(matches!(late, Ok(Opened::Data(data)) if data == b"late"));
    assert_eq!(client.info.resumed, server.info.resumed);
    Visit { client, server, read }
}

pub(crate) fn tls13_client() -> Arc<ClientConfig> {
    client().versions(&[ProtocolVersion::TLS1_3]).early_data(true).build().unwrap()
}

/// Returns a function for builders of servers that share ticket keys.
pub(crate) fn servers() -> impl Fn() -> ServerConfigBuilder {
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    move || server().tickets(tickets.clone())
}

/// Rejected early data, with these reasons of the client and the server.
fn rejected(reasons: [EarlyDataRejection; 2]) -> [(EarlyData, Option<EarlyDataRejection>); 2] {
    reasons.map(|reason| (EarlyData::Rejected, Some(reason)))
}

/// Gets a session from `first` and offers it to `second`. Asserts that early data is rejected, with
/// the reasons that client and server must report.
#[track_caller]
fn assert_rejected(
    client: &Arc<ClientConfig>,
    [first, second]: [&Arc<ServerConfig>; 2],
    expected: [EarlyDataRejection; 2],
) -> Visit {
    assert_eq!(visit(client, first).reasons(), [(EarlyData::NotOffered, None); 2]);
    let visit = visit(client, second);
    assert_eq!(visit.reasons(), rejected(expected));
    assert_eq!(visit.read, b"");
    visit
}

#[test]
fn no_reason_without_a_rejection() {
    let (client, server) = (tls13_client(), server().early_data(LIMIT, guard()).build().unwrap());
    assert_eq!(visit(&client, &server).reasons(), [(EarlyData::NotOffered, None); 2]);
    let second = visit(&client, &server);
    assert_eq!(second.reasons(), [(EarlyData::Accepted, None); 2]);
    assert_eq!(second.read, b"early");
}

/// For a caller that does not read early data. Its tickets allow none. RFC 9846 4.3.10
#[test]
fn a_handshake_without_early_data_rejects_it() {
    let (client, server) = (tls13_client(), server().early_data(LIMIT, guard()).build().unwrap());
    let without = || Handshake::server(Arc::clone(&server)).without_early_data();
    assert_eq!(visit(&client, &server).reasons(), [(EarlyData::NotOffered, None); 2]);
    let rejecting = intercepted(&client, without(), |_| {});
    let expected = [EarlyDataRejection::ByServer, EarlyDataRejection::NotAllowed];
    assert_eq!((rejecting.reasons(), &rejecting.read[..]), (rejected(expected), &b""[..]));
    assert!(rejecting.client.info.resumed);

    let client = tls13_client();
    intercepted(&client, without(), |_| {});
    let later = visit(&client, &server);
    assert!(later.client.info.resumed);
    assert_eq!(later.reasons(), [(EarlyData::NotOffered, None); 2]);
}

/// RFC 9846 4.2.4
#[test]
fn a_hello_retry_request_is_a_reason_for_both_sides() {
    let (p256, p384) = ([NamedGroup::SECP256R1], [NamedGroup::SECP384R1]);
    let build = servers();
    let first = build().groups(&p256).early_data(LIMIT, guard()).build().unwrap();
    // The second server would or would not admit early data without the retry, and does or does not
    // have the session.
    for (second, is_resumed) in [
        (build().early_data(LIMIT, guard()), true),
        (build().early_data(LIMIT, never()), true),
        (build(), true),
        (server().early_data(LIMIT, guard()), false),
    ] {
        let client = client().early_data(true).key_shares(&p256).build().unwrap();
        let second = second.groups(&p384).build().unwrap();
        let expected = [EarlyDataRejection::HelloRetryRequest; 2];
        let visit = assert_rejected(&client, [&first, &second], expected);
        assert!(visit.client.info.retried);
        assert_eq!(visit.client.info.resumed, is_resumed);
    }
}

#[test]
fn a_session_that_is_not_resumed_is_a_reason_for_both_sides() {
    let with_keys_of_its_own = || server().early_data(LIMIT, guard()).build().unwrap();
    let servers = [&with_keys_of_its_own(), &with_keys_of_its_own()];
    let expected = [EarlyDataRejection::NotResumed; 2];
    let visit = assert_rejected(&tls13_client(), servers, expected);
    assert!(!visit.client.info.resumed);
}

/// Early data belongs to the session, which a client offers before its external keys.
#[test]
fn a_pre_shared_key_in_place_of_the_session_does_not_resume_it() {
    let key = || PreSharedKey::external(b"key", &[7; 32], HashAlgorithm::Sha256).unwrap();
    let client = client().early_data(true).pre_shared_keys([key()]).build().unwrap();
    let without = server().early_data(LIMIT, guard()).build().unwrap();
    let with = server().early_data(LIMIT, guard()).pre_shared_keys([key()]).build().unwrap();
    let expected = [EarlyDataRejection::NotResumed; 2];
    let visit = assert_rejected(&client, [&without, &with], expected);
    assert_eq!(visit.server.info.pre_shared_key(), Some(&b"key"[..]));
}

/// An ID that was set for the application's guard does not stand for a guard in memory, whichever
/// of the two was set last. RFC 9846 8.2
#[test]
fn an_id_for_questions_is_not_that_of_a_guard() {
    let build = servers();
    let id = [1; 16];
    let builders = || {
        [
            build().early_data(LIMIT, guard()).replay_guard_id(id),
            build().replay_guard_id(id).early_data(LIMIT, guard()),
            build().early_data(LIMIT, Policy::Ask).replay_guard_id(id).early_data(LIMIT, guard()),
        ]
    };
    for first in builders() {
        let first = first.build().unwrap();
        for second in builders() {
            let expected = [EarlyDataRejection::ByServer, EarlyDataRejection::NotAdmitted];
            let visit =
                assert_rejected(&tls13_client(), [&first, &second.build().unwrap()], expected);
            assert!(visit.client.info.resumed);
        }
    }
}

/// A client may send as much early data as its ticket allows, so a server with a lower limit
/// rejects all early data.
#[test]
fn a_server_that_allows_less_than_the_ticket_does_not_allow_any() {
    let build = servers();
    let first = build().early_data(LIMIT, common_guard()).build().unwrap();
    let lower = build().early_data(LIMIT - 1, common_guard());
    let none = build().early_data(0, common_guard());
    let without_a_guard = build();
    for second in [lower, none, without_a_guard] {
        let servers = [&first, &second.build().unwrap()];
        let expected = [EarlyDataRejection::ByServer, EarlyDataRejection::NotAllowed];
        let visit = assert_rejected(&tls13_client(), servers, expected);
        assert!(visit.client.info.resumed);
    }
    let (client, higher) = (tls13_client(), build().early_data(LIMIT + 1, common_guard()));
    visit(&client, &first);
    let accepted = visit(&client, &higher.build().unwrap());
    assert_eq!(accepted.reasons(), [(EarlyData::Accepted, None); 2]);
}

/// The session is resumed, but its early data was sent with other parameters. RFC 9846 4.3.10
#[test]
fn another_suite_or_application_protocol_is_a_change_of_parameters() {
    let expected = [EarlyDataRejection::ByServer, EarlyDataRejection::ParametersChanged];
    let build = servers();
    let with_suite =
        |suite| build().early_data(LIMIT, guard()).cipher_suites(&[suite]).build().unwrap();
    let servers = [
        &with_suite(CipherSuite::TLS_AES_128_GCM_SHA256),
        &with_suite(CipherSuite::TLS_CHACHA20_POLY1305_SHA256),
    ];
    assert!(assert_rejected(&tls13_client(), servers, expected).client.info.resumed);

    let client = client().early_data(true).alpn(&["a", "b"]).build().unwrap();
    let with_alpn = |name: &str| build().early_data(LIMIT, guard()).alpn(&[name]).build().unwrap();
    let servers = [&with_alpn("a"), &with_alpn("b")];
    assert!(assert_rejected(&client, servers, expected).client.info.resumed);
}

/// RFC 9846 8.3
#[test]
fn a_flight_outside_the_freshness_window_is_not_fresh() {
    let expected = [EarlyDataRejection::ByServer, EarlyDataRejection::NotFresh];
    for (late, window) in [(61, 60), (11, 10)] {
        let (ours, theirs) = (ManualClock::new(), ManualClock::new());
        let client = client().early_data(true).clock(ours.clone() as Arc<dyn Clock>);
        let server = server()
            .early_data(LIMIT, guard())
            .freshness_window(Duration::from_secs(window))
            .clock(theirs.clone() as Arc<dyn Clock>);
        let (client, server) = (client.build().unwrap(), server.build().unwrap());
        visit(&client, &server);
        theirs.advance_by(late);
        let visit = visit(&client, &server);
        assert_eq!(visit.reasons(), rejected(expected), "{late} s");
        assert_eq!(visit.server.info.ticket_age_skew, Some(-1000 * i32::try_from(late).unwrap()));
    }
}

/// RFC 9846 8.2
#[test]
fn a_guard_or_an_application_that_refuses_does_not_admit() {
    let expected = [EarlyDataRejection::ByServer, EarlyDataRejection::NotAdmitted];
    for policy in [never, || Policy::Ask] {
        let server = server().early_data(LIMIT, policy()).build().unwrap();
        let visit = assert_rejected(&tls13_client(), [&server, &server], expected);
        assert!(visit.client.info.resumed);
    }
}

/// The attacker's copy arrives first, so the client's own flight counts as the replay. RFC 9846 8.2
#[test]
fn a_replayed_flight_is_not_admitted() {
    let remembers = ReplayGuard::new(100, UnixTime::since_unix_epoch(Duration::ZERO));
    let (client, build) = (tls13_client(), servers());
    let server = build().early_data(LIMIT, Policy::Here(Arc::new(remembers))).build().unwrap();
    visit(&client, &server);
    let replayed = intercepted(&client, Handshake::server(Arc::clone(&server)), |flight| {
        assert_eq!(replay(&server, flight).0.read, b"early");
    });
    let expected = [EarlyDataRejection::ByServer, EarlyDataRejection::NotAdmitted];
    assert_eq!(replayed.reasons(), rejected(expected));
    assert_eq!(replayed.read, b"");
}

#[test]
#[cfg_attr(feature = "fips", ignore = "the FIPS module does not continue a saved connection")]
fn a_restored_connection_knows_the_rejection_and_not_its_reason() {
    let (client, server) = (tls13_client(), server().early_data(LIMIT, never()).build().unwrap());
    visit(&client, &server);
    let visit = visit(&client, &server);
    let saved = (visit.client.save().unwrap(), visit.server.save().unwrap());
    for info in [
        Connection::restore_client(&saved.0, &client).unwrap().info,
        Connection::restore_server(&saved.1, &server).unwrap().info,
    ] {
        assert_eq!((info.early_data, info.early_data_rejection), (EarlyData::Rejected, None));
    }
}

pub(crate) fn never() -> Policy<dyn AdmitEarlyData> {
    Policy::Here(Arc::new(RejectAll))
}
