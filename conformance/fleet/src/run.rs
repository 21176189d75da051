//! Runs one event after the other, and measures before, during and after it.
//!
//! Each event is a line of the table: its name, the results of requests during it, the share of
//! connections that resumed before, during and after it, and whether any early data was accepted
//! twice.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tercel::pki::Roots;
use tercel_harness::clients::Load;
use tercel_harness::proxy::wait_for;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::cluster::{Cluster, ResumptionKind};
use crate::early::{self, Flight};
use crate::report::{Line, Share};

/// After an event, the share of resumptions must again reach this part of the earlier share.
pub(crate) const RECOVERED_SHARE: f64 = 0.85;
/// The time limit for reaching that share.
pub(crate) const RECOVERY_LIMIT: Duration = Duration::from_secs(60);
/// The period over which a share is measured.
pub(crate) const SHARE_PERIOD: Duration = Duration::from_secs(1);
/// The time that a node may refuse early data beyond twice the freshness window after a failure of
/// its store (the fleet's blind time): two minutes for the first node of a fleet, and a margin.
const BLIND_TIME: Duration = Duration::from_secs(120 + 20);

/// The kinds of resumption whose nodes accept early data.
const EARLY: [ResumptionKind; 2] = [ResumptionKind::StoreKeys, ResumptionKind::Sessions];

/// The test of early data at an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EarlyDataTest {
    /// No test.
    No,
    /// Flights are recorded before the event and replayed after it.
    Now,
    /// As `Now`, but the event waits until every node accepts early data.
    Wait,
}

/// The state shared by all events.
pub(crate) struct Run<'a> {
    pub(crate) cluster: Cluster,
    pub(crate) runtime: &'a Runtime,
    pub(crate) load: Load,
    /// The names of the kinds of clients.
    pub(crate) kinds: Vec<&'static str>,
    pub(crate) roots: Roots,
    /// Whether fewer events test early data.
    pub(crate) quick: bool,
    /// The freshness window.
    window: Duration,
    pub(crate) start: Instant,
    pub(crate) lines: Vec<Line>,
    flights: Flights,
    replays: Replays,
}

/// The flights for each kind of resumption that accepts early data.
type Flights = [(ResumptionKind, Vec<Flight>); 2];

/// Flights that are being replayed, and the counts before the replays.
struct Replaying {
    before: Replays,
    task: JoinHandle<Flights>,
}

/// The number of replays, and of repeated acceptances.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Replays {
    pub(crate) tried: usize,
    pub(crate) accepted: usize,
    /// Flights that were accepted at least once.
    pub(crate) once: usize,
}

/// The parameters from the command line.
pub(crate) struct Parameters {
    pub(crate) kinds: Vec<&'static str>,
    pub(crate) roots: Roots,
    pub(crate) quick: bool,
    /// The freshness window.
    pub(crate) window: Duration,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        cluster: Cluster,
        runtime: &'a Runtime,
        load: Load,
        parameters: Parameters,
    ) -> Self {
        let Parameters { kinds, roots, quick, window } = parameters;
        let flights = EARLY.map(|kind| (kind, Vec::new()));
        let (lines, replays) = (Vec::new(), Replays::default());
        let start = Instant::now();
        Self { cluster, runtime, load, kinds, roots, quick, window, start, lines, flights, replays }
    }

    /// The counts of all replays.
    pub(crate) fn replays(&self) -> Replays {
        self.replays
    }

    /// Runs an event and prints its line.
    pub(crate) fn event(
        &mut self,
        name: &str,
        early: EarlyDataTest,
        cause: impl FnOnce(&mut Self) -> Result<Vec<String>>,
    ) -> Result<()> {
        let mut faults = Vec::new();
        if early == EarlyDataTest::Wait {
            let waited = self.wait_until_early_data_is_admitted();
            faults.extend(waited.err().map(|error| error.to_string()));
        }
        let replays = self.replays;
        if early != EarlyDataTest::No {
            // The store may restart from this snapshot, which lacks flights that are accepted
            // later.
            self.cluster.store.save()?;
            self.make_flights().context("early flights")?;
            self.replay(false)?;
        }
        let begun = Instant::now();
        let before = Share::of(&self.load.since(begun - SHARE_PERIOD));
        faults.extend(cause(self).with_context(|| name.to_owned())?);
        let ended = Instant::now();
        // Flights are replayed immediately after the event, while all of them are fresh, and again
        // after the recovery.
        let replaying = (early != EarlyDataTest::No).then(|| self.begin_replay(true));
        let during = Share::of(&self.load.since(begun));
        let mut after = Share::default();
        let recovered = wait_for("resumption has recovered", RECOVERY_LIMIT, || {
            thread::sleep(SHARE_PERIOD / 5);
            after = Share::of(&self.load.since(Instant::now() - SHARE_PERIOD));
            ended.elapsed() >= SHARE_PERIOD && after.has_recovered(&before, RECOVERED_SHARE)
        });
        if let Err(error) = &recovered {
            faults.push(format!("{error}: {}", after.missing(&before, RECOVERED_SHARE)));
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

    /// Records three flights for each kind: a flight that is sent, a flight of a client that is
    /// served, and a flight that is held back.
    fn make_flights(&mut self) -> Result<()> {
        let roots = &self.roots;
        let nodes = EARLY.map(|kind| self.cluster.node_addresses(kind));
        let (first, second) = self
            .runtime
            .block_on(async { tokio::join!(flights(&nodes[0], roots), flights(&nodes[1], roots)) });
        for ((_, flights), made) in self.flights.iter_mut().zip([first?, second?]) {
            self.replays.once += made.iter().map(|flight| flight.accepted.min(1)).sum::<usize>();
            flights.extend(made);
        }
        Ok(())
    }

    /// Sends every flight that may still be fresh to each node; held flights only if `all`.
    fn replay(&mut self, all: bool) -> Result<()> {
        let replaying = self.begin_replay(all);
        self.end_replay(replaying)
    }

    fn begin_replay(&mut self, all: bool) -> Replaying {
        for (_, flights) in &mut self.flights {
            flights.retain(|flight| flight.is_fresh(self.window));
        }
        let before = sums(&self.flights);
        let nodes = EARLY.map(|kind| self.cluster.node_addresses(kind));
        let mut flights =
            std::mem::replace(&mut self.flights, EARLY.map(|kind| (kind, Vec::new())));
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
        println!("        waiting until every node accepts early data");
        let nodes: Vec<_> =
            EARLY.iter().flat_map(|kind| self.cluster.node_addresses(*kind)).collect();
        for node in nodes {
            wait_for("early data is accepted", 2 * self.window + BLIND_TIME, || {
                let admitted = self.runtime.block_on(async {
                    let mut flight = Flight::recorded(node, &self.roots).await?;
                    anyhow::Ok(flight.send(node).await)
                });
                admitted.unwrap_or(false)
            })?;
        }
        Ok(())
    }
}

/// The counts of these flights.
fn sums(flights: &Flights) -> Replays {
    let all = flights.iter().flat_map(|(_, flights)| flights);
    all.fold(Replays::default(), |sum, flight| Replays {
        tried: sum.tried + flight.sent,
        accepted: sum.accepted + flight.excess(),
        once: sum.once + flight.accepted.min(1),
    })
}

/// Makes three flights. Uses nodes 1 and 2 only, since the event may end node 0.
async fn flights(nodes: &[SocketAddr], roots: &Roots) -> Result<[Flight; 3]> {
    let sent = async {
        let mut sent = Flight::recorded(nodes[1], roots).await?;
        sent.send(nodes[2]).await;
        anyhow::Ok(sent)
    };
    let served = Flight::from_served_client(nodes[2], nodes[1], roots);
    let held = Flight::recorded(nodes[2], roots);
    let (sent, served, mut held) = tokio::try_join!(sent, served, held)?;
    held.held = true;
    Ok([sent, served, held])
}
