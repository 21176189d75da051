//! How far a run is, for those who wait.
//!
//! Must not know: what is measured. Next: `run.rs`.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lab_scenario::Row;

use crate::report::{RowReport, Settings};
use crate::table;

/// The bar and the time left; lines where there is no terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    row_seconds: f64,
    start: Instant,
    measured: Cell<u32>,
}

impl Progress {
    pub(crate) fn new(rows: &[Row], settings: &Settings) -> Self {
        let bar = bar(rows.len());
        let measured = Cell::new(0);
        Self { bar, row_seconds: settings.row_seconds, start: Instant::now(), measured }
    }

    pub(crate) fn begin(&self, row: &Row) {
        self.bar.set_prefix(row.id.clone());
        self.round(0);
    }

    pub(crate) fn round(&self, rounds: usize) {
        self.bar.set_message(format!(
            "{}, round {}, at most {} left",
            self.bar.prefix(),
            rounds + 1,
            minutes(self.left())
        ));
    }

    /// As long for each row as the rows so far took, and before there is one, the most it can take.
    fn left(&self) -> f64 {
        let measured = f64::from(self.measured.get());
        let each = if measured > 0.0 {
            self.start.elapsed().as_secs_f64() / measured
        } else {
            self.row_seconds
        };
        let rows = self.bar.length().unwrap_or_default().saturating_sub(self.bar.position());
        each * f64::from(u32::try_from(rows).unwrap_or(u32::MAX))
    }

    pub(crate) fn end(&self, row: &RowReport) {
        self.measured.set(self.measured.get() + 1);
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

/// A bar of so many steps.
fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// The same for steps that are all of about the same length.
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

fn minutes(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}
