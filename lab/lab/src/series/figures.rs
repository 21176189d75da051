//! Cells of tables: statistics over runs.
//!
//! As in the published comparison, a value is the mean over the runs, with the standard deviation
//! of the sample and the change of the mean relative to the first release.

use lab_scenario::series::{CipherUse, Job, Task};

use super::report::{NoFigure, SeriesReport};

/// The quantity of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quantity {
    /// Operations per second.
    Rate(Job, &'static str),
    /// Thousands of bytes per second, for this block size.
    Throughput(Job, usize),
    /// The rate of the second job divided by the rate of the first.
    Factor(Job, Job, &'static str),
    /// The increase of the second job's rate over the first's, in per cent.
    Gain(Job, Job, &'static str),
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Figure {
        mean: f64,
        deviation: f64,
        /// The change relative to the first release in per cent. It is absent for the first release
        /// itself, if the first release was not measured, and for quantities that are comparisons.
        change: Option<f64>,
    },
    /// The release does not support the job, or the job was not measured.
    None,
    Failed,
}

impl Quantity {
    /// The jobs from which the quantity is computed.
    pub(crate) fn jobs(&self) -> Vec<&Job> {
        match self {
            Self::Rate(job, _) | Self::Throughput(job, _) => vec![job],
            Self::Factor(one, other, _) | Self::Gain(one, other, _) => vec![one, other],
        }
    }

    /// The cell of a release. `baseline` is the first release.
    pub(crate) fn cell(&self, report: &SeriesReport, release: &str, baseline: &str) -> Cell {
        let lost =
            self.jobs().into_iter().find_map(|job| report.figure(release, job)?.lost.as_ref());
        match lost {
            Some(NoFigure::Failed(_)) => return Cell::Failed,
            Some(NoFigure::Unable(_)) => return Cell::None,
            None => {}
        }
        let values = self.values(report, release);
        let Some(own) = mean(&values) else { return Cell::None };
        let compares = matches!(self, Self::Rate(..) | Self::Throughput(..));
        let change = (compares && release != baseline)
            .then(|| mean(&self.values(report, baseline)))
            .flatten()
            .map(|first| (own / first - 1.0) * 100.0);
        Cell::Figure { mean: own, deviation: deviation(&values), change }
    }

    /// The value of each run.
    fn values(&self, report: &SeriesReport, release: &str) -> Vec<f64> {
        let times = |job: &Job, side: &str| -> Vec<f64> {
            let figure = report.figure(release, job);
            figure.and_then(|figure| figure.sides.get(side)).cloned().unwrap_or_default()
        };
        let pairs = |one: &Job, other: &Job, side: &str| -> Vec<f64> {
            times(one, side)
                .iter()
                .zip(times(other, side))
                .map(|(one, other)| one / other)
                .collect()
        };
        #[allow(clippy::cast_precision_loss)]
        match self {
            Self::Rate(job, side) => times(job, side).iter().map(|time| 1e9 / time).collect(),
            Self::Throughput(job, block) => {
                let side = lab_scenario::series::BLOCK;
                times(job, side).iter().map(|time| *block as f64 * 1e6 / time).collect()
            }
            Self::Factor(one, other, side) => pairs(one, other, side),
            Self::Gain(one, other, side) => {
                pairs(one, other, side).iter().map(|factor| (factor - 1.0) * 100.0).collect()
            }
        }
    }
}

/// The mean; `None` without values.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)]
    let count = values.len() as f64;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)
}

/// The sample standard deviation; 0 for fewer than two values.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let (Some(mean), true) = (mean(values), values.len() > 1) else { return 0.0 };
    #[allow(clippy::cast_precision_loss)]
    let freedom = (values.len() - 1) as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom).sqrt()
}

/// Encryption with AES-256-GCM.
pub(crate) fn sealing(usage: CipherUse, block: usize) -> Quantity {
    Quantity::Throughput(Job::new(Task::Cipher { usage, block }), block)
}

#[cfg(test)]
mod tests {
    use lab_scenario::Measurement;
    use lab_scenario::series::BLOCK;

    use super::*;
    use crate::machine::Machine;
    use crate::series::report::{SCHEMA, Settings};

    fn job(block: usize) -> Job {
        Job::new(Task::Digest { block })
    }

    /// A report of jobs with these nanoseconds in each run.
    fn report(figures: &[(&str, usize, &[f64])]) -> SeriesReport {
        let settings = Settings {
            runs: 3,
            measure_ms: 1,
            threads: 1,
            seed: 1,
            allocator: String::new(),
            pin: None,
            profile: String::new(),
        };
        let mut report = SeriesReport {
            schema: SCHEMA,
            started: 0,
            updated: 0,
            settings,
            machine: Machine::default(),
            releases: Vec::new(),
            others: Vec::new(),
            figures: Vec::new(),
        };
        for (release, block, times) in figures {
            for time in *times {
                let sides = [(BLOCK.to_owned(), *time)].into();
                let measured = Measurement { sides, ..Measurement::default() };
                report.add(release, &job(*block), Ok(measured));
            }
        }
        report
    }

    /// A cell's mean, deviation and change with three decimals.
    fn figure(cell: &Cell) -> [String; 3] {
        let Cell::Figure { mean, deviation, change } = cell else { panic!("{cell:?}") };
        let change = change.map_or(String::new(), |change| format!("{change:.3}"));
        [format!("{mean:.3}"), format!("{deviation:.3}"), change]
    }

    #[test]
    fn mean_deviation_and_change_of_known_runs() {
        // Rates of 2, 4 and 9 per second have the mean 5 and the variance (9 + 1 + 16) / 2.
        let report = report(&[("new", 1, &[5e8, 2.5e8, 1e9 / 9.0]), ("old", 1, &[1e8, 1e8, 1e8])]);
        let rate = Quantity::Rate(job(1), BLOCK);
        assert_eq!(figure(&rate.cell(&report, "new", "old")), ["5.000", "3.606", "-50.000"]);
        assert_eq!(figure(&rate.cell(&report, "old", "old")), ["10.000", "0.000", ""]);
        assert_eq!(figure(&rate.cell(&report, "new", "absent")), ["5.000", "3.606", ""]);
        assert_eq!(rate.cell(&report, "absent", "old"), Cell::None);
    }

    #[test]
    fn throughput_is_in_thousands_of_bytes() {
        // 8192 bytes in 4096 ns are 2 bytes per nanosecond.
        let report = report(&[("new", 8192, &[4096.0])]);
        let throughput = Quantity::Throughput(job(8192), 8192);
        assert_eq!(figure(&throughput.cell(&report, "new", "new"))[0], "2000000.000");
    }

    #[test]
    fn what_compares_does_so_within_a_run() {
        let report = report(&[("new", 1, &[100.0, 200.0]), ("new", 2, &[50.0, 50.0])]);
        let factor = Quantity::Factor(job(1), job(2), BLOCK);
        assert_eq!(figure(&factor.cell(&report, "new", "old")), ["3.000", "1.414", ""]);
        let gain = Quantity::Gain(job(1), job(2), BLOCK);
        assert_eq!(figure(&gain.cell(&report, "new", "old")), ["200.000", "141.421", ""]);
    }

    #[test]
    fn what_is_lost_is_no_figure() {
        let mut report = report(&[("new", 1, &[100.0])]);
        report.add("new", &job(1), Err(NoFigure::Failed("it crashed".to_owned())));
        report.add("new", &job(2), Err(NoFigure::Unable("it has none".to_owned())));
        let rate = |block| Quantity::Rate(job(block), BLOCK).cell(&report, "new", "new");
        assert_eq!((rate(1), rate(2)), (Cell::Failed, Cell::None));
    }
}
