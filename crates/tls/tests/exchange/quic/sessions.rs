//! Resumption over QUIC, and the separation from sessions over TCP and in the other version of
//! QUIC. RFC 9001 4.5, RFC 9369 5

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::quic::Version;
use tercel::session::{
    ClientMemoryStore, ClientSessionKey, ClientSessionStore, RotatingTickets, ServerMemoryStore,
    TicketSealer,
};
use tercel::wire::ProtocolVersion;
use tercel::{ClientConfig, Policy, Question, ServerConfig};

use super::pair::{OF_SERVER, Pair, client, server};
use crate::fixtures::NAME;

/// Connects over QUIC, and returns whether a session was resumed.
fn visit(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> bool {
    visit_in(Version::V1, client, server)
}

fn visit_in(version: Version, client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> bool {
    let mut ends = Pair::of_version(client, server, version).connect();
    let resumed = ends.server.connection().info.resumed;
    assert_eq!(ends.client.connection().info.resumed, resumed);
    assert_eq!(ends.client.connection().peer_parameters, OF_SERVER);
    resumed
}

/// Connects over TCP, and returns whether a session was resumed.
fn visit_over_tcp(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> bool {
    let mut ends = crate::pair::Pair::new(client, server, NAME).connect().unwrap();
    ends.talk();
    ends.server.connection.info.resumed
}

fn tls13() -> Arc<ClientConfig> {
    client().versions(&[ProtocolVersion::TLS1_3]).build().unwrap()
}

/// RFC 9001 4.5
#[test]
fn a_session_is_resumed_with_a_ticket_or_a_store() {
    let store = Policy::Here(Arc::new(ServerMemoryStore::new(10)) as _);
    for server in [server(), server().session_store(store)] {
        let (client, server) = (tls13(), server.build().unwrap());
        assert!(!visit(&client, &server));
        for _ in 0..3 {
            assert!(visit(&client, &server));
        }
    }
}

/// A ticket is used once. RFC 9001 4.5
#[test]
fn each_ticket_is_offered_once() {
    let (client, server) = (tls13(), server().ticket_counts(2, 0).build().unwrap());
    let resumed: Vec<_> = (0..4).map(|_| visit(&client, &server)).collect();
    assert_eq!(resumed, [false, true, true, false]);
}

#[test]
fn a_client_may_ignore_tickets() {
    let (client, server) = (tls13(), server().ticket_counts(1, 1).build().unwrap());
    let mut tickets = Vec::new();
    let tap = |data: &mut super::pair::Data| {
        if data.0 == tercel::quic::Level::Application {
            tickets = std::mem::take(&mut data.1);
        }
    };
    let mut ends = Pair::new(&client, &server).tap_to_client(tap).connect();
    let incoming = &mut ends.client.connection().incoming;
    incoming.ignore_tickets();
    incoming.receive(&tickets).unwrap();
    assert!(!incoming.has_received_tickets());
    assert!(!visit(&client, &server), "the ticket was stored");
    assert!(visit(&client, &server));
}

#[test]
fn a_client_knows_whether_it_has_received_tickets() {
    let (client, server) = (tls13(), server().ticket_counts(1, 1).build().unwrap());
    let mut ends = Pair::new(&client, &server).connect();
    assert!(ends.client.connection().incoming.has_received_tickets());
    assert!(!ends.server.connection().incoming.has_received_tickets());
    let ticket = [4, 0, 0, 16];
    ends.client.connection().incoming.receive(&ticket).unwrap();
    assert!(!ends.client.connection().incoming.has_received_tickets(), "one is incomplete");
}

/// A session of one transport stays in the store while the other transport connects. RFC 9001 4.5
#[test]
fn sessions_over_tcp_and_quic_are_stored_separately() {
    let (client, server) = (tls13(), server().build().unwrap());
    assert!(!visit(&client, &server));
    assert!(!visit_over_tcp(&client, &server), "a session of QUIC was resumed over TCP");
    assert!(visit(&client, &server));
    assert!(visit_over_tcp(&client, &server));
    assert!(visit(&client, &server));
    let (client, server) = (tls13(), super::pair::server().build().unwrap());
    assert!(!visit_over_tcp(&client, &server));
    assert!(!visit(&client, &server), "a session of TCP was resumed over QUIC");
}

/// A session of one version stays in the store while the other version connects. RFC 9369 5
#[test]
fn sessions_of_different_versions_are_stored_separately() {
    for (one, other) in [(Version::V1, Version::V2), (Version::V2, Version::V1)] {
        let (client, server) = (tls13(), server().build().unwrap());
        let visit = |version| visit_in(version, &client, &server);
        assert_eq!([one, other, one, other].map(visit), [false, false, true, true]);
    }
}

/// RFC 9001 4.5
#[test]
fn sessions_for_different_ports_are_stored_separately() {
    let (client, server) = (tls13(), server().build().unwrap());
    let visit = |port| {
        let mut ends = Pair::to_port(&client, &server, port).connect();
        ends.server.connection().info.resumed
    };
    let resumed = [Some(443), Some(443), Some(8443), None, None, Some(8443)].map(visit);
    assert_eq!(resumed, [false, true, false, false, true, true]);
}

/// A store that returns the newest session for any key.
struct OneForAll(Mutex<Option<Vec<u8>>>);

impl ClientSessionStore for OneForAll {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        *self.0.lock().unwrap() = Some(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }
}

/// A client checks the session itself, whatever its store returns. RFC 9001 4.5
#[test]
fn a_client_does_not_offer_a_session_of_the_other_transport() {
    let server = server().build().unwrap();
    let client = || {
        let store = Arc::new(OneForAll(Mutex::new(None)));
        client().versions(&[ProtocolVersion::TLS1_3]).session_store(store).build().unwrap()
    };
    let first = client();
    assert!(!visit(&first, &server));
    assert!(visit(&first, &server), "the store returns sessions");
    assert!(!visit_over_tcp(&first, &server));
    let second = client();
    assert!(!visit_over_tcp(&second, &server));
    assert!(visit_over_tcp(&second, &server), "the store returns sessions");
    assert!(!visit(&second, &server));
}

/// RFC 9369 5
#[test]
fn a_client_does_not_offer_a_session_of_the_other_version() {
    let server = server().build().unwrap();
    for (one, other) in [(Version::V1, Version::V2), (Version::V2, Version::V1)] {
        let store = Arc::new(OneForAll(Mutex::new(None)));
        let client = client().session_store(store).build().unwrap();
        assert!(!visit_in(one, &client, &server));
        assert!(visit_in(one, &client, &server), "the store returns sessions");
        assert!(!visit_in(other, &client, &server));
    }
}

/// A change of an encoded session.
type Change = fn(Vec<u8>) -> Vec<u8>;

/// A sealer that changes the sessions in its tickets.
struct Changing {
    tickets: RotatingTickets,
    change: Change,
}

impl TicketSealer for Changing {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.tickets.seal(&(self.change)(session.to_vec()), now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.tickets.open(ticket, now)
    }

    fn lifetime(&self) -> Duration {
        self.tickets.lifetime()
    }
}

/// The end of a server's session over QUIC of version 1: the version, no transport parameters, no
/// application context.
const OF_VERSION_1: [u8; 7] = [0, 0, 0, 1, 0, 0, 0];

/// Makes a session of TCP from one of QUIC, and vice versa.
fn change_transport(mut session: Vec<u8>) -> Vec<u8> {
    // The flags follow format, version, suite and secret.
    let flags = 1 + 2 + 2 + 1 + usize::from(session[5]);
    session[flags] ^= 16;
    if session[flags] & 16 == 0 {
        assert!(session.ends_with(&OF_VERSION_1));
        session.truncate(session.len() - OF_VERSION_1.len());
    } else {
        session.extend_from_slice(&OF_VERSION_1);
    }
    session
}

/// Makes a session of version 2 from one of version 1.
fn change_version(mut session: Vec<u8>) -> Vec<u8> {
    assert!(session.ends_with(&OF_VERSION_1));
    let version = session.len() - OF_VERSION_1.len();
    session[version..version + 4].copy_from_slice(&Version::V2.number().to_be_bytes());
    session
}

fn server_that_changes(change: Change) -> Arc<ServerConfig> {
    let tickets = RotatingTickets::new(UnixTime::now()).unwrap();
    server().tickets(Arc::new(Changing { tickets, change })).build().unwrap()
}

/// A server checks the session itself, whatever a client offers. RFC 9001 4.5
#[test]
fn a_server_does_not_resume_a_session_of_the_other_transport() {
    let changes: [(Change, bool); 2] = [(|session| session, true), (change_transport, false)];
    for (change, is_resumed) in changes {
        let server = server_that_changes(change);
        for visit in [visit, visit_over_tcp] {
            let client = tls13();
            assert!(!visit(&client, &server));
            assert_eq!(visit(&client, &server), is_resumed);
        }
    }
}

/// RFC 9369 5
#[test]
fn a_server_does_not_resume_a_session_of_the_other_version() {
    let (client, server) = (tls13(), server_that_changes(change_version));
    assert!(!visit(&client, &server));
    assert!(!visit(&client, &server));
}

/// Sessions of QUIC survive in a file, as others do.
#[test]
fn a_saved_session_is_resumed() {
    let server = server().build().unwrap();
    let store = Arc::new(ClientMemoryStore::new(10, 2));
    let client = |store: Arc<ClientMemoryStore>| {
        client().versions(&[ProtocolVersion::TLS1_3]).session_store(store).build().unwrap()
    };
    assert!(!visit(&client(store.clone()), &server));
    let saved = store.to_bytes();
    let restored = ClientMemoryStore::from_bytes(&saved, 10, 2).unwrap();
    assert!(visit(&client(Arc::new(restored)), &server));
}

#[test]
fn an_application_seals_and_opens_tickets_over_quic() {
    let sealer = RotatingTickets::new(UnixTime::now()).unwrap();
    let asking = server().ask_for_tickets(sealer.lifetime()).build().unwrap();
    let client = tls13();
    let mut asked = Vec::new();
    for resumed in [false, true] {
        let pair = Pair::new(&client, &asking).answering(|_, question| {
            asked.push(format!("{question:?}"));
            match question {
                Question::SealTicket(question) => question.resolve(&sealer),
                Question::OpenTicket(question) => question.resolve(&sealer),
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(pair.connect().client.connection().info.resumed, resumed);
    }
    assert_eq!(asked, ["SealTicket", "SealTicket", "OpenTicket", "SealTicket"]);
}

#[test]
fn new_sessions_can_be_returned_over_quic() {
    let store = Arc::new(ClientMemoryStore::default());
    let client = client().session_store(store.clone()).return_new_sessions(true).build().unwrap();
    let server = server().build().unwrap();
    for resumed in [false, true] {
        let mut ends = Pair::new(&client, &server).connect();
        let connection = ends.client.connection();
        assert_eq!(connection.info.resumed, resumed);
        // Sessions that were received remain when no more are wanted.
        connection.incoming.ignore_tickets();
        let new = connection.incoming.take_new_sessions();
        assert_eq!(new.len(), if resumed { 1 } else { 2 });
        assert!(connection.incoming.take_new_sessions().is_empty());
        for each in new {
            store.put_session(&each.key, each.session, each.expires);
        }
    }
}
