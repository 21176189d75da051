//! Coalescing of small reads from a backend into fewer records.
//!
//! A backend that serves many concurrent requests on one connection tends to write each answer
//! separately. If answers are relayed one by one, each costs a record and a wake-up on both sides;
//! and the faster the relay thread is, the fewer answers share a record. So if small reads closely
//! follow each other, an otherwise idle thread sleeps for [`WAIT`] before it polls again, and sends
//! the data that has arrived by then in one record. Data that has been read is never delayed, and
//! there is no wait when client and backend alternate.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a thread sleeps: enough for several answers, and short compared with a network round
/// trip.
const WAIT: Duration = Duration::from_micros(30);

/// The minimum time between two reads that are not coalesced.
const MAX_GAP: Duration = Duration::from_micros(100);

/// A read of this size fills a record. RFC 9846 5.1
const FULL_RECORD: u64 = 1 << 14;

/// Maximum number of waits that are skipped after waits that were useless.
const MAX_SKIPPED: u8 = 63;

thread_local! {
    static WAIT_REQUESTED: Cell<bool> = const { Cell::new(false) };
}

/// The coalescing state of one connection.
#[derive(Debug, Default)]
pub(crate) struct Coalescer {
    /// The time of the last read from the backend. `None` if that read filled a record, or if only
    /// the client has sent data after it.
    last: Option<Instant>,
    /// Whether a wait was requested after the last read. The next read shows whether it was useful.
    waited: bool,
    /// The number of waits still to be skipped.
    skip: u8,
    skip_after_useless: u8,
}

impl Coalescer {
    /// Records that only the client has sent data, so the next read from the backend begins a new
    /// series.
    pub(crate) fn client_sent(&mut self) {
        self.last = None;
        self.record_result(false);
    }

    /// Records a read of `length` bytes. Returns whether to wait before the next one.
    pub(crate) fn should_wait(&mut self, length: u64, now: Instant) -> bool {
        let is_close = self.last.is_some_and(|last| now.saturating_duration_since(last) < MAX_GAP);
        self.record_result(is_close);
        self.last = (length < FULL_RECORD).then_some(now);
        if !is_close || self.last.is_none() {
            return false;
        }
        if self.skip > 0 {
            self.skip = self.skip.saturating_sub(1);
            return false;
        }
        self.waited = true;
        true
    }

    /// Records whether the last wait was useful. After useless waits the number of skipped waits
    /// grows exponentially. Waits are useless on a machine that sleeps far longer than requested,
    /// for example.
    fn record_result(&mut self, useful: bool) {
        if !std::mem::take(&mut self.waited) {
            return;
        }
        let more = self.skip_after_useless.saturating_mul(2).saturating_add(1).min(MAX_SKIPPED);
        self.skip_after_useless = if useful { 0 } else { more };
        self.skip = self.skip_after_useless;
    }
}

/// Makes the thread sleep when it next becomes idle.
pub(crate) fn request_wait() {
    WAIT_REQUESTED.set(true);
}

/// Sleeps if that was requested. Called when the thread becomes idle.
pub(crate) fn wait_if_requested() {
    if WAIT_REQUESTED.take() {
        std::thread::sleep(WAIT);
    }
}

/// Reduces the timer slack of this thread. The default of 50 microseconds exceeds [`WAIT`].
pub(crate) fn set_timer_slack() {
    // A failure is ignored: the waits then take longer.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = nix::sys::prctl::set_timerslack(1000);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates reads of 100 bytes at these times, in microseconds after `from`. Returns for each
    /// read whether the coalescer requests a wait.
    fn waits(coalescer: &mut Coalescer, from: Instant, at: &[u64]) -> Vec<bool> {
        let mut piece = |at| coalescer.should_wait(100, from + Duration::from_micros(at));
        at.iter().map(|at| piece(*at)).collect()
    }

    #[test]
    fn closely_spaced_reads_request_a_wait() {
        let now = Instant::now();
        let mut coalescer = Coalescer::default();
        assert_eq!(waits(&mut coalescer, now, &[0, 10, 50, 149]), [false, true, true, true]);
        // Later reads begin a new series.
        assert_eq!(waits(&mut coalescer, now, &[249, 1000, 1010]), [false, false, false]);
        assert_eq!(waits(&mut coalescer, now, &[1020]), [true]);
    }

    #[test]
    fn alternating_request_and_response_never_waits() {
        let now = Instant::now();
        let mut coalescer = Coalescer::default();
        for at in 0..10 {
            assert_eq!(waits(&mut coalescer, now, &[at * 10]), [false]);
            coalescer.client_sent();
        }
    }

    #[test]
    fn full_record_requests_no_wait() {
        let now = Instant::now();
        let mut coalescer = Coalescer::default();
        assert_eq!(waits(&mut coalescer, now, &[0]), [false]);
        assert!(!coalescer.should_wait(FULL_RECORD, now));
        assert_eq!(waits(&mut coalescer, now, &[0, 0]), [false, true]);
    }

    #[test]
    fn useless_waits_back_off_and_a_useful_one_resets() {
        let now = Instant::now();
        let mut coalescer = Coalescer::default();
        let mut waited = Vec::new();
        // The client sends requests one at a time, and each is answered in two reads.
        for answer in 0..300 {
            if waits(&mut coalescer, now, &[answer * 10, answer * 10]) == [false, true] {
                waited.push(answer);
            }
            coalescer.client_sent();
        }
        assert_eq!(waited, [0, 2, 6, 14, 30, 62, 126, 190, 254]);
        // Many reads in a series follow.
        let many = waits(&mut coalescer, now, &[4000; 100]);
        let first = many.iter().position(|waited| *waited).unwrap();
        assert!(first < 64 && many[first..].iter().all(|waited| *waited));
    }

    #[test]
    fn thread_waits_once_per_request() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().on_thread_park(wait_if_requested).build().unwrap();
        runtime.block_on(async {
            request_wait();
            tokio::task::yield_now().await;
            assert!(WAIT_REQUESTED.get(), "there was something to do");
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(!WAIT_REQUESTED.get());
        });
        let started = Instant::now();
        request_wait();
        wait_if_requested();
        assert!(started.elapsed() >= WAIT);
    }
}
