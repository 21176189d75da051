//! How long rows may take: the same for each, or their share of the time that the whole run has.
//!
//! Must not know: what was measured. Next: `rounds.rs`, which ends a row; `progress.rs`, which tells how
//! much is left.

use std::time::Duration;

use lab_scenario::{Row, Task};

use crate::report::Settings;
use crate::statistics::FEWEST;

/// Latency is measured so many times as long as other things: the slow ones are few.
pub(crate) const LONGER: u64 = 4;

/// Milliseconds of a measurement, where the time of the whole run decides: less would be few repetitions,
/// more than this is better spent on rounds.
const MEASURE_MS: [f64; 2] = [40.0, 200.0];

/// What a worker takes besides its measurement, in milliseconds: to start, to get ready, to warm up.
const READY_MS: f64 = 35.0;

/// Milliseconds of a round in which its certificates are signed and written.
const DRAW_MS: f64 = 6.0;

/// Milliseconds of a connection that is opened, or made and kept, in memory rows.
const CONNECTION_MS: f64 = 0.35;

/// Peers whose memory is counted at once, which takes nothing from the counts. More would want much memory: a pair of
/// connections takes up to a quarter of a MiB, and there are thousands.
const COUNTED_AT_ONCE: usize = 2;

/// Seconds of a processor that a peer takes to be counted under callgrind.
const COUNTING: f64 = 4.5;

/// The part of a whole run's time that goes into the fewest rounds; the rest is for rows that need more.
const IN_FEWEST: f64 = 0.9;

/// What each row may take.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Seconds that the fewest rounds of each row take, about.
    costs: Vec<f64>,
    /// Seconds of the whole run, if it was asked for so many.
    whole: Option<f64>,
    row_seconds: f64,
}

impl Plan {
    pub(crate) fn new(rows: &[Row], settings: &Settings, peers: usize) -> Self {
        let cost = |row: &Row| cost(row, settings, as_float(peers));
        Self {
            costs: rows.iter().map(cost).collect(),
            whole: settings.minutes.map(|minutes| 60.0 * minutes),
            row_seconds: settings.row_seconds,
        }
    }

    /// How long the row at this place may take, when the run has taken so many seconds.
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

    /// Seconds that are left before the row at this place, about: rows so far took `spent`.
    pub(crate) fn left(&self, index: usize, spent: f64) -> f64 {
        let done: f64 = self.costs.iter().take(index).sum();
        let left: f64 = self.costs.iter().skip(index).sum();
        // Rows take what they are thought to until some have shown how much longer they take.
        let pace = if done > 0.0 { spent / done } else { 1.0 };
        let expected = pace * left;
        self.whole.map_or(expected, |whole| expected.min((whole - spent).max(left)))
    }

    /// Seconds that no row can be cut below, all rows together.
    pub(crate) fn least(&self) -> f64 {
        self.costs.iter().sum()
    }
}

/// The fewest rounds of a row. Bytes and requests for memory are counted and come out the same each time.
pub(crate) fn fewest(row: &Row, settings: &Settings) -> usize {
    match row.task {
        Task::Memory => settings.rounds.min(FEWEST),
        _ => settings.rounds,
    }
}

/// How many peers do their turn at the same time. Where time is measured they would disturb each other.
pub(crate) fn at_once(row: &Row) -> usize {
    match row.task {
        Task::Memory => COUNTED_AT_ONCE,
        _ => 1,
    }
}

/// Milliseconds that a worker is asked to measure for.
pub(crate) fn milliseconds(row: &Row, settings: &Settings) -> u64 {
    match row.task {
        Task::Latency => settings.measure_ms * LONGER,
        _ => settings.measure_ms,
    }
}

/// Settings with the lengths that follow from the time of the whole run, if it was asked for that.
pub(crate) fn fitted(settings: &Settings, rows: &[Row], peers: usize) -> Settings {
    let Some(minutes) = settings.minutes else { return settings.clone() };
    let fitted = |measure_ms: u64| Settings { measure_ms, ..settings.clone() };
    // Costs grow with the length in a straight line.
    let least = |measure_ms| Plan::new(rows, &fitted(measure_ms), peers).least();
    let (without, with_one) = (least(0), least(1));
    let wanted = (IN_FEWEST * 60.0 * minutes - without) / (with_one - without).max(1e-9);
    let [low, high] = MEASURE_MS;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let measure_ms = wanted.clamp(low, high) as u64;
    Settings { row_seconds: 60.0 * minutes / as_float(rows.len().max(1)), ..fitted(measure_ms) }
}

/// Seconds of the fewest rounds of a row, about.
#[allow(clippy::cast_precision_loss)]
fn cost(row: &Row, settings: &Settings, peers: f64) -> f64 {
    if row.task == Task::Instructions {
        return COUNTING * peers / as_float(settings.cpus.max(1));
    }
    let measuring = match row.task {
        Task::Memory => {
            let last_two = row.connections.iter().rev().take(2);
            last_two.map(|count| CONNECTION_MS * as_float(*count)).sum()
        }
        _ => milliseconds(row, settings) as f64 * as_float(row.threads.len().max(1)),
    };
    let turns = peers / as_float(at_once(row).min(settings.cpus.max(1)));
    as_float(fewest(row, settings)) * (DRAW_MS + turns * (READY_MS + measuring)) / 1000.0
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
        crate::fit::fit(&mut all, &settings(None));
        let of = |minutes, peers| {
            let fitted = fitted(&settings(Some(minutes)), &all, peers);
            (fitted.measure_ms, Plan::new(&all, &fitted, peers).least() / 60.0)
        };
        let (length, least) = of(40.0, 9);
        assert!((40..200).contains(&length) && (34.0..38.0).contains(&least), "{length} {least}");
        // Much time is spent on more rounds, too little time is exceeded.
        assert_eq!(of(600.0, 9).0, 200);
        let (length, least) = of(5.0, 9);
        assert!(length == 40 && least > 5.0, "{length} {least}");
        assert_eq!(fitted(&settings(None), &all, 9), settings(None));
    }

    #[test]
    fn what_one_row_leaves_falls_to_the_others() {
        let same: Vec<_> = rows::all().into_iter().filter(|row| row.section == "full").collect();
        let minutes = same.len() as f64;
        let plan = Plan::new(&same, &settings(Some(minutes)), 4);
        let limit = |index, spent| plan.limit(index, spent).as_secs_f64();
        assert!((limit(0, 0.0) - 60.0).abs() < 1e-6);
        assert!((limit(1, 60.0) - 60.0).abs() < 1e-6);
        let rest = (same.len() - 1) as f64;
        assert!((limit(1, 5.0) - (60.0 + 55.0 / rest)).abs() < 1e-6);
        assert!(limit(same.len() - 1, 1e6) == 0.0);
        assert_eq!(Plan::new(&same, &settings(None), 4).limit(3, 1e6).as_secs(), 150);
    }

    #[test]
    fn the_time_left_follows_from_what_rows_have_taken() {
        let same: Vec<_> = rows::all().into_iter().filter(|row| row.section == "full").collect();
        let plan = Plan::new(&same, &settings(None), 2);
        let each = plan.least() / same.len() as f64;
        assert!((plan.left(0, 0.0) - plan.least()).abs() < 1e-6);
        // Twice as long as thought.
        let rest = (same.len() - 1) as f64;
        assert!((plan.left(1, 2.0 * each) - 2.0 * each * rest).abs() < 1e-6);
        assert_eq!(plan.left(same.len(), 1.0), 0.0);
        let hurried = Plan::new(&same, &settings(Some(0.5)), 2);
        assert!(hurried.left(1, 20.0) <= 10.0_f64.max(each * rest) + 1e-9);
    }
}
