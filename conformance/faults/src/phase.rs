//! One line of the table: so many bad clients of some kinds, and what was seen meanwhile.
//!
//! Must not know: what the kinds do. Next: `bad.rs`, which knows.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tercel_harness::good::{Fate as GoodFate, Load, Outcome};
use tercel_harness::metrics::Samples;
use tercel_harness::proxy::Proxy;
use tercel_harness::vitals::Vitals;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::bad::{Means, PATIENCE, Seen};
use crate::kinds::{Fate, Kind};
use crate::setting::HANDSHAKE;

/// Who comes.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    /// Kind and number of each client.
    pub(crate) clients: Vec<(Kind, usize)>,
    /// How many at the same time.
    pub(crate) at_once: usize,
    /// Whether all come from one address.
    pub(crate) one_address: bool,
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) clients: usize,
    pub(crate) took: Duration,
    pub(crate) good: usize,
    pub(crate) good_failed: Vec<String>,
    pub(crate) slowest: Duration,
    pub(crate) peak: u64,
    /// Handshakes that failed or did not begin, by reason.
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) backend_failures: u64,
    /// It was another terminator's turn.
    pub(crate) apart: bool,
    /// What should have been otherwise.
    pub(crate) faults: Vec<String>,
}

impl Line {
    /// Of something that befell the terminator without bad clients.
    pub(crate) fn without_clients(
        name: &str,
        start: Instant,
        load: &Load,
        faults: Vec<String>,
    ) -> Self {
        let good = load.since(start);
        Self {
            name: name.to_owned(),
            clients: 0,
            took: start.elapsed(),
            good: good.len(),
            good_failed: failures(&good),
            slowest: percentile(&good, 99),
            peak: 0,
            refused: BTreeMap::new(),
            backend_failures: 0,
            apart: false,
            faults,
        }
    }

    pub(crate) fn passed(&self) -> bool {
        self.faults.is_empty() && self.good_failed.is_empty()
    }
}

/// The counters that tell what became of connections.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) accepted: u64,
    pub(crate) connected: u64,
    pub(crate) refused: u64,
    pub(crate) backend_failures: u64,
    pub(crate) open: u64,
}

impl Counts {
    pub(crate) fn of(samples: &Samples) -> Self {
        let sum = |name: &str| whole(samples.sum(name, &[]));
        Self {
            accepted: sum("tercel_connections_accepted_total"),
            connected: sum("tercel_handshakes_total"),
            refused: sum("tercel_handshake_failures_total")
                + sum("tercel_connections_refused_total"),
            backend_failures: sum("tercel_backend_failures_total"),
            open: sum("tercel_connections_open"),
        }
    }
}

/// Sends all of the plan's clients and waits until the terminator has counted them.
pub(crate) fn run(
    plan: Plan,
    runtime: &Runtime,
    means: &Arc<Means>,
    proxy: &Proxy,
    load: &Load,
) -> Result<Line> {
    let start = Instant::now();
    let before = proxy.metrics()?;
    let clients = plan.clients.len();
    let expected = Expected::of(&plan.clients);
    let peak = Peak::watch(proxy.id());
    let seen = runtime.block_on(send(plan.clients, plan.at_once, plan.one_address, means));
    let mut faults: Vec<String> =
        seen.iter().map(|(what, count)| format!("{count} bad clients: {what}")).collect();

    // What has been reset or closed is noticed a moment later.
    let deadline = Instant::now() + HANDSHAKE + PATIENCE;
    let after = loop {
        let after = proxy.metrics().context("the terminator does not answer any more")?;
        let missing = expected.missing(&before, &after);
        if missing.is_empty() || Instant::now() > deadline {
            faults.extend(missing);
            break after;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let good = load.since(start);
    Ok(Line {
        name: plan.name,
        clients,
        took: start.elapsed(),
        good: good.len(),
        good_failed: failures(&good),
        slowest: percentile(&good, 99),
        peak: peak.end(),
        apart: false,
        refused: reasons(&before, &after),
        backend_failures: Counts::of(&after).backend_failures
            - Counts::of(&before).backend_failures,
        faults,
    })
}

/// Those of good clients that were not served.
pub(crate) fn failures(good: &[Outcome]) -> Vec<String> {
    let failures = good.iter().filter_map(|outcome| match &outcome.fate {
        GoodFate::Failed(why) => Some(format!("{}: {why}", outcome.kind)),
        GoodFate::Answered | GoodFate::Repeated => None,
    });
    failures.collect()
}

/// So many in a hundred took no longer.
pub(crate) fn percentile(good: &[Outcome], percent: usize) -> Duration {
    let mut times: Vec<_> = good.iter().map(|outcome| outcome.took).collect();
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}

/// How counters have to move.
#[derive(Debug)]
struct Expected {
    refused: u64,
    connected: u64,
    backend_failures: u64,
}

impl Expected {
    fn of(clients: &[(Kind, usize)]) -> Self {
        let count = |fates: &[Fate]| {
            clients.iter().filter(|(kind, _)| fates.contains(&kind.fate())).count() as u64
        };
        Self {
            refused: count(&[Fate::Refused]),
            connected: count(&[Fate::Connected, Fate::BackendFails]),
            backend_failures: count(&[Fate::BackendFails]),
        }
    }

    fn missing(&self, before: &Samples, after: &Samples) -> Vec<String> {
        let (before, after) = (Counts::of(before), Counts::of(after));
        let mut missing = Vec::new();
        let refused = after.refused - before.refused;
        if refused != self.refused {
            missing.push(format!("{refused} refusals counted for {}", self.refused));
        }
        // Good clients are connected as well.
        if after.connected - before.connected < self.connected {
            missing.push(format!("fewer than {} handshakes counted", self.connected));
        }
        let failures = after.backend_failures - before.backend_failures;
        if failures < self.backend_failures {
            missing.push(format!(
                "{failures} failures of backends counted for {}",
                self.backend_failures
            ));
        }
        missing
    }
}

/// What clients saw that should not be, and how many of them.
async fn send(
    clients: Vec<(Kind, usize)>,
    at_once: usize,
    one_address: bool,
    means: &Arc<Means>,
) -> BTreeMap<String, usize> {
    let room = Arc::new(Semaphore::new(at_once));
    let mut tasks = JoinSet::new();
    for (place, (kind, number)) in clients.into_iter().enumerate() {
        let Ok(permit) = room.clone().acquire_owned().await else { break };
        let means = means.clone();
        let source = if one_address { ONE_ADDRESS } else { address(place) };
        tasks.spawn(async move {
            let seen = means.send(kind, number, source).await;
            drop(permit);
            (kind, seen)
        });
    }
    let mut wrong = BTreeMap::new();
    while let Some(ended) = tasks.join_next().await {
        let what = match ended {
            Ok((_, Ok(Seen::Left | Seen::Ended))) => continue,
            Ok((kind, Ok(Seen::Wrong(what)))) => format!("{}: {what}", kind.name()),
            // To be cut off is what they have deserved.
            Ok((kind, Err(_))) if kind.fate() == Fate::Refused => {
                continue;
            }
            Ok((kind, Err(error))) => format!("{}: {error}", kind.name()),
            Err(error) => format!("{error}"),
        };
        *wrong.entry(what).or_default() += 1;
    }
    wrong
}

/// Many addresses of this machine, none of them that of good clients.
fn address(place: usize) -> IpAddr {
    let low = u8::try_from(1 + place % 250).unwrap_or(1);
    let high = u8::try_from(1 + place / 250 % 200).unwrap_or(1);
    Ipv4Addr::new(127, 1, high, low).into()
}

const ONE_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 2, 1, 1));

fn reasons(before: &Samples, after: &Samples) -> BTreeMap<String, u64> {
    let mut reasons = BTreeMap::new();
    for name in ["tercel_handshake_failures_total", "tercel_connections_refused_total"] {
        let earlier = before.by(name, "reason");
        for (reason, count) in after.by(name, "reason") {
            let more = whole(count - earlier.get(&reason).copied().unwrap_or_default());
            if more > 0 {
                reasons.insert(reason, more);
            }
        }
    }
    reasons
}

/// A counter's value.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and small")]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

/// The most memory that a process had while this was watched.
struct Peak {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<u64>,
}

impl Peak {
    fn watch(process: u32) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let shared = stop.clone();
        let thread = thread::spawn(move || {
            let mut peak = 0;
            while !shared.load(Ordering::Relaxed) {
                peak = Vitals::of(process).map_or(peak, |vitals| vitals.resident.max(peak));
                thread::sleep(Duration::from_millis(50));
            }
            peak
        });
        Self { stop, thread }
    }

    fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}
