//! Measurement of one row: rounds of all peers in random order until the verdicts are conclusive or
//! the time limit is reached.
//!
//! Each measurement runs in a new process and each round has new keys. So the effects of memory
//! layout and of keys vary between rounds and do not favour one peer in all of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use lab_scenario::protocol::{NO_PROGRAM, Reply, Request};
use lab_scenario::{Accounting, Distribution, Measurement, Row, Task};

use crate::instructions::rows as instructions;
use crate::machine::load::{BUSY, Watch};
use crate::machine::parallel::each_at_once;
use crate::material::KeyMaterial;
use crate::report::{Figure, RowReport, Settings, SideReport, SpeedRatio};
use crate::run::plan;
use crate::statistics::{ConfidenceInterval, median, quantile, ratio};
use crate::worker::allocations::AllocationCounter;
use crate::worker::peers::Peer;
use crate::worker::process::{LaunchOptions, WorkerProcess};
use lab_scenario::random::Random;

/// The maximum number of rounds of a row.
const MAX_ROUNDS: usize = 1000;

/// The context in which rows are measured.
pub(crate) struct RowBench<'b> {
    pub(crate) peers: &'b [Peer],
    pub(crate) launch: &'b LaunchOptions,
    pub(crate) settings: &'b Settings,
    pub(crate) material: &'b KeyMaterial,
    /// The allocation counter for memory rows; absent if it cannot be built.
    pub(crate) counter: Option<AllocationCounter>,
}

/// The outcome for a peer in one round.
enum PeerOutcome {
    Measured(Measurement),
    Cannot(String),
}

/// The rounds of a peer that has not failed.
struct PeerRounds<'b> {
    peer: &'b Peer,
    rounds: Vec<Measurement>,
}

impl RowBench<'_> {
    /// Measures a row for the minimum number of rounds, and then until every verdict is conclusive
    /// or `limit` is reached. Calls `progress` before each round with the elapsed time of the row.
    ///
    /// # Errors
    /// If key or certificate files cannot be written.
    pub(crate) fn measure(
        &self,
        row: &Row,
        limit: Duration,
        random: &mut Random,
        progress: &dyn Fn(usize, Duration),
    ) -> Result<RowReport> {
        if row.task == Task::Instructions {
            let files = self.material.make_round(row, 0)?;
            return Ok(instructions::measure(row, self.peers, self.launch, &files));
        }
        let (start, watch) = (Instant::now(), Watch::start());
        let min_rounds = plan::min_rounds(row, self.settings);
        let (mut failures, mut unable) = (BTreeMap::new(), BTreeMap::new());
        let mut series: Vec<_> =
            self.peers.iter().map(|peer| PeerRounds { peer, rounds: Vec::new() }).collect();
        let mut rounds = 0;
        let sides = loop {
            progress(rounds, start.elapsed());
            let files = self.material.make_round(row, rounds)?;
            let mut order: Vec<_> = series.iter_mut().collect();
            random.shuffle(&mut order);
            let peers: Vec<_> = order.iter().map(|each| each.peer).collect();
            let turns = each_at_once(&peers, plan::parallel_peers(row), |peer| {
                self.turn(peer, row, &files, self.material.placement(row, rounds, &peer.name))
            });
            for (each, turn) in order.into_iter().zip(turns) {
                let name = each.peer.name.clone();
                match turn {
                    Ok(PeerOutcome::Measured(measurement)) => each.rounds.push(measurement),
                    Ok(PeerOutcome::Cannot(why)) => _ = unable.insert(name, why),
                    Err(error) => _ = failures.insert(name, format!("{error:#}")),
                }
            }
            series.retain(|each| {
                let name = &each.peer.name;
                !failures.contains_key(name) && !unable.contains_key(name)
            });
            rounds += 1;
            let time_is_up = start.elapsed() >= limit || rounds == MAX_ROUNDS;
            if series.is_empty() {
                break Vec::new();
            }
            if rounds >= min_rounds {
                let sides = judge(row, &series, random);
                if time_is_up || sides.iter().all(|side| is_conclusive(side, min_rounds)) {
                    break sides;
                }
            }
        };
        let others = watch.others();
        let done = series
            .iter()
            .filter_map(|each| Some((each.peer.name.clone(), each.rounds.first()?.done.clone())));
        let distributions = series
            .iter()
            .map(|each| (each.peer.name.clone(), pooled(&each.rounds)))
            .filter(|(_, sides)| !sides.is_empty());
        Ok(RowReport {
            distributions: distributions.collect(),
            row: row.clone(),
            title: row.title(),
            rounds,
            seconds: start.elapsed().as_secs_f64(),
            others,
            noisy: others.is_some_and(|others| others > BUSY),
            sides,
            failures,
            unable,
            done: done.collect(),
        })
    }

    /// The start options for a row. Multi-threaded workers use all CPUs, and the allocation counter
    /// supports only the C library's allocator.
    fn launch_for(&self, peer: &Peer, row: &Row) -> LaunchOptions {
        let mut launch = self.launch.of(peer.about.program);
        match (row.task, &self.counter) {
            (Task::Threads | Task::Latency, _) => launch.pin = None,
            (Task::Memory, Some(counter)) => {
                launch.preload = Some(counter.library.clone());
                launch.counter_file = Some(counter.counter_file_of(&peer.name));
            }
            _ => {}
        }
        launch
    }

    fn turn(
        &self,
        peer: &Peer,
        row: &Row,
        files: &Path,
        placement: Option<u64>,
    ) -> Result<PeerOutcome> {
        if row.accounting == Accounting::Published && peer.about.program.is_none() {
            return Ok(PeerOutcome::Cannot(NO_PROGRAM.to_owned()));
        }
        let mut process = WorkerProcess::start(&peer.program, &self.launch_for(peer, row))?;
        let prepare =
            Request::Prepare { row: Box::new(row.clone()), files: files.to_owned(), placement };
        match process.request(&prepare, Duration::ZERO)? {
            Reply::Ready => {}
            Reply::Cannot { why } => return Ok(PeerOutcome::Cannot(why)),
            Reply::Failed { why } => bail!(why),
            other => bail!("unexpected reply: {other:?}"),
        }
        let milliseconds = plan::milliseconds(row, self.settings);
        let counts = u64::try_from(row.threads.len())?;
        let measure = Request::<Row>::Measure { milliseconds };
        match process.request(&measure, Duration::from_millis(milliseconds * counts))? {
            Reply::Measured(measurement) => checked(row, measurement).map(PeerOutcome::Measured),
            Reply::Failed { why } => bail!(why),
            other => bail!("unexpected reply: {other:?}"),
        }
    }
}

/// Checks that a measurement has a valid value for each judged side.
fn checked(row: &Row, measurement: Measurement) -> Result<Measurement> {
    for side in row.sides() {
        match measurement.sides.get(&side) {
            Some(time) if time.is_finite() && *time > 0.0 => {}
            other => bail!("invalid value for side {side:?}: {other:?}"),
        }
    }
    Ok(measurement)
}

fn is_conclusive(side: &SideReport, min_rounds: usize) -> bool {
    side.peers
        .iter()
        .filter_map(|figure| figure.speed.as_ref())
        .all(|speed| speed.interval.is_conclusive(min_rounds))
}

/// The results of each side, compared between peers.
fn judge(row: &Row, series: &[PeerRounds<'_>], random: &mut Random) -> Vec<SideReport> {
    let sides = row.sides().into_iter().map(|side| {
        let times: Vec<Vec<f64>> = series
            .iter()
            .map(|each| each.rounds.iter().map(|round| round.sides[&side]).collect())
            .collect();
        let floor = series.iter().position(|each| each.peer.floor);
        let peers = series.iter().zip(&times).enumerate().map(|(own, (each, rounds))| {
            let against = fastest_other(series, &times, own);
            let speed = against.map(|other| {
                let interval = ratio(&times[other], rounds, random);
                let against = series[other].peer.name.clone();
                SpeedRatio { against, interval, verdict: interval.verdict() }
            });
            let in_floors = |floor: usize| -> Option<ConfidenceInterval> {
                (floor != own).then(|| ratio(rounds, &times[floor], random))
            };
            Figure {
                peer: each.peer.name.clone(),
                nanoseconds: median(rounds),
                quartiles: [quantile(rounds, 0.25), quantile(rounds, 0.75)],
                parts: median_parts(&each.rounds),
                speed,
                floors: floor.and_then(in_floors),
                rounds: rounds.clone(),
            }
        });
        let peers = peers.collect();
        SideReport { side, peers }
    });
    sides.collect()
}

/// The other peer with the lowest median. The floor is not compared.
fn fastest_other(series: &[PeerRounds<'_>], times: &[Vec<f64>], own: usize) -> Option<usize> {
    if series[own].peer.floor {
        return None;
    }
    let others = (0..series.len()).filter(|&other| other != own && !series[other].peer.floor);
    others.min_by(|&a, &b| median(&times[a]).total_cmp(&median(&times[b])))
}

/// The combined distributions of all rounds.
fn pooled(rounds: &[Measurement]) -> BTreeMap<String, Distribution> {
    let mut pooled = BTreeMap::<_, Distribution>::new();
    for (side, part) in rounds.iter().flat_map(|round| &round.distributions) {
        pooled.entry(side.clone()).or_default().add(part);
    }
    pooled
}

fn median_parts(rounds: &[Measurement]) -> BTreeMap<String, f64> {
    let names = rounds.first().into_iter().flat_map(|round| round.parts.keys());
    let part = |name: &String| {
        let times: Vec<_> =
            rounds.iter().filter_map(|round| round.parts.get(name).copied()).collect();
        (name.clone(), median(&times))
    };
    names.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Verdict;
    use lab_scenario::{About, rows};

    fn peer(name: &str, floor: bool) -> Peer {
        Peer {
            name: name.to_owned(),
            label: name.to_owned(),
            floor,
            about: About::default(),
            program: name.into(),
        }
    }

    fn rounds(times: &[f64]) -> Vec<Measurement> {
        let measurement = |time: &f64| Measurement {
            repetitions: 1,
            sides: [("client".to_owned(), *time), ("server".to_owned(), 10.0 * time)].into(),
            ..Measurement::default()
        };
        times.iter().map(measurement).collect()
    }

    #[test]
    fn each_peer_is_held_against_the_best_other_and_the_floor_against_none() {
        let row = rows::all().into_iter().find(|row| row.section == "full").unwrap();
        let (floor, a, b, c) =
            (peer("floor", true), peer("a", false), peer("b", false), peer("c", false));
        let series = [
            PeerRounds { peer: &a, rounds: rounds(&[100.0; 9]) },
            PeerRounds { peer: &b, rounds: rounds(&[110.0; 9]) },
            PeerRounds { peer: &c, rounds: rounds(&[200.0; 9]) },
            PeerRounds { peer: &floor, rounds: rounds(&[50.0; 9]) },
        ];
        let sides = judge(&row, &series, &mut Random::new(1));
        assert_eq!(sides.len(), 2);
        let speeds: Vec<_> = sides[1].peers.iter().map(|figure| &figure.speed).collect();
        let [Some(a), Some(b), Some(c), None] = &speeds[..] else { panic!("{speeds:?}") };
        assert_eq!((a.against.as_str(), a.verdict), ("b", Verdict::Ahead));
        assert!((a.interval.ratio - 1.1).abs() < 1e-9);
        assert_eq!((b.against.as_str(), b.verdict), ("a", Verdict::Behind));
        assert_eq!((c.against.as_str(), c.verdict), ("a", Verdict::Behind));
        assert!((sides[0].peers[1].floors.unwrap().ratio - 2.2).abs() < 1e-9);
        assert!(sides[0].peers[3].floors.is_none());
        assert!(sides.iter().all(|side| is_conclusive(side, 9)));
    }

    #[test]
    fn a_side_without_a_sound_time_is_a_failure() {
        let row = rows::all().into_iter().find(|row| row.section == "full").unwrap();
        let good = rounds(&[1.0]).remove(0);
        assert!(checked(&row, good.clone()).is_ok());
        for bad in [0.0, f64::NAN, -1.0] {
            let sides = [("client".to_owned(), bad), ("server".to_owned(), 1.0)].into();
            assert!(checked(&row, Measurement { sides, ..good.clone() }).is_err());
        }
        assert!(checked(&row, Measurement { sides: BTreeMap::new(), ..good }).is_err());
    }
}
