//! Damaged, forged or exchanged tickets and stored sessions lead to a full handshake, not to an
//! error.
//!
//! Unit tests cover every bit and length of a single ticket or session, with the code that parses
//! it. These tests use whole handshakes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, Policy, ServerConfig,
    server::ServerConfigBuilder,
    session::{
        ClientMemoryStore, ClientSessionKey, ClientSessionStore, RotatingTickets,
        SavedSessionsError, ServerMemoryStore, ServerSessionStore, SharedTickets, TicketKey,
        TicketKeySet, TicketSealer,
    },
};

use crate::fixtures::{client, server};
use crate::resumption::{VERSIONS, visit};

/// The damage to a ticket or session.
#[derive(Clone, Copy, Debug)]
enum Damage {
    None,
    Bit(usize),
    Length(usize),
}

impl Damage {
    /// All kinds of damage to a value of `length` bytes: one bit of each byte, in turn, and many
    /// lengths.
    fn all(length: usize) -> impl Iterator<Item = Self> {
        let bits = (0..length).map(|byte| Self::Bit(byte * 8 + byte % 8));
        let lengths = (1..length).step_by(11).chain([length - 1, length + 1, 2 * length]);
        bits.chain(lengths.map(Self::Length))
    }

    fn apply_to(self, mut bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::None => {}
            Self::Bit(bit) => {
                // The lengths of sessions differ slightly.
                let length = bytes.len();
                bytes[bit / 8 % length] ^= 1 << (bit % 8);
            }
            Self::Length(length) => bytes.resize(length, 0),
        }
        bytes
    }
}

/// Wraps a sealer or store, damages the values that it returns, and records their length.
struct Damaging<T> {
    inner: T,
    damage: Mutex<Damage>,
    seen: Mutex<usize>,
}

impl<T> Damaging<T> {
    fn new(inner: T) -> Arc<Self> {
        Arc::new(Self { inner, damage: Mutex::new(Damage::None), seen: Mutex::new(0) })
    }

    fn set(&self, damage: Damage) {
        *self.damage.lock().unwrap() = damage;
    }

    fn length(&self) -> usize {
        *self.seen.lock().unwrap()
    }

    fn damage(&self, bytes: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let bytes = bytes?;
        *self.seen.lock().unwrap() = bytes.len();
        Some(self.damage.lock().unwrap().apply_to(bytes))
    }
}

/// The client receives damaged tickets.
impl<T: TicketSealer> TicketSealer for Damaging<T> {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.damage(self.inner.seal(session, now))
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.inner.open(ticket, now)
    }

    fn lifetime(&self) -> std::time::Duration {
        self.inner.lifetime()
    }
}

/// The server's store returns damaged sessions.
impl ServerSessionStore for Damaging<ServerMemoryStore> {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.inner.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.damage(self.inner.take(id, now))
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.damage(self.inner.get(id, now))
    }

    fn remove(&self, id: &[u8]) {
        self.inner.remove(id);
    }
}

/// The client's store returns damaged sessions.
impl ClientSessionStore for Damaging<ClientMemoryStore> {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.inner.put(key, session, expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.damage(self.inner.take(key, now))
    }
}

const PERIOD: Duration = Duration::from_secs(3600);

fn rotating() -> RotatingTickets {
    RotatingTickets::with_period(PERIOD, UnixTime::now()).unwrap()
}

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn shared(number: u8) -> TicketKeySet {
    TicketKeySet::new(TicketKey::new([number; 16], &[number; 32], at(1)), None, None).unwrap()
}

/// A client that stores one ticket at a time, so that each connection offers the ticket of the
/// previous one.
fn single(version: ProtocolVersion, store: Arc<dyn ClientSessionStore>) -> Arc<ClientConfig> {
    let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
    let builder = client().versions(&[version]).groups(&groups);
    builder.session_store(store).build().unwrap()
}

fn single_session_store() -> Arc<ClientMemoryStore> {
    Arc::new(ClientMemoryStore::new(4, 1))
}

fn single_ticket_server(builder: ServerConfigBuilder) -> Arc<ServerConfig> {
    builder.ticket_counts(1, 1).build().unwrap()
}

/// Connects with every kind of damage, each time with a full handshake, and then resumes an intact
/// session.
fn check_all<T>(
    client: impl Fn() -> Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    spoiled: &Damaging<T>,
) {
    let first = client();
    assert!(!visit(&first, server));
    assert!(visit(&first, server));
    let length = spoiled.length();
    assert!(length > 30, "a session of {length} bytes");
    // The first connection gets a damaged ticket. Each later connection offers that ticket, makes a
    // full handshake, and gets the next damaged ticket.
    let client = client();
    spoiled.set(Damage::Bit(0));
    visit(&client, server);
    for damage in Damage::all(length) {
        spoiled.set(damage);
        assert!(!visit(&client, server), "resumed with {damage:?}, or with the previous one");
    }
    spoiled.set(Damage::None);
    visit(&client, server);
    assert!(visit(&client, server), "an intact session is not resumed");
}

#[test]
fn a_damaged_ticket_leads_to_a_full_handshake() {
    for version in VERSIONS {
        let tickets = Damaging::new(rotating());
        let server = single_ticket_server(server().tickets(tickets.clone()));
        check_all(|| single(version, single_session_store()), &server, &tickets);
        let tickets = Damaging::new(SharedTickets::new(&shared(1), PERIOD));
        let server = single_ticket_server(self::server().tickets(tickets.clone()));
        check_all(|| single(version, single_session_store()), &server, &tickets);
    }
}

#[test]
fn a_damaged_session_in_a_servers_store_leads_to_a_full_handshake() {
    for version in VERSIONS {
        let store = Damaging::new(ServerMemoryStore::new(100));
        let builder = server().without_tickets().session_store(Policy::Here(store.clone()));
        check_all(
            || single(version, single_session_store()),
            &single_ticket_server(builder),
            &store,
        );
    }
}

#[test]
fn a_damaged_session_in_a_clients_store_leads_to_a_full_handshake() {
    for version in VERSIONS {
        let store = Damaging::new(ClientMemoryStore::new(4, 1));
        let server = single_ticket_server(server());
        check_all(|| single(version, store.clone()), &server, &store);
    }
}

#[test]
fn damaged_saved_sessions_are_refused_or_harmless() {
    for version in VERSIONS {
        let server = single_ticket_server(server());
        let saved = || {
            let store = single_session_store();
            let client = single(version, store.clone());
            assert!(!visit(&client, &server));
            store.to_bytes().to_vec()
        };
        let restored = |bytes: &[u8]| {
            let store = ClientMemoryStore::from_bytes(bytes, 4, 1)?;
            Ok(visit(&single(version, Arc::new(store)), &server))
        };
        assert_eq!(restored(&saved()), Ok(true));
        let bytes = saved();
        let mut refused = 0;
        for damage in Damage::all(bytes.len()) {
            match restored(&damage.apply_to(bytes.clone())) {
                Ok(resumed) => assert!(!resumed || is_harmless(&bytes, damage), "{damage:?}"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0);
        let newer = [&[0, 2], &bytes[2..]].concat();
        assert_eq!(restored(&newer), Err(SavedSessionsError::UnknownVersion(2)));
        // A client that could not restore its store begins with an empty store, and connects.
        assert!(!visit(&single(version, single_session_store()), &server));
    }
}

/// Whether the damage leaves session and key intact. It does so if it changes the case of the
/// server's name, or the expiry. The expiry is stored outside the session, after name, port,
/// configuration and count.
fn is_harmless(saved: &[u8], damage: Damage) -> bool {
    let end_of_name = 3 + usize::from(saved[2]);
    let expiry = end_of_name + 1 + 32 + 1;
    let Damage::Bit(bit) = damage else { return false };
    ((3..end_of_name).contains(&(bit / 8)) && bit % 8 == 5)
        || (expiry..expiry + 8).contains(&(bit / 8))
}

/// The other server's keys are different, although they have the same names.
#[test]
fn a_ticket_under_other_keys_leads_to_a_full_handshake() {
    for version in VERSIONS {
        let client = single(version, single_session_store());
        let own = [(); 2].map(|()| single_ticket_server(server().tickets(Arc::new(rotating()))));
        assert!(!visit(&client, &own[0]));
        assert!(!visit(&client, &own[1]));
        assert!(!visit(&client, &own[0]));
        assert!(visit(&client, &own[0]));

        let tickets = Arc::new(SharedTickets::new(&shared(1), PERIOD));
        let fleet = single_ticket_server(server().tickets(tickets.clone()));
        assert!(!visit(&client, &fleet));
        assert!(visit(&client, &fleet));
        let renamed = TicketKey::new([1; 16], &[9; 32], at(1));
        for keys in [TicketKeySet::new(renamed, None, None).unwrap(), shared(2)] {
            tickets.set_keys(&keys);
            assert!(!visit(&client, &fleet));
            assert!(visit(&client, &fleet));
        }
    }
}

/// A sealer that returns, for each session, the ticket of another session: the one that was sealed
/// before.
struct SwappedTickets {
    inner: RotatingTickets,
    last: Mutex<Option<Vec<u8>>>,
}

impl SwappedTickets {
    fn new() -> Arc<Self> {
        Arc::new(Self { inner: rotating(), last: Mutex::default() })
    }
}

impl TicketSealer for SwappedTickets {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        let ticket = self.inner.seal(session, now)?;
        Some(self.last.lock().unwrap().replace(ticket.clone()).unwrap_or(ticket))
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.inner.open(ticket, now)
    }

    fn lifetime(&self) -> std::time::Duration {
        self.inner.lifetime()
    }
}

#[test]
fn a_ticket_of_another_version_resumes_nothing() {
    let tickets = SwappedTickets::new();
    let server = single_ticket_server(server().tickets(tickets));
    let clients = VERSIONS.map(|version| single(version, single_session_store()));
    assert!(!visit(&single(VERSIONS[1], single_session_store()), &server));
    for round in 0..4 {
        for client in &clients {
            assert!(!visit(client, &server), "round {round}");
        }
    }
}

#[test]
fn a_ticket_of_another_suite_resumes_nothing() {
    let suites = [
        [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256],
        [CipherSuite::TLS_AES_256_GCM_SHA384, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384],
    ];
    for version in VERSIONS {
        let tickets = Arc::new(rotating());
        let client = single(version, single_session_store());
        let servers = suites.map(|suites| {
            let builder = server().tickets(tickets.clone());
            single_ticket_server(builder.cipher_suites(&suites))
        });
        for _ in 0..2 {
            assert!(!visit(&client, &servers[0]), "{version}");
            assert!(visit(&client, &servers[0]), "{version}");
            assert!(!visit(&client, &servers[1]), "{version}");
            assert!(visit(&client, &servers[1]), "{version}");
        }
    }
}

#[test]
fn a_ticket_of_another_context_resumes_nothing() {
    for version in VERSIONS {
        let tickets = Arc::new(rotating());
        let client = single(version, single_session_store());
        let servers = [&b"a"[..], b"b"].map(|label| {
            single_ticket_server(server().tickets(tickets.clone()).session_context(label))
        });
        for _ in 0..2 {
            assert!(!visit(&client, &servers[0]), "{version}");
            assert!(visit(&client, &servers[0]), "{version}");
            assert!(!visit(&client, &servers[1]), "{version}");
        }
    }
}

/// A sealer that changes sealed sessions: to the format of a later version of this library, or to a
/// prefix.
struct Reformatted {
    inner: RotatingTickets,
    form: Mutex<Damage>,
    /// The length of the session that was sealed last.
    length: Mutex<usize>,
}

impl TicketSealer for Reformatted {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        *self.length.lock().unwrap() = session.len();
        self.inner.seal(&self.form.lock().unwrap().apply_to(session.to_vec()), now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.inner.open(ticket, now)
    }

    fn lifetime(&self) -> std::time::Duration {
        self.inner.lifetime()
    }
}

#[test]
fn a_session_of_another_format_version_resumes_nothing() {
    for version in VERSIONS {
        let (form, length) = (Mutex::new(Damage::None), Mutex::new(0));
        let tickets = Arc::new(Reformatted { inner: rotating(), form, length });
        let server = single_ticket_server(server().tickets(tickets.clone()));
        let client = single(version, single_session_store());
        visit(&client, &server);
        assert!(visit(&client, &server));
        *tickets.form.lock().unwrap() = Damage::Bit(0);
        let client = single(version, single_session_store());
        visit(&client, &server);
        // Bits of the first byte change the format's number; lengths make a session longer or
        // shorter.
        let length = *tickets.length.lock().unwrap();
        let lengths = (0..length).chain([length + 1, 2 * length, 10_000]).map(Damage::Length);
        for form in (0..8).map(Damage::Bit).chain(lengths) {
            *tickets.form.lock().unwrap() = form;
            assert!(!visit(&client, &server), "{form:?}, or the previous one");
            assert!(!visit(&client, &server), "{form:?}");
        }
        *tickets.form.lock().unwrap() = Damage::None;
        visit(&client, &server);
        assert!(visit(&client, &server));
    }
}

/// A server may issue tickets of any length. A ticket that is too long for a ClientHello must not
/// prevent later connections.
#[test]
fn a_ticket_of_any_length_does_not_prevent_connections() {
    /// A sealer whose tickets have the given length and no content.
    struct LongTickets(Mutex<usize>);
    impl TicketSealer for LongTickets {
        fn seal(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
            Some(vec![7; *self.0.lock().unwrap()])
        }
        fn open(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
            None
        }
        fn lifetime(&self) -> std::time::Duration {
            std::time::Duration::from_secs(3600)
        }
    }
    for version in VERSIONS {
        let tickets = Arc::new(LongTickets(Mutex::new(1)));
        let server = single_ticket_server(server().tickets(tickets.clone()));
        let client = single(version, single_session_store());
        let lengths = [0, 1, 16_000, 32_767, 32_768, 32_769, 65_000, 65_400, 65_500];
        for length in lengths.into_iter().chain(65_520..=65_537) {
            *tickets.0.lock().unwrap() = length;
            assert!(!visit(&client, &server), "{version}: {length}");
            assert!(!visit(&client, &server), "{version}: {length}");
        }
    }
}
