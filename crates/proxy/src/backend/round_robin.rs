//! Round-robin load balancing with backoff after failed connections.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use tokio::time::Instant;

/// The order of a route's backends, for one worker thread.
#[derive(Debug)]
pub(crate) struct RoundRobin {
    next: Cell<usize>,
    failures: Vec<Failures>,
}

/// Connection failures of one backend.
#[derive(Debug, Default)]
struct Failures {
    paused_until: Cell<Option<Instant>>,
    consecutive: Cell<u32>,
}

/// Backoff after the first failure. It doubles with each further failure, up to `LONGEST_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl RoundRobin {
    pub(crate) fn new(backends: usize) -> Self {
        let failures = (0..backends).map(|_| Failures::default()).collect();
        // The first backend is random, so that workers do not all start with the same backend.
        let any = usize::try_from(RandomState::new().hash_one(()) >> 33).unwrap_or(0);
        Self { next: Cell::new(any.checked_rem(backends).unwrap_or(0)), failures }
    }

    /// All backends in the order in which to try them: round robin, but backends in backoff come
    /// last.
    pub(crate) fn order(&self) -> Vec<usize> {
        let count = self.failures.len();
        let first = self.next.get();
        let next = first.saturating_add(1);
        self.next.set(if next < count { next } else { 0 });
        let now = Instant::now();
        let paused = |index: &usize| {
            self.failures
                .get(*index)
                .and_then(|failures| failures.paused_until.get())
                .is_some_and(|paused_until| paused_until > now)
        };
        let turn = (first..count).chain(0..first.min(count));
        let (last, mut order): (Vec<_>, Vec<_>) = turn.partition(paused);
        order.extend(last);
        order
    }

    pub(crate) fn mark_failed(&self, index: usize) {
        let Some(failures) = self.failures.get(index) else { return };
        let before = failures.consecutive.get();
        let pause = FIRST_PAUSE.saturating_mul(1 << before.min(10)).min(LONGEST_PAUSE);
        failures.consecutive.set(before.saturating_add(1));
        failures.paused_until.set(Instant::now().checked_add(pause));
    }

    pub(crate) fn mark_reachable(&self, index: usize) {
        if let Some(failures) = self.failures.get(index) {
            failures.consecutive.set(0);
            failures.paused_until.set(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_chosen_round_robin() {
        let round_robin = RoundRobin::new(3);
        let order =
            [round_robin.order(), round_robin.order(), round_robin.order(), round_robin.order()];
        for (index, one) in order.iter().enumerate() {
            assert_eq!(one[0], (order[0][0] + index) % 3);
            let mut all = one.clone();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failed_backend_is_tried_last_during_its_backoff() {
        let round_robin = RoundRobin::new(2);
        round_robin.mark_failed(1);
        assert_eq!(round_robin.order(), [0, 1]);
        assert_eq!(round_robin.order(), [0, 1]);
        tokio::time::advance(FIRST_PAUSE).await;
        let firsts = [round_robin.order()[0], round_robin.order()[0]];
        assert!(firsts.contains(&1));
        // The backoff has doubled.
        round_robin.mark_failed(1);
        tokio::time::advance(FIRST_PAUSE).await;
        assert_eq!([round_robin.order()[0], round_robin.order()[0]], [0, 0]);
        round_robin.mark_reachable(1);
        assert!([round_robin.order()[0], round_robin.order()[0]].contains(&1));
    }

    #[test]
    fn all_backends_are_tried_when_all_have_failed() {
        let round_robin = RoundRobin::new(2);
        round_robin.mark_failed(0);
        round_robin.mark_failed(1);
        assert_eq!(round_robin.order().len(), 2);
    }
}
