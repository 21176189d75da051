//! A progress line on standard error, for terminals.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::connection::LiveCounters;
use super::options::{Mode, Options};
use crate::explain;
use crate::target::Address;

/// The progress line of one run.
pub(crate) struct Progress<'a> {
    mode: Mode,
    url: &'a Address,
    counters: &'a [Arc<LiveCounters>],
    shown: bool,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(
        options: &Options,
        url: &'a Address,
        counters: &'a [Arc<LiveCounters>],
    ) -> Self {
        Self { mode: options.mode(), url, counters, shown: io::stderr().is_terminal() }
    }

    /// Shows that sessions are being fetched and connections made, before the measurement starts.
    pub(crate) fn preparing(&self) {
        if self.shown {
            write(&format!("\r{}: preparing", self.url));
        }
    }

    /// Shows the line until the run ends, if standard error is a terminal, and removes it.
    pub(crate) fn run(&self, warm_up: Duration, counted: Duration) {
        if let Mode::Idle(asked) = self.mode {
            // This line shows that the measurement by external tools can start.
            let open = self.done();
            explain::print_line(format_args!(
                "{}: holding {open} of {asked} connections",
                self.url
            ));
        }
        if !self.shown {
            return;
        }
        let (start, all) = (Instant::now(), warm_up + counted);
        while start.elapsed() < all {
            write(&line(start.elapsed(), warm_up, counted, self.done(), self.failed()));
            thread::sleep(STEP.min(all.saturating_sub(start.elapsed())));
        }
        write("\r\x1b[K");
    }

    fn done(&self) -> u64 {
        self.counters.iter().map(|counters| counters.done.load(Ordering::Relaxed)).sum()
    }

    fn failed(&self) -> u64 {
        self.counters.iter().map(|counters| counters.failed.load(Ordering::Relaxed)).sum()
    }
}

fn line(elapsed: Duration, warm_up: Duration, counted: Duration, done: u64, failed: u64) -> String {
    let all = warm_up + counted;
    let part = (elapsed.as_secs_f64() / all.as_secs_f64()).min(1.0);
    let full = (0..WIDTH).filter(|cell| f64::from(*cell) < part * f64::from(WIDTH)).count();
    let bar: String = (0..WIDTH as usize).map(|cell| if cell < full { '#' } else { '.' }).collect();
    let left = all.saturating_sub(elapsed).as_secs_f64();
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let what = match elapsed.checked_sub(warm_up) {
        None => "warming up".to_owned(),
        Some(counting) => {
            #[allow(clippy::cast_precision_loss)]
            let rate = done as f64 / counting.as_secs_f64().max(0.001);
            format!("{done} done, {rate:.0}/s")
        }
    };
    format!("\r\x1b[K[{bar}] {left:.0} s left, {what}{failed}")
}

fn write(text: &str) {
    // Nothing can be reported if standard error is closed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

const WIDTH: u32 = 30;
const STEP: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_is_left() {
        let seconds = Duration::from_secs;
        let half = line(seconds(5), seconds(1), seconds(9), 800, 0);
        assert!(half.contains(&format!("[{}{}]", "#".repeat(15), ".".repeat(15))), "{half}");
        assert!(half.ends_with("5 s left, 800 done, 200/s"), "{half}");
        let early = line(seconds(0), seconds(1), seconds(9), 0, 3);
        assert!(early.ends_with("10 s left, warming up, 3 failed"), "{early}");
        let end = line(seconds(11), seconds(1), seconds(9), 1, 0);
        assert!(end.contains(&"#".repeat(30)) && end.contains(" 0 s left"), "{end}");
    }
}
