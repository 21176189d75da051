//! Handshakes with both sides in one thread. The work of each side is timed.
//!
//! The time of a side is the work of its library for one connection, from the shared configuration
//! until neither side has anything to send: creation, each step of the handshake, tickets. Creation
//! is included because libraries differ in when they generate a key pair; it is also reported
//! separately. Transport is not timed. Dropping the connection is only reported. Published
//! accounting differs; see `accounting.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::accounting::{Accounting, Part, Side, Step, TimingRules};
use crate::check::{check, check_ech, describe};
use crate::distribution::Distribution;
use crate::library::{Endpoint, Library, PrepareError, Result};
use crate::protocol::Measurement;
use crate::row::{Row, Task};
use crate::step_timer::StepTimer;
use crate::worker::PreparedTask;

/// The duration of the warm-up.
const WARM_UP: Duration = Duration::from_millis(20);

/// The maximum number of exchanges, which is more than any correct handshake needs.
pub(crate) const MAX_EXCHANGES: usize = 16;

/// The largest flight that buffers must hold: a chain of RSA certificates with up to 4096 bits, and
/// a hybrid key share.
pub(crate) const MAX_FLIGHT: usize = 32 << 10;

/// The maximum number of consecutive fallbacks to a full handshake because other threads used all
/// tickets.
const MAX_FALLBACKS: usize = 16;

/// The timing rules of a row for a library.
pub(crate) fn rules<L: Library>(row: &Row) -> TimingRules {
    TimingRules(L::PROGRAM.filter(|_| row.accounting == Accounting::Published))
}

/// Both ends of connections between a library and itself.
pub(crate) struct ConnectionPair<L: Library> {
    library: Arc<L>,
    row: Row,
    /// Whether other threads also use the library.
    shared: bool,
    timer: StepTimer,
    pub(crate) client_buffers: <L::Client as Endpoint>::Buffers,
    pub(crate) server_buffers: <L::Server as Endpoint>::Buffers,
    wire: Vec<u8>,
    early_data: Vec<u8>,
}

impl<L: Library> ConnectionPair<L> {
    pub(crate) fn new(library: Arc<L>, row: &Row, capacity: usize) -> Self {
        let capacity = capacity.max(MAX_FLIGHT);
        Self {
            library,
            row: row.clone(),
            shared: false,
            timer: StepTimer::new(rules::<L>(row)),
            client_buffers: L::Client::buffers(row, capacity),
            server_buffers: L::Server::buffers(row, capacity),
            wire: Vec::with_capacity(capacity),
            early_data: vec![0x65; row.early_data],
        }
    }

    /// Makes one handshake of the requested kind and checks it on both sides.
    ///
    /// A client may store few tickets and use each once, so other threads may have used the last
    /// ticket. The handshake is then full and brings a new ticket. It is not counted.
    pub(crate) fn connect(&mut self, resumed: bool) -> Result<(L::Client, L::Server)> {
        for _ in 0..MAX_FALLBACKS {
            let before = self.shared.then(|| self.timer.clone());
            let (client, server) = self.handshake(resumed)?;
            let (at_client, at_server) = (client.outcome()?, server.outcome()?);
            let full = !at_client.resumed && !at_server.resumed;
            if let Some(before) = before.filter(|_| resumed && full) {
                self.timer = before;
                continue;
            }
            check(&self.row, resumed, "client", &at_client)?;
            check(&self.row, resumed, "server", &at_server)?;
            check_ech(&self.row, client.ech_accepted(), server.ech_accepted())?;
            return Ok((client, server));
        }
        Err("no session was resumed".into())
    }

    fn handshake(&mut self, resumed: bool) -> Result<(L::Client, L::Server)> {
        use Side::{Client, Server};
        let (library, timer) = (&self.library, &mut self.timer);
        timer.begin();
        let mut client = timer.step(Step::Create(Client), || library.client())?;
        let mut server = timer.step(Step::Create(Server), || library.server())?;
        let (to_client, to_server) = (&mut self.client_buffers, &mut self.server_buffers);
        timer.step(Step::Advance(Client), || client.advance(to_client))?;
        if resumed && !self.early_data.is_empty() {
            let data = &self.early_data;
            timer.step(Step::Advance(Client), || client.send_early(to_client, data))?;
        }
        for turn in 0.. {
            if turn == MAX_EXCHANGES {
                return Err("the handshake does not complete".into());
            }
            self.wire.clear();
            timer.step(Step::Collect(Client), || client.collect(to_client, &mut self.wire))?;
            let mut quiet = self.wire.is_empty();
            let mut rest = self.wire.as_slice();
            while !rest.is_empty() {
                let taken =
                    timer.step(Step::Deliver(Server), || server.deliver(to_server, rest))?;
                rest = rest.get(taken..).unwrap_or_default();
                timer.step(Step::Advance(Server), || server.advance(to_server))?;
            }
            self.wire.clear();
            timer.step(Step::Collect(Server), || server.collect(to_server, &mut self.wire))?;
            quiet &= self.wire.is_empty();
            let mut rest = self.wire.as_slice();
            while !rest.is_empty() {
                let taken =
                    timer.step(Step::Deliver(Client), || client.deliver(to_client, rest))?;
                rest = rest.get(taken..).unwrap_or_default();
                timer.step(Step::Advance(Client), || client.advance(to_client))?;
            }
            if quiet {
                break;
            }
        }
        timer.close();
        Ok((client, server))
    }

    /// Uses another configuration for later connections.
    pub(crate) fn set_library(&mut self, library: &Arc<L>) {
        self.library = Arc::clone(library);
    }

    pub(crate) fn reset(&mut self) {
        self.timer.reset();
    }

    /// The nanoseconds that client and server took per repetition, including creation.
    pub(crate) fn spent(&self, repetitions: u64) -> [f64; 2] {
        [[Part::CreateClient, Part::Client], [Part::CreateServer, Part::Server]]
            .map(|parts| parts.iter().map(|part| self.timer.nanoseconds(*part, repetitions)).sum())
    }

    pub(crate) fn drop_both(&mut self, client: L::Client, server: L::Server) {
        self.timer.step(Step::Drop(Side::Client), || drop(client));
        self.timer.step(Step::Drop(Side::Server), || drop(server));
    }

    fn parts(&self, repetitions: u64) -> BTreeMap<String, f64> {
        let reported = [
            (Part::CreateClient, "client creation"),
            (Part::CreateServer, "server creation"),
            (Part::DropClient, "client drop"),
            (Part::DropServer, "server drop"),
        ];
        let reported = reported.into_iter().filter(|_| self.timer.has_parts());
        let time = |part| self.timer.nanoseconds(part, repetitions);
        reported.map(|(part, name)| (name.to_owned(), time(part))).collect()
    }
}

/// The handshakes of a row.
pub(crate) struct Handshakes<L: Library> {
    pair: ConnectionPair<L>,
    done: BTreeMap<String, String>,
}

impl<L: Library> Handshakes<L> {
    pub(crate) fn new(library: Arc<L>, row: &Row) -> Result<Self> {
        let mut pair = ConnectionPair::new(library, row, 0);
        pair.shared = matches!(row.task, Task::Threads | Task::Latency);
        let resumed = row.resumption.is_some();
        // This handshake gives the client a session. Threads that share the library omit it: the
        // first handshake of a thread resumes a session of another thread, or else is a full one.
        if resumed && !pair.shared {
            pair.connect(false)?;
        }
        let start = Instant::now();
        let done = loop {
            let (client, server) = pair.connect(resumed)?;
            let done = describe(&client.outcome()?, &server.outcome()?);
            pair.drop_both(client, server);
            if start.elapsed() > WARM_UP {
                break done;
            }
        };
        Ok(Self { pair, done })
    }

    /// The warmed-up pair, and the negotiated parameters.
    pub(crate) fn into_parts(self) -> (ConnectionPair<L>, BTreeMap<String, String>) {
        (self.pair, self.done)
    }
}

impl<L: Library> PreparedTask for Handshakes<L> {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        let pair = &mut self.pair;
        let resumed = pair.row.resumption.is_some();
        let one_by_one = pair.row.task == Task::Latency;
        let mut distributions = [Distribution::default(), Distribution::default()];
        pair.timer.reset();
        let (start, mut repetitions) = (Instant::now(), 0);
        while repetitions == 0 || start.elapsed() < budget {
            let before = one_by_one.then(|| pair.spent(1));
            let (client, server) = pair.connect(resumed)?;
            if let Some(before) = before {
                let spans = before.iter().zip(pair.spent(1));
                for (side, (before, after)) in distributions.iter_mut().zip(spans) {
                    side.count(after - before);
                }
            }
            pair.drop_both(client, server);
            repetitions += 1;
        }
        let names = || ["client", "server"].map(str::to_owned).into_iter();
        let distributions = names().zip(distributions).filter(|_| one_by_one).collect();
        let sides = names().zip(pair.spent(repetitions)).collect::<BTreeMap<_, _>>();
        Ok(Measurement {
            distributions,
            repetitions,
            sides,
            parts: pair.parts(repetitions),
            done: self.done.clone(),
        })
    }

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, PrepareError> {
        let pair = &mut self.pair;
        let resumed = pair.row.resumption.is_some();
        for _ in 0..count {
            let (client, server) = pair.connect(resumed).map_err(PrepareError::Failed)?;
            pair.drop_both(client, server);
        }
        Ok(Measurement { repetitions: count, done: self.done.clone(), ..Measurement::default() })
    }
}
