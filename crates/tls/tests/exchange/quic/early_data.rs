//! Early data over QUIC: keys, remembered parameters, application context. RFC 9001 4.6

use std::sync::Arc;

use tercel::client::ClientConfigBuilder;
use tercel::server::ServerConfigBuilder;
use tercel::wire::{CipherSuite, NamedGroup};
use tercel::{ClientConfig, EarlyData, EarlyDataRejection, Policy, Question, ServerConfig};
use tercel_wire::HandshakeType;

use super::messages::split;
use super::pair::{Ends, OF_SERVER, Pair, check_direction, client, server};
use crate::early_data::{common_guard, guard};

const GROUPS: [NamedGroup; 2] = [NamedGroup::X25519, NamedGroup::SECP256R1];

fn early_client() -> ClientConfigBuilder {
    client().groups(&GROUPS).early_data(true).quic_early_data_context(b"settings")
}

fn early_server() -> ServerConfigBuilder {
    server().early_data(1, common_guard()).quic_early_data_context(b"settings")
}

fn build(
    client: ClientConfigBuilder,
    server: ServerConfigBuilder,
) -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    (client.build().unwrap(), server.build().unwrap())
}

/// A second connection of a client, whose first one was with another server.
fn second(client: &Arc<ClientConfig>, first: &Arc<ServerConfig>, then: &Arc<ServerConfig>) -> Ends {
    Pair::new(client, first).connect();
    Pair::new(client, then).connect()
}

/// RFC 9001 4.6.1, 4.6.2, 4.5, 8.3, RFC 9000 7.4.1
#[test]
fn early_keys_are_given_with_the_remembered_parameters() {
    let (client, server) = build(early_client(), early_server());
    let first = Pair::new(&client, &server).connect();
    assert!(first.client.early_keys.is_none() && first.server.early_keys.is_none());
    let mut ends = Pair::new(&client, &server).connect();
    let (ours, theirs) = (&ends.client, &ends.server);
    assert_eq!(ours.events[..2], ["send", "early keys"]);
    assert_eq!(theirs.events[..2], ["early keys", "send"]);
    check_direction(ours.early_keys.as_ref().unwrap(), theirs.early_keys.as_ref().unwrap());
    assert_eq!(ours.early_parameters.as_deref(), Some(OF_SERVER));
    assert!(!ours.early_data_rejected);
    // The client's Finished is its only message at the level of handshakes: no EndOfEarlyData.
    let messages: Vec<_> = split(&ours.sent.last().unwrap().1).iter().map(|m| m[0]).collect();
    assert_eq!(messages, [HandshakeType::FINISHED.0]);
    let mut exported = Vec::new();
    for end in [&mut ends.client, &mut ends.server] {
        let connection = end.connection();
        assert_eq!(connection.info.early_data, EarlyData::Accepted);
        let mut out = [0; 32];
        let exporter = connection.early_exporter.as_ref().unwrap();
        exporter.export(b"label", None, &mut out).unwrap();
        exported.push(out);
    }
    assert_eq!(exported[0], exported[1]);
}

/// Without a context, or under another one, there is no early data. RFC 9001 4.6.1, 4.6.3
#[test]
fn early_data_needs_an_equal_context() {
    let plain = || client().groups(&GROUPS).early_data(true);
    let none = server().early_data(1, guard()).build().unwrap();
    let offers = |client: ClientConfigBuilder, server: &Arc<ServerConfig>| {
        let client = client.build().unwrap();
        let mut ends = second(&client, server, server);
        assert!(ends.client.connection().info.resumed);
        ends.client.early_keys.is_some()
    };
    let with_context = early_server().build().unwrap();
    assert!(offers(early_client(), &with_context));
    assert!(!offers(plain(), &with_context), "the client has no context");
    assert!(!offers(early_client(), &none), "the server has no context");

    // A client under another context does not offer a session that it made under the first one.
    let store = Arc::new(tercel::session::ClientMemoryStore::new(10, 2));
    let of = |context: &[u8]| {
        let builder = plain().quic_early_data_context(context).session_store(store.clone());
        builder.build().unwrap()
    };
    Pair::new(&of(b"settings"), &with_context).connect();
    let mut ends = Pair::new(&of(b"other settings"), &with_context).connect();
    assert!(ends.client.connection().info.resumed && ends.client.early_keys.is_none());
}

/// RFC 9001 4.6.2
#[test]
fn a_server_rejects_early_data_of_another_context() {
    let tickets = |builder: ServerConfigBuilder| {
        let keys = tercel::session::TicketKey::new(
            [1; 16],
            &[1; 32],
            tercel::pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(1)),
        );
        let keys = tercel::session::TicketKeySet::new(keys, None, None).unwrap();
        let lifetime = std::time::Duration::from_secs(3600);
        let tickets = tercel::session::SharedTickets::new(&keys, lifetime);
        builder.tickets(Arc::new(tickets)).build().unwrap()
    };
    let changed = [
        (early_server(), None),
        (
            early_server().quic_early_data_context(b"other settings"),
            Some(EarlyDataRejection::ParametersChanged),
        ),
        (server().early_data(1, common_guard()), Some(EarlyDataRejection::NotAllowed)),
        (server().quic_early_data_context(b"settings"), Some(EarlyDataRejection::NotAllowed)),
        (early_server().groups(&GROUPS[1..]), Some(EarlyDataRejection::HelloRetryRequest)),
    ];
    for (changed, reason) in changed {
        let (client, first) = (early_client().build().unwrap(), tickets(early_server()));
        let mut ends = second(&client, &first, &tickets(changed));
        assert!(ends.client.early_keys.is_some());
        let is_rejected = reason.is_some();
        assert_eq!(ends.server.early_keys.is_none(), is_rejected, "{reason:?}");
        assert_eq!(ends.client.early_data_rejected, is_rejected, "{reason:?}");
        let rejections = ends.client.events.iter().filter(|event| **event == "early data rejected");
        assert_eq!(rejections.count(), usize::from(is_rejected), "{reason:?}");
        assert_eq!(ends.server.connection().info.early_data_rejection, reason);
        assert_eq!(ends.client.connection().peer_parameters, OF_SERVER);
        let expected = if is_rejected { EarlyData::Rejected } else { EarlyData::Accepted };
        assert_eq!(ends.client.connection().info.early_data, expected);
    }
}

/// A session that the server does not resume. RFC 9001 4.6.2
#[test]
fn early_data_of_a_session_that_is_not_resumed_is_rejected() {
    let (client, first) = build(early_client(), early_server());
    let mut ends = second(&client, &first, &early_server().build().unwrap());
    assert!(ends.client.early_data_rejected && !ends.client.connection().info.resumed);
}

#[test]
fn the_suite_of_early_data_must_not_change() {
    let suites = [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    let tickets = Arc::new(
        tercel::session::RotatingTickets::new(tercel::pki_types::UnixTime::now()).unwrap(),
    );
    let of =
        |suite| early_server().cipher_suites(&[suite]).tickets(tickets.clone()).build().unwrap();
    let client = early_client().build().unwrap();
    let mut ends = second(&client, &of(suites[0]), &of(suites[1]));
    assert!(ends.client.early_data_rejected && ends.client.connection().info.resumed);
    let reason = ends.server.connection().info.early_data_rejection;
    assert_eq!(reason, Some(EarlyDataRejection::ParametersChanged));
}

/// The application admits early data later, as over TCP: early data may be a replay. RFC 9001 9.2
#[test]
fn the_application_may_be_asked_about_early_data() {
    for admits in [true, false] {
        let server = early_server().early_data(1, Policy::Ask).build().unwrap();
        let client = early_client().build().unwrap();
        Pair::new(&client, &server).connect();
        let ends = Pair::new(&client, &server)
            .answering(|_, question| match question {
                Question::AdmitEarlyData(question) => question.answer(admits),
                other => panic!("{other:?}"),
            })
            .connect();
        assert_eq!(ends.server.early_keys.is_some(), admits);
        assert_eq!(ends.client.early_data_rejected, !admits);
    }
}
