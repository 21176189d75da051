//! The start times of a connection's iterations: at once, or at fixed times.

use std::time::{Duration, Instant};

use super::statistics::Statistics;

/// The start times of one connection.
#[derive(Debug)]
pub(crate) struct Schedule {
    due: Instant,
    /// The interval; `None` if iterations start at once.
    every: Option<Duration>,
}

impl Schedule {
    /// The schedule of connection `index` out of `connections`, which share a rate per second.
    pub(crate) fn new(start: Instant, rate: Option<f64>, index: usize, connections: usize) -> Self {
        let step = rate.map(|rate| Duration::from_secs_f64(rate.recip()));
        let times = |count: usize| {
            step.map(|step| step.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)))
        };
        Self { due: start + times(index).unwrap_or_default(), every: times(connections) }
    }

    /// Waits for the next iteration. Returns the time from which the latency of the iteration
    /// counts.
    pub(crate) async fn next(&mut self, statistics: &std::cell::RefCell<Statistics>) -> Instant {
        let now = Instant::now();
        let Some(every) = self.every else { return now };
        let due = self.due;
        self.due += every;
        if due <= now {
            // The latency includes the time for which the iteration waited for the previous one.
            return due;
        }
        tokio::time::sleep_until(due.into()).await;
        // Timers fire up to some milliseconds late. This delay does not count as the server's
        // latency.
        let started = Instant::now();
        statistics.borrow_mut().record_timer_lateness(started.saturating_duration_since(due));
        started
    }

    /// Whether start times are fixed.
    pub(crate) fn is_fixed(&self) -> bool {
        self.every.is_some()
    }

    /// The time for which each iteration that never started had waited at `end`.
    pub(crate) fn waiting(self, end: Instant) -> impl Iterator<Item = Duration> {
        let mut due = self.due;
        std::iter::from_fn(move || {
            let every = self.every?;
            let waited = end.checked_duration_since(due).filter(|waited| !waited.is_zero())?;
            due += every;
            Some(waited)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.unwrap().block_on(future)
    }

    #[test]
    fn connections_share_a_rate() {
        let start = Instant::now();
        let dues: Vec<Duration> = (0..4)
            .map(|index| Schedule::new(start, Some(100.0), index, 4))
            .inspect(|schedule| assert_eq!(schedule.every, Some(Duration::from_millis(40))))
            .map(|schedule| schedule.due - start)
            .collect();
        assert_eq!(dues, [0, 10, 20, 30].map(Duration::from_millis));
    }

    #[test]
    fn latency_counts_from_the_scheduled_time() {
        run(async {
            let statistics = RefCell::new(Statistics::new());
            let start = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
            let mut schedule = Schedule::new(start, Some(10.0), 0, 1);
            assert_eq!(schedule.next(&statistics).await, start);
            assert_eq!(schedule.next(&statistics).await, start + Duration::from_millis(100));
            assert!(statistics.borrow().timer_lateness.is_empty());
        });
    }

    #[test]
    fn a_late_timer_is_not_part_of_the_latency() {
        run(async {
            let statistics = RefCell::new(Statistics::new());
            let due = Instant::now() + Duration::from_millis(30);
            let started = Schedule::new(due, Some(1.0), 0, 1).next(&statistics).await;
            assert!(started >= due);
            assert_eq!(statistics.borrow().timer_lateness.len(), 1);
        });
    }

    #[test]
    fn without_a_rate_iterations_start_at_once() {
        run(async {
            let statistics = RefCell::new(Statistics::new());
            let before = Instant::now();
            let mut schedule = Schedule::new(before, None, 3, 4);
            assert!(schedule.next(&statistics).await >= before && !schedule.is_fixed());
            assert_eq!(schedule.waiting(before + Duration::from_secs(9)).count(), 0);
        });
    }

    #[test]
    fn iterations_that_never_started_have_waited() {
        let start = Instant::now();
        let schedule = Schedule::new(start, Some(10.0), 0, 1);
        let waited: Vec<Duration> = schedule.waiting(start + Duration::from_millis(250)).collect();
        assert_eq!(waited, [250, 150, 50].map(Duration::from_millis));
    }
}
