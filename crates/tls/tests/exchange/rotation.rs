//! Clients connect continuously while ticket keys rotate: every ticket must be resumed while its
//! key is in use or is the previous one.
//!
//! The test controls the clock, so that a hundred rotations fit into a minute (`just rotation`) and
//! a few into two seconds.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use tercel::pki_types::UnixTime;
use tercel::wire::{NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, ServerConfig,
    clock::Clock,
    session::{
        ClientMemoryStore, RotatingTickets, SharedTickets, TicketKey, TicketKeySet, TicketSealer,
    },
};

use crate::fixtures::{client, server};
use crate::resumption::{VERSIONS, visit};

const THREADS: usize = 8;

/// The seconds for which a key seals. Tickets live for the same time, so exactly one previous key
/// is needed.
const PERIOD: u64 = 3600;

/// The steps into which a period is divided.
const STEPS: u32 = 8;
const STEP: u64 = PERIOD / STEPS as u64;

/// The number of resumptions that must occur in each step, so that the test is effective on slow
/// machines too. Each thread has at most one resumption in progress, so some of the resumptions
/// begin within the step.
const MIN_RESUMPTIONS_PER_STEP: u64 = 2 * THREADS as u64;

#[test]
fn rotating_keys_resume_all_valid_tickets() {
    let run = with_rotating_keys(10, Duration::from_secs(1));
    println!("{run}");
}

#[test]
fn new_shared_keys_resume_all_valid_tickets() {
    let run = with_shared_keys(10, Duration::from_secs(1));
    println!("{run}");
}

#[test]
#[ignore = "takes two minutes: `just rotation`"]
fn a_hundred_rotations_in_a_minute_of_each_kind() {
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

/// Two servers that a client uses in turn. Each new set of keys reaches one server after the other.
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

/// The common clock, which the test advances.
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

/// The results of one test with rotating keys.
struct Run {
    what: &'static str,
    took: Duration,
    rotations: u32,
    /// The number of key names seen in tickets.
    keys: usize,
    count: Count,
}

#[derive(Default)]
struct Count {
    resumed: u64,
    /// Resumptions with a ticket of the previous period.
    previous_key: u64,
    /// Full handshakes without a ticket, such as the first.
    first: u64,
    /// Full handshakes because the ticket had expired.
    expired: u64,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, took, rotations, keys, count } = self;
        let Count { resumed, previous_key, first, expired } = count;
        writeln!(f, "{what}: {THREADS} threads, {:.1} s", took.as_secs_f64())?;
        writeln!(f, "  rotations                         {rotations:>8}  ({keys} keys seen)")?;
        writeln!(f, "  resumptions                       {resumed:>8}")?;
        writeln!(f, "    with a ticket of the key before {previous_key:>8}")?;
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
                let mut visitor = ClientThread::new(number, time, sealers);
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
                let goal = resumed.load(Ordering::SeqCst) + MIN_RESUMPTIONS_PER_STEP;
                while Instant::now() < until || resumed.load(Ordering::SeqCst) < goal {
                    // A thread whose ticket was refused has panicked. Joining the thread reports
                    // it.
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
    /// Checks that the test was long enough. A refused ticket makes [`ClientThread::visit`] panic
    /// at once.
    fn check(&self) {
        let Self { rotations, keys, count, .. } = self;
        assert_eq!(*keys, *rotations as usize + 1, "each period has one key");
        assert!(
            count.resumed >= u64::from(*rotations) * MIN_RESUMPTIONS_PER_STEP,
            "too few were resumed"
        );
        assert!(count.previous_key > 0, "no ticket was resumed under the next key");
        assert_eq!(count.first, THREADS as u64);
    }
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.resumed += other.resumed;
        self.previous_key += other.previous_key;
        self.first += other.first;
        self.expired += other.expired;
    }
}

/// One thread's client, and the servers to which it connects in turn.
struct ClientThread {
    version: ProtocolVersion,
    client: Arc<ClientConfig>,
    servers: Vec<Arc<ServerConfig>>,
    watched: Vec<Arc<KeyNameRecorder>>,
    time: Arc<Time>,
    start: u64,
    /// The time at which the current ticket was requested.
    held: Option<u64>,
    /// The number of steps to wait before the next ticket is used; 0 for half of the clients.
    patience: u32,
    is_patient: bool,
    count: Count,
}

impl ClientThread {
    fn new(number: usize, time: &Arc<Time>, sealers: &[Arc<dyn TicketSealer>]) -> Self {
        let clock = || Arc::clone(time) as Arc<dyn Clock>;
        let version = VERSIONS[number / 2 % 2];
        let groups = [NamedGroup::X25519, NamedGroup::SECP256R1];
        let client = client().versions(&[version]).groups(&groups).clock(clock());
        let client = client.session_store(Arc::new(ClientMemoryStore::new(1, 1))).build().unwrap();
        let watched: Vec<_> = sealers.iter().cloned().map(KeyNameRecorder::new).collect();
        let serve = |watched: &Arc<KeyNameRecorder>| {
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

    /// Waits, so that tickets of every age are used.
    fn wait(&mut self, over: &AtomicBool) {
        let Some(held) = self.held.filter(|_| self.is_patient) else { return };
        let until = held + u64::from(self.patience) * STEP;
        self.patience = (self.patience + 3) % STEPS;
        while self.time.now().as_secs() < until && !over.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Connects, and returns whether a session was resumed. A valid ticket must lead to a
    /// resumption.
    fn visit(&mut self) -> bool {
        let before = self.time.now().as_secs();
        self.servers.rotate_left(1);
        let resumed = visit(&self.client, &self.servers[0]);
        let after = self.time.now().as_secs();
        match self.held {
            Some(held) if resumed => {
                self.count.resumed += 1;
                self.count.previous_key += u64::from(self.period(held) != self.period(before));
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
        // A resumed session of TLS 1.2 keeps its ticket.
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

/// Records the names of the sealing keys: the first 16 bytes of tickets.
struct KeyNameRecorder {
    inner: Arc<dyn TicketSealer>,
    names: Mutex<HashSet<Vec<u8>>>,
}

impl KeyNameRecorder {
    fn new(inner: Arc<dyn TicketSealer>) -> Arc<Self> {
        Arc::new(Self { inner, names: Mutex::default() })
    }
}

impl TicketSealer for KeyNameRecorder {
    fn seal(&self, session: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        let ticket = self.inner.seal(session, now)?;
        self.names.lock().unwrap().insert(ticket[..16].to_vec());
        Some(ticket)
    }

    fn open(&self, ticket: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.inner.open(ticket, now)
    }

    fn lifetime(&self) -> std::time::Duration {
        self.inner.lifetime()
    }
}
