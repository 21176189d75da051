//! A client whose new sessions are returned to the caller instead of stored.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::client::ClientConfigBuilder;
use tercel::pki_types::UnixTime;
use tercel::session::{
    ClientMemoryStore, ClientSession, ClientSessionKey, ClientSessionStore, NewClientSession,
    RotatingTickets, TicketSealer,
};
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{ClientConfig, Connection, Opened, Question, ServerConfig, Side};

use crate::fixtures::{NAME, client, server};
use crate::movable;
use crate::pair::{Delivery, Ends, Pair};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];

/// A store that must get no session, and counts removals.
#[derive(Default)]
struct NoStore {
    removed: Mutex<Vec<ClientSessionKey>>,
}

impl ClientSessionStore for NoStore {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        panic!("the session is returned");
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        panic!("the application is asked instead")
    }

    fn remove(&self, key: &ClientSessionKey) {
        self.removed.lock().unwrap().push(key.clone());
    }
}

fn returning() -> ClientConfigBuilder {
    client()
        .session_store(Arc::new(NoStore::default()))
        .ask_for_session(true)
        .return_new_sessions(true)
}

fn of_version(version: ProtocolVersion) -> Arc<ClientConfig> {
    returning().versions(&[version]).build().unwrap()
}

/// Connects, and offers this session.
fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    session: Option<ClientSession>,
) -> Ends {
    let mut session = Some(session);
    let pair = Pair::new(client, server, NAME).answering(|_, question| match question {
        Question::FindClientSession(question) => question.answer(session.take().flatten()),
        other => panic!("{other:?}"),
    });
    pair.connect().unwrap()
}

fn taken(ends: &mut Ends) -> Vec<NewClientSession> {
    ends.client.connection.receiver.take_new_sessions()
}

fn session(ends: &mut Ends) -> ClientSession {
    taken(ends).pop().unwrap().session
}

#[test]
fn new_sessions_are_returned_and_can_be_resumed() {
    for version in BOTH_VERSIONS {
        let (client, server) = (of_version(version), server().build().unwrap());
        let mut offered = None;
        for resumed in [false, true, true] {
            let mut ends = connect(&client, &server, offered.take());
            assert_eq!(ends.client.connection.info.resumed, resumed);
            // In TLS 1.3 there are no sessions before the tickets were received.
            let before = taken(&mut ends);
            ends.talk();
            let after = taken(&mut ends);
            let new = match version {
                TLS13 => {
                    assert!(before.is_empty());
                    assert_eq!(after.len(), if resumed { 1 } else { 2 });
                    after
                }
                _ => {
                    assert!(after.is_empty());
                    assert_eq!(before.len(), 1);
                    before
                }
            };
            for each in &new {
                assert_eq!(each.key.server_name().to_str(), NAME);
                assert!(each.expires > UnixTime::now() && !each.across_names);
            }
            assert!(taken(&mut ends).is_empty());
            offered = new.into_iter().next().map(|each| each.session);
        }
    }
}

/// Also as bytes.
#[test]
fn a_returned_session_can_be_stored_as_bytes() {
    for version in BOTH_VERSIONS {
        let (client, server) = (of_version(version), server().build().unwrap());
        let mut ends = connect(&client, &server, None);
        ends.talk();
        let bytes = session(&mut ends).to_bytes().unwrap();
        let ends = connect(&client, &server, ClientSession::from_bytes(&bytes));
        assert!(ends.client.connection.info.resumed);
    }
}

/// Tickets may be received together with data: the sessions wait for the caller.
#[test]
fn sessions_that_arrive_with_data_are_not_lost() {
    let (client, server) = (of_version(TLS13), server().build().unwrap());
    for into_buffer in [false, true] {
        let mut ends = connect(&client, &server, None);
        for round in 0..3 {
            let mut wire = Vec::new();
            ends.server.connection.sender.seal_to(b"data", &mut wire).unwrap();
            ends.client.received.extend(&wire);
            let (receiver, received) =
                (&mut ends.client.connection.receiver, &mut ends.client.received);
            if into_buffer {
                let mut out = vec![0; receiver.max_opened_length()];
                receiver.open_into(received, &mut out).unwrap();
            } else {
                assert!(
                    matches!(receiver.open(received).unwrap(), Opened::Data(data) if data == b"data"),
                    "{round}"
                );
            }
        }
        assert_eq!(taken(&mut ends).len(), 2);
        assert!(taken(&mut ends).is_empty());
    }
}

#[test]
fn by_default_sessions_are_stored_and_not_returned() {
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server().build().unwrap();
        for resumed in [false, true] {
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            ends.talk();
            assert_eq!(ends.client.connection.info.resumed, resumed);
            assert!(taken(&mut ends).is_empty());
            assert!(ends.server.connection.receiver.take_new_sessions().is_empty());
        }
        let without = self::client().without_resumption().return_new_sessions(true);
        let mut ends = Pair::new(&without.build().unwrap(), &server, NAME).connect().unwrap();
        ends.talk();
        assert!(taken(&mut ends).is_empty());
    }
}

/// A sealer that replaces all tickets of TLS 1.2.
struct Renewing(RotatingTickets);

impl TicketSealer for Renewing {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.open(ticket, now)
    }

    fn needs_renewal(&self, _: &[u8], _: UnixTime) -> bool {
        true
    }

    fn lifetime(&self) -> Duration {
        self.0.lifetime()
    }
}

/// RFC 5077 3.3
#[test]
fn a_replaced_ticket_of_tls12_is_returned_in_its_session() {
    let sealer = Arc::new(Renewing(RotatingTickets::new(UnixTime::now()).unwrap()));
    let (client, server) = (of_version(TLS12), server().tickets(sealer).build().unwrap());
    let mut ends = connect(&client, &server, None);
    let first = session(&mut ends).to_bytes().unwrap();
    let mut ends = connect(&client, &server, ClientSession::from_bytes(&first));
    assert!(ends.client.connection.info.resumed);
    let second = session(&mut ends).to_bytes().unwrap();
    assert!(first != second);
    let ends = connect(&client, &server, ClientSession::from_bytes(&second));
    assert!(ends.client.connection.info.resumed);
}

/// RFC 5246 7.2.2
#[test]
fn a_returned_session_of_tls12_is_not_offered_after_a_fatal_alert() {
    let store = Arc::new(NoStore::default());
    let client = returning().session_store(store.clone()).versions(&[TLS12]).build().unwrap();
    let server = server().build().unwrap();
    for taken_before in [false, true] {
        let mut ends = connect(&client, &server, None);
        let mut new = Vec::new();
        if taken_before {
            new = taken(&mut ends);
        }
        let sender = &mut ends.client.connection.sender;
        sender.abort(AlertDescription::INTERNAL_ERROR, &mut Vec::new()).unwrap();
        new.extend(taken(&mut ends));
        let NewClientSession { key, session, .. } = new.pop().unwrap();
        assert_eq!(std::mem::take(&mut *store.removed.lock().unwrap()), [key]);
        let ends = connect(&client, &server, Some(session));
        assert!(!ends.client.connection.info.resumed);
    }
}

#[test]
fn a_returned_session_says_that_it_is_for_other_names() {
    let server = server().resumption_across_names(true).build().unwrap();
    let mut ends = connect(&of_version(TLS13), &server, None);
    ends.talk();
    assert!(taken(&mut ends).iter().all(|each| each.across_names));
}

/// The server is not known to have sent all tickets before its first data, but later ones are not
/// stored.
#[test]
fn untaken_sessions_are_limited() {
    let server = server().ticket_counts(10, 10).build().unwrap();
    let mut ends = connect(&of_version(TLS13), &server, None);
    for _ in 0..3 {
        ends.talk();
    }
    assert_eq!(taken(&mut ends).len(), 10);
}

/// A caller may put returned sessions into any store.
#[test]
fn a_returned_session_fits_in_a_store() {
    let store = Arc::new(ClientMemoryStore::default());
    let returns = client().session_store(store.clone()).return_new_sessions(true);
    let (client, server) = (returns.build().unwrap(), server().build().unwrap());
    for resumed in [false, true] {
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        ends.talk();
        assert_eq!(ends.client.connection.info.resumed, resumed);
        for NewClientSession { key, session, expires, .. } in taken(&mut ends) {
            store.put_session(&key, session, expires);
        }
    }
}

/// The state for tickets is saved, and the restored connection returns their sessions.
#[test]
fn a_restored_connection_returns_sessions() {
    let client = movable::limited(returning()).versions(&[TLS13]).build().unwrap();
    let server = server().build().unwrap();
    let mut ends = connect(&client, &server, None);
    let saved = ends.client.connection.save().unwrap();
    ends.client.connection = Connection::restore_client(&saved, &client).unwrap();
    let data = ends.transfer(Side::Server, b"data", Delivery::Whole);
    assert_eq!(data, b"data");
    let session = session(&mut ends);
    assert!(connect(&client, &server, Some(session)).client.connection.info.resumed);
}
