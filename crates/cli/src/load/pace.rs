//! When a connection begins its next turn: at once, or at moments that were fixed beforehand.
//!
//! Must not know: what is done. Next: [`super::slot`].

use std::time::{Duration, Instant};

use super::tally::Tally;

/// The moments of one connection.
#[derive(Debug)]
pub(crate) struct Pace {
    due: Instant,
    /// From one to the next; without it there are no moments.
    every: Option<Duration>,
}

impl Pace {
    /// The share of connection `index` out of `connections` in a rate of so many a second.
    pub(crate) fn new(start: Instant, rate: Option<f64>, index: usize, connections: usize) -> Self {
        let step = rate.map(|rate| Duration::from_secs_f64(rate.recip()));
        let times = |count: usize| {
            step.map(|step| step.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)))
        };
        Self { due: start + times(index).unwrap_or_default(), every: times(connections) }
    }

    /// Waits for the next turn; the moment from which its time counts.
    pub(crate) async fn next(&mut self, tally: &std::cell::RefCell<Tally>) -> Instant {
        let now = Instant::now();
        let Some(every) = self.every else { return now };
        let due = self.due;
        self.due += every;
        if due <= now {
            // The turn had to wait for the one before it, and that is part of its time.
            return due;
        }
        tokio::time::sleep_until(due.into()).await;
        // Timers come late, by up to a millisecond and more; that is no fault of the server.
        let begun = Instant::now();
        tally.borrow_mut().late(begun.saturating_duration_since(due));
        begun
    }

    /// Whether moments are fixed.
    pub(crate) fn is_fixed(&self) -> bool {
        self.every.is_some()
    }

    /// How long each turn that never began had waited at the end.
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
            .map(|index| Pace::new(start, Some(100.0), index, 4))
            .inspect(|pace| assert_eq!(pace.every, Some(Duration::from_millis(40))))
            .map(|pace| pace.due - start)
            .collect();
        assert_eq!(dues, [0, 10, 20, 30].map(Duration::from_millis));
    }

    #[test]
    fn who_comes_late_has_waited_since_the_turn_was_due() {
        run(async {
            let tally = RefCell::new(Tally::new());
            let start = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
            let mut pace = Pace::new(start, Some(10.0), 0, 1);
            assert_eq!(pace.next(&tally).await, start);
            assert_eq!(pace.next(&tally).await, start + Duration::from_millis(100));
            assert!(tally.borrow().lateness.is_empty());
        });
    }

    #[test]
    fn who_is_early_waits_and_does_not_pay_for_a_late_timer() {
        run(async {
            let tally = RefCell::new(Tally::new());
            let due = Instant::now() + Duration::from_millis(30);
            let begun = Pace::new(due, Some(1.0), 0, 1).next(&tally).await;
            assert!(begun >= due);
            assert_eq!(tally.borrow().lateness.len(), 1);
        });
    }

    #[test]
    fn without_a_rate_the_next_turn_is_now() {
        run(async {
            let tally = RefCell::new(Tally::new());
            let before = Instant::now();
            let mut pace = Pace::new(before, None, 3, 4);
            assert!(pace.next(&tally).await >= before && !pace.is_fixed());
            assert_eq!(pace.waiting(before + Duration::from_secs(9)).count(), 0);
        });
    }

    #[test]
    fn turns_that_never_began_have_waited() {
        let start = Instant::now();
        let pace = Pace::new(start, Some(10.0), 0, 1);
        let waited: Vec<Duration> = pace.waiting(start + Duration::from_millis(250)).collect();
        assert_eq!(waited, [250, 150, 50].map(Duration::from_millis));
    }
}
