//! Sessions to come back with, made before the first run and the same in each.
//!
//! What is drawn in a run comes from the run's own seed, and no run leaves anything to the next: stores keep
//! nothing, a sealer begins anew with each ticket. Must not know: what is tried with it.
//! Next: [`crate::configs`], [`crate::sessions`].

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use pki_types::{ServerName, UnixTime};
use tercel::crypto::deterministic::with_seed;
use tercel::wire::ProtocolVersion;
use tercel::{
    AdmitEarlyData, ClientConfig, ClientConfigBuilder, ClientSessionKey, ClientSessionStore,
    Handshake, NewSession, Next, Opened, Policy, Received, ServerConfig, ServerConfigBuilder,
    SessionStore, SharedTickets, TicketKey, TicketKeySet, TicketSealer,
};

use crate::configs;
use crate::material;

/// How a server keeps sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Sealed,
    Stored,
}

/// What both sides have of one session.
pub(crate) struct Session {
    /// As a client's store has it.
    pub(crate) of_client: Vec<u8>,
    /// As its server has it: as the server seals it, or as its store has it.
    pub(crate) of_server: Vec<u8>,
    /// The name it has in the store.
    name: Vec<u8>,
}

/// The session of this version that was kept so.
pub(crate) fn session(version: ProtocolVersion, kept: Kept) -> &'static Session {
    static SESSIONS: OnceLock<[Session; 4]> = OnceLock::new();
    let at =
        usize::from(version == ProtocolVersion::TLS1_3) * 2 + usize::from(kept == Kept::Stored);
    let sessions = SESSIONS.get_or_init(|| {
        let (tls12, tls13) = (ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3);
        let all = [
            (tls12, Kept::Sealed),
            (tls12, Kept::Stored),
            (tls13, Kept::Sealed),
            (tls13, Kept::Stored),
        ];
        all.map(|(version, kept)| with_seed(3, || make(version, kept)))
    });
    &sessions[at]
}

/// A server that resumes; what it allows besides must be the same whenever sessions are to fit.
pub(crate) fn resuming(builder: ServerConfigBuilder, kept: Kept) -> ServerConfigBuilder {
    resuming_with(builder, kept, Arc::new(Sealer))
}

fn resuming_with(
    builder: ServerConfigBuilder,
    kept: Kept,
    tickets: Arc<dyn TicketSealer>,
) -> ServerConfigBuilder {
    let builder = builder.session_context(b"fuzz").ticket_counts(1, 1);
    match kept {
        Kept::Sealed => builder.tickets(tickets),
        Kept::Stored => builder.session_store(Policy::Ask),
    }
}

/// A client that comes back with this session every time.
pub(crate) fn returning(
    builder: ClientConfigBuilder,
    version: ProtocolVersion,
    kept: Kept,
) -> ClientConfigBuilder {
    let session = session(version, kept).of_client.clone();
    builder.session_context(b"fuzz").early_data(true).session_store(Arc::new(Always(session)))
}

/// The session that a server's store has under this name.
pub(crate) fn stored(name: &[u8]) -> Option<Vec<u8>> {
    let versions = [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];
    let mut all = versions.into_iter().map(|version| session(version, Kept::Stored));
    all.find(|session| session.name == name).map(|session| session.of_server.clone())
}

/// Keys that never change.
pub(crate) fn keys() -> TicketKeySet {
    let key = TicketKey::new([7; 16], &[8; 32], material::now());
    TicketKeySet::new(key, None, None).expect("one key is a set")
}

/// Seals each ticket as if it were the process's first, so that it depends on the run's seed alone.
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

    fn lifetime(&self) -> u32 {
        LIFETIME
    }
}

/// A client's store, or a server's, that has one session for everybody and keeps no other.
pub(crate) struct Always(pub(crate) Vec<u8>);

impl ClientSessionStore for Always {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

impl SessionStore for Always {
    fn put(&self, _: &[u8], _: Vec<u8>, _: UnixTime) {}

    fn take(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }

    fn get(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }

    fn remove(&self, _: &[u8]) {}
}

/// A guard that says this to everything: each run is the first, or a replay.
pub(crate) struct Says(pub(crate) bool);

impl AdmitEarlyData for Says {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        self.0
    }
}

/// Notes what is put in last.
#[derive(Default)]
struct Last(Mutex<Option<Vec<u8>>>);

impl ClientSessionStore for Last {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        *self.0.lock().expect("nobody panics here") = Some(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        None
    }
}

/// A sealer that notes what is sealed last.
#[derive(Default)]
struct Noting(Mutex<Vec<u8>>);

impl TicketSealer for Noting {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        *self.0.lock().expect("nobody panics here") = session.to_vec();
        Sealer.seal(session, now)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        Sealer.open(ticket, now)
    }

    fn lifetime(&self) -> u32 {
        LIFETIME
    }
}

fn make(version: ProtocolVersion, kept: Kept) -> Session {
    let last = Arc::new(Last::default());
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
        .early_data(configs::EARLY_DATA, Policy::Here(Arc::new(Says(true))));
    let sealed = Arc::new(Noting::default());
    let tickets = Arc::clone(&sealed) as Arc<dyn TicketSealer>;
    let server = resuming_with(server, kept, tickets).build().expect("a server's configuration");
    let client = client.build().expect("a client's configuration");
    let new = connect(&client, &server).expect("they suit each other").of_server.pop();
    let of_client = last.0.lock().expect("nobody panics here").take().expect("a session was kept");
    let sealed = sealed.0.lock().expect("nobody panics here").clone();
    let (name, of_server) = new.map_or((Vec::new(), sealed), |new| (new.id, new.session));
    Session { of_client, of_server, name }
}

/// A handshake from begin to end.
pub(crate) struct Met {
    pub(crate) resumed: bool,
    pub(crate) of_server: Vec<NewSession>,
}

/// Lets both connect, and the server say a word, with which tickets arrive.
pub(crate) fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> Result<Met, tercel::Error> {
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = Handshake::client(Arc::clone(client), name);
    let mut server = Handshake::server(Arc::clone(server));
    let (mut to_client, mut to_server) = (Received::new(), Received::new());
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
    let (mut ours, mut theirs) = (ours.expect("no error, so a connection"), theirs.expect("too"));
    theirs.sender.seal_to(b"word", &mut out)?;
    to_client.extend(&out);
    let Opened::Data(word) = ours.receiver.open(&mut to_client)? else { panic!("no word came") };
    assert_eq!(word, b"word");
    assert_eq!(ours.facts.resumed, theirs.facts.resumed);
    Ok(Met { resumed: ours.facts.resumed, of_server: theirs.facts.take_new_sessions() })
}

/// A handshake with a retry has four.
const MAX_ROUNDS: usize = 6;
