//! Resumption through the public interface, and its conditions: both versions, tickets and stores.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, Policy, Question, ServerConfig, Side,
    clock::Clock,
    server::ClientAuth,
    session::{
        ClientMemoryStore, RotatingTickets, ServerMemoryStore, ServerSessionStore, TicketSealer,
    },
};

use crate::fixtures::{Kind, client, credential, roots, server};
use crate::pair::{Delivery, Ends, Pair};

pub(crate) const VERSIONS: [ProtocolVersion; 2] =
    [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];

/// A clock that is set by the test.
pub(crate) struct ManualClock(Mutex<u64>);

impl ManualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(UnixTime::now().as_secs())))
    }

    pub(crate) fn advance_by(&self, seconds: u64) {
        *self.0.lock().unwrap() += seconds;
    }

    pub(crate) fn set_back(&self, seconds: u64) {
        *self.0.lock().unwrap() -= seconds;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(*self.0.lock().unwrap()))
    }
}

/// Connects, transfers data so that tickets arrive, and returns whether both sides resumed a
/// session.
pub(crate) fn visit(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> bool {
    let mut ends = Pair::new(client, server, "server.example").connect().unwrap();
    let (ours, theirs) = (ends.client.connection.info.resumed, ends.server.connection.info.resumed);
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
        let store = Arc::new(ServerMemoryStore::new(100));
        let client = client().versions(&[version]).build().unwrap();
        let server = server().without_tickets().session_store(Policy::Here(store)).build().unwrap();
        assert!(!visit(&client, &server), "{version}");
        assert!(visit(&client, &server), "{version}");
        assert!(visit(&client, &server), "{version}");
    }
}

#[test]
fn a_resumed_session_has_the_data_of_the_peer() {
    for version in VERSIONS {
        let client =
            client().versions(&[version]).credential(credential(Kind::P256)).build().unwrap();
        let server = server().client_auth(ClientAuth::Required, roots()).build().unwrap();
        let name = "server.example";
        let info = |ends: &Ends| {
            let info = &ends.server.connection.info;
            (info.peer_chain().to_vec(), info.peer_signature_scheme)
        };
        let mut first = Pair::new(&client, &server, name).connect().unwrap();
        first.talk();
        let second = Pair::new(&client, &server, name).connect().unwrap();
        assert!(second.server.connection.info.resumed, "{version}");
        assert!(!info(&first).0.is_empty());
        assert_eq!(info(&first), info(&second), "{version}");
        let chains = |ends: &Ends| ends.client.connection.info.peer_chain().to_vec();
        assert_eq!(chains(&first), chains(&second), "{version}");
    }
}

#[test]
fn a_client_offers_a_session_to_its_own_name_only() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server()
            .credential(crate::fixtures::credential_for(Kind::P256, &["other.example"]))
            .build()
            .unwrap();
        assert!(!visit(&client, &server));
        let ends = Pair::new(&client, &server, "other.example").connect().unwrap();
        assert!(!ends.client.connection.info.resumed, "{version}");
    }
}

#[test]
fn a_session_of_a_lax_policy_is_not_resumed_under_a_strict_one() {
    for version in VERSIONS {
        let store: Arc<ServerMemoryStore> = Arc::new(ServerMemoryStore::new(100));
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
        let clock = ManualClock::new();
        let client = client()
            .versions(&[version])
            .clock(Arc::clone(&clock) as Arc<dyn Clock>)
            .build()
            .unwrap();
        let server = server().clock(Arc::clone(&clock) as Arc<dyn Clock>).build().unwrap();
        assert!(!visit(&client, &server));
        clock.advance_by(3600);
        assert!(visit(&client, &server), "{version}");
        clock.advance_by(8 * 24 * 3600);
        assert!(!visit(&client, &server), "{version}");
    }
}

#[test]
fn a_chain_of_resumptions_ends_seven_days_after_its_full_handshake() {
    // The client's clock does not advance, so only the server can notice that the session has
    // expired.
    let clock = ManualClock::new();
    let client = client().clock(ManualClock::new()).build().unwrap();
    let server = server().clock(Arc::clone(&clock) as Arc<dyn Clock>).build().unwrap();
    assert!(!visit(&client, &server));
    for hours in (5..=170).step_by(5) {
        clock.advance_by(5 * 3600);
        assert_eq!(visit(&client, &server), hours < 7 * 24, "{hours}");
    }
}

/// RFC 7627 5.3
#[test]
fn a_resumption_without_the_extended_main_secret_is_refused() {
    let client = client().versions(&[ProtocolVersion::TLS1_2]).build().unwrap();
    let server = server().build().unwrap();
    assert!(!visit(&client, &server));
    let without = |hello: &mut Vec<u8>| {
        let mut places = hello.windows(4).enumerate();
        let found = places.find(|(_, bytes)| *bytes == [0, 23, 0, 0]).map(|(at, _)| at);
        // Replaces the extension by an unknown one.
        if let Some(at) = found {
            hello[at..at + 2].copy_from_slice(&[0x7a, 0x7a]);
        }
    };
    let failure = Pair::new(&client, &server, "server.example").tap_to_server(without).connect();
    assert_eq!(
        failure.unwrap_err().server,
        Some(tercel::error::PeerError::ExtendedMainSecretLost.into())
    );
}

/// A server's store for which it is always the time zero.
struct Timeless(ServerMemoryStore);

const BEGINNING: UnixTime = UnixTime::since_unix_epoch(Duration::ZERO);

impl ServerSessionStore for Timeless {
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
fn a_server_uses_its_own_clock_for_a_sessions_age() {
    for version in VERSIONS {
        for (seconds, resumes) in [(7199, true), (7200, false)] {
            let clock = ManualClock::new();
            let slow: Arc<dyn Clock> = ManualClock::new();
            let client = client().versions(&[version]).clock(slow).build().unwrap();
            let store = Policy::Here(Arc::new(Timeless(ServerMemoryStore::new(10))) as _);
            let server = server()
                .without_tickets()
                .session_store(store)
                .session_lifetime(std::time::Duration::from_secs(7200));
            let server = server.clock(clock.clone()).build().unwrap();
            assert!(!visit(&client, &server));
            clock.advance_by(seconds);
            assert_eq!(visit(&client, &server), resumes, "{version}, after {seconds} seconds");
        }
    }
}

#[test]
fn the_application_can_store_sessions_itself() {
    for version in VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server().without_tickets().session_store(Policy::Ask).build().unwrap();
        let (mut kept, mut claimed) = (Vec::<tercel::session::NewSession>::new(), Vec::new());
        for round in 0..3 {
            let answer = |side: Side, question: Question| match question {
                Question::FindSession(question) => {
                    assert_eq!(side, Side::Server);
                    assert_eq!(question.is_single_use(), version == ProtocolVersion::TLS1_3);
                    let found = kept.iter().find(|new| new.id == question.identity());
                    question.answer(found.map(|new| new.session.clone()))
                }
                Question::ClaimSession(question) => {
                    claimed.push(question.identity().to_vec());
                    question.answer(true)
                }
                other => panic!("{other:?}"),
            };
            let pair = Pair::new(&client, &server, "server.example").answering(answer);
            let mut ends = pair.connect().unwrap();
            assert_eq!(ends.client.connection.info.resumed, round > 0, "{version} {round}");
            kept.extend(ends.server.connection.info.take_new_sessions());
            ends.talk();
        }
        // Only sessions of TLS 1.3 are for single use.
        assert_eq!(claimed.len(), if version == ProtocolVersion::TLS1_3 { 2 } else { 0 });
        assert!(claimed.iter().all(|id| kept.iter().any(|new| new.id == *id)));
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
            assert!(ends.client.connection.info.retried);
            assert_eq!(ends.client.connection.info.resumed, round > 0);
            ends.talk();
        }
    }
}

/// The server hashes a large ClientHello in parallel with the binder, if the hash is SHA-384.
#[test]
fn resumption_survives_hellos_of_any_size() {
    let protocols: Vec<_> = (0..250).map(|number| format!("{number:0>250}")).collect();
    for suite in [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384] {
        for (groups, retried) in [([NamedGroup::SECP256R1], true), ([NamedGroup::SECP384R1], false)]
        {
            let server = server().groups(&[NamedGroup::SECP384R1]).build().unwrap();
            let client = client().cipher_suites(&[suite]).key_shares(&groups);
            for count in [0, 1, 2, 3, 7, 60, 250] {
                let names: Vec<_> = protocols[..count].iter().map(String::as_str).collect();
                let client = client.clone().alpn(&names).build().unwrap();
                for resumed in [false, true] {
                    let pair = Pair::new(&client, &server, "server.example");
                    let mut ends = pair.connect().unwrap();
                    let info = &ends.server.connection.info;
                    assert_eq!((info.resumed, info.retried), (resumed, retried), "{count}");
                    ends.talk();
                }
            }
        }
    }
}

/// A session of TLS 1.2 is resumed with its own suite, even if a full handshake would select
/// another suite. The session is not resumed if its suite is not offered or no longer allowed.
/// RFC 5246 7.4.1.2, 7.4.1.3
#[test]
fn a_tls12_session_keeps_its_suite() {
    let preferred = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
    let other = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384;
    let tickets: Arc<dyn TicketSealer> = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let server = |suites: &[CipherSuite]| {
        let builder = server().versions(&VERSIONS[..1]).tickets(Arc::clone(&tickets));
        builder.cipher_suites(suites).build().unwrap()
    };
    let both = server(&[preferred, other]);
    let meets = |sessions: &Arc<ClientMemoryStore>, suites: &[CipherSuite], server| {
        let client = client().cipher_suites(suites);
        let client = client.session_store(Arc::clone(sessions) as _).build().unwrap();
        let mut ends = Pair::new(&client, server, "server.example").connect().unwrap();
        ends.talk();
        let info = &ends.server.connection.info;
        (info.cipher_suite, info.resumed)
    };
    let sessions = || Arc::new(ClientMemoryStore::default());
    assert_eq!(meets(&sessions(), &[preferred, other], &both), (preferred, false));

    let sessions = sessions();
    assert_eq!(meets(&sessions, &[other], &both), (other, false));
    assert_eq!(meets(&sessions, &[preferred, other], &both), (other, true));
    // The session's suite is not offered, or the server does not allow it.
    assert_eq!(meets(&sessions, &[preferred], &both), (preferred, false));
    assert_eq!(meets(&sessions, &[other], &both), (other, false));
    assert_eq!(meets(&sessions, &[preferred, other], &server(&[preferred])), (preferred, false));
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

#[test]
fn without_tickets_and_store_a_server_issues_no_session() {
    let client = client().build().unwrap();
    let server = server().ticket_counts(0, 0).versions(&[ProtocolVersion::TLS1_3]).build().unwrap();
    assert!(!visit(&client, &server));
    assert!(!visit(&client, &server));
}
