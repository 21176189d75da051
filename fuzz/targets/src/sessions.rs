//! Sessions as bytes: as they lie in stores, as clients save them, and the keys of tickets as they travel.
//!
//! What is read is written again and must be the same; then handshakes meet it. Must not know: the form of a
//! session. Next: [`crate::resumption`], where whole ones come from; [`crate::sealed`] for tickets.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pki_types::UnixTime;
use tercel::crypto::deterministic::with_seed;
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, ClientMemoryStore, ClientSessionStore, Error, Policy, SavedSessionsError,
    ServerConfig, SessionStore, SharedTickets, TicketKeyError, TicketKeySet, TicketSealer,
};

use crate::resumption::{self, Always, Kept, LIFETIME};
use crate::{configs, material};

/// A session as it is sealed; the first byte says who has it. Whether it was resumed.
///
/// Its checksum for stores is made here, for no fuzzer would find it; a wrong one is tried too.
pub fn sessions(input: &[u8]) -> bool {
    let Some((way, bytes)) = input.split_first() else { return false };
    let Some(stored) = tercel::stored_session(bytes) else { return false };
    assert_eq!(stored.get(..stored.len() - CHECKSUM), Some(bytes), "a session has one form");
    with_seed(5, || match way % 5 {
        // A server that knows nothing of it: a full handshake, whatever the session.
        0 => {
            let met = resumption::connect(&client_with(Always(stored)), stranger());
            assert!(!met.expect("a session costs no connection").resumed);
            false
        }
        // A checksum that is not right: as if there were no session.
        1 => {
            let mut damaged = stored;
            if let Some(last) = damaged.last_mut() {
                *last ^= 1;
            }
            let met = resumption::connect(&client_with(Always(damaged)), sealing(false));
            assert!(!met.expect("damage costs no connection").resumed);
            false
        }
        2 => {
            let is_tls12 = bytes.starts_with(&[bytes[0], 3, 3]);
            resumes(resumption::connect(&client_with(Always(stored)), sealing(is_tls12)))
        }
        3 => {
            let store = Policy::Here(Arc::new(Always(stored)) as Arc<dyn SessionStore>);
            let builder = server_builder().session_store(store);
            let server = builder.build().expect("a server's configuration");
            any_version(Kept::Stored, |client| resumes(resumption::connect(client, &server)))
        }
        _ => {
            let builder = server_builder().tickets(Arc::new(Opens(bytes.to_vec())));
            let server = builder.build().expect("a server's configuration");
            any_version(Kept::Sealed, |client| resumes(resumption::connect(client, &server)))
        }
    })
}

/// A client's store as it is saved. Whether it was restored, and a session in it resumed.
pub fn saved_sessions(bytes: &[u8]) -> bool {
    let restore = |bytes: &[u8]| ClientMemoryStore::from_bytes(bytes, SERVERS, EACH);
    match restore(bytes) {
        Err(SavedSessionsError::Malformed) => false,
        Err(error) => {
            let version = bytes.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
            assert_eq!(version.map(SavedSessionsError::UnknownVersion), Some(error));
            false
        }
        Ok(store) => {
            let saved = store.to_bytes();
            let again = restore(&saved).expect("what was saved is restored");
            assert_eq!(again.to_bytes(), saved);
            [(store, false), (again, true)].into_iter().fold(false, |any, (store, is_tls12)| {
                let server = sealing(is_tls12);
                let met = with_seed(5, || resumption::connect(&client_with(store), server));
                // Damage within a session is noticed.
                met.expect("no saved session costs a connection").resumed || any
            })
        }
    }
}

/// Shared ticket keys as they travel. Whether they are a set.
pub fn ticket_keys(bytes: &[u8]) -> bool {
    let set = match TicketKeySet::from_bytes(bytes) {
        Ok(set) => set,
        Err(TicketKeyError::UnknownVersion(version)) => {
            assert!(bytes.starts_with(&version.to_be_bytes()));
            return false;
        }
        Err(_) => return false,
    };
    assert_eq!(*set.to_bytes(), bytes, "a set has one form");
    let tickets = SharedTickets::new(&set, Duration::from_secs(LIFETIME.into()));
    let moments = [material::now(), UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX - 1))];
    for now in moments {
        // There is none as long as no key's time has come.
        if let Some(ticket) = with_seed(5, || tickets.seal(b"session", now)) {
            assert_eq!(tickets.open(&ticket, now).as_deref(), Some(&b"session"[..]));
        }
    }
    true
}

/// Inputs that lead where they are meant to, as (target, name, bytes).
#[must_use]
pub fn session_seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (version, number) in [(ProtocolVersion::TLS1_2, 12), (ProtocolVersion::TLS1_3, 13)] {
        let of_client = &resumption::session(version, Kept::Sealed).of_client;
        let sealed = &of_client[..of_client.len() - CHECKSUM];
        for (way, name) in [(0, "stranger"), (1, "damaged"), (2, "valid-client")] {
            let bytes = [&[way], sealed].concat();
            seeds.push(("sessions", format!("{name}-{number}"), bytes));
        }
        let stored = &resumption::session(version, Kept::Stored).of_server;
        let bytes = [&[3], &stored[..stored.len() - CHECKSUM]].concat();
        seeds.push(("sessions", format!("valid-store-{number}"), bytes));
        let bytes = [&[4], &resumption::session(version, Kept::Sealed).of_server[..]].concat();
        seeds.push(("sessions", format!("valid-ticket-{number}"), bytes));
    }
    let empty = ClientMemoryStore::new(SERVERS, EACH);
    seeds.push(("saved_sessions", "empty".to_owned(), empty.to_bytes().to_vec()));
    for (version, number) in [(ProtocolVersion::TLS1_2, 12), (ProtocolVersion::TLS1_3, 13)] {
        let store = Arc::new(ClientMemoryStore::new(SERVERS, EACH));
        let shared = Arc::clone(&store) as Arc<dyn ClientSessionStore>;
        let client = client_builder().versions(&[version]).session_store(shared);
        let client = client.build().expect("a client's configuration");
        let met = with_seed(5, || resumption::connect(&client, sealing(false)));
        assert!(met.is_ok());
        seeds.push(("saved_sessions", format!("valid-{number}"), store.to_bytes().to_vec()));
    }
    let keys = |number: u8| {
        let not_before = material::now().as_secs() + u64::from(number) * 100;
        let not_before = UnixTime::since_unix_epoch(Duration::from_secs(not_before));
        tercel::TicketKey::new([number; 16], &[number; 32], not_before)
    };
    for (next, previous) in [(false, false), (true, false), (false, true), (true, true)] {
        let set = TicketKeySet::new(keys(1), next.then(|| keys(2)), previous.then(|| keys(0)));
        let bytes = set.expect("in order").to_bytes().to_vec();
        seeds.push(("ticket_keys", format!("valid-{next}-{previous}"), bytes));
    }
    seeds
}

/// Room in a client's store.
const SERVERS: usize = 8;
const EACH: usize = 4;

/// Bytes that a stored session has more than a sealed one.
const CHECKSUM: usize = 8;

/// Who does not resume has an error of the protocol, not of the library: a binder or a Finished that is wrong.
fn resumes(met: Result<resumption::Met, Error>) -> bool {
    assert!(!matches!(met, Err(Error::Misuse(_))));
    met.is_ok_and(|met| met.resumed)
}

/// With a client that comes back to TLS 1.3, and with one that comes back to TLS 1.2.
fn any_version(kept: Kept, mut visit: impl FnMut(&Arc<ClientConfig>) -> bool) -> bool {
    static CLIENTS: OnceLock<[[Arc<ClientConfig>; 2]; 2]> = OnceLock::new();
    let clients = CLIENTS.get_or_init(|| {
        [Kept::Sealed, Kept::Stored].map(|kept| {
            [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3].map(|version| {
                let builder = resumption::returning(client_builder(), version, kept);
                builder.versions(&[version]).build().expect("a client's configuration")
            })
        })
    });
    let [tls12, tls13] = &clients[usize::from(kept == Kept::Stored)];
    let resumed = [visit(tls12), visit(tls13)];
    resumed.contains(&true)
}

fn client_builder() -> tercel::ClientConfigBuilder {
    let builder = configs::client_builder().roots(material::roots()).session_context(b"fuzz");
    builder.groups(&configs::GROUPS[1..])
}

fn client_with(store: impl ClientSessionStore + 'static) -> Arc<ClientConfig> {
    let builder = client_builder().session_store(Arc::new(store)).early_data(true);
    builder.build().expect("a client's configuration")
}

fn server_builder() -> tercel::ServerConfigBuilder {
    let builder = configs::server_builder().credential(material::server()).session_context(b"fuzz");
    builder.groups(&configs::GROUPS[1..])
}

/// A server that opens what [`resumption::Sealer`] sealed; of TLS 1.2 only, or of both versions.
fn sealing(is_tls12: bool) -> &'static Arc<ServerConfig> {
    static CONFIGS: OnceLock<[Arc<ServerConfig>; 2]> = OnceLock::new();
    let configs = CONFIGS.get_or_init(|| {
        let versions = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
        [&versions[..], &versions[1..]].map(|versions| {
            let builder = resumption::resuming(server_builder().versions(versions), Kept::Sealed);
            builder.build().expect("a server's configuration")
        })
    });
    &configs[usize::from(is_tls12)]
}

/// A server that resumes nothing.
fn stranger() -> &'static Arc<ServerConfig> {
    static CONFIG: OnceLock<Arc<ServerConfig>> = OnceLock::new();
    CONFIG.get_or_init(|| server_builder().build().expect("a server's configuration"))
}

/// Every ticket is this session.
struct Opens(Vec<u8>);

impl TicketSealer for Opens {
    fn seal(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn open(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }

    fn lifetime(&self) -> u32 {
        LIFETIME
    }
}
