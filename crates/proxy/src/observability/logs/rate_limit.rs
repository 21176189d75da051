//! A rate limit of log lines.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A rate limit that admits the first events of each second and counts the suppressed ones.
///
/// Each worker has its own limits, so no cache line is contended. The
/// number of suppressed events is returned with the first event of a later second, or by
/// [`LogRateLimit::take_suppressed`].
#[derive(Debug)]
pub struct LogRateLimit {
    per_second: u32,
    start: Instant,
    /// The current second since `start` (high half), and the events in that second (low half).
    window: AtomicU64,
    suppressed: AtomicU64,
}

impl LogRateLimit {
    /// Admits `per_second` events per second.
    #[must_use]
    pub fn new(per_second: u32) -> Self {
        Self::starting(per_second, Instant::now())
    }

    fn starting(per_second: u32, start: Instant) -> Self {
        Self { per_second, start, window: AtomicU64::new(0), suppressed: AtomicU64::new(0) }
    }

    /// Admits or suppresses an event. Returns the number of events suppressed since the last
    /// admitted event, or `None` if this event is suppressed.
    #[must_use]
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let second = self.second(now);
        let next = |window: u64| {
            let (of, seen) = (window >> 32, window & COUNT);
            let seen = if of == second { seen.saturating_add(1).min(COUNT) } else { 1 };
            Some((second << 32) | seen)
        };
        let before = self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        // The closure always returns `Some`, so the previous value is returned in both cases.
        let before = before.unwrap_or_else(|before| before);
        let seen = if before >> 32 == second { before & COUNT } else { 0 };
        if seen < u64::from(self.per_second) {
            return Some(self.suppressed.swap(0, Ordering::Relaxed));
        }
        self.suppressed.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Returns the number of events that were suppressed in past seconds, if any, and resets it. A
    /// caller can thus log the number even if no further event occurs.
    #[must_use]
    pub fn take_suppressed(&self, now: Instant) -> Option<u64> {
        if self.window.load(Ordering::Relaxed) >> 32 == self.second(now) {
            return None;
        }
        Some(self.suppressed.swap(0, Ordering::Relaxed)).filter(|suppressed| *suppressed > 0)
    }

    /// The second of `now` since `start`, truncated to 32 bits, which wrap around after 136 years.
    fn second(&self, now: Instant) -> u64 {
        now.checked_duration_since(self.start).unwrap_or(Duration::ZERO).as_secs() & COUNT
    }
}

const COUNT: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_events_of_a_second_are_counted() {
        let start = Instant::now();
        let limit = LogRateLimit::starting(3, start);
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let admitted: Vec<_> = (0..10).map(|each| limit.admit(at(each))).collect();
        assert_eq!(admitted.iter().flatten().count(), 3);
        assert_eq!(limit.take_suppressed(at(999)), None, "the second is not over");
        assert_eq!(limit.admit(at(1000)), Some(7));
        assert_eq!(limit.admit(at(1001)), Some(0));
        assert_eq!(limit.take_suppressed(at(2000)), None, "nothing was left out since");
    }

    #[test]
    fn suppressed_count_is_reported_after_the_flood() {
        let start = Instant::now();
        let limit = LogRateLimit::starting(1, start);
        for _ in 0..1000 {
            let _ = limit.admit(start);
        }
        let later = start + Duration::from_secs(5);
        assert_eq!(limit.take_suppressed(later), Some(999));
        assert_eq!(limit.take_suppressed(later), None);
        assert_eq!(limit.admit(later), Some(0));
    }

    #[test]
    fn limit_of_zero_admits_nothing() {
        let limit = LogRateLimit::new(0);
        assert_eq!(limit.admit(Instant::now()), None);
    }

    #[test]
    fn rate_limit_is_shared_between_threads() {
        let start = Instant::now();
        let limit = LogRateLimit::starting(10, start);
        let admitted: usize = std::thread::scope(|scope| {
            let each = || (0..1000).filter_map(|_| limit.admit(start)).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(each)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(admitted, 10);
        assert_eq!(limit.take_suppressed(start + Duration::from_secs(1)), Some(3990));
    }
}
