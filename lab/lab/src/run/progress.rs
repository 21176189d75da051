//! Progress display of a run.

use std::cell::Cell;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab_scenario::Row;

use crate::output::table;
use crate::report::RowReport;
use crate::run::plan::TimePlan;

/// A progress bar with the remaining time. Without a terminal, results are printed as lines.
pub(crate) struct Progress {
    bar: ProgressBar,
    plan: TimePlan,
    /// The estimated remaining seconds at the start of the current row.
    left: Cell<f64>,
}

impl Progress {
    pub(crate) fn new(rows: &[Row], plan: &TimePlan) -> Self {
        Self { bar: bar(rows.len()), plan: plan.clone(), left: Cell::new(0.0) }
    }

    /// Starts the row at `index`. Earlier rows took `spent` seconds.
    pub(crate) fn begin(&self, index: usize, row: &Row, spent: f64) {
        self.bar.set_prefix(row.id.clone());
        self.left.set(self.plan.left(index, spent));
        self.round(0, Duration::ZERO);
    }

    /// Starts a round, `since` after the start of the row.
    pub(crate) fn round(&self, rounds: usize, since: Duration) {
        let left = self.left.get() - since.as_secs_f64();
        self.bar.set_message(message(&self.bar.prefix(), rounds, left));
    }

    pub(crate) fn end(&self, row: &RowReport) {
        self.bar.inc(1);
        if self.bar.is_hidden() {
            eprint!("{}", table::render_row(row));
        }
    }

    pub(crate) fn skip(&self) {
        self.bar.inc(1);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A progress bar.
fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A progress bar for steps of about equal length.
pub(crate) struct Steps(ProgressBar);

impl Steps {
    pub(crate) fn new(count: usize) -> Self {
        Self(bar(count))
    }

    pub(crate) fn begin(&self, what: &str) {
        let left = minutes(self.0.eta().as_secs_f64());
        self.0.set_message(format!("{what}, about {left} left"));
        if self.0.is_hidden() {
            eprintln!("{what}");
        }
    }

    pub(crate) fn end(&self) {
        self.0.inc(1);
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn message(row: &str, rounds: usize, left: f64) -> String {
    format!("{row}, round {}, about {} left", rounds + 1, minutes(left))
}

/// A duration as text, at least one second.
pub(crate) fn minutes(seconds: f64) -> String {
    let seconds = seconds.max(1.0);
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_what_is_measured_and_how_long_the_run_will_take() {
        assert_eq!(message("full-13", 2, 754.0), "full-13, round 3, about 13 min left");
        assert_eq!(message("full-13", 0, 61.0), "full-13, round 1, about 61 s left");
        assert_eq!(message("full-13", 40, -5.0), "full-13, round 41, about 1 s left");
    }
}
