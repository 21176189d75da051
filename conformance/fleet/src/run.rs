//! One event after the other: what is seen before it, meanwhile and after it.
//!
//! Each event is a line of the table: what was done, what became of the requests meanwhile, what share
//! of connections was resumed before, during and after, and whether anything sent early was accepted twice. Must not
//! know: how clients or terminators work, or what is done to them. Next: `events.rs`, then `report.rs`.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tercel::pki::Roots;
use tercel_harness::good::Load;
use tercel_harness::proxy::wait_for;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::cluster::{Cluster, Face};
use crate::early::{self, Flight};
use crate::report::{Line, Share};

/// How much of the share of resumptions before an event has to come back after it.
pub(crate) const RECOVERED: f64 = 0.85;
/// How long that may take.
pub(crate) const BOUND: Duration = Duration::from_secs(15);
/// Over what time a share is taken.
pub(crate) const WINDOW: Duration = Duration::from_secs(1);
/// By how much longer than twice the freshness window a node refuses early data after its store was away (what the
/// fleet calls its blind time), two minutes for the first of a fleet, and time for a busy machine.
const BLIND: Duration = Duration::from_secs(120 + 20);

/// The faces whose nodes admit early data.
const EARLY: [Face; 2] = [Face::StoreKeys, Face::Sessions];

/// What an event has to do with early data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Early {
    /// Nothing.
    No,
    /// Flights are recorded before it and replayed after it.
    Now,
    /// The same, once every node admits early data.
    Wait,
}

/// The run.
pub(crate) struct Run<'a> {
    pub(crate) cluster: Cluster,
    pub(crate) runtime: &'a Runtime,
    pub(crate) load: Load,
    /// Of the clients.
    pub(crate) kinds: Vec<&'static str>,
    pub(crate) roots: Roots,
    /// Whether less is to be seen in less time.
    pub(crate) quick: bool,
    /// By how much a ticket's age may be off for its early data to count as fresh.
    window: Duration,
    pub(crate) start: Instant,
    pub(crate) lines: Vec<Line>,
    flights: Flights,
    replays: Replays,
}

/// Of each face that admits early data.
type Flights = [(Face, Vec<Flight>); 2];

/// Flights under way to all nodes, and what had become of them before.
struct Replaying {
    before: Replays,
    task: JoinHandle<Flights>,
}

/// How often flights were sent again, and how often they were accepted though they had been before.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Replays {
    pub(crate) tried: usize,
    pub(crate) accepted: usize,
    /// Flights that were accepted at all, once.
    pub(crate) once: usize,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        cluster: Cluster,
        runtime: &'a Runtime,
        load: Load,
        kinds: Vec<&'static str>,
        roots: Roots,
        quick: bool,
        window: Duration,
    ) -> Self {
        let flights = EARLY.map(|face| (face, Vec::new()));
        let (lines, replays) = (Vec::new(), Replays::default());
        let start = Instant::now();
        Self { cluster, runtime, load, kinds, roots, quick, window, start, lines, flights, replays }
    }

    /// What became of what was sent early.
    pub(crate) fn replays(&self) -> Replays {
        self.replays
    }

    /// Does something, and says what was seen.
    pub(crate) fn event(
        &mut self,
        name: &str,
        early: Early,
        cause: impl FnOnce(&mut Self) -> Result<Vec<String>>,
    ) -> Result<()> {
        let mut faults = Vec::new();
        if early == Early::Wait {
            let waited = self.wait_until_early_data_is_admitted();
            faults.extend(waited.err().map(|error| error.to_string()));
        }
        let replays = self.replays;
        if early != Early::No {
            // What is accepted from now on is not in the snapshot that a store may come back with.
            self.cluster.store.save()?;
            self.make_flights().context("early flights")?;
            self.replay(false)?;
        }
        let begun = Instant::now();
        let before = Share::of(&self.load.since(begun - WINDOW));
        faults.extend(cause(self).with_context(|| name.to_owned())?);
        let ended = Instant::now();
        // At once, while all of it is fresh, and once more when all is well again.
        let replaying = (early != Early::No).then(|| self.begin_replay(true));
        let during = Share::of(&self.load.since(begun));
        let mut after = Share::default();
        let recovered = wait_for("resumption is back", BOUND, || {
            thread::sleep(WINDOW / 5);
            after = Share::of(&self.load.since(Instant::now() - WINDOW));
            ended.elapsed() >= WINDOW && after.is_back(&before, RECOVERED)
        });
        if let Err(error) = &recovered {
            faults.push(format!("{error}: {}", after.missing(&before, RECOVERED)));
        }
        if let Some(replaying) = replaying {
            self.end_replay(replaying)?;
            self.replay(true)?;
        }
        faults.extend(self.cluster.ended()?);
        let killed = name.ends_with("killed").then_some(begun);
        let mut line = Line::new(name, begun - self.start, &self.load.since(begun), killed);
        line.shares = [before, during, after];
        line.recovered = recovered.ok();
        line.replays = Replays {
            tried: self.replays.tried - replays.tried,
            accepted: self.replays.accepted - replays.accepted,
            once: self.replays.once - replays.once,
        };
        line.faults.extend(faults);
        println!("{}", line.short());
        self.lines.push(line);
        Ok(())
    }

    /// Three for each face: one sent by hand, one by a client, and one that is kept for later.
    fn make_flights(&mut self) -> Result<()> {
        let roots = &self.roots;
        let nodes = EARLY.map(|face| self.cluster.behind(face));
        let (first, second) = self
            .runtime
            .block_on(async { tokio::join!(flights(&nodes[0], roots), flights(&nodes[1], roots)) });
        for ((_, flights), made) in self.flights.iter_mut().zip([first?, second?]) {
            self.replays.once += made.iter().map(|flight| flight.accepted.min(1)).sum::<usize>();
            flights.extend(made);
        }
        Ok(())
    }

    /// Sends every flight that may still count as fresh to each node; those that are kept only if `all`.
    fn replay(&mut self, all: bool) -> Result<()> {
        let replaying = self.begin_replay(all);
        self.end_replay(replaying)
    }

    fn begin_replay(&mut self, all: bool) -> Replaying {
        for (_, flights) in &mut self.flights {
            flights.retain(|flight| flight.is_fresh(self.window));
        }
        let before = sums(&self.flights);
        let nodes = EARLY.map(|face| self.cluster.behind(face));
        let mut flights =
            std::mem::replace(&mut self.flights, EARLY.map(|face| (face, Vec::new())));
        let task = self.runtime.spawn(async move {
            let [(_, first), (_, second)] = &mut flights;
            let first = early::replay(first, &nodes[0], all);
            let second = early::replay(second, &nodes[1], all);
            tokio::join!(first, second);
            flights
        });
        Replaying { before, task }
    }

    fn end_replay(&mut self, replaying: Replaying) -> Result<()> {
        self.flights = self.runtime.block_on(replaying.task)?;
        let (before, after) = (replaying.before, sums(&self.flights));
        self.replays.tried += after.tried - before.tried;
        self.replays.accepted += after.accepted - before.accepted;
        self.replays.once += after.once - before.once;
        Ok(())
    }

    fn wait_until_early_data_is_admitted(&mut self) -> Result<()> {
        println!("        waiting until every node admits early data");
        let nodes: Vec<_> = EARLY.iter().flat_map(|face| self.cluster.behind(*face)).collect();
        for node in nodes {
            wait_for("early data is admitted", 2 * self.window + BLIND, || {
                let admitted = self.runtime.block_on(async {
                    let mut flight = Flight::held_back(node, &self.roots).await?;
                    anyhow::Ok(flight.send(node).await)
                });
                admitted.unwrap_or(false)
            })?;
        }
        Ok(())
    }
}

/// What has become of these flights so far.
fn sums(flights: &Flights) -> Replays {
    let all = flights.iter().flat_map(|(_, flights)| flights);
    all.fold(Replays::default(), |sum, flight| Replays {
        tried: sum.tried + flight.sent,
        accepted: sum.accepted + flight.excess(),
        once: sum.once + flight.accepted.min(1),
    })
}

/// Node 0 is not needed: it may be about to go.
async fn flights(nodes: &[SocketAddr], roots: &Roots) -> Result<[Flight; 3]> {
    let sent = async {
        let mut sent = Flight::held_back(nodes[1], roots).await?;
        sent.send(nodes[2]).await;
        anyhow::Ok(sent)
    };
    let served = Flight::of_a_served_client(nodes[2], nodes[1], roots);
    let kept = Flight::held_back(nodes[2], roots);
    let (sent, served, mut kept) = tokio::try_join!(sent, served, kept)?;
    kept.kept = true;
    Ok([sent, served, kept])
}
