//! Clients that come back without pause while ticket keys rotate: none is turned away that the overlap of the
//! keys should serve.
//!
//! Time is the test's own, so that a hundred rotations fit into a minute (`just rotation`) and a few into two
//! seconds. Must not know: how keys are kept; that no lock is taken is shown beside the code, in
//! `src/ticket/swap.rs`. Next: `resumption.rs`.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tercel::pki_types::UnixTime;
use tercel::wire::{NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, ClientMemoryStore, Clock, RotatingTickets, ServerConfig, SharedTickets,
    TicketKey, TicketKeySet, TicketSealer,
};

use crate::identity::{client, server};
use crate::resumption::{VERSIONS, visit};

const THREADS: usize = 8;

/// Seconds for which a key seals. A ticket lives as long, so the key before is needed and no other.
const PERIOD: u64 = 3600;

/// Steps in which the time of one period passes.
const STEPS: u32 = 8;
const STEP: u64 = PERIOD / STEPS as u64;

/// Resumptions that must happen at each step, however slow the machine is. Some of them begin in it, for each
/// thread has one under way at most.
const LEAST_EACH_STEP: u64 = 2 * THREADS as u64;

#[test]
fn rotating_keys_turn_nobody_away() {
    let run = with_rotating_keys(10, Duration::from_secs(1));
    println!("{run}");
}

#[test]
fn new_shared_keys_turn_nobody_away() {
    let run = with_shared_keys(10, Duration::from_secs(1));
    println!("{run}");
}

#[test]
#[ignore = "takes two minutes: `just rotation`"]
fn a_minute_of_each_with_a_hundred_rotations() {
    println!("{}", with_rotating_keys(100, Duration::from_secs(60)));
    println!("{}", with_shared_keys(100, Duration::from_secs(60)));
}

fn with_rotating_keys(rotations: u32, lasting: Duration) -> Run {
    let time = Time::new();
    let tickets = RotatingTickets::with_period(Duration::from_secs(PERIOD), time.now()).unwrap();
    let tickets: Arc<dyn TicketSealer> = Arc::new(tickets);
    let run = Run::new("RotatingTickets", &time, &[tickets], rotations, lasting, |_| {});
    run.check();
    run
}

/// Two servers, of which a client finds now the one and now the other, and which get each new set of keys one
/// after the other.
fn with_shared_keys(rotations: u32, lasting: Duration) -> Run {
    let time = Time::new();
    let start = time.now().as_secs();
    let key = |number: u32| {
        let [.., last] = number.to_be_bytes();
        let not_before = Duration::from_secs(start + u64::from(number) * PERIOD);
        TicketKey::new([last; 16], &[last; 32], UnixTime::since_unix_epoch(not_before))
    };
    let set = |current: u32| {
        let previous = current.checked_sub(1).map(key);
        TicketKeySet::new(key(current), Some(key(current + 1)), previous).unwrap()
    };
    let lifetime = Duration::from_secs(PERIOD);
    let fleet = [(); 2].map(|()| Arc::new(SharedTickets::new(&set(0), lifetime)));
    let sealers = fleet.clone().map(|tickets| tickets as Arc<dyn TicketSealer>);
    let run = Run::new("SharedTickets", &time, &sealers, rotations, lasting, |rotation| {
        fleet.iter().for_each(|tickets| tickets.set_keys(&set(rotation)));
    });
    run.check();
    run
}

/// The same time for all, moved by hand.
struct Time(AtomicU64);

impl Time {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(UnixTime::now().as_secs())))
    }
}

impl Clock for Time {
    fn now(&self) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(self.0.load(Ordering::SeqCst)))
    }
}

/// What was done.
struct Run {
    what: &'static str,
    took: Duration,
    rotations: u32,
    /// Names of keys seen in tickets.
    keys: usize,
    count: Count,
}

#[derive(Default)]
struct Count {
    resumed: u64,
    /// Of those, with a ticket of the period before.
    across: u64,
    /// Full handshakes because the client had no ticket, as at its first visit.
    first: u64,
    /// Full handshakes because the ticket had grown older than promised meanwhile.
    expired: u64,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, took, rotations, keys, count } = self;
        let Count { resumed, across, first, expired } = count;
        writeln!(f, "{what}: {THREADS} threads, {:.1} s", took.as_secs_f64())?;
        writeln!(f, "  rotations                         {rotations:>8}  ({keys} keys seen)")?;
        writeln!(f, "  resumptions                       {resumed:>8}")?;
        writeln!(f, "    with a ticket of the key before {across:>8}")?;
        writeln!(f, "  full handshakes                   {:>8}", first + expired)?;
        writeln!(f, "    the client had no ticket yet    {first:>8}")?;
        write!(f, "    its ticket had expired          {expired:>8}")
    }
}

impl Run {
    fn new(
        what: &'static str,
        time: &Arc<Time>,
        sealers: &[Arc<dyn TicketSealer>],
        rotations: u32,
        lasting: Duration,
        rotate: impl Fn(u32),
    ) -> Self {
        let began = Instant::now();
        let (resumed, over) = (AtomicU64::new(0), AtomicBool::new(false));
        let (mut keys, mut count) = (HashSet::new(), Count::default());
        thread::scope(|scope| {
            let start = |number| {
                let mut visitor = Visitor::new(number, time, sealers);
                let (resumed, over) = (&resumed, &over);
                scope.spawn(move || {
                    while !over.load(Ordering::SeqCst) {
                        visitor.wait(over);
                        resumed.fetch_add(u64::from(visitor.visit()), Ordering::SeqCst);
                    }
                    visitor
                })
            };
            let threads: Vec<_> = (0..THREADS).map(start).collect();
            let steps = rotations * STEPS;
            for step in 1..=steps + 1 {
                let until = began + lasting * step / (steps + 1);
                let goal = resumed.load(Ordering::SeqCst) + LEAST_EACH_STEP;
                while Instant::now() < until || resumed.load(Ordering::SeqCst) < goal {
                    // Who lost a ticket has ended, and says so when it is joined.
                    if threads.iter().any(thread::ScopedJoinHandle::is_finished) {
                        break;
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                if step <= steps {
                    time.0.fetch_add(STEP, Ordering::SeqCst);
                }
                if step <= steps && step % STEPS == 0 {
                    rotate(step / STEPS);
                }
            }
            over.store(true, Ordering::SeqCst);
            for thread in threads {
                let visitor = thread.join().unwrap();
                keys.extend(visitor.names());
                count.add(&visitor.count);
            }
        });
        Self { what, took: began.elapsed(), rotations, keys: keys.len(), count }
    }
}

impl Run {
    /// That it was a run worth the name. Whoever is turned away fails at once, see [`Visitor::visit`].
    fn check(&self) {
        let Self { rotations, keys, count, .. } = self;
        assert_eq!(*keys, *rotations as usize + 1, "each period has one key");
        assert!(count.resumed >= u64::from(*rotations) * LEAST_EACH_STEP, "too few were resumed");
        assert!(count.across > 0, "no ticket met the key after its own");
        assert_eq!(count.first, THREADS as u64);
    }
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.resumed += other.resumed;
        self.across += other.across;
        self.first += other.first;
        self.expired += other.expired;
    }
}

/// One thread's client, with the servers it visits in turn.
struct Visitor {
    version: ProtocolVersion,
    client: Arc<ClientConfig>,
    servers: Vec<Arc<ServerConfig>>,
    watched: Vec<Arc<Watched>>,
    time: Arc<Time>,
    start: u64,
    /// When the ticket that is held was asked for.
    held: Option<u64>,
    /// Steps for which a ticket is held before it is used, the next time; always 0 for half of all.
    patience: u32,
    is_patient: bool,
    count: Count,
}

impl Visitor {
    fn new(number: usize, time: &Arc<Time>, sealers: &[Arc<dyn TicketSealer>]) -> Self {
        let clock = || Arc::clone(time) as Arc<dyn Clock>;
        let version = VERSIONS[number / 2 % 2];
        let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
        let client = client().versions(&[version]).groups(&groups).clock(clock());
        let client = client.session_store(Arc::new(ClientMemoryStore::new(1, 1))).build().unwrap();
        let watched: Vec<_> = sealers.iter().cloned().map(Watched::new).collect();
        let serve = |watched: &Arc<Watched>| {
            let tickets = Arc::clone(watched) as Arc<dyn TicketSealer>;
            server().tickets(tickets).ticket_counts(1, 1).clock(clock()).build().unwrap()
        };
        Self {
            version,
            client,
            servers: watched.iter().map(serve).collect(),
            watched,
            time: Arc::clone(time),
            start: time.now().as_secs(),
            held: None,
            patience: 0,
            is_patient: number % 2 == 1,
            count: Count::default(),
        }
    }

    /// Lets some time pass, so that tickets of every age are used.
    fn wait(&mut self, over: &AtomicBool) {
        let Some(held) = self.held.filter(|_| self.is_patient) else { return };
        let until = held + u64::from(self.patience) * STEP;
        self.patience = (self.patience + 3) % STEPS;
        while self.time.now().as_secs() < until && !over.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Connects, and says whether a session was resumed. It must be if the ticket held is young enough.
    fn visit(&mut self) -> bool {
        let before = self.time.now().as_secs();
        self.servers.rotate_left(1);
        let resumed = visit(&self.client, &self.servers[0]);
        let after = self.time.now().as_secs();
        match self.held {
            Some(held) if resumed => {
                self.count.resumed += 1;
                self.count.across += u64::from(self.period(held) != self.period(before));
            }
            Some(held) => {
                assert!(after - held >= PERIOD, "a ticket was refused at {} s", after - held);
                self.count.expired += 1;
            }
            None => {
                assert!(!resumed);
                self.count.first += 1;
            }
        }
        // A session of TLS 1.2 goes on under the ticket it has.
        if !resumed || self.version == ProtocolVersion::TLS1_3 {
            self.held = Some(before);
        }
        resumed
    }

    fn period(&self, seconds: u64) -> u64 {
        (seconds - self.start) / PERIOD
    }

    fn names(&self) -> HashSet<Vec<u8>> {
        self.watched.iter().flat_map(|it| it.names.lock().unwrap().clone()).collect()
    }
}

/// Notes the names of the keys that seal: the first 16 bytes of tickets.
struct Watched {
    inner: Arc<dyn TicketSealer>,
    names: Mutex<HashSet<Vec<u8>>>,
}

impl Watched {
    fn new(inner: Arc<dyn TicketSealer>) -> Arc<Self> {
        Arc::new(Self { inner, names: Mutex::default() })
    }
}

impl TicketSealer for Watched {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        let ticket = self.inner.seal(session, now)?;
        self.names.lock().unwrap().insert(ticket[..16].to_vec());
        Some(ticket)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.inner.open(ticket, now)
    }

    fn lifetime(&self) -> u32 {
        self.inner.lifetime()
    }
}
