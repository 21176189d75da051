//! Instruction rows: counts of each side of each peer, and their comparison.
//!
//! Counts are reproducible except for random keys, nonces and RSA blinding. The spread of a run's
//! slices shows that effect. Counts do not depend on the load of the machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use lab_scenario::{Row, Version};

use crate::instructions::callgrind::{self, CountOutcome, Repetitions};
use crate::machine::parallel::{cpus, each_at_once};
use crate::report::{Figure, RowReport, SideReport, SpeedRatio};
use crate::statistics::{ConfidenceInterval, Verdict, quantile};
use crate::worker::peers::Peer;
use crate::worker::process::LaunchOptions;

/// Counts that differ by less than this share are a tie.
const TIE_MARGIN: f64 = 0.005;

/// Handshakes in a slice. AWS-LC, BoringSSL and OpenSSL renew an RSA key's blinding after 32 uses,
/// so each slice contains one renewal.
const HANDSHAKES: u64 = 32;

/// Handshakes in a slice without public-key operations. More handshakes are needed to average
/// occasional work of the allocator.
const SHORT_HANDSHAKES: u64 = 256;

/// Writes of 1 MiB in a slice. Their counts hardly differ.
const WRITES: u64 = 2;

/// The number of counted slices.
const SLICES: usize = 4;

/// The number of repetitions of a row under callgrind.
pub(crate) fn times(row: &Row) -> Repetitions {
    let short = row.version == Version::Tls12 && row.resumption.is_some();
    let repetitions = match row.write_size {
        0 if short => SHORT_HANDSHAKES,
        0 => HANDSHAKES,
        _ => WRITES,
    };
    Repetitions { repetitions, slices: SLICES }
}

/// The count per repetition of each slice, by side.
type Slices = BTreeMap<String, Vec<f64>>;

/// Counts the instructions of a row.
pub(crate) fn measure(
    row: &Row,
    peers: &[Peer],
    launch: &LaunchOptions,
    files: &Path,
) -> RowReport {
    let start = Instant::now();
    let (mut failures, mut unable) = (BTreeMap::new(), BTreeMap::new());
    let (mut series, mut done) = (Vec::new(), BTreeMap::new());
    let outcomes = match callgrind::available() {
        Ok(()) => each_at_once(peers, cpus(), |peer| {
            callgrind::count(peer, row, files, launch, times(row))
                .and_then(|turn| slices(row, turn))
        }),
        Err(why) => peers.iter().map(|_| Ok(PeerOutcome::Cannot(why.clone()))).collect(),
    };
    for (peer, outcome) in peers.iter().zip(outcomes) {
        let name = peer.name.clone();
        match outcome {
            Ok(PeerOutcome::Counted(slices, what)) => {
                done.insert(name, what);
                series.push((peer, slices));
            }
            Ok(PeerOutcome::Cannot(why)) => _ = unable.insert(name, why),
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

/// The outcome for a peer.
enum PeerOutcome {
    Counted(Slices, BTreeMap<String, String>),
    Cannot(String),
}

#[allow(clippy::cast_precision_loss)]
fn slices(row: &Row, turn: CountOutcome) -> Result<PeerOutcome> {
    let counted = match turn {
        CountOutcome::Counted(counted) => counted,
        CountOutcome::Cannot(why) => return Ok(PeerOutcome::Cannot(why)),
    };
    let mut slices = Slices::new();
    for text in &counted.slices {
        let costs = callgrind::costs(text)?;
        for side in row.sides() {
            let of_side = costs.iter().filter(|cost| cost.side == side);
            let sum: u64 = of_side.map(|cost| cost.instructions).sum();
            ensure!(
                sum > 0,
                "no instructions counted for side {side:?}; does the worker have symbols?"
            );
            slices.entry(side).or_default().push(sum as f64 / counted.repetitions as f64);
        }
    }
    Ok(PeerOutcome::Counted(slices, counted.done))
}

/// Compares the counts of one side with the lowest other count and with the floor.
fn judge(side: String, series: &[(&Peer, Slices)]) -> SideReport {
    let counts: Vec<&[f64]> = series.iter().map(|(_, slices)| slices[&side].as_slice()).collect();
    let floor = series.iter().position(|(peer, _)| peer.floor);
    let peers = series.iter().enumerate().map(|(own, (peer, _))| {
        let others = (0..series.len()).filter(|&other| other != own && !series[other].0.floor);
        let best = others.min_by(|&a, &b| mean(counts[a]).total_cmp(&mean(counts[b])));
        let speed = best.filter(|_| !peer.floor).map(|best| {
            let interval = ratio(counts[best], counts[own]);
            SpeedRatio {
                against: series[best].0.name.clone(),
                interval,
                verdict: verdict(&interval),
            }
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

/// The ratio of mean counts. The bounds are the extreme ratios of any two slices.
fn ratio(numerator: &[f64], denominator: &[f64]) -> ConfidenceInterval {
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    ConfidenceInterval {
        ratio: mean(numerator) / mean(denominator),
        low: least(numerator) / most(denominator),
        high: most(numerator) / least(denominator),
        rounds: numerator.len().min(denominator.len()),
    }
}

/// The verdict. An interval that crosses a bound of the tie range is undecided.
fn verdict(interval: &ConfidenceInterval) -> Verdict {
    let (least, most) = (1.0 - TIE_MARGIN, 1.0 + TIE_MARGIN);
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
        // The difference is larger than the spread of the slices, so there is a verdict.
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
}
