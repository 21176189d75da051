//! Rows of instructions: each side of each peer counted under callgrind, and compared.
//!
//! Counts are the same from run to run but for what keys, nonces and blinding draw; the slices of a run
//! show how much that is. Nothing here depends on how busy the machine is. Must not know: how a worker is
//! counted. Next: `callgrind.rs`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Result, ensure};
use lab_scenario::{Row, Version};

use crate::callgrind::{self, Times, Turn};
use crate::fit;
use crate::peers::Peer;
use crate::process::Launch;
use crate::report::{Figure, RowReport, SideReport, Speed};
use crate::statistics::{Interval, Verdict, quantile};

/// Two counts that differ by less are a tie.
const TIE: f64 = 0.005;

/// Handshakes in a slice. AWS-LC, BoringSSL and OpenSSL draw an RSA key's blinding anew after 32 uses: as
/// often in each slice.
const HANDSHAKES: u64 = 32;

/// In a slice without public-key operations, where what an allocator does now and then is seen.
const SHORT_HANDSHAKES: u64 = 256;

/// Writes of 1 MiB in a slice, which differ in nothing.
const WRITES: u64 = 2;

/// Slices that are looked at.
const SLICES: usize = 4;

/// How often a row is done to be counted.
pub(crate) fn times(row: &Row) -> Times {
    let short = row.version == Version::Tls12 && row.resumption.is_some();
    let repetitions = match row.write_size {
        0 if short => SHORT_HANDSHAKES,
        0 => HANDSHAKES,
        _ => WRITES,
    };
    Times { repetitions, slices: SLICES }
}

/// What a peer executed for each side, slice by slice, for one repetition.
type Slices = BTreeMap<String, Vec<f64>>;

/// Counts a row.
pub(crate) fn measure(row: &Row, peers: &[Peer], launch: &Launch, files: &Path) -> RowReport {
    let start = Instant::now();
    let (mut failures, mut unable) = (BTreeMap::new(), BTreeMap::new());
    let (mut series, mut done) = (Vec::new(), BTreeMap::new());
    let outcomes = match callgrind::available() {
        Ok(()) => each_at_once(peers, fit::cpus(), |peer| {
            callgrind::count(peer, row, files, launch, times(row))
                .and_then(|turn| slices(row, turn))
        }),
        Err(why) => peers.iter().map(|_| Ok(Outcome::Cannot(why.clone()))).collect(),
    };
    for (peer, outcome) in peers.iter().zip(outcomes) {
        let name = peer.name.clone();
        match outcome {
            Ok(Outcome::Counted(slices, what)) => {
                done.insert(name, what);
                series.push((peer, slices));
            }
            Ok(Outcome::Cannot(why)) => _ = unable.insert(name, why),
            Err(error) => _ = failures.insert(name, format!("{error:#}")),
        }
    }
    let sides = row.sides().into_iter().map(|side| judge(side, &series)).collect();
    RowReport {
        row: row.clone(),
        title: row.title(),
        rounds: SLICES,
        seconds: start.elapsed().as_secs_f64(),
        others: None,
        noisy: false,
        sides: if series.is_empty() { Vec::new() } else { sides },
        failures,
        unable,
        distributions: BTreeMap::new(),
        done,
    }
}

/// What became of a peer.
enum Outcome {
    Counted(Slices, BTreeMap<String, String>),
    Cannot(String),
}

#[allow(clippy::cast_precision_loss)]
fn slices(row: &Row, turn: Turn) -> Result<Outcome> {
    let counted = match turn {
        Turn::Counted(counted) => counted,
        Turn::Cannot(why) => return Ok(Outcome::Cannot(why)),
    };
    let mut slices = Slices::new();
    for text in &counted.slices {
        let costs = callgrind::costs(text)?;
        for side in row.sides() {
            let of_side = costs.iter().filter(|cost| cost.side == side);
            let sum: u64 = of_side.map(|cost| cost.instructions).sum();
            ensure!(sum > 0, "nothing was counted for the side {side:?}: has it symbols?");
            slices.entry(side).or_default().push(sum as f64 / counted.repetitions as f64);
        }
    }
    Ok(Outcome::Counted(slices, counted.done))
}

/// Does something for every peer, so many at once. Results are in the order of the peers.
pub(crate) fn each_at_once<P: Sync, T: Send>(
    peers: &[P],
    most: usize,
    action: impl Fn(&P) -> T + Sync,
) -> Vec<T> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(peer) = peers.get(place) else { break };
            let result = action(peer);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
        }
    };
    thread::scope(|scope| {
        for _ in 0..most.min(peers.len()) {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Each peer's count of a side, against the least of the others and the floor's.
fn judge(side: String, series: &[(&Peer, Slices)]) -> SideReport {
    let counts: Vec<&[f64]> = series.iter().map(|(_, slices)| slices[&side].as_slice()).collect();
    let floor = series.iter().position(|(peer, _)| peer.floor);
    let peers = series.iter().enumerate().map(|(own, (peer, _))| {
        let others = (0..series.len()).filter(|&other| other != own && !series[other].0.floor);
        let best = others.min_by(|&a, &b| mean(counts[a]).total_cmp(&mean(counts[b])));
        let speed = best.filter(|_| !peer.floor).map(|best| {
            let interval = ratio(counts[best], counts[own]);
            Speed { against: series[best].0.name.clone(), interval, verdict: verdict(&interval) }
        });
        let floors =
            floor.filter(|floor| *floor != own).map(|floor| ratio(counts[own], counts[floor]));
        Figure {
            peer: peer.name.clone(),
            nanoseconds: mean(counts[own]),
            quartiles: [quantile(counts[own], 0.25), quantile(counts[own], 0.75)],
            rounds: counts[own].to_vec(),
            parts: BTreeMap::new(),
            speed,
            floors,
        }
    });
    let peers = peers.collect();
    SideReport { side, peers }
}

/// Of all repetitions taken together; low and high between any two slices.
fn ratio(numerator: &[f64], denominator: &[f64]) -> Interval {
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    Interval {
        ratio: mean(numerator) / mean(denominator),
        low: least(numerator) / most(denominator),
        high: most(numerator) / least(denominator),
        rounds: numerator.len().min(denominator.len()),
    }
}

/// Where the whole interval lies; one that reaches over the bounds of a tie says nothing.
fn verdict(interval: &Interval) -> Verdict {
    let (least, most) = (1.0 - TIE, 1.0 + TIE);
    match interval {
        interval if interval.low > most => Verdict::Ahead,
        interval if interval.high < least => Verdict::Behind,
        interval if interval.low >= least && interval.high <= most => Verdict::Tie,
        _ => Verdict::Undecided,
    }
}

#[allow(clippy::cast_precision_loss)]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_scenario::About;

    fn peer(name: &str, floor: bool) -> Peer {
        let about = About::default();
        Peer { name: name.into(), label: name.into(), floor, about, program: name.into() }
    }

    fn slices(counts: &[f64]) -> Slices {
        [("client".to_owned(), counts.to_vec())].into()
    }

    #[test]
    fn counts_are_held_against_the_least_other_one() {
        let (floor, a, b, c) =
            (peer("floor", true), peer("a", false), peer("b", false), peer("c", false));
        let series = [
            (&a, slices(&[1000.0, 1001.0])),
            (&b, slices(&[1004.0, 1004.0])),
            (&c, slices(&[2000.0, 2100.0])),
            (&floor, slices(&[500.0, 500.0])),
        ];
        let side = judge("client".to_owned(), &series);
        let speeds: Vec<_> = side.peers.iter().map(|figure| figure.speed.as_ref()).collect();
        let [Some(of_a), Some(of_b), Some(of_c), None] = speeds[..] else { panic!("{speeds:?}") };
        assert_eq!((of_a.against.as_str(), of_a.verdict), ("b", Verdict::Tie));
        assert_eq!((of_b.against.as_str(), of_b.verdict), ("a", Verdict::Tie));
        // Slices that differ hide no difference that is larger.
        assert_eq!((of_c.against.as_str(), of_c.verdict), ("a", Verdict::Behind));
        assert!((side.peers[0].floors.unwrap().ratio - 2.001).abs() < 1e-9);
        let two = [series[0].clone(), (&c, slices(&[900.0, 900.5]))];
        let side = judge("client".to_owned(), &two);
        let speeds = side.peers.iter().filter_map(|figure| figure.speed.as_ref());
        let verdicts: Vec<_> = speeds.map(|speed| speed.verdict).collect();
        assert_eq!(verdicts, [Verdict::Behind, Verdict::Ahead]);
        let astride = [series[0].clone(), (&c, slices(&[1000.0, 1020.0]))];
        let side = judge("client".to_owned(), &astride);
        let speeds = side.peers.iter().filter_map(|figure| figure.speed.as_ref());
        assert!(speeds.into_iter().all(|speed| speed.verdict == Verdict::Undecided));
    }

    #[test]
    fn each_peer_has_its_turn_and_its_place() {
        let peers: Vec<_> = (0..20).map(|n| peer(&format!("p{n}"), false)).collect();
        let names = each_at_once(&peers, 2, |peer| peer.name.clone());
        assert_eq!(names, peers.iter().map(|peer| peer.name.clone()).collect::<Vec<_>>());
    }
}
