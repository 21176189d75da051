//! Options and traits that take a `Duration`: bounds, fractions of a second, effects on the peer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::clock::Clock;
use tercel::error::ConfigError;
use tercel::pki_types::UnixTime;
use tercel::session::{
    AdmitEarlyData, ClientMemoryStore, ClientSessionKey, ClientSessionStore, ReplayGuard,
    RotatingTickets, ServerMemoryStore, TicketSealer,
};
use tercel::wire::ProtocolVersion;
use tercel::{ClientConfig, Handshake, Next, Policy, Question, ReceiveBuffer, ServerConfig};

use crate::fixtures::{Kind, NAME, client, leaf, server};
use crate::pair::Pair;
use crate::resumption::{ManualClock, visit};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

const DAY: u64 = 86_400;

/// The longest lifetime of a session. RFC 9846 4.7.1
const MAX: u64 = 7 * DAY;

/// Lifetimes, and the whole seconds of each: fractions are cut off.
const LIFETIMES: [(Duration, u64); 7] = [
    (Duration::from_secs(1), 1),
    (Duration::from_millis(2999), 2),
    (Duration::from_secs(DAY), DAY),
    (Duration::from_secs(MAX), MAX),
    (Duration::new(MAX, 1), MAX),
    (Duration::from_secs(MAX + 1), MAX),
    (Duration::MAX, MAX),
];

fn clock(dial: &Arc<ManualClock>) -> Arc<dyn Clock> {
    dial.clone()
}

fn client_at(dial: &Arc<ManualClock>, version: ProtocolVersion) -> Arc<ClientConfig> {
    client().versions(&[version]).clock(clock(dial)).build().unwrap()
}

/// RFC 9846 4.7.1
#[test]
fn a_stored_session_expires_after_its_lifetime_in_whole_seconds() {
    for version in BOTH_VERSIONS {
        for (lifetime, seconds) in LIFETIMES
            .map(|(lifetime, seconds)| (Some(lifetime), seconds))
            .into_iter()
            .chain([(None, DAY)])
        {
            let dial = ManualClock::new();
            let mut server = server().session_store(Policy::Ask).clock(clock(&dial));
            if let Some(lifetime) = lifetime {
                server = server.session_lifetime(lifetime);
            }
            let client = client_at(&dial, version);
            let mut ends = Pair::new(&client, &server.build().unwrap(), NAME).connect().unwrap();
            let sessions = ends.server.connection.info.take_new_sessions();
            assert!(!sessions.is_empty());
            for session in sessions {
                let expires = session.expires.as_secs() - dial.now().as_secs();
                assert_eq!(expires, seconds, "{version} {lifetime:?}");
            }
        }
    }
}

/// A session ends with the server's certificate, unless the client allows otherwise.
#[test]
fn a_session_is_offered_after_the_certificate_only_if_that_is_allowed() {
    let (chain, _) = leaf(Kind::P256, &[NAME]);
    let end = tercel_pki::not_after(&chain[0]).unwrap().as_secs();
    for version in BOTH_VERSIONS {
        for allowed in [false, true] {
            let dial = ManualClock::new();
            dial.advance_by(end - dial.now().as_secs() - 10);
            let client = client()
                .versions(&[version])
                .clock(clock(&dial))
                .resume_after_certificate(allowed)
                .build()
                .unwrap();
            let server = server().clock(clock(&dial)).build().unwrap();
            assert!(!visit(&client, &server));
            assert!(visit(&client, &server));
            dial.advance_by(20);
            let connected = Pair::new(&client, &server, NAME).connect();
            // Without the session, the server's certificate is refused.
            assert_eq!(connected.is_ok(), allowed, "{version}");
            assert!(connected.is_err() || connected.unwrap().client.connection.info.resumed);
        }
    }
}

/// After its lifetime the session is not resumed, and a full handshake follows. RFC 9846 4.7.1
#[test]
fn a_stored_session_is_resumed_within_its_lifetime_only() {
    for version in BOTH_VERSIONS {
        // A TLS 1.2 server does not state how long it stores a session, and clients assume a day.
        let longest = if version == ProtocolVersion::TLS1_3 { MAX } else { DAY };
        let lasting = Duration::from_secs(longest);
        for (lifetime, last) in [(Duration::from_millis(10_900), 9), (lasting, longest - 1)] {
            for (age, is_resumed) in [(last, true), (last + 1, false)] {
                let dial = ManualClock::new();
                let store = Policy::Here(Arc::new(ServerMemoryStore::new(10)) as Arc<_>);
                let server = server().session_store(store).clock(clock(&dial));
                let server = server.session_lifetime(lifetime).build().unwrap();
                let client = client_at(&dial, version);
                assert!(!visit(&client, &server));
                dial.advance_by(age);
                assert_eq!(visit(&client, &server), is_resumed, "{version} {lifetime:?} {age}");
            }
        }
    }
}

/// A lifetime below a second counts as zero, so the client stores nothing. RFC 9846 4.7.1
#[test]
fn a_session_without_a_second_of_lifetime_is_not_resumed() {
    for lifetime in [Duration::ZERO, Duration::from_millis(999)] {
        let store = Policy::Here(Arc::new(ServerMemoryStore::new(10)) as Arc<_>);
        let stored = server().session_store(store).session_lifetime(lifetime).build().unwrap();
        let sealed = server().tickets(Arc::new(Lasting::new(lifetime))).build().unwrap();
        for server in [stored, sealed] {
            let client = client().versions(&[ProtocolVersion::TLS1_3]).build().unwrap();
            assert!(!visit(&client, &server) && !visit(&client, &server), "{lifetime:?}");
        }
    }
}

/// A sealer that promises this lifetime for its tickets.
struct Lasting(RotatingTickets, Duration);

impl Lasting {
    fn new(lifetime: Duration) -> Self {
        Self(RotatingTickets::new(UnixTime::now()).unwrap(), lifetime)
    }
}

impl TicketSealer for Lasting {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.open(ticket, now)
    }

    fn lifetime(&self) -> Duration {
        self.1
    }
}

/// A client's store that records when sessions expire.
#[derive(Default)]
struct Noting(ClientMemoryStore, Mutex<Vec<UnixTime>>);

impl ClientSessionStore for Noting {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.1.lock().unwrap().push(expires);
        self.0.put(key, session, expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(key, now)
    }
}

/// A longer lifetime would be an error of the protocol in TLS 1.3. RFC 9846 4.7.1, RFC 5077 5.6
#[test]
fn a_ticket_states_at_most_seven_days() {
    for version in BOTH_VERSIONS {
        for (lifetime, seconds) in LIFETIMES {
            let (dial, store) = (ManualClock::new(), Arc::new(Noting::default()));
            let client = client().versions(&[version]).clock(clock(&dial));
            let client = client.session_store(store.clone()).build().unwrap();
            let server = server().tickets(Arc::new(Lasting::new(lifetime))).clock(clock(&dial));
            assert!(!visit(&client, &server.build().unwrap()));
            let stored = store.1.lock().unwrap();
            assert!(!stored.is_empty());
            for expires in stored.iter() {
                let left = expires.as_secs() - dial.now().as_secs();
                assert_eq!(left, seconds, "{version} {lifetime:?}");
            }
        }
    }
}

/// A guard that remembers flights for a freshness window of this length.
struct Guard(Duration);

impl AdmitEarlyData for Guard {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        true
    }

    fn freshness_window(&self) -> Duration {
        self.0
    }
}

fn with_window(window: Duration, guard: Policy<dyn AdmitEarlyData>) -> Result<(), ConfigError> {
    server().early_data(1000, guard).freshness_window(window).build().map(drop)
}

/// RFC 9846 8.3
#[test]
fn a_freshness_window_has_2_to_60_whole_seconds() {
    for window in [2, 3, 59, 60].map(Duration::from_secs) {
        with_window(window, Policy::Ask).unwrap();
    }
    for window in [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_secs(1),
        Duration::from_millis(1999),
        Duration::new(2, 1),
        Duration::from_millis(2500),
        Duration::new(59, 999_999_999),
        Duration::new(60, 1),
        Duration::from_secs(61),
        Duration::MAX,
    ] {
        assert_eq!(with_window(window, Policy::Ask), Err(ConfigError::BadFreshnessWindow));
        // The option is also checked if early data is off.
        let without = server().freshness_window(window).build();
        assert_eq!(without.map(drop), Err(ConfigError::BadFreshnessWindow), "{window:?}");
    }
}

/// The time for which a guard remembers flights may exceed the window by a fraction of a second.
/// RFC 9846 8.2
#[test]
fn a_guard_remembers_at_least_for_the_window() {
    let guard = |window| Policy::Here(Arc::new(Guard(window)) as Arc<dyn AdmitEarlyData>);
    for (remembered, window, expected) in [
        (Duration::from_secs(5), 5, Ok(())),
        (Duration::from_millis(5001), 5, Ok(())),
        (Duration::MAX, 60, Ok(())),
        (Duration::from_millis(4999), 5, Err(ConfigError::ReplayGuardTooShort)),
        (Duration::ZERO, 2, Err(ConfigError::ReplayGuardTooShort)),
    ] {
        assert_eq!(with_window(Duration::from_secs(window), guard(remembered)), expected);
    }
}

/// RFC 9846 8.3
#[test]
fn the_freshness_period_covers_both_directions_and_a_second() {
    let period = |millis| ReplayGuard::freshness_period(Duration::from_millis(millis));
    assert_eq!(period(60_000), Duration::from_secs(121));
    assert_eq!(period(2_500), Duration::from_secs(6));
    assert_eq!(period(0), Duration::from_secs(1));
    assert_eq!(ReplayGuard::freshness_period(Duration::MAX), Duration::MAX);
    let at = UnixTime::since_unix_epoch(Duration::from_secs(1_000_000));
    let window = Duration::from_secs(7);
    let guard = ReplayGuard::for_freshness_window(10, at, window);
    assert_eq!(guard.freshness_window(), window);
    assert_eq!(ReplayGuard::new(10, at).freshness_window(), Duration::from_secs(60));
}

#[test]
fn a_question_about_early_data_has_the_window_of_the_configuration() {
    let window = Duration::from_secs(7);
    let server: Arc<ServerConfig> =
        server().early_data(1000, Policy::Ask).freshness_window(window).build().unwrap();
    let client = client().early_data(true).build().unwrap();
    assert!(!visit(&client, &server));
    let (mut ours, mut theirs) =
        (Handshake::client(client, NAME.try_into().unwrap()), Handshake::server(server));
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    ours.advance(&mut received, &mut out).unwrap();
    received.extend(&out);
    let Ok(Next::Answer(Question::AdmitEarlyData(question))) =
        theirs.advance(&mut received, &mut Vec::new())
    else {
        panic!("no question about early data");
    };
    assert_eq!(question.freshness_window(), window);
}
