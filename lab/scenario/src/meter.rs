//! A stopwatch that adds up spans by part.
//!
//! Reading the clock twice costs some 40 ns, half of which falls into the span. A handshake has few
//! spans in one library and more in another, so that cost is measured at the start and taken off each.
//! Some libraries move bytes from and to the transport by calling back from within their work; what stands
//! for a system call there is taken out of the span by [`untimed`].
//! Must not know: what a part is. Next: `spans.rs`, for repetitions that are counted and not timed.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::spans::{self, Span};

thread_local! {
    /// What [`untimed`] took out since the last span of this thread began.
    static TAKEN_OUT: Cell<Part> = const { Cell::new(Part { total: Duration::ZERO, spans: 0 }) };
}

/// Takes `action` out of the span in which it is called: moving bytes from or to the transport, for a library
/// that calls back for it.
///
/// It reads the clock, so less than some 50 ns of work is better left in.
pub fn untimed<T>(action: impl FnOnce() -> T) -> T {
    if spans::are_counted() {
        return spans::untimed(action);
    }
    let start = Instant::now();
    let result = action();
    let taken = start.elapsed();
    let mut out = TAKEN_OUT.get();
    out.total += taken;
    out.spans += 1;
    TAKEN_OUT.set(out);
    result
}

/// How the clock is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Without what reading it costs.
    Corrected,
    /// With it.
    AsRead,
    /// With it, and by whole microseconds.
    Microseconds,
}

/// Adds up the time of `PARTS` parts.
#[derive(Clone)]
pub struct Meter<const PARTS: usize> {
    parts: [Part; PARTS],
    spans: [Span; PARTS],
    /// What is taken off each span.
    clock: Duration,
    /// Where microseconds are counted from.
    epoch: Option<Instant>,
    start: Instant,
}

#[derive(Clone, Copy, Default)]
struct Part {
    total: Duration,
    spans: u32,
}

impl<const PARTS: usize> Meter<PARTS> {
    /// A stopwatch that knows what reading the clock costs.
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self::with_clock(Clock::Corrected)
    }

    /// Says whose the instructions of each part are, where these are counted.
    #[must_use]
    pub fn counted_as(self, spans: [Span; PARTS]) -> Self {
        Self { spans, ..self }
    }

    pub(crate) fn with_clock(clock: Clock) -> Self {
        let now = now();
        Self {
            parts: [Part::default(); PARTS],
            spans: [Span::Nobody; PARTS],
            clock: if clock == Clock::Corrected { cost_of_clock() } else { Duration::ZERO },
            epoch: (clock == Clock::Microseconds).then_some(now),
            start: now,
        }
    }

    /// Forgets what was measured.
    pub fn reset(&mut self) {
        self.parts = [Part::default(); PARTS];
    }

    /// Times `action` as a span of part `PART`.
    pub fn time<const PART: usize, T>(&mut self, action: impl FnOnce() -> T) -> T {
        if spans::are_counted() {
            return self.spans[PART].run(action);
        }
        self.start();
        let result = action();
        self.stop(PART);
        result
    }

    /// A span begins.
    pub(crate) fn start(&mut self) {
        TAKEN_OUT.set(Part::default());
        self.start = now();
    }

    /// The span ends, and is added to this part.
    pub(crate) fn stop(&mut self, part: usize) {
        let end = now();
        let taken = match self.epoch {
            None => end - self.start,
            Some(epoch) => whole(end - epoch).saturating_sub(whole(self.start - epoch)),
        };
        let out = TAKEN_OUT.get();
        let part = &mut self.parts[part];
        part.total += taken.saturating_sub(out.total);
        // Of the two readings around what is taken out, it holds one half; the span still holds the other.
        part.spans += 1 + out.spans;
    }

    /// Nanoseconds of a part, for one of so many repetitions, without the clock's own.
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

/// Later than it is by what a test has let pass.
#[cfg(test)]
fn now() -> Instant {
    Instant::now() + tests::PASSED.get()
}

/// A time without what is less than a microsecond.
fn whole(time: Duration) -> Duration {
    Duration::new(time.as_secs(), time.subsec_micros() * 1000)
}

/// What an empty span seems to last: the least average of several batches.
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

    /// Lets time pass for spans of this thread, without waiting.
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
