//! What befalls the cluster, one thing after the other, under a steady load.
//!
//! Each event is a line of the table: what was done, what became of the requests meanwhile, what share
//! of connections was resumed before, during and after, and whether anything sent early was accepted twice. Must not
//! know: how clients or terminators work. Next: `report.rs`.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tercel::pki::Roots;
use tercel_harness::good::{self, Load};
use tercel_harness::pki::SERVER_NAME;
use tercel_harness::proxy::wait_for;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::cluster::{Cluster, Face};
use crate::early::{self, Flight};
use crate::others;
use crate::report::{Line, Share};

/// How much of the share of resumptions before an event has to come back after it.
const RECOVERED: f64 = 0.85;
/// How long that may take.
const BOUND: Duration = Duration::from_secs(15);
/// Over what time a share is taken.
const WINDOW: Duration = Duration::from_secs(1);
/// How long it may take until files that changed have been read.
const NOTICED: Duration = Duration::from_secs(20);
/// By how much longer than twice the freshness window a node refuses early data after its store was away (what the
/// fleet calls its blind time), and time for a busy machine.
const BLIND: Duration = Duration::from_secs(20);

/// The faces whose nodes admit early data.
const EARLY: [Face; 2] = [Face::StoreKeys, Face::Sessions];

/// What an event has to do with early data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Early {
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
    kinds: Vec<&'static str>,
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

    /// All that befalls the cluster.
    pub(crate) fn all(&mut self) -> Result<()> {
        wait_for("clients of every kind resume", BOUND, || {
            let now = Share::of(&self.load.since(Instant::now() - WINDOW));
            self.start.elapsed() > WINDOW * 2 && now.is_back(&Share::all_of(&self.kinds), RECOVERED)
        })?;
        self.event("nothing", Early::No, |_| Ok(wait(2)))?;
        self.event("clients of others", Early::No, Self::other_clients)?;
        self.event("3 new keys in the file", Early::No, |run| {
            for _ in 0..3 {
                run.cluster.rotate_keys()?;
                // A key begins two seconds after it was written.
                thread::sleep(Duration::from_millis(1500));
            }
            Ok(Vec::new())
        })?;
        self.event("new certificate", Early::No, Self::replace_certificate)?;
        self.event("bad certificate", Early::No, Self::spoil_certificate)?;
        self.event("bad configuration", Early::No, Self::bad_configuration)?;
        self.event("good configuration", Early::No, Self::good_configuration)?;
        self.event("node 0 killed", Early::Wait, |run| {
            run.cluster.kill(0)?;
            Ok(wait(2))
        })?;
        self.event("node 0 started", Early::No, |run| {
            run.cluster.start_again(0)?;
            Ok(wait(1))
        })?;
        let early = if self.quick { Early::No } else { Early::Now };
        self.event("node 1 drained", early, Self::drain)?;
        self.event("node 1 started", Early::No, |run| {
            run.cluster.start_again(1)?;
            Ok(wait(1))
        })?;
        let early = if self.quick { Early::No } else { Early::Wait };
        self.event("store frozen for 3 s", early, |run| {
            run.cluster.store.freeze()?;
            let faults = wait(3);
            run.cluster.store.thaw()?;
            Ok(faults)
        })?;
        self.event("store killed, empty after 2 s", Early::Wait, |run| {
            run.cluster.store.kill()?;
            let faults = wait(2);
            run.cluster.store.start_empty()?;
            Ok(faults)
        })?;
        self.event("store killed, back from a snapshot", Early::Wait, |run| {
            run.cluster.store.kill()?;
            run.cluster.store.start_with_snapshot()?;
            Ok(Vec::new())
        })?;
        self.event("store emptied", early, |run| {
            run.cluster.store.flush()?;
            Ok(Vec::new())
        })
    }

    /// What became of what was sent early.
    pub(crate) fn replays(&self) -> Replays {
        self.replays
    }

    /// Does something, and says what was seen.
    fn event(
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

    /// What has been asked for before is answered.
    fn drain(&mut self) -> Result<Vec<String>> {
        let (at, roots) = (self.cluster.behind(Face::StoreKeys)[1], self.roots.clone());
        let slow = self
            .runtime
            .spawn(async move { good::fetch(at, &roots, SERVER_NAME, "/after/1500").await });
        thread::sleep(Duration::from_millis(500));
        let mut faults = self.cluster.drain(1)?;
        match self.runtime.block_on(slow)? {
            Ok(answer) if answer.status == 200 => {}
            Ok(answer) => faults.push(format!("a request under way: status {}", answer.status)),
            Err(error) => faults.push(format!("a request under way: {error}")),
        }
        Ok(faults)
    }

    fn other_clients(&mut self) -> Result<Vec<String>> {
        let tried = others::run(&self.cluster)?;
        for absent in tried.absent {
            println!("absent: {absent}");
        }
        println!("        {} requests of others, {} resumed", tried.requests, tried.resumed);
        Ok(tried.faults)
    }

    fn replace_certificate(&mut self) -> Result<Vec<String>> {
        let old = self.shown()?;
        self.cluster.renew_certificate()?;
        self.hurry()?;
        let seen = wait_for("every node shows the new certificate", NOTICED, || {
            self.shown().is_ok_and(|new| new.iter().zip(&old).all(|(new, old)| new != old))
        });
        Ok(faults(seen))
    }

    fn spoil_certificate(&mut self) -> Result<Vec<String>> {
        let old = self.shown()?;
        let labels = [("what", "certificates"), ("result", "failed")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.spoil_certificate()?;
        self.hurry()?;
        let mut faults = self.until_counted(&labels, before);
        if self.shown()? != old {
            faults.push("another certificate is shown".to_owned());
        }
        self.cluster.renew_certificate()?;
        Ok(faults)
    }

    fn bad_configuration(&mut self) -> Result<Vec<String>> {
        let labels = [("what", "configuration"), ("result", "failed")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.configure("nonsense = true\n")?;
        self.cluster.reload()?;
        Ok(self.until_counted(&labels, before))
    }

    fn good_configuration(&mut self) -> Result<Vec<String>> {
        let labels = [("what", "configuration"), ("result", "ok")];
        let before = self.cluster.count(RELOADS, &labels)?;
        self.cluster.configure("alpn = [\"http/1.1\"]\n")?;
        self.cluster.reload()?;
        Ok(self.until_counted(&labels, before))
    }

    /// Files are looked at every few seconds, and at once when that is asked for.
    fn hurry(&mut self) -> Result<()> {
        if self.quick { self.cluster.reload() } else { Ok(()) }
    }

    /// Waits until each terminator has counted one more reload of this sort.
    fn until_counted(&self, labels: &[(&str, &str)], before: f64) -> Vec<String> {
        let all = f64::from(u32::try_from(self.cluster.terminators()).unwrap_or(u32::MAX));
        let counted = wait_for("each terminator has counted it", NOTICED, || {
            self.cluster.count(RELOADS, labels).is_ok_and(|now| now >= before + all)
        });
        faults(counted)
    }

    /// The certificate that each node shows.
    fn shown(&self) -> Result<Vec<Vec<u8>>> {
        let nodes = Face::ALL.iter().flat_map(|face| self.cluster.behind(*face));
        nodes
            .map(|node| self.runtime.block_on(good::certificate(node, &self.roots, SERVER_NAME)))
            .collect()
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

const RELOADS: &str = "tercel_reloads_total";

fn faults(waited: Result<Duration>) -> Vec<String> {
    waited.err().map(|error| error.to_string()).into_iter().collect()
}

fn wait(seconds: u64) -> Vec<String> {
    thread::sleep(Duration::from_secs(seconds));
    Vec::new()
}
