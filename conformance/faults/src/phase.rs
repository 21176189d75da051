//! One phase: sends a number of faulty clients, and records the result.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tercel_harness::clients::{Load, Outcome, RequestResult};
use tercel_harness::metrics::Samples;
use tercel_harness::proxy::Proxy;
use tercel_harness::resources::Resources;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::faulty_client::{ClientContext, Observed, TOLERANCE};
use crate::kinds::{ExpectedResult, Kind};
use crate::setup::HANDSHAKE;

/// The name and the faulty clients of a phase.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    /// The kind and number of each client.
    pub(crate) clients: Vec<(Kind, usize)>,
    /// The number of simultaneous clients.
    pub(crate) at_once: usize,
    /// Whether all clients connect from one address.
    pub(crate) one_address: bool,
}

/// The result of a phase, which is a line of the table.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) clients: usize,
    pub(crate) took: Duration,
    pub(crate) regular: usize,
    pub(crate) regular_failed: Vec<String>,
    pub(crate) slowest: Duration,
    pub(crate) peak: u64,
    /// Handshakes that failed or did not begin, by reason.
    pub(crate) refused: BTreeMap<String, u64>,
    pub(crate) backend_failures: u64,
    /// Whether the phase ran against a terminator of its own, not against the one that most phases
    /// share.
    pub(crate) other_terminator: bool,
    /// The requirements that were not met.
    pub(crate) faults: Vec<String>,
}

impl Line {
    /// The line of a phase without faulty clients.
    pub(crate) fn without_clients(
        name: &str,
        start: Instant,
        load: &Load,
        faults: Vec<String>,
    ) -> Self {
        let regular = load.since(start);
        Self {
            name: name.to_owned(),
            clients: 0,
            took: start.elapsed(),
            regular: regular.len(),
            regular_failed: failures(&regular),
            slowest: percentile(&regular, 99),
            peak: 0,
            refused: BTreeMap::new(),
            backend_failures: 0,
            other_terminator: false,
            faults,
        }
    }

    /// The line of a terminator of its own, without faulty clients.
    pub(crate) fn of_another_terminator(faults: Vec<String>) -> Self {
        Self {
            name: String::new(),
            clients: 0,
            took: Duration::ZERO,
            regular: 0,
            regular_failed: Vec::new(),
            slowest: Duration::ZERO,
            peak: 0,
            refused: BTreeMap::new(),
            backend_failures: 0,
            other_terminator: true,
            faults,
        }
    }

    pub(crate) fn passed(&self) -> bool {
        self.faults.is_empty() && self.regular_failed.is_empty()
    }
}

/// The terminator's counters of connections.
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

/// Sends all clients of the plan and waits until the terminator has counted them.
pub(crate) fn run(
    plan: Plan,
    runtime: &Runtime,
    context: &Arc<ClientContext>,
    proxy: &Proxy,
    load: &Load,
) -> Result<Line> {
    let start = Instant::now();
    let before = proxy.metrics()?;
    let clients = plan.clients.len();
    let expected = ExpectedCounts::of(&plan.clients);
    let peak = Peak::watch(proxy.id());
    let seen = runtime.block_on(send(plan.clients, plan.at_once, plan.one_address, context));
    let mut faults: Vec<String> =
        seen.iter().map(|(what, count)| format!("{count} faulty clients: {what}")).collect();

    // The terminator notices a reset or a close a moment later.
    let deadline = Instant::now() + HANDSHAKE + TOLERANCE;
    let after = loop {
        let after = proxy.metrics().context("the terminator no longer answers")?;
        let missing = expected.missing(&before, &after);
        if missing.is_empty() || Instant::now() > deadline {
            faults.extend(missing);
            break after;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let regular = load.since(start);
    Ok(Line {
        name: plan.name,
        clients,
        took: start.elapsed(),
        regular: regular.len(),
        regular_failed: failures(&regular),
        slowest: percentile(&regular, 99),
        peak: peak.end(),
        other_terminator: false,
        refused: reasons(&before, &after),
        backend_failures: Counts::of(&after).backend_failures
            - Counts::of(&before).backend_failures,
        faults,
    })
}

/// Descriptions of the failed requests of regular clients.
pub(crate) fn failures(regular: &[Outcome]) -> Vec<String> {
    let failures = regular.iter().filter_map(|outcome| match &outcome.result {
        RequestResult::Failed(why) => Some(format!("{}: {why}", outcome.kind)),
        RequestResult::Answered | RequestResult::Retried => None,
    });
    failures.collect()
}

/// The time that a percentage of requests did not exceed.
pub(crate) fn percentile(regular: &[Outcome], percent: usize) -> Duration {
    let mut times: Vec<_> = regular.iter().map(|outcome| outcome.took).collect();
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).copied().unwrap_or_default()
}
/// How much the counters must rise.
#[derive(Debug)]
struct ExpectedCounts {
    refused: u64,
    connected: u64,
    backend_failures: u64,
}

impl ExpectedCounts {
    fn of(clients: &[(Kind, usize)]) -> Self {
        let count = |results: &[ExpectedResult]| {
            clients.iter().filter(|(kind, _)| results.contains(&kind.expected())).count() as u64
        };
        Self {
            refused: count(&[ExpectedResult::Refused]),
            connected: count(&[ExpectedResult::Connected, ExpectedResult::BackendFails]),
            backend_failures: count(&[ExpectedResult::BackendFails]),
        }
    }

    fn missing(&self, before: &Samples, after: &Samples) -> Vec<String> {
        let (before, after) = (Counts::of(before), Counts::of(after));
        let mut missing = Vec::new();
        let refused = after.refused - before.refused;
        if refused != self.refused {
            missing.push(format!("{refused} refusals counted for {}", self.refused));
        }
        // The terminator may also have counted connections of regular clients, so the counter may
        // be higher.
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

/// Sends the clients, and counts those with a wrong result.
async fn send(
    clients: Vec<(Kind, usize)>,
    at_once: usize,
    one_address: bool,
    context: &Arc<ClientContext>,
) -> BTreeMap<String, usize> {
    let room = Arc::new(Semaphore::new(at_once));
    let mut tasks = JoinSet::new();
    for (place, (kind, number)) in clients.into_iter().enumerate() {
        let Ok(permit) = room.clone().acquire_owned().await else { break };
        let context = context.clone();
        let source = if one_address { ONE_ADDRESS } else { address(place) };
        tasks.spawn(async move {
            let seen = context.send(kind, number, source).await;
            drop(permit);
            (kind, seen)
        });
    }
    let mut wrong = BTreeMap::new();
    while let Some(ended) = tasks.join_next().await {
        let what = match ended {
            Ok((_, Ok(Observed::ClientClosed | Observed::ServerClosed))) => continue,
            Ok((kind, Ok(Observed::Fault(what)))) => format!("{}: {what}", kind.name()),
            // Clients that must be refused may see an error.
            Ok((kind, Err(_))) if kind.expected() == ExpectedResult::Refused => {
                continue;
            }
            Ok((kind, Err(error))) => format!("{}: {error}", kind.name()),
            Err(error) => format!("{error}"),
        };
        *wrong.entry(what).or_default() += 1;
    }
    wrong
}

/// One of many local addresses that regular clients do not use.
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

/// The value of a counter.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and small")]
pub(crate) fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

/// Measures the peak memory of a process.
pub(crate) struct Peak {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<u64>,
}

impl Peak {
    pub(crate) fn watch(process: u32) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let shared = stop.clone();
        let thread = thread::spawn(move || {
            let mut peak = 0;
            while !shared.load(Ordering::Relaxed) {
                peak =
                    Resources::of(process).map_or(peak, |resources| resources.resident.max(peak));
                thread::sleep(Duration::from_millis(50));
            }
            peak
        });
        Self { stop, thread }
    }

    pub(crate) fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}
