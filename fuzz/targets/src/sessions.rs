//! Sessions as bytes, in servers' stores and as clients save them; and saved ticket keys.
//!
//! Parsed bytes are encoded again, and the result must be the same bytes. Handshakes then use the
//! sessions.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Error, Policy, ServerConfig,
    session::{
        ClientMemoryStore, ClientSessionStore, SavedSessionsError, ServerSessionStore,
        SharedTickets, TicketKeyError, TicketKeySet, TicketSealer,
    },
};
use tercel_crypto::deterministic::with_seed;

use crate::resumption::{self, FixedStore, LIFETIME, Storage};
use crate::{configs, material};

/// Uses a sealed session in a handshake. The first byte selects the way in which it is used.
/// Returns whether the session was resumed.
///
/// The checksum for stores is computed here, because a fuzzer would not find it. A wrong checksum
/// is tested too.
pub fn sessions(input: &[u8]) -> bool {
    let Some((way, bytes)) = input.split_first() else { return false };
    let Some(stored) = tercel::stored_session(bytes) else { return false };
    assert_eq!(stored.get(..stored.len() - CHECKSUM), Some(bytes), "a session has one form");
    with_seed(5, || match way % 5 {
        // A server that cannot open the session makes a full handshake with any bytes.
        0 => {
            let met = resumption::connect(&client_with(FixedStore(stored)), non_resuming_server());
            assert!(!met.expect("a session does not prevent a connection").resumed);
            false
        }
        // With a wrong checksum the session is discarded.
        1 => {
            let mut damaged = stored;
            if let Some(last) = damaged.last_mut() {
                *last ^= 1;
            }
            let met = resumption::connect(&client_with(FixedStore(damaged)), sealing(false));
            assert!(!met.expect("damage does not prevent a connection").resumed);
            false
        }
        2 => {
            let is_tls12 = bytes.starts_with(&[bytes[0], 3, 3]);
            resumes(resumption::connect(&client_with(FixedStore(stored)), sealing(is_tls12)))
        }
        3 => {
            let store = Policy::Here(Arc::new(FixedStore(stored)) as Arc<dyn ServerSessionStore>);
            let builder = server_builder().session_store(store);
            let server = builder.build().expect("a server's configuration");
            any_version(Storage::Stored, |client| resumes(resumption::connect(client, &server)))
        }
        _ => {
            let builder = server_builder().tickets(Arc::new(FixedSealer(bytes.to_vec())));
            let server = builder.build().expect("a server's configuration");
            any_version(Storage::Sealed, |client| resumes(resumption::connect(client, &server)))
        }
    })
}

/// Restores a saved client store. Returns whether it was restored, and one of its sessions resumed.
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
            let again = restore(&saved).expect("a saved store is restored");
            assert_eq!(again.to_bytes(), saved);
            [(store, false), (again, true)].into_iter().fold(false, |any, (store, is_tls12)| {
                let server = sealing(is_tls12);
                let met = with_seed(5, || resumption::connect(&client_with(store), server));
                // Damage within a session is detected.
                met.expect("a saved session does not prevent a connection").resumed || any
            })
        }
    }
}

/// Restores saved shared ticket keys. Returns whether they are a valid set.
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
        // Before the first key begins, no ticket is issued.
        if let Some(ticket) = with_seed(5, || tickets.seal(b"session", now)) {
            assert_eq!(tickets.open(&ticket, now).as_deref(), Some(&b"session"[..]));
        }
    }
    true
}

/// Inputs that lead to the intended result, as (target, name, bytes).
#[must_use]
pub fn session_seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (version, number) in [(ProtocolVersion::TLS1_2, 12), (ProtocolVersion::TLS1_3, 13)] {
        let of_client = &resumption::session(version, Storage::Sealed).of_client;
        let sealed = &of_client[..of_client.len() - CHECKSUM];
        for (way, name) in [(0, "other-server"), (1, "damaged"), (2, "valid-client")] {
            let bytes = [&[way], sealed].concat();
            seeds.push(("sessions", format!("{name}-{number}"), bytes));
        }
        let stored = &resumption::session(version, Storage::Stored).of_server;
        let bytes = [&[3], &stored[..stored.len() - CHECKSUM]].concat();
        seeds.push(("sessions", format!("valid-store-{number}"), bytes));
        let bytes = [&[4], &resumption::session(version, Storage::Sealed).of_server[..]].concat();
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
        tercel::session::TicketKey::new([number; 16], &[number; 32], not_before)
    };
    for (next, previous) in [(false, false), (true, false), (false, true), (true, true)] {
        let set = TicketKeySet::new(keys(1), next.then(|| keys(2)), previous.then(|| keys(0)));
        let bytes = set.expect("in order").to_bytes().to_vec();
        seeds.push(("ticket_keys", format!("valid-{next}-{previous}"), bytes));
    }
    seeds
}

/// The size of a client's store.
const SERVERS: usize = 8;
const EACH: usize = 4;

/// The number of bytes that a stored session has in addition to a sealed one.
const CHECKSUM: usize = 8;

/// Whether the session was resumed. If the handshake failed, the error must be the peer's: a wrong
/// binder or Finished.
fn resumes(met: Result<resumption::Outcome, Error>) -> bool {
    assert!(!matches!(met, Err(Error::Misuse(_))));
    met.is_ok_and(|met| met.resumed)
}

/// Whether `visit` succeeds with a client that offers a session of TLS 1.3, or with one that offers
/// a session of TLS 1.2.
fn any_version(storage: Storage, mut visit: impl FnMut(&Arc<ClientConfig>) -> bool) -> bool {
    static CLIENTS: OnceLock<[[Arc<ClientConfig>; 2]; 2]> = OnceLock::new();
    let clients = CLIENTS.get_or_init(|| {
        [Storage::Sealed, Storage::Stored].map(|storage| {
            [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3].map(|version| {
                let builder = resumption::client_with_session(client_builder(), version, storage);
                builder.versions(&[version]).build().expect("a client's configuration")
            })
        })
    });
    let [tls12, tls13] = &clients[usize::from(storage == Storage::Stored)];
    let resumed = [visit(tls12), visit(tls13)];
    resumed.contains(&true)
}

fn client_builder() -> tercel::client::ClientConfigBuilder {
    let builder = configs::client_builder().roots(material::roots()).session_context(b"fuzz");
    builder.groups(&configs::GROUPS[1..])
}

fn client_with(store: impl ClientSessionStore + 'static) -> Arc<ClientConfig> {
    let builder = client_builder().session_store(Arc::new(store)).early_data(true);
    builder.build().expect("a client's configuration")
}

fn server_builder() -> tercel::server::ServerConfigBuilder {
    let builder = configs::server_builder().credential(material::server()).session_context(b"fuzz");
    builder.groups(&configs::GROUPS[1..])
}

/// A server that opens tickets of [`resumption::Sealer`]: of TLS 1.2 only, or of both versions.
fn sealing(is_tls12: bool) -> &'static Arc<ServerConfig> {
    static CONFIGS: OnceLock<[Arc<ServerConfig>; 2]> = OnceLock::new();
    let configs = CONFIGS.get_or_init(|| {
        let versions = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
        [&versions[..], &versions[1..]].map(|versions| {
            let builder =
                resumption::resuming(server_builder().versions(versions), Storage::Sealed);
            builder.build().expect("a server's configuration")
        })
    });
    &configs[usize::from(is_tls12)]
}

/// A server that resumes nothing.
fn non_resuming_server() -> &'static Arc<ServerConfig> {
    static CONFIG: OnceLock<Arc<ServerConfig>> = OnceLock::new();
    CONFIG.get_or_init(|| server_builder().build().expect("a server's configuration"))
}

/// A sealer that opens every ticket to this session.
struct FixedSealer(Vec<u8>);

impl TicketSealer for FixedSealer {
    fn seal(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn open(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }

    fn lifetime(&self) -> std::time::Duration {
        std::time::Duration::from_secs(LIFETIME.into())
    }
}
