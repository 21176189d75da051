//! The time plan of a run: time limits of rows and the estimate of the remaining time.

use std::time::Duration;

use lab_scenario::{Row, Task};

use crate::report::Settings;
use crate::statistics::MIN_ROUNDS;

/// Latency rows are measured this many times longer, because high percentiles need many samples.
pub(crate) const LATENCY_FACTOR: u64 = 4;

/// The range of measuring times with `--minutes`, in milliseconds. Shorter measurements have too
/// few repetitions. Instead of longer measurements, more rounds are made.
const MEASURE_MS: [f64; 2] = [40.0, 200.0];

/// Milliseconds that a worker needs to start, prepare and warm up.
const START_MS: f64 = 35.0;

/// Milliseconds to sign and write the certificates of a round.
const CERTIFICATES_MS: f64 = 6.0;

/// Milliseconds of a connection in memory rows.
const CONNECTION_MS: f64 = 0.35;

/// The number of peers whose memory is counted at the same time. Counts do not influence each
/// other, but thousands of pairs of connections with up to a quarter of a MiB each need much
/// memory.
const PARALLEL_MEMORY_PEERS: usize = 2;

/// CPU seconds to count one peer under callgrind.
const CALLGRIND_SECONDS: f64 = 4.5;

/// The share of the run's time for the minimum number of rounds. The rest is for rows that need
/// more rounds.
const MIN_ROUNDS_SHARE: f64 = 0.9;

/// The time plan of a run.
#[derive(Clone, Debug)]
pub(crate) struct TimePlan {
    /// The estimated duration of each row's minimum number of rounds, in seconds.
    costs: Vec<f64>,
    /// The requested duration of the run in seconds, if any.
    whole: Option<f64>,
    row_seconds: f64,
}

impl TimePlan {
    pub(crate) fn new(rows: &[Row], settings: &Settings, peers: usize) -> Self {
        let cost = |row: &Row| cost(row, settings, as_float(peers));
        Self {
            costs: rows.iter().map(cost).collect(),
            whole: settings.minutes.map(|minutes| 60.0 * minutes),
            row_seconds: settings.row_seconds,
        }
    }

    /// The time limit of a row, if the run has taken `spent` seconds so far.
    pub(crate) fn limit(&self, index: usize, spent: f64) -> Duration {
        let seconds = match self.whole {
            None => self.row_seconds,
            Some(whole) => {
                let left: f64 = self.costs.iter().skip(index).sum();
                let own = self.costs.get(index).copied().unwrap_or_default();
                (whole - spent).max(0.0) * own / left.max(f64::MIN_POSITIVE)
            }
        };
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// The estimated remaining time before a row, if earlier rows took `spent` seconds.
    pub(crate) fn left(&self, index: usize, spent: f64) -> f64 {
        let done: f64 = self.costs.iter().take(index).sum();
        let left: f64 = self.costs.iter().skip(index).sum();
        // Before the first row has ended, the estimate is not scaled.
        let pace = if done > 0.0 { spent / done } else { 1.0 };
        let expected = pace * left;
        self.whole.map_or(expected, |whole| expected.min((whole - spent).max(left)))
    }

    /// The estimated duration of the minimum number of rounds of all rows, in seconds.
    pub(crate) fn min_seconds(&self) -> f64 {
        self.costs.iter().sum()
    }
}

/// The minimum number of rounds of a row. Memory counts hardly vary, so they need fewer rounds.
pub(crate) fn min_rounds(row: &Row, settings: &Settings) -> usize {
    match row.task {
        Task::Memory => settings.rounds.min(MIN_ROUNDS),
        _ => settings.rounds,
    }
}

/// The number of peers that run at the same time: one for timed measurements, which would disturb
/// each other.
pub(crate) fn parallel_peers(row: &Row) -> usize {
    match row.task {
        Task::Memory => PARALLEL_MEMORY_PEERS,
        _ => 1,
    }
}

/// The requested measuring time in milliseconds.
pub(crate) fn milliseconds(row: &Row, settings: &Settings) -> u64 {
    match row.task {
        Task::Latency => settings.measure_ms * LATENCY_FACTOR,
        _ => settings.measure_ms,
    }
}

/// The settings with a measuring time that fits `--minutes`, if that is set.
pub(crate) fn fit_to_minutes(settings: &Settings, rows: &[Row], peers: usize) -> Settings {
    let Some(minutes) = settings.minutes else { return settings.clone() };
    let fitted = |measure_ms: u64| Settings { measure_ms, ..settings.clone() };
    // The duration is a linear function of the measuring time.
    let least = |measure_ms| TimePlan::new(rows, &fitted(measure_ms), peers).min_seconds();
    let (without, with_one) = (least(0), least(1));
    let wanted = (MIN_ROUNDS_SHARE * 60.0 * minutes - without) / (with_one - without).max(1e-9);
    let [low, high] = MEASURE_MS;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let measure_ms = wanted.clamp(low, high) as u64;
    Settings { row_seconds: 60.0 * minutes / as_float(rows.len().max(1)), ..fitted(measure_ms) }
}

/// The estimated duration of the minimum number of rounds of a row, in seconds.
#[allow(clippy::cast_precision_loss)]
fn cost(row: &Row, settings: &Settings, peers: f64) -> f64 {
    if row.task == Task::Instructions {
        return CALLGRIND_SECONDS * peers / as_float(settings.cpus.max(1));
    }
    let measuring = match row.task {
        Task::Memory => {
            let last_two = row.connections.iter().rev().take(2);
            last_two.map(|count| CONNECTION_MS * as_float(*count)).sum()
        }
        _ => milliseconds(row, settings) as f64 * as_float(row.threads.len().max(1)),
    };
    let turns = peers / as_float(parallel_peers(row).min(settings.cpus.max(1)));
    as_float(min_rounds(row, settings)) * (CERTIFICATES_MS + turns * (START_MS + measuring))
        / 1000.0
}

#[allow(clippy::cast_precision_loss)]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use lab_scenario::{Accounting, rows};

    use super::*;

    fn settings(minutes: Option<f64>) -> Settings {
        Settings {
            mode: "full".to_owned(),
            accounting: Accounting::Neutral,
            seed: 1,
            rounds: 15,
            measure_ms: 200,
            row_seconds: 150.0,
            minutes,
            allocator: String::new(),
            pin: None,
            profile: "release".to_owned(),
            cpus: 2,
            threads: vec![1, 2, 3],
            connections: rows::CONNECTIONS.to_vec(),
        }
    }

    #[test]
    fn the_fewest_rounds_of_a_full_run_fit_into_its_minutes() {
        let mut all = rows::all();
        crate::run::counts::apply(&mut all, &settings(None));
        let of = |minutes, peers| {
            let fitted = fit_to_minutes(&settings(Some(minutes)), &all, peers);
            (fitted.measure_ms, TimePlan::new(&all, &fitted, peers).min_seconds() / 60.0)
        };
        let (length, least) = of(40.0, 9);
        assert!((40..200).contains(&length) && (34.0..38.0).contains(&least), "{length} {least}");
        // If the limit is long, measurements stay at their maximum length and more rounds are made.
        // If the limit is too short, it is exceeded.
        assert_eq!(of(600.0, 9).0, 200);
        let (length, least) = of(5.0, 9);
        assert!(length == 40 && least > 5.0, "{length} {least}");
        assert_eq!(fit_to_minutes(&settings(None), &all, 9), settings(None));
    }

    #[test]
    fn what_one_row_leaves_falls_to_the_others() {
        let same: Vec<_> = rows::all().into_iter().filter(|row| row.section == "full").collect();
        let minutes = same.len() as f64;
        let plan = TimePlan::new(&same, &settings(Some(minutes)), 4);
        let limit = |index, spent| plan.limit(index, spent).as_secs_f64();
        assert!((limit(0, 0.0) - 60.0).abs() < 1e-6);
        assert!((limit(1, 60.0) - 60.0).abs() < 1e-6);
        let rest = (same.len() - 1) as f64;
        assert!((limit(1, 5.0) - (60.0 + 55.0 / rest)).abs() < 1e-6);
        assert!(limit(same.len() - 1, 1e6) == 0.0);
        assert_eq!(TimePlan::new(&same, &settings(None), 4).limit(3, 1e6).as_secs(), 150);
    }

    #[test]
    fn the_time_left_follows_from_what_rows_have_taken() {
        let same: Vec<_> = rows::all().into_iter().filter(|row| row.section == "full").collect();
        let plan = TimePlan::new(&same, &settings(None), 2);
        let each = plan.min_seconds() / same.len() as f64;
        assert!((plan.left(0, 0.0) - plan.min_seconds()).abs() < 1e-6);
        // The run takes twice as long as estimated.
        let rest = (same.len() - 1) as f64;
        assert!((plan.left(1, 2.0 * each) - 2.0 * each * rest).abs() < 1e-6);
        assert_eq!(plan.left(same.len(), 1.0), 0.0);
        let hurried = TimePlan::new(&same, &settings(Some(0.5)), 2);
        assert!(hurried.left(1, 20.0) <= 10.0_f64.max(each * rest) + 1e-9);
    }
}
