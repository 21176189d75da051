//! Sessions resumed over the public interface: both versions, tickets and stores, and when not.
//!
//! Must not know: what a session looks like. Next: `pair.rs`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{
    AdmitEarlyData, Answer, ClientAuth, ClientConfig, Clock, Connection, EarlyData, Handshake,
    Local, MemoryStore, Next, Peer, Policy, Question, Received, ReplayGuard, ServerConfig,
    SessionStore, Side,
};

use crate::identity::{Kind, client, credential, roots, server};
use crate::pair::{Delivery, Ends, Pair};

pub(crate) const VERSIONS: [ProtocolVersion; 2] =
    [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];

/// A clock that is set by hand.
pub(crate) struct Dial(Mutex<u64>);

impl Dial {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(UnixTime::now().as_secs())))
    }

    pub(crate) fn turn(&self, seconds: u64) {
        *self.0.lock().unwrap() += seconds;
    }

    pub(crate) fn turn_back(&self, seconds: u64) {
        *self.0.lock().unwrap() -= seconds;
    }
}

impl Clock for Dial {
    fn now(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(*self.0.lock().unwrap()))
    }
}

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

/// Connects, moves data so that tickets arrive, and says on both sides whether a session was resumed.
pub(crate) fn visit(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> bool {
    let mut ends = Pair::new(client, server, "server.example").connect().unwrap();
    let (ours, theirs) =
        (ends.client.connection.facts.resumed, ends.server.connection.facts.resumed);
    assert_eq!(ours, theirs);
    ends.talk();
    ours
}

#[test]
fn a_ticket_resumes_a_session() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server().build().unwrap();
        assert!(!visit(&client, &server), "{version}");
        assert!(visit(&client, &server), "{version}");
        assert!(visit(&client, &server), "{version}");
    }
}

#[test]
fn a_stored_session_resumes() {
    for version in VERSIONS {
        let store = Arc::new(MemoryStore::new(100));
        let client = client().versions(&[version]).build().unwrap();
        let server = server().without_tickets().session_store(Policy::Here(store)).build().unwrap();
        assert!(!visit(&client, &server), "{version}");
        assert!(visit(&client, &server), "{version}");
        assert!(visit(&client, &server), "{version}");
    }
}

#[test]
fn a_resumed_session_keeps_what_was_known_of_the_peer() {
    for version in VERSIONS {
        let client =
            client().versions(&[version]).credential(credential(Kind::P256)).build().unwrap();
        let server = server().client_auth(ClientAuth::Required, roots()).build().unwrap();
        let name = "server.example";
        let facts = |ends: &Ends| {
            let facts = &ends.server.connection.facts;
            (facts.peer_chain().to_vec(), facts.peer_signature_scheme)
        };
        let mut first = Pair::new(&client, &server, name).connect().unwrap();
        first.talk();
        let second = Pair::new(&client, &server, name).connect().unwrap();
        assert!(second.server.connection.facts.resumed, "{version}");
        assert!(!facts(&first).0.is_empty());
        assert_eq!(facts(&first), facts(&second), "{version}");
        let chains = |ends: &Ends| ends.client.connection.facts.peer_chain().to_vec();
        assert_eq!(chains(&first), chains(&second), "{version}");
    }
}

#[test]
fn a_session_is_for_one_name_only() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server()
            .credential(crate::identity::credential_for(Kind::P256, &["other.example"]))
            .build()
            .unwrap();
        assert!(!visit(&client, &server));
        let ends = Pair::new(&client, &server, "other.example").connect().unwrap();
        assert!(!ends.client.connection.facts.resumed, "{version}");
    }
}

#[test]
fn a_session_of_a_laxer_policy_satisfies_no_stricter_one() {
    for version in VERSIONS {
        let store: Arc<MemoryStore> = Arc::new(MemoryStore::new(100));
        let client =
            client().versions(&[version]).credential(credential(Kind::P256)).build().unwrap();
        let with = |demand| {
            let store = Arc::clone(&store);
            server()
                .session_store(Policy::Here(store))
                .client_auth(demand, roots())
                .build()
                .unwrap()
        };
        assert!(!visit(&client, &with(ClientAuth::Optional)));
        assert!(!visit(&client, &with(ClientAuth::Required)), "{version}");
    }
}

#[test]
fn an_old_session_is_not_resumed() {
    for version in VERSIONS {
        let dial = Dial::new();
        let client = client()
            .versions(&[version])
            .clock(Arc::clone(&dial) as Arc<dyn Clock>)
            .build()
            .unwrap();
        let server = server().clock(Arc::clone(&dial) as Arc<dyn Clock>).build().unwrap();
        assert!(!visit(&client, &server));
        dial.turn(3600);
        assert!(visit(&client, &server), "{version}");
        dial.turn(8 * 24 * 3600);
        assert!(!visit(&client, &server), "{version}");
    }
}

/// A server's store for which it is always the beginning.
struct Timeless(MemoryStore);

const BEGINNING: UnixTime = UnixTime::since_unix_epoch(Duration::ZERO);

impl SessionStore for Timeless {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.0.put(id, session, expires);
    }

    fn take(&self, id: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        self.0.take(id, BEGINNING)
    }

    fn get(&self, id: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        self.0.get(id, BEGINNING)
    }

    fn remove(&self, id: &[u8]) {
        self.0.remove(id);
    }
}

#[test]
fn a_server_believes_its_own_clock_about_a_sessions_age() {
    for version in VERSIONS {
        for (seconds, resumes) in [(7199, true), (7200, false)] {
            let dial = Dial::new();
            let slow: Arc<dyn Clock> = Dial::new();
            let client = client().versions(&[version]).clock(slow).build().unwrap();
            let store = Policy::Here(Arc::new(Timeless(MemoryStore::new(10))) as _);
            let server = server().without_tickets().session_store(store).session_lifetime(7200);
            let server = server.clock(dial.clone()).build().unwrap();
            assert!(!visit(&client, &server));
            dial.turn(seconds);
            assert_eq!(visit(&client, &server), resumes, "{version}, after {seconds} seconds");
        }
    }
}

#[test]
fn the_application_can_keep_sessions_itself() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server().without_tickets().session_store(Policy::Ask).build().unwrap();
        let mut kept: Vec<tercel::NewSession> = Vec::new();
        for round in 0..3 {
            let answer = |side: Side, question: Question| match question {
                Question::FindSession(question) => {
                    assert_eq!(side, Side::Server);
                    assert_eq!(question.is_single_use(), version == ProtocolVersion::TLS1_3);
                    let found = kept.iter().find(|new| new.id == question.identity());
                    Answer::Session(found.map(|new| new.session.clone()))
                }
                other => panic!("{other:?}"),
            };
            let pair = Pair::new(&client, &server, "server.example").answering(answer);
            let mut ends = pair.connect().unwrap();
            assert_eq!(ends.client.connection.facts.resumed, round > 0, "{version} {round}");
            kept.extend(ends.server.connection.facts.take_new_sessions());
            ends.talk();
        }
    }
}

#[test]
fn resumption_survives_a_retry_and_any_delivery() {
    for delivery in [Delivery::Bytes, Delivery::Pieces(7)] {
        let client = client()
            .key_shares(&[tercel::wire::NamedGroup::SECP256R1])
            .shuffle_extensions(true)
            .grease(true)
            .build()
            .unwrap();
        let server = server().groups(&[tercel::wire::NamedGroup::SECP384R1]).build().unwrap();
        for round in 0..2 {
            let pair = Pair::new(&client, &server, "server.example").delivery(delivery);
            let mut ends = pair.connect().unwrap();
            assert!(ends.client.connection.facts.retried);
            assert_eq!(ends.client.connection.facts.resumed, round > 0);
            ends.talk();
        }
    }
}

#[test]
fn without_tickets_and_store_nothing_is_resumed() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server().without_tickets().build().unwrap();
        assert!(!visit(&client, &server));
        assert!(!visit(&client, &server));
    }
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
