//! A stopwatch that adds up spans by part.
//!
//! Reading the clock twice takes about 40 ns, half of which is inside the span. Libraries differ in
//! the number of spans of a handshake, so this time is measured at the start and subtracted for
//! each span. Some libraries move bytes in callbacks during their work. [`untimed`] excludes these
//! callbacks from the span, because they stand for system calls.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::spans::{self, Span};

thread_local! {
    /// The time that [`untimed`] excluded since the current span of this thread started.
    static EXCLUDED: Cell<Part> = const { Cell::new(Part { total: Duration::ZERO, spans: 0 }) };
}

/// Excludes `action` from the current span. This is for libraries that move bytes from or to the
/// transport in callbacks.
///
/// The call reads the clock, so work of less than about 50 ns should not be excluded.
pub fn untimed<T>(action: impl FnOnce() -> T) -> T {
    if spans::is_counting() {
        return spans::untimed(action);
    }
    let start = Instant::now();
    let result = action();
    let taken = start.elapsed();
    let mut out = EXCLUDED.get();
    out.total += taken;
    out.spans += 1;
    EXCLUDED.set(out);
    result
}

/// The way in which the clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time to read the clock is subtracted.
    Corrected,
    /// The time to read the clock is included.
    AsRead,
    /// As [`Self::AsRead`], but times are whole microseconds.
    Microseconds,
}

/// A stopwatch for `PARTS` parts.
#[derive(Clone)]
pub struct Meter<const PARTS: usize> {
    parts: [Part; PARTS],
    spans: [Span; PARTS],
    /// The time to read the clock, which is subtracted for each span.
    clock: Duration,
    /// The time from which microseconds are counted.
    epoch: Option<Instant>,
    start: Instant,
}

#[derive(Clone, Copy, Default)]
struct Part {
    total: Duration,
    spans: u32,
}

impl<const PARTS: usize> Meter<PARTS> {
    /// A stopwatch that subtracts the time to read the clock.
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self::with_clock(Clock::Corrected)
    }

    /// Sets the spans to which the instructions of each part are attributed.
    #[must_use]
    pub fn with_spans(self, spans: [Span; PARTS]) -> Self {
        Self { spans, ..self }
    }

    pub(crate) fn with_clock(clock: Clock) -> Self {
        let now = now();
        Self {
            parts: [Part::default(); PARTS],
            spans: [Span::Unattributed; PARTS],
            clock: if clock == Clock::Corrected { cost_of_clock() } else { Duration::ZERO },
            epoch: (clock == Clock::Microseconds).then_some(now),
            start: now,
        }
    }

    /// Resets all parts.
    pub fn reset(&mut self) {
        self.parts = [Part::default(); PARTS];
    }

    /// Times `action` as a span of part `PART`.
    pub fn time<const PART: usize, T>(&mut self, action: impl FnOnce() -> T) -> T {
        if spans::is_counting() {
            return self.spans[PART].run(action);
        }
        self.start();
        let result = action();
        self.stop(PART);
        result
    }

    /// Starts a span.
    pub(crate) fn start(&mut self) {
        EXCLUDED.set(Part::default());
        self.start = now();
    }

    /// Ends the span and adds it to this part.
    pub(crate) fn stop(&mut self, part: usize) {
        let end = now();
        let taken = match self.epoch {
            None => end - self.start,
            Some(epoch) => whole(end - epoch).saturating_sub(whole(self.start - epoch)),
        };
        let out = EXCLUDED.get();
        let part = &mut self.parts[part];
        part.total += taken.saturating_sub(out.total);
        // Two clock readings surround the excluded work. Half of their time counts as that work,
        // the other half as the span.
        part.spans += 1 + out.spans;
    }

    /// Nanoseconds of a part per repetition, without the time to read the clock.
    #[allow(clippy::cast_precision_loss)]
    #[must_use]
    pub fn nanoseconds(&self, part: usize, repetitions: u64) -> f64 {
        let part = self.parts[part];
        let net = part.total.saturating_sub(self.clock * part.spans);
        net.as_nanos() as f64 / repetitions.max(1) as f64
    }
}

#[cfg(not(test))]
fn now() -> Instant {
    Instant::now()
}

/// The current time, plus the time that a test has added.
#[cfg(test)]
fn now() -> Instant {
    Instant::now() + tests::PASSED.get()
}

/// A duration truncated to microseconds.
fn whole(time: Duration) -> Duration {
    Duration::new(time.as_secs(), time.subsec_micros() * 1000)
}

/// The apparent duration of an empty span: the lowest mean of several batches.
fn cost_of_clock() -> Duration {
    const SPANS: u32 = 1000;
    let batch = || -> Duration { (0..SPANS).map(|_| Instant::now().elapsed()).sum() };
    (0..9).map(|_| batch()).min().unwrap_or_default() / SPANS
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    thread_local! {
        pub(super) static PASSED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// Adds time to the spans of this thread without waiting.
    pub(crate) fn pass(time: Duration) {
        PASSED.set(PASSED.get() + time);
    }

    #[test]
    fn what_is_untimed_is_taken_out_of_its_own_span_only() {
        let mut meter = Meter::<1>::new();
        let pause = |ms| std::thread::sleep(Duration::from_millis(ms));
        untimed(|| pause(20));
        meter.time::<0, _>(|| pause(10));
        assert!(meter.nanoseconds(0, 1) >= 9.9e6);
        meter.reset();
        meter.time::<0, _>(|| (0..4).for_each(|_| untimed(|| pause(20))));
        assert!(meter.nanoseconds(0, 1) < 60e6, "{}", meter.nanoseconds(0, 1));
    }

    #[test]
    fn a_coarse_clock_counts_whole_microseconds_and_is_right_on_average() {
        let mut meter = Meter::<1>::with_clock(Clock::Microseconds);
        let mut sum = Duration::ZERO;
        for _ in 0..2000 {
            meter.start();
            let start = Instant::now();
            while start.elapsed() < Duration::from_nanos(2500) {}
            sum += start.elapsed();
            meter.stop(0);
            assert_eq!(meter.parts[0].total.subsec_nanos() % 1000, 0);
        }
        let ratio = meter.nanoseconds(0, 1) / sum.as_nanos() as f64;
        assert!((0.9..1.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn spans_add_up_by_part() {
        let mut meter = Meter::<2>::new();
        meter.time::<1, _>(|| std::thread::sleep(Duration::from_millis(5)));
        meter.time::<1, _>(|| std::thread::sleep(Duration::from_millis(5)));
        assert!(meter.nanoseconds(1, 2) >= 4.9e6);
        assert!(meter.nanoseconds(0, 2) == 0.0);
        meter.reset();
        assert!(meter.nanoseconds(1, 1) == 0.0);
    }
}
