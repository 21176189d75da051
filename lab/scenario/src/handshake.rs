//! Handshakes, both sides in one thread, each side's own work timed.
//!
//! A side's time is all that its library does for one connection from its configuration to the moment
//! both sides have nothing more to say: creation, each step, tickets. Creation is part of it because
//! libraries differ in what they do there (a key pair, or nothing), and is told apart as well. Moving
//! bytes between the sides and dropping the connection are not part of it; the latter is told apart.
//! Published accounting counts otherwise, by the rules in `accounting.rs`.
//! Must not know: libraries. Next: [`crate::Endpoint`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::accounting::{Accounting, Part, Rules, Side, Step};
use crate::check::{check, describe};
use crate::distribution::Distribution;
use crate::ledger::Ledger;
use crate::library::{Endpoint, Library, Result, Unable};
use crate::protocol::Measurement;
use crate::row::{Row, Task};
use crate::worker::Prepared;

/// For so long handshakes are made before any is measured.
const WARM_UP: Duration = Duration::from_millis(20);

/// More exchanges than any handshake needs: beyond it two ends disagree for ever.
pub(crate) const MAX_TURNS: usize = 16;

/// The largest flight that a buffer has to hold: certificates of RSA 4096 and a hybrid's key share.
pub(crate) const FLIGHT: usize = 32 << 10;

/// So often in a row threads may find that others have taken all tickets.
const MAX_FALLBACKS: usize = 16;

/// The rules by which a row times a library.
pub(crate) fn rules<L: Library>(row: &Row) -> Rules {
    Rules(L::PROGRAM.filter(|_| row.accounting == Accounting::Published))
}

/// Connections of one library with itself.
pub(crate) struct Pair<L: Library> {
    library: Arc<L>,
    row: Row,
    /// Whether other threads use the library too.
    shared: bool,
    ledger: Ledger,
    pub(crate) client_buffers: <L::Client as Endpoint>::Buffers,
    pub(crate) server_buffers: <L::Server as Endpoint>::Buffers,
    wire: Vec<u8>,
    early_data: Vec<u8>,
}

impl<L: Library> Pair<L> {
    pub(crate) fn new(library: Arc<L>, row: &Row, at_once: usize) -> Self {
        let at_once = at_once.max(FLIGHT);
        Self {
            library,
            row: row.clone(),
            shared: false,
            ledger: Ledger::new(rules::<L>(row)),
            client_buffers: L::Client::buffers(row, at_once),
            server_buffers: L::Server::buffers(row, at_once),
            wire: Vec::with_capacity(at_once),
            early_data: vec![0x65; row.early_data],
        }
    }

    /// One handshake of the kind asked, checked on both sides. Where a client keeps few tickets and
    /// uses each once, other threads may have taken the last: then the handshake is full, brings another
    /// ticket, and does not count.
    pub(crate) fn connect(&mut self, resumed: bool) -> Result<(L::Client, L::Server)> {
        for _ in 0..MAX_FALLBACKS {
            let before = self.shared.then(|| self.ledger.clone());
            let (client, server) = self.handshake(resumed)?;
            let (at_client, at_server) = (client.outcome()?, server.outcome()?);
            let full = !at_client.resumed && !at_server.resumed;
            if let Some(before) = before.filter(|_| resumed && full) {
                self.ledger = before;
                continue;
            }
            check(&self.row, resumed, "client", &at_client)?;
            check(&self.row, resumed, "server", &at_server)?;
            return Ok((client, server));
        }
        Err("no session is resumed".into())
    }

    fn handshake(&mut self, resumed: bool) -> Result<(L::Client, L::Server)> {
        use Side::{Client, Server};
        let (library, ledger) = (&self.library, &mut self.ledger);
        ledger.begin();
        let mut client = ledger.step(Step::Create(Client), || library.client())?;
        let mut server = ledger.step(Step::Create(Server), || library.server())?;
        let (to_client, to_server) = (&mut self.client_buffers, &mut self.server_buffers);
        ledger.step(Step::Advance(Client), || client.advance(to_client))?;
        if resumed && !self.early_data.is_empty() {
            let data = &self.early_data;
            ledger.step(Step::Advance(Client), || client.send_early(to_client, data))?;
        }
        for turn in 0.. {
            if turn == MAX_TURNS {
                return Err("the two sides never finish".into());
            }
            self.wire.clear();
            ledger.step(Step::Collect(Client), || client.collect(to_client, &mut self.wire))?;
            let mut quiet = self.wire.is_empty();
            let mut rest = self.wire.as_slice();
            while !rest.is_empty() {
                let taken =
                    ledger.step(Step::Deliver(Server), || server.deliver(to_server, rest))?;
                rest = rest.get(taken..).unwrap_or_default();
                ledger.step(Step::Advance(Server), || server.advance(to_server))?;
            }
            self.wire.clear();
            ledger.step(Step::Collect(Server), || server.collect(to_server, &mut self.wire))?;
            quiet &= self.wire.is_empty();
            let mut rest = self.wire.as_slice();
            while !rest.is_empty() {
                let taken =
                    ledger.step(Step::Deliver(Client), || client.deliver(to_client, rest))?;
                rest = rest.get(taken..).unwrap_or_default();
                ledger.step(Step::Advance(Client), || client.advance(to_client))?;
            }
            if quiet {
                break;
            }
        }
        ledger.close();
        Ok((client, server))
    }

    /// Another library of the same kind for the connections to come.
    pub(crate) fn lend(&mut self, library: &Arc<L>) {
        self.library = Arc::clone(library);
    }

    pub(crate) fn reset(&mut self) {
        self.ledger.reset();
    }

    /// Nanoseconds of client and server so far, creation included.
    pub(crate) fn spent(&self, repetitions: u64) -> [f64; 2] {
        [[Part::CreateClient, Part::Client], [Part::CreateServer, Part::Server]]
            .map(|parts| parts.iter().map(|part| self.ledger.nanoseconds(*part, repetitions)).sum())
    }

    pub(crate) fn drop_both(&mut self, client: L::Client, server: L::Server) {
        self.ledger.step(Step::Drop(Side::Client), || drop(client));
        self.ledger.step(Step::Drop(Side::Server), || drop(server));
    }

    fn parts(&self, repetitions: u64) -> BTreeMap<String, f64> {
        let told = [
            (Part::CreateClient, "client creation"),
            (Part::CreateServer, "server creation"),
            (Part::DropClient, "client drop"),
            (Part::DropServer, "server drop"),
        ];
        let told = told.into_iter().filter(|_| self.ledger.tells_parts());
        let time = |part| self.ledger.nanoseconds(part, repetitions);
        told.map(|(part, name)| (name.to_owned(), time(part))).collect()
    }
}

/// The handshakes of a row.
pub(crate) struct Handshakes<L: Library> {
    pair: Pair<L>,
    done: BTreeMap<String, String>,
}

impl<L: Library> Handshakes<L> {
    pub(crate) fn new(library: Arc<L>, row: &Row) -> Result<Self> {
        let mut pair = Pair::new(library, row, 0);
        pair.shared = matches!(row.task, Task::Threads | Task::Latency);
        let resumed = row.resumption.is_some();
        // Where threads share the library there may be sessions of others; if not, the first handshake falls back.
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

    /// What connects, warmed up, and what it agreed on.
    pub(crate) fn into_parts(self) -> (Pair<L>, BTreeMap<String, String>) {
        (self.pair, self.done)
    }
}

impl<L: Library> Prepared for Handshakes<L> {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        let pair = &mut self.pair;
        let resumed = pair.row.resumption.is_some();
        let one_by_one = pair.row.task == Task::Latency;
        let mut distributions = [Distribution::default(), Distribution::default()];
        pair.ledger.reset();
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

    fn repeat(&mut self, count: u64) -> std::result::Result<Measurement, Unable> {
        let pair = &mut self.pair;
        let resumed = pair.row.resumption.is_some();
        for _ in 0..count {
            let (client, server) = pair.connect(resumed).map_err(Unable::Failed)?;
            pair.drop_both(client, server);
        }
        Ok(Measurement { repetitions: count, done: self.done.clone(), ..Measurement::default() })
    }
}
