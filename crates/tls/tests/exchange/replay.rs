//! A recorded 0-RTT flight sent again: to the same server, to one that shares its memory, to one that has
//! forgotten, and from many threads at once. RFC 9846 8
//!
//! Must not know: binders and how a guard remembers. Next: `freshness.rs` for windows of other widths,
//! `early_data.rs` for early data that goes well.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::wire::{HandshakeMessage, HandshakeType, ProtocolVersion, ServerHello};
use tercel::{
    AdmitEarlyData, ClientConfig, Clock, EarlyData, Handshake, MemoryStore, Next, Opened, Policy,
    Received, ReplayGuard, RotatingTickets, ServerConfig, SharedTickets, TicketKey, TicketKeySet,
};

use crate::identity::{NAME, client, server};
use crate::pair::records;
use crate::resumption::Dial;

/// Some seconds more than early data counts as fresh, on either side of its time.
const WINDOW: u64 = 130;

/// How servers keep sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    /// In tickets, under keys of one process.
    OwnKeys,
    /// In tickets, under keys that a fleet shares.
    SharedKeys,
    Store,
}

const KEPT: [Kept; 3] = [Kept::OwnKeys, Kept::SharedKeys, Kept::Store];

/// Says yes to everything: what refuses a replay then is that a stored session can be used once.
struct Always;

impl AdmitEarlyData for Always {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        true
    }
}

type Build = dyn Fn(Arc<dyn AdmitEarlyData>, u32) -> Arc<ServerConfig>;

/// Servers that share tickets or store, guard and time, and a client of theirs.
pub(crate) struct Fleet {
    pub(crate) dial: Arc<Dial>,
    pub(crate) client: Arc<ClientConfig>,
    pub(crate) servers: [Arc<ServerConfig>; 2],
    /// With this guard and freshness window.
    pub(crate) build: Box<Build>,
}

impl Fleet {
    fn new(kept: Kept, guard: impl FnOnce(UnixTime) -> Arc<dyn AdmitEarlyData>) -> Self {
        let dial = Dial::new();
        let now = dial.now();
        let clock = Arc::clone(&dial) as Arc<dyn Clock>;
        let store = Arc::new(MemoryStore::new(1000));
        let rotating = Arc::new(RotatingTickets::new(now).unwrap());
        let keys = move || {
            let key = TicketKey::new([1; 16], &[2; 32], now);
            SharedTickets::new(
                &TicketKeySet::new(key, None, None).unwrap(),
                Duration::from_secs(3600),
            )
        };
        let build = move |guard, window| {
            let builder = server().clock(Arc::clone(&clock)).early_data(1000, Policy::Here(guard));
            let builder = builder.freshness_window(window);
            let builder = match kept {
                Kept::OwnKeys => builder.tickets(rotating.clone()),
                Kept::SharedKeys => builder.tickets(Arc::new(keys())),
                Kept::Store => builder.session_store(Policy::Here(store.clone())),
            };
            builder.build().unwrap()
        };
        let guard = guard(now);
        let servers = [(); 2].map(|()| build(Arc::clone(&guard), 60));
        let clock = Arc::clone(&dial) as Arc<dyn Clock>;
        let versions = [ProtocolVersion::TLS1_3];
        let client = client().versions(&versions).clock(clock).early_data(true).build().unwrap();
        Self { dial, client, servers, build: Box::new(build) }
    }

    /// With a guard that has been there for long.
    pub(crate) fn guarded(kept: Kept) -> Self {
        Self::new(kept, |now| Arc::new(guard(now)))
    }

    /// With a guard that has just started.
    fn restart(&self) -> Arc<ServerConfig> {
        (self.build)(Arc::new(ReplayGuard::for_early_data(1000, self.dial.now())), 60)
    }
}

pub(crate) fn guard(now: UnixTime) -> ReplayGuard {
    ReplayGuard::new(1000, UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() - 1)))
}

/// What a flight led to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) resumed: bool,
    /// What the server read early.
    pub(crate) read: Vec<u8>,
}

impl Outcome {
    pub(crate) fn read(words: &[u8]) -> Self {
        Self { resumed: true, read: words.to_vec() }
    }
}

/// A client that comes back: its first flight, with early data if it has the means, and itself.
fn first_flight(client: &Arc<ClientConfig>, words: &[u8]) -> (Vec<u8>, Handshake) {
    let mut handshake = Handshake::client(Arc::clone(client), NAME.try_into().unwrap());
    let mut out = Vec::new();
    assert!(matches!(handshake.advance(&mut Received::new(), &mut out), Ok(Next::Receive)));
    if let Some(sender) = handshake.early_sender() {
        sender.seal_to(words, &mut out).unwrap();
    }
    (out, handshake)
}

/// Plays a flight to a server, which then waits for a client that never speaks again.
pub(crate) fn play(
    server: &Arc<ServerConfig>,
    flight: &[u8],
) -> (Outcome, Vec<u8>, Handshake, Received) {
    let mut handshake = Handshake::server(Arc::clone(server));
    let (mut received, mut out) = (Received::new(), Vec::new());
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

/// A visit from begin to end; what became of its early data.
pub(crate) fn visit(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    words: &[u8],
) -> (Outcome, Vec<u8>) {
    let (flight, handshake) = first_flight(client, words);
    (finish(handshake, server, &flight), flight)
}

/// Lets a flight reach a server, and its client finish.
fn finish(mut client: Handshake, server: &Arc<ServerConfig>, flight: &[u8]) -> Outcome {
    let (outcome, mut out, mut server, mut to_server) = play(server, flight);
    let mut to_client = Received::new();
    to_client.extend(&out);
    out.clear();
    let Next::Connected(mut ours) = client.advance(&mut to_client, &mut out).unwrap() else {
        panic!("the client goes on to the end");
    };
    to_server.extend(&out);
    out.clear();
    let Next::Connected(mut theirs) = server.advance(&mut to_server, &mut out).unwrap() else {
        panic!("the server goes on to the end");
    };
    // The tickets arrive with the first words.
    theirs.sender.seal_to(b"welcome", &mut out).unwrap();
    to_client.extend(&out);
    let Ok(Opened::Data(read)) = ours.receiver.open(&mut to_client) else { panic!("no words") };
    assert_eq!(read, b"welcome");
    assert_eq!(ours.facts.resumed, outcome.resumed);
    assert_eq!(ours.facts.early_data == EarlyData::Accepted, !outcome.read.is_empty());
    outcome
}

#[test]
fn a_replay_is_refused_by_the_same_server_and_by_one_that_shares_its_memory() {
    for kept in KEPT {
        let fleet = Fleet::guarded(kept);
        visit(&fleet.client, &fleet.servers[0], b"");
        let (outcome, flight) = visit(&fleet.client, &fleet.servers[0], b"pay once");
        assert_eq!(outcome, Outcome::read(b"pay once"), "{kept:?}");
        for round in 0..4 {
            for server in &fleet.servers {
                let (replayed, ..) = play(server, &flight);
                assert_eq!(replayed.read, b"", "{kept:?}: round {round}");
                // A ticket may be used again, a stored session is gone.
                assert_eq!(replayed.resumed, !matches!(kept, Kept::Store), "{kept:?}");
            }
        }
        // The client itself goes on: with early data if it has another ticket, and always connected.
        let (outcome, _) = visit(&fleet.client, &fleet.servers[1], b"pay again");
        assert_eq!(outcome, Outcome::read(b"pay again"), "{kept:?}");
    }
}

#[test]
fn a_stored_session_is_used_once_whatever_a_guard_says() {
    let fleet = Fleet::new(Kept::Store, |_| Arc::new(Always));
    visit(&fleet.client, &fleet.servers[0], b"");
    let (outcome, flight) = visit(&fleet.client, &fleet.servers[1], b"pay once");
    assert_eq!(outcome, Outcome::read(b"pay once"));
    for server in &fleet.servers {
        assert_eq!(play(server, &flight).0, Outcome::default());
    }
}

/// The attacker is faster: its copy is read, and the client's own flight is the replay. The client is told, and
/// connected all the same.
#[test]
fn a_flight_that_comes_second_goes_on_without_its_early_data() {
    for kept in KEPT {
        let fleet = Fleet::guarded(kept);
        visit(&fleet.client, &fleet.servers[0], b"");
        let (flight, handshake) = first_flight(&fleet.client, b"pay once");
        let (stolen, ..) = play(&fleet.servers[0], &flight);
        assert_eq!(stolen, Outcome::read(b"pay once"), "{kept:?}");
        let outcome = finish(handshake, &fleet.servers[1], &flight);
        assert_eq!(outcome.read, b"", "{kept:?}");
        assert_eq!(outcome.resumed, !matches!(kept, Kept::Store), "{kept:?}");
    }
}

/// A guard that has just started knows nothing of what was admitted before, and refuses until nothing of it
/// counts as fresh. Then the replay is too old, and a client's own early data is read.
#[test]
fn after_a_guard_s_restart_a_replay_is_refused_now_and_later() {
    for kept in [Kept::OwnKeys, Kept::SharedKeys] {
        let fleet = Fleet::guarded(kept);
        visit(&fleet.client, &fleet.servers[0], b"");
        let (outcome, flight) = visit(&fleet.client, &fleet.servers[0], b"pay once");
        assert_eq!(outcome, Outcome::read(b"pay once"), "{kept:?}");
        let restarted = fleet.restart();
        let mut own = 0;
        for passed in 0..=WINDOW {
            let (replayed, ..) = play(&restarted, &flight);
            assert_eq!(replayed.read, b"", "{kept:?}: after {passed} s");
            let (outcome, _) = visit(&fleet.client, &restarted, b"another");
            assert!(outcome.resumed);
            own += usize::from(!outcome.read.is_empty());
            assert!(own == 0 || passed > 120, "{kept:?}: read blindly after {passed} s");
            fleet.dial.turn(1);
        }
        assert!(own > 0, "{kept:?}: early data is never read again");
    }
}

/// As long as a guard may have forgotten a flight the flight is too old, and as long as it is not too old the
/// guard remembers it.
#[test]
fn a_replay_is_refused_at_any_later_time() {
    for kept in [Kept::OwnKeys, Kept::SharedKeys] {
        let fleet = Fleet::guarded(kept);
        visit(&fleet.client, &fleet.servers[0], b"");
        let (outcome, flight) = visit(&fleet.client, &fleet.servers[0], b"pay once");
        assert_eq!(outcome, Outcome::read(b"pay once"));
        for passed in 0..2 * WINDOW {
            let (replayed, ..) = play(&fleet.servers[1], &flight);
            assert_eq!(replayed.read, b"", "{kept:?}: after {passed} s");
            fleet.dial.turn(1);
        }
    }
}

/// A ticket from the future, of a clock that was set back or of another server's that is fast, has no age by which
/// a replay could be told. So it would be fresh until its time has come, and a guard forgets sooner.
#[test]
fn a_ticket_from_the_future_admits_no_early_data() {
    for kept in [Kept::OwnKeys, Kept::SharedKeys] {
        let fleet = Fleet::new(kept, |now| {
            let long_ago = now.as_secs() - 10_000;
            Arc::new(ReplayGuard::new(
                1000,
                UnixTime::since_unix_epoch(Duration::from_secs(long_ago)),
            ))
        });
        visit(&fleet.client, &fleet.servers[0], b"");
        fleet.dial.turn_back(3000);
        let (outcome, flight) = visit(&fleet.client, &fleet.servers[0], b"pay once");
        assert_eq!(outcome.read, b"", "{kept:?}");
        for passed in 0..4 {
            let (replayed, ..) = play(&fleet.servers[1], &flight);
            assert_eq!(replayed.read, b"", "{kept:?}: {passed} windows later");
            fleet.dial.turn(WINDOW);
        }
    }
}

#[test]
fn of_many_copies_at_once_one_is_read() {
    const THREADS: usize = 8;
    let fleets = [
        Fleet::guarded(Kept::OwnKeys),
        Fleet::guarded(Kept::SharedKeys),
        Fleet::guarded(Kept::Store),
        Fleet::new(Kept::Store, |_| Arc::new(Always)),
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
                        let (outcome, ..) = play(server, flight);
                        assert!(outcome.read.is_empty() || outcome.read == b"pay once");
                        read.fetch_add(usize::from(!outcome.read.is_empty()), Ordering::SeqCst);
                    });
                }
            });
            assert_eq!(read.into_inner(), 1, "fleet {number}, round {round}");
            // And the client itself, last of all, has its connection.
            let outcome = finish(handshake, &fleet.servers[0], &flight);
            assert_eq!(outcome.read, b"");
        }
    }
}
