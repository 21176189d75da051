//! A recorded 0-RTT flight is replayed: to the same server, to a server that shares its replay
//! guard, to a server whose guard was restarted, and by many threads at once. RFC 9846 8

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::ProtocolVersion;
use tercel::{
    ClientConfig, EarlyData, Handshake, Next, Opened, Policy, ReceiveBuffer, ServerConfig,
    clock::Clock,
    session::{
        AdmitEarlyData, ReplayGuard, ReplayGuardId, RotatingTickets, ServerMemoryStore,
        SharedTickets, TicketKey, TicketKeySet,
    },
};
use tercel_wire::{HandshakeMessage, HandshakeType, ServerHello};

use crate::fixtures::{NAME, client, server};
use crate::pair::records;
use crate::resumption::ManualClock;

/// Slightly more seconds than the time for which early data is fresh, in both directions.
const WINDOW: u64 = 130;

/// The place where servers store sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storage {
    /// In tickets, under keys of one process.
    OwnKeys,
    /// In tickets, under keys that a fleet shares.
    SharedKeys,
    Store,
}

const STORAGES: [Storage; 3] = [Storage::OwnKeys, Storage::SharedKeys, Storage::Store];

/// Accepts all early data, so that only the single use of a stored session refuses a replay.
struct AcceptAll;

impl AdmitEarlyData for AcceptAll {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        true
    }

    fn id(&self) -> Option<ReplayGuardId> {
        Some([1; 16])
    }
}

type Build = dyn Fn(Arc<dyn AdmitEarlyData>, u32) -> Arc<ServerConfig>;

/// Servers that share tickets or a store, a guard and a clock, and their client.
pub(crate) struct Fleet {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) servers: [Arc<ServerConfig>; 2],
    /// Builds a server with this guard and freshness window.
    pub(crate) build: Box<Build>,
}

impl Fleet {
    fn new(storage: Storage, guard: impl FnOnce(UnixTime) -> Arc<dyn AdmitEarlyData>) -> Self {
        let manual = ManualClock::new();
        let now = manual.now();
        let clock = Arc::clone(&manual) as Arc<dyn Clock>;
        let store = Arc::new(ServerMemoryStore::new(1000));
        let rotating = Arc::new(RotatingTickets::new(now).unwrap());
        let keys = move || {
            let key = TicketKey::new([1; 16], &[2; 32], now);
            SharedTickets::new(
                &TicketKeySet::new(key, None, None).unwrap(),
                Duration::from_secs(3600),
            )
        };
        let build = move |guard, window: u32| {
            let builder = server().clock(Arc::clone(&clock)).early_data(1000, Policy::Here(guard));
            let builder = builder.freshness_window(std::time::Duration::from_secs(window.into()));
            let builder = match storage {
                Storage::OwnKeys => builder.tickets(rotating.clone()),
                Storage::SharedKeys => builder.tickets(Arc::new(keys())),
                Storage::Store => builder.session_store(Policy::Here(store.clone())),
            };
            builder.build().unwrap()
        };
        let guard = guard(now);
        let servers = [(); 2].map(|()| build(Arc::clone(&guard), 60));
        let clock = Arc::clone(&manual) as Arc<dyn Clock>;
        let versions = [ProtocolVersion::TLS1_3];
        let client = client().versions(&versions).clock(clock).early_data(true).build().unwrap();
        Self { clock: manual, client, servers, build: Box::new(build) }
    }

    /// A fleet with a guard that has been running for a long time.
    pub(crate) fn guarded(storage: Storage) -> Self {
        Self::new(storage, |now| Arc::new(guard(now)))
    }

    /// A server with a new guard.
    fn restart(&self) -> Arc<ServerConfig> {
        (self.build)(Arc::new(ReplayGuard::for_early_data(1000, self.clock.now())), 60)
    }
}

pub(crate) fn guard(now: UnixTime) -> ReplayGuard {
    ReplayGuard::new(1000, UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() - 1)))
}

/// The result of a flight.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) resumed: bool,
    /// The early data that the server read.
    pub(crate) read: Vec<u8>,
}

impl Outcome {
    pub(crate) fn read(data: &[u8]) -> Self {
        Self { resumed: true, read: data.to_vec() }
    }
}

/// The first flight of a client with a session, with early data if possible. Also returns the
/// client.
fn first_flight(client: &Arc<ClientConfig>, data: &[u8]) -> (Vec<u8>, Handshake) {
    let mut handshake = Handshake::client(Arc::clone(client), NAME.try_into().unwrap());
    let mut out = Vec::new();
    assert!(matches!(handshake.advance(&mut ReceiveBuffer::new(), &mut out), Ok(Next::Receive)));
    if let Some(sender) = handshake.early_sender() {
        sender.seal_to(data, &mut out).unwrap();
    }
    (out, handshake)
}

/// Sends a flight to a server, without the rest of the handshake.
pub(crate) fn replay(
    server: &Arc<ServerConfig>,
    flight: &[u8],
) -> (Outcome, Vec<u8>, Handshake, ReceiveBuffer) {
    let mut handshake = Handshake::server(Arc::clone(server));
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    received.extend(flight);
    let mut outcome = Outcome::default();
    loop {
        match handshake.advance(&mut received, &mut out).unwrap() {
            Next::EarlyData(bytes) => outcome.read.extend_from_slice(&bytes),
            Next::Receive => break,
            other => panic!("{other:?}"),
        }
    }
    let (_, message) = &records(&out)[0];
    assert_eq!(message[0], HandshakeType::SERVER_HELLO.0);
    outcome.resumed =
        ServerHello::parse(&message[4..]).unwrap().extensions.pre_shared_key.is_some();
    (outcome, out, handshake, received)
}

/// Makes a complete connection. Returns the result of its early data, and the first flight.
pub(crate) fn visit(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    data: &[u8],
) -> (Outcome, Vec<u8>) {
    let (flight, handshake) = first_flight(client, data);
    (finish(handshake, server, &flight), flight)
}

/// Delivers a flight to a server, and completes the client's handshake.
fn finish(mut client: Handshake, server: &Arc<ServerConfig>, flight: &[u8]) -> Outcome {
    let (outcome, mut out, mut server, mut to_server) = replay(server, flight);
    let mut to_client = ReceiveBuffer::new();
    to_client.extend(&out);
    out.clear();
    let Next::Connected(mut ours) = client.advance(&mut to_client, &mut out).unwrap() else {
        panic!("the client does not connect");
    };
    to_server.extend(&out);
    out.clear();
    let Next::Connected(mut theirs) = server.advance(&mut to_server, &mut out).unwrap() else {
        panic!("the server does not connect");
    };
    // The tickets arrive with the first data.
    theirs.sender.seal_to(b"welcome", &mut out).unwrap();
    to_client.extend(&out);
    let Ok(Opened::Data(read)) = ours.receiver.open(&mut to_client) else { panic!("no data") };
    assert_eq!(read, b"welcome");
    assert_eq!(ours.info.resumed, outcome.resumed);
    assert_eq!(ours.info.early_data == EarlyData::Accepted, !outcome.read.is_empty());
    outcome
}

/// RFC 9846 8.2, F.5
#[test]
fn a_replay_is_refused_by_all_servers_with_the_same_guard() {
    for storage in STORAGES {
        let fleet = Fleet::guarded(storage);
        visit(&fleet.client, &fleet.servers[0], b"");
        let (outcome, flight) = visit(&fleet.client, &fleet.servers[0], b"pay once");
        assert_eq!(outcome, Outcome::read(b"pay once"), "{storage:?}");
        for round in 0..4 {
            for server in &fleet.servers {
                let (replayed, ..) = replay(server, &flight);
                assert_eq!(replayed.read, b"", "{storage:?}: round {round}");
                // A ticket may be used again, but a stored session has been removed.
                assert_eq!(replayed.resumed, !matches!(storage, Storage::Store), "{storage:?}");
            }
        }
        // The client connects again, with early data if it has another ticket.
        let (outcome, _) = visit(&fleet.client, &fleet.servers[1], b"pay again");
        assert_eq!(outcome, Outcome::read(b"pay again"), "{storage:?}");
    }
}

/// RFC 9846 8.1
#[test]
fn a_stored_session_is_used_once_even_without_a_guard() {
    let fleet = Fleet::new(Storage::Store, |_| Arc::new(AcceptAll));
    visit(&fleet.client, &fleet.servers[0], b"");
    let (outcome, flight) = visit(&fleet.client, &fleet.servers[1], b"pay once");
    assert_eq!(outcome, Outcome::read(b"pay once"));
    for server in &fleet.servers {
        assert_eq!(replay(server, &flight).0, Outcome::default());
    }
}

/// The attacker's copy arrives first and is read, so the client's own flight counts as the replay.
/// The client learns of the rejection, and connects.
#[test]
fn a_flight_that_arrives_second_connects_without_early_data() {
    for storage in STORAGES {
        let fleet = Fleet::guarded(storage);
        visit(&fleet.client, &fleet.servers[0], b"");
        let (flight, handshake) = first_flight(&fleet.client, b"pay once");
        let (stolen, ..) = replay(&fleet.servers[0], &flight);
        assert_eq!(stolen, Outcome::read(b"pay once"), "{storage:?}");
        let outcome = finish(handshake, &fleet.servers[1], &flight);
        assert_eq!(outcome.read, b"", "{storage:?}");
        assert_eq!(outcome.resumed, !matches!(storage, Storage::Store), "{storage:?}");
    }
}

/// A new guard has no record of earlier flights, so it rejects all early data until no earlier
/// flight is fresh. After that time a replay is too old, and a client's new early data is accepted.
#[test]
fn after_a_restart_of_the_guard_a_replay_is_refused_at_any_time() {
    for storage in [Storage::OwnKeys, Storage::SharedKeys] {
        let fleet = Fleet::guarded(storage);
        visit(&fleet.client, &fleet.servers[0], b"");
        let (outcome, flight) = visit(&fleet.client, &fleet.servers[0], b"pay once");
        assert_eq!(outcome, Outcome::read(b"pay once"), "{storage:?}");
        let restarted = fleet.restart();
        let mut own = 0;
        for passed in 0..=WINDOW {
            let (replayed, ..) = replay(&restarted, &flight);
            assert_eq!(replayed.read, b"", "{storage:?}: after {passed} s");
            let (outcome, _) = visit(&fleet.client, &restarted, b"another");
            assert!(outcome.resumed);
            own += usize::from(!outcome.read.is_empty());
            assert!(
                own == 0 || passed > 120,
                "{storage:?}: read in the blind time after {passed} s"
            );
            fleet.clock.advance_by(1);
        }
        assert!(own > 0, "{storage:?}: early data is never read again");
    }
}

/// The guard remembers a flight for as long as it is fresh.
#[test]
fn a_replay_is_refused_at_any_later_time() {
    for storage in [Storage::OwnKeys, Storage::SharedKeys] {
        let fleet = Fleet::guarded(storage);
        visit(&fleet.client, &fleet.servers[0], b"");
        let (outcome, flight) = visit(&fleet.client, &fleet.servers[0], b"pay once");
        assert_eq!(outcome, Outcome::read(b"pay once"));
        for passed in 0..2 * WINDOW {
            let (replayed, ..) = replay(&fleet.servers[1], &flight);
            assert_eq!(replayed.read, b"", "{storage:?}: after {passed} s");
            fleet.clock.advance_by(1);
        }
    }
}

/// A ticket from the future was issued before the clock was set back, or by a server whose clock is
/// ahead. Its age does not reveal a replay, and its early data would stay fresh for longer than a
/// guard keeps an entry.
#[test]
fn a_ticket_from_the_future_allows_no_early_data() {
    for storage in [Storage::OwnKeys, Storage::SharedKeys] {
        let fleet = Fleet::new(storage, |now| {
            let long_ago = now.as_secs() - 10_000;
            Arc::new(ReplayGuard::new(
                1000,
                UnixTime::since_unix_epoch(Duration::from_secs(long_ago)),
            ))
        });
        visit(&fleet.client, &fleet.servers[0], b"");
        fleet.clock.set_back(3000);
        let (outcome, flight) = visit(&fleet.client, &fleet.servers[0], b"pay once");
        assert_eq!(outcome.read, b"", "{storage:?}");
        for passed in 0..4 {
            let (replayed, ..) = replay(&fleet.servers[1], &flight);
            assert_eq!(replayed.read, b"", "{storage:?}: {passed} windows later");
            fleet.clock.advance_by(WINDOW);
        }
    }
}

#[test]
fn one_of_many_simultaneous_copies_is_read() {
    const THREADS: usize = 8;
    let fleets = [
        Fleet::guarded(Storage::OwnKeys),
        Fleet::guarded(Storage::SharedKeys),
        Fleet::guarded(Storage::Store),
        Fleet::new(Storage::Store, |_| Arc::new(AcceptAll)),
    ];
    for (number, fleet) in fleets.iter().enumerate() {
        visit(&fleet.client, &fleet.servers[0], b"");
        for round in 0..10 {
            let (flight, handshake) = first_flight(&fleet.client, b"pay once");
            let (read, start) = (AtomicUsize::new(0), Barrier::new(THREADS));
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (server, flight) = (&fleet.servers[thread % 2], &flight);
                    let (read, start) = (&read, &start);
                    scope.spawn(move || {
                        start.wait();
                        let (outcome, ..) = replay(server, flight);
                        assert!(outcome.read.is_empty() || outcome.read == b"pay once");
                        read.fetch_add(usize::from(!outcome.read.is_empty()), Ordering::SeqCst);
                    });
                }
            });
            assert_eq!(read.into_inner(), 1, "fleet {number}, round {round}");
            // The client's own handshake also completes.
            let outcome = finish(handshake, &fleet.servers[0], &flight);
            assert_eq!(outcome.read, b"");
        }
    }
}

/// Two configurations have the same tickets, and a guard each, which does not know what the other
/// one has admitted. RFC 9846 8.1
#[test]
fn early_data_is_read_only_under_the_guard_of_its_ticket() {
    for storage in STORAGES {
        let fleet = Fleet::guarded(storage);
        let own = &fleet.servers[0];
        let now = fleet.clock.now();
        let others: [Arc<dyn AdmitEarlyData>; 2] = [Arc::new(guard(now)), Arc::new(AcceptAll)];
        for other in others {
            let other = (fleet.build)(other, 60);
            visit(&fleet.client, own, b"first");
            let (flight, handshake) = first_flight(&fleet.client, b"pay once");
            // Whichever server is first, only the one that issued the ticket reads early data.
            let before = replay(&other, &flight).0;
            assert_eq!(before.read, b"", "{storage:?}");
            if matches!(storage, Storage::Store) {
                continue; // The session was claimed.
            }
            assert!(before.resumed, "the session itself is resumed");
            assert_eq!(finish(handshake, own, &flight), Outcome::read(b"pay once"), "{storage:?}");
            assert_eq!(replay(&other, &flight).0.read, b"", "{storage:?}");
            // The other server's own tickets are for its guard.
            visit(&fleet.client, &other, b"first");
            let (outcome, flight) = visit(&fleet.client, &other, b"another");
            assert_eq!(outcome, Outcome::read(b"another"), "{storage:?}");
            assert_eq!(replay(own, &flight).0.read, b"", "{storage:?}");
        }
    }
}

/// An application that asks one guard for several configurations says so.
#[test]
fn guards_with_one_id_read_early_data_of_each_others_tickets() {
    struct OfApplication(Arc<ReplayGuard>);
    impl AdmitEarlyData for OfApplication {
        fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
            self.0.admit_early_data(unique, now)
        }

        fn id(&self) -> Option<ReplayGuardId> {
            Some(*b"the guard of all")
        }
    }
    let fleet = Fleet::guarded(Storage::SharedKeys);
    let shared = Arc::new(guard(fleet.clock.now()));
    let build = || (fleet.build)(Arc::new(OfApplication(Arc::clone(&shared))), 60);
    let (one, other) = (build(), build());
    visit(&fleet.client, &one, b"");
    let (outcome, flight) = visit(&fleet.client, &other, b"pay once");
    assert_eq!(outcome, Outcome::read(b"pay once"));
    for server in [&one, &other] {
        assert_eq!(replay(server, &flight).0.read, b"");
    }
    assert_ne!(guard(fleet.clock.now()).id(), guard(fleet.clock.now()).id());
}
