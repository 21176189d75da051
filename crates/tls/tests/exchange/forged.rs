//! Tickets and stored sessions that were damaged, forged or exchanged: a full handshake, and no error.
//!
//! Every bit and length of a ticket or session by itself is tried beside the code that reads it; here
//! whole handshakes meet them. Must not know: what a session or ticket looks like. Next: `resumption.rs`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, ClientMemoryStore, ClientSessionKey, ClientSessionStore, MemoryStore, Policy,
    RotatingTickets, SavedSessionsError, ServerConfig, ServerConfigBuilder, SessionStore,
    SharedTickets, TicketKey, TicketKeySet, TicketSealer,
};

use crate::identity::{client, server};
use crate::resumption::{VERSIONS, visit};

/// What is done to bytes under way.
#[derive(Clone, Copy, Debug)]
enum Damage {
    None,
    Bit(usize),
    Length(usize),
}

impl Damage {
    /// One bit of each byte, each time another, and many lengths: of bytes that are `length` long.
    fn all(length: usize) -> impl Iterator<Item = Self> {
        let bits = (0..length).map(|byte| Self::Bit(byte * 8 + byte % 8));
        let lengths = (1..length).step_by(11).chain([length - 1, length + 1, 2 * length]);
        bits.chain(lengths.map(Self::Length))
    }

    fn done_to(self, mut bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::None => {}
            Self::Bit(bit) => {
                // Sessions differ a little in length.
                let length = bytes.len();
                bytes[bit / 8 % length] ^= 1 << (bit % 8);
            }
            Self::Length(length) => bytes.resize(length, 0),
        }
        bytes
    }
}

/// Hands on what another sealer, store or client's store gives, damaged, and notes its length.
struct Spoiled<T> {
    inner: T,
    damage: Mutex<Damage>,
    seen: Mutex<usize>,
}

impl<T> Spoiled<T> {
    fn new(inner: T) -> Arc<Self> {
        Arc::new(Self { inner, damage: Mutex::new(Damage::None), seen: Mutex::new(0) })
    }

    fn set(&self, damage: Damage) {
        *self.damage.lock().unwrap() = damage;
    }

    fn length(&self) -> usize {
        *self.seen.lock().unwrap()
    }

    fn spoil(&self, bytes: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let bytes = bytes?;
        *self.seen.lock().unwrap() = bytes.len();
        Some(self.damage.lock().unwrap().done_to(bytes))
    }
}

/// The client holds damaged tickets.
impl<T: TicketSealer> TicketSealer for Spoiled<T> {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.spoil(self.inner.seal(session, now))
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.inner.open(ticket, now)
    }

    fn lifetime(&self) -> u32 {
        self.inner.lifetime()
    }
}

/// The server's store gives back damaged sessions.
impl SessionStore for Spoiled<MemoryStore> {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.inner.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.spoil(self.inner.take(id, now))
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.spoil(self.inner.get(id, now))
    }

    fn remove(&self, id: &[u8]) {
        self.inner.remove(id);
    }
}

/// The client's store gives back damaged sessions.
impl ClientSessionStore for Spoiled<ClientMemoryStore> {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.inner.put(key, session, expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.spoil(self.inner.take(key, now))
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

/// One ticket at a time, so that each visit shows the one that the last visit gave.
fn single(version: ProtocolVersion, store: Arc<dyn ClientSessionStore>) -> Arc<ClientConfig> {
    let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
    let builder = client().versions(&[version]).groups(&groups);
    builder.session_store(store).build().unwrap()
}

fn one_kept() -> Arc<ClientMemoryStore> {
    Arc::new(ClientMemoryStore::new(4, 1))
}

fn one_given(builder: ServerConfigBuilder) -> Arc<ServerConfig> {
    builder.ticket_counts(1, 1).build().unwrap()
}

/// Connects with every damage, each time in full, and afterwards resumes what is whole.
fn meet<T>(
    client: impl Fn() -> Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    spoiled: &Spoiled<T>,
) {
    let first = client();
    assert!(!visit(&first, server));
    assert!(visit(&first, server));
    let length = spoiled.length();
    assert!(length > 30, "a session of {length} bytes");
    // What was given out whole is whole; a client that has nothing yet is given what is damaged.
    let client = client();
    spoiled.set(Damage::Bit(0));
    visit(&client, server);
    for damage in Damage::all(length) {
        spoiled.set(damage);
        assert!(!visit(&client, server), "resumed with {damage:?}, or with the one before");
    }
    spoiled.set(Damage::None);
    visit(&client, server);
    assert!(visit(&client, server), "what is whole is not resumed");
}

#[test]
fn a_damaged_ticket_costs_a_full_handshake() {
    for version in VERSIONS {
        let tickets = Spoiled::new(rotating());
        let server = one_given(server().tickets(tickets.clone()));
        meet(|| single(version, one_kept()), &server, &tickets);
        let tickets = Spoiled::new(SharedTickets::new(&shared(1), PERIOD));
        let server = one_given(self::server().tickets(tickets.clone()));
        meet(|| single(version, one_kept()), &server, &tickets);
    }
}

#[test]
fn a_damaged_session_in_a_server_s_store_costs_a_full_handshake() {
    for version in VERSIONS {
        let store = Spoiled::new(MemoryStore::new(100));
        let builder = server().without_tickets().session_store(Policy::Here(store.clone()));
        meet(|| single(version, one_kept()), &one_given(builder), &store);
    }
}

#[test]
fn a_damaged_session_in_a_client_s_store_costs_a_full_handshake() {
    for version in VERSIONS {
        let store = Spoiled::new(ClientMemoryStore::new(4, 1));
        let server = one_given(server());
        meet(|| single(version, store.clone()), &server, &store);
    }
}

#[test]
fn damaged_saved_sessions_are_refused_or_harmless() {
    for version in VERSIONS {
        let server = one_given(server());
        let saved = || {
            let store = one_kept();
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
            match restored(&damage.done_to(bytes.clone())) {
                Ok(resumed) => assert!(!resumed || is_beside(&bytes, damage), "{damage:?}"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0);
        let newer = [&[0, 2], &bytes[2..]].concat();
        assert_eq!(restored(&newer), Err(SavedSessionsError::UnknownVersion(2)));
        // What a client does then: it begins with nothing, and goes on.
        assert!(!visit(&single(version, one_kept()), &server));
    }
}

/// Whether the damage leaves the session alone and its key the same: it is to the case of the server's name,
/// or to the time of expiry that is noted outside the session, after name, port, configuration and count.
fn is_beside(saved: &[u8], damage: Damage) -> bool {
    let end_of_name = 3 + usize::from(saved[2]);
    let expiry = end_of_name + 1 + 32 + 1;
    let Damage::Bit(bit) = damage else { return false };
    ((3..end_of_name).contains(&(bit / 8)) && bit % 8 == 5)
        || (expiry..expiry + 8).contains(&(bit / 8))
}

/// A server that was given other keys, with the same names even.
#[test]
fn a_ticket_under_other_keys_costs_a_full_handshake() {
    for version in VERSIONS {
        let client = single(version, one_kept());
        let own = [(); 2].map(|()| one_given(server().tickets(Arc::new(rotating()))));
        assert!(!visit(&client, &own[0]));
        assert!(!visit(&client, &own[1]));
        assert!(!visit(&client, &own[0]));
        assert!(visit(&client, &own[0]));

        let tickets = Arc::new(SharedTickets::new(&shared(1), PERIOD));
        let fleet = one_given(server().tickets(tickets.clone()));
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

/// Hands out under one session the ticket of another: the one that was sealed last.
struct Crossed {
    inner: RotatingTickets,
    last: Mutex<Option<Vec<u8>>>,
}

impl Crossed {
    fn new() -> Arc<Self> {
        Arc::new(Self { inner: rotating(), last: Mutex::default() })
    }
}

impl TicketSealer for Crossed {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        let ticket = self.inner.seal(session, now)?;
        Some(self.last.lock().unwrap().replace(ticket.clone()).unwrap_or(ticket))
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.inner.open(ticket, now)
    }

    fn lifetime(&self) -> u32 {
        self.inner.lifetime()
    }
}

#[test]
fn a_ticket_of_another_version_resumes_nothing() {
    let tickets = Crossed::new();
    let server = one_given(server().tickets(tickets));
    let clients = VERSIONS.map(|version| single(version, one_kept()));
    assert!(!visit(&single(VERSIONS[1], one_kept()), &server));
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
        let client = single(version, one_kept());
        let servers = suites.map(|suites| {
            let builder = server().tickets(tickets.clone());
            one_given(builder.cipher_suites(&suites).unwrap())
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
        let client = single(version, one_kept());
        let servers = [&b"a"[..], b"b"]
            .map(|label| one_given(server().tickets(tickets.clone()).session_context(label)));
        for _ in 0..2 {
            assert!(!visit(&client, &servers[0]), "{version}");
            assert!(visit(&client, &servers[0]), "{version}");
            assert!(!visit(&client, &servers[1]), "{version}");
        }
    }
}

/// Gives the session that was sealed back in another form: as a later version of this library might have
/// written it, or cut.
struct Reformed {
    inner: RotatingTickets,
    form: Mutex<Damage>,
    /// Of the last session that was to be sealed.
    length: Mutex<usize>,
}

impl TicketSealer for Reformed {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        *self.length.lock().unwrap() = session.len();
        self.inner.seal(&self.form.lock().unwrap().done_to(session.to_vec()), now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.inner.open(ticket, now)
    }

    fn lifetime(&self) -> u32 {
        self.inner.lifetime()
    }
}

#[test]
fn a_session_of_another_format_version_resumes_nothing() {
    for version in VERSIONS {
        let (form, length) = (Mutex::new(Damage::None), Mutex::new(0));
        let tickets = Arc::new(Reformed { inner: rotating(), form, length });
        let server = one_given(server().tickets(tickets.clone()));
        let client = single(version, one_kept());
        visit(&client, &server);
        assert!(visit(&client, &server));
        *tickets.form.lock().unwrap() = Damage::Bit(0);
        let client = single(version, one_kept());
        visit(&client, &server);
        // The first byte is the format's number; the others make a session longer or shorter.
        let length = *tickets.length.lock().unwrap();
        let lengths = (0..length).chain([length + 1, 2 * length, 10_000]).map(Damage::Length);
        for form in (0..8).map(Damage::Bit).chain(lengths) {
            *tickets.form.lock().unwrap() = form;
            assert!(!visit(&client, &server), "{form:?}, or the one before");
            assert!(!visit(&client, &server), "{form:?}");
        }
        *tickets.form.lock().unwrap() = Damage::None;
        visit(&client, &server);
        assert!(visit(&client, &server));
    }
}

/// A server may give out tickets of any length. One that no hello can carry back must not stop a client
/// from connecting again.
#[test]
fn a_ticket_of_any_length_does_no_harm() {
    /// Tickets that are only long.
    struct Long(Mutex<usize>);
    impl TicketSealer for Long {
        fn seal(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
            Some(vec![7; *self.0.lock().unwrap()])
        }
        fn open(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
            None
        }
        fn lifetime(&self) -> u32 {
            3600
        }
    }
    for version in VERSIONS {
        let tickets = Arc::new(Long(Mutex::new(1)));
        let server = one_given(server().tickets(tickets.clone()));
        let client = single(version, one_kept());
        let lengths = [0, 1, 16_000, 32_767, 32_768, 32_769, 65_000, 65_400, 65_500];
        for length in lengths.into_iter().chain(65_520..=65_537) {
            *tickets.0.lock().unwrap() = length;
            assert!(!visit(&client, &server), "{version}: {length}");
            assert!(!visit(&client, &server), "{version}: {length}");
        }
    }
}
