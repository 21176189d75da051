//! Sessions for resumption. They are made before the first run, and are the same in each run.
//!
//! Each input has its own random seed, and no input affects the next: stores discard new sessions,
//! and a sealer starts again with each ticket.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, Handshake, Next, Opened, Policy, ReceiveBuffer, ServerConfig, ServerName,
    client::ClientConfigBuilder,
    server::ServerConfigBuilder,
    session::{
        AdmitEarlyData, ClientSessionKey, ClientSessionStore, NewSession, ReplayGuardId,
        ServerSessionStore, SharedTickets, TicketKey, TicketKeySet, TicketSealer,
    },
};
use tercel_crypto::deterministic::with_seed;

use crate::configs;
use crate::material;

/// The place where a server stores sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Sealed,
    Stored,
}

/// One session on both sides.
pub(crate) struct Session {
    /// The session in a client's store.
    pub(crate) of_client: Vec<u8>,
    /// The session at its server: as sealed in a ticket, or as in the store.
    pub(crate) of_server: Vec<u8>,
    /// The name of the session in the store.
    name: Vec<u8>,
}

/// The session of this version with this storage.
pub(crate) fn session(version: ProtocolVersion, storage: Storage) -> &'static Session {
    static SESSIONS: OnceLock<[Session; 4]> = OnceLock::new();
    let at = usize::from(version == ProtocolVersion::TLS1_3) * 2
        + usize::from(storage == Storage::Stored);
    let sessions = SESSIONS.get_or_init(|| {
        let (tls12, tls13) = (ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3);
        let all = [
            (tls12, Storage::Sealed),
            (tls12, Storage::Stored),
            (tls13, Storage::Sealed),
            (tls13, Storage::Stored),
        ];
        all.map(|(version, storage)| with_seed(3, || make(version, storage)))
    });
    &sessions[at]
}

/// Adds the options of a server that resumes. All other options must be the same as when the
/// sessions were made.
pub(crate) fn resuming(builder: ServerConfigBuilder, storage: Storage) -> ServerConfigBuilder {
    resuming_with(builder, storage, Arc::new(Sealer))
}

fn resuming_with(
    builder: ServerConfigBuilder,
    storage: Storage,
    tickets: Arc<dyn TicketSealer>,
) -> ServerConfigBuilder {
    let builder = builder.session_context(b"fuzz").ticket_counts(1, 1);
    match storage {
        Storage::Sealed => builder.tickets(tickets),
        Storage::Stored => builder.session_store(Policy::Ask),
    }
}

/// A client that offers this session every time.
pub(crate) fn client_with_session(
    builder: ClientConfigBuilder,
    version: ProtocolVersion,
    storage: Storage,
) -> ClientConfigBuilder {
    let session = session(version, storage).of_client.clone();
    builder.session_context(b"fuzz").early_data(true).session_store(Arc::new(FixedStore(session)))
}

/// The session with this name in a server's store.
pub(crate) fn stored(name: &[u8]) -> Option<Vec<u8>> {
    let versions = [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];
    let mut all = versions.into_iter().map(|version| session(version, Storage::Stored));
    all.find(|session| session.name == name).map(|session| session.of_server.clone())
}

/// Shared ticket keys that never change.
pub(crate) fn keys() -> TicketKeySet {
    let key = TicketKey::new([7; 16], &[8; 32], material::now());
    TicketKeySet::new(key, None, None).expect("one key is a set")
}

/// A sealer that seals each ticket like the first ticket of a process, so that the ticket depends
/// only on the seed.
pub(crate) struct Sealer;

pub(crate) const LIFETIME: u32 = 7200;

fn tickets() -> SharedTickets {
    SharedTickets::new(&keys(), Duration::from_secs(LIFETIME.into()))
}

impl TicketSealer for Sealer {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        tickets().seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        tickets().open(ticket, now)
    }

    fn lifetime(&self) -> std::time::Duration {
        std::time::Duration::from_secs(LIFETIME.into())
    }
}

/// A store of a client or server that returns the same session for every key and stores no other.
pub(crate) struct FixedStore(pub(crate) Vec<u8>);

impl ClientSessionStore for FixedStore {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

impl ServerSessionStore for FixedStore {
    fn put(&self, _: &[u8], _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }

    fn get(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }

    fn remove(&self, _: &[u8]) {}
}

/// A replay guard with a fixed answer: each flight is new, or a replay.
pub(crate) struct FixedGuard(pub(crate) bool);

impl AdmitEarlyData for FixedGuard {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        self.0
    }

    fn id(&self) -> Option<ReplayGuardId> {
        Some([7; 16])
    }
}

/// A store that records the session that was put last.
#[derive(Default)]
struct RecordingStore(Mutex<Option<Vec<u8>>>);

impl ClientSessionStore for RecordingStore {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        *self.0.lock().expect("the mutex is not poisoned") = Some(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }
}

/// A sealer that records the session that was sealed last.
#[derive(Default)]
struct RecordingSealer(Mutex<Vec<u8>>);

impl TicketSealer for RecordingSealer {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        *self.0.lock().expect("the mutex is not poisoned") = session.to_vec();
        Sealer.seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        Sealer.open(ticket, now)
    }

    fn lifetime(&self) -> std::time::Duration {
        std::time::Duration::from_secs(LIFETIME.into())
    }
}

fn make(version: ProtocolVersion, storage: Storage) -> Session {
    let last = Arc::new(RecordingStore::default());
    let client = configs::client_builder()
        .roots(material::roots())
        .groups(&configs::GROUPS[1..])
        .versions(&[version])
        .session_context(b"fuzz")
        .early_data(true)
        .session_store(Arc::clone(&last) as Arc<dyn ClientSessionStore>);
    let server = configs::server_builder()
        .credential(material::server())
        .groups(&configs::GROUPS[1..])
        .early_data(configs::EARLY_DATA, Policy::Here(Arc::new(FixedGuard(true))));
    let sealed = Arc::new(RecordingSealer::default());
    let tickets = Arc::clone(&sealed) as Arc<dyn TicketSealer>;
    let server = resuming_with(server, storage, tickets).build().expect("a server's configuration");
    let client = client.build().expect("a client's configuration");
    let new = connect(&client, &server).expect("the configurations fit").of_server.pop();
    let of_client =
        last.0.lock().expect("the mutex is not poisoned").take().expect("a session was stored");
    let sealed = sealed.0.lock().expect("the mutex is not poisoned").clone();
    let (name, of_server) = new.map_or((Vec::new(), sealed), |new| (new.id, new.session));
    Session { of_client, of_server, name }
}

/// The result of a complete handshake.
pub(crate) struct Outcome {
    pub(crate) resumed: bool,
    pub(crate) of_server: Vec<NewSession>,
}

/// Runs both sides until they are connected. The server then sends data, with which its tickets
/// arrive.
pub(crate) fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> Result<Outcome, tercel::Error> {
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = Handshake::client(Arc::clone(client), name);
    let mut server = Handshake::server(Arc::clone(server));
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let (mut ours, mut theirs, mut out) = (None, None, Vec::new());
    for _ in 0..MAX_ROUNDS {
        if ours.is_none() {
            if let Next::Connected(it) = client.advance(&mut to_client, &mut out)? {
                ours = Some(it);
            }
            to_server.extend(&out);
            out.clear();
        }
        while theirs.is_none() {
            match server.advance(&mut to_server, &mut out)? {
                Next::Connected(it) => theirs = Some(it),
                Next::Answer(question) => server.answer(configs::answer(&question))?,
                Next::EarlyData(_) => {}
                _ => break,
            }
        }
        to_client.extend(&out);
        out.clear();
    }
    let (mut ours, mut theirs) = (ours.expect("a connection"), theirs.expect("a connection"));
    theirs.sender.seal_to(b"word", &mut out)?;
    to_client.extend(&out);
    let Opened::Data(word) = ours.receiver.open(&mut to_client)? else { panic!("no data") };
    assert_eq!(word, b"word");
    assert_eq!(ours.info.resumed, theirs.info.resumed);
    Ok(Outcome { resumed: ours.info.resumed, of_server: theirs.info.take_new_sessions() })
}

/// The limit of rounds: a handshake with a retry has four.
const MAX_ROUNDS: usize = 6;
