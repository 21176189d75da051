//! A moment's wait, so that a backend's small pieces share a record.
//!
//! A backend that works on many requests of one connection at once tends to write each answer by itself. Handed on one
//! by one, each costs a record, a wake-up of this thread and one of the client, and the faster this thread is, the
//! fewer share the next one. So where such pieces come upon each other's heels, a thread that has nothing else to do
//! looks again only after [`WAIT`]; what has come by then goes in one record. A piece never waits for a later one, only
//! for the thread to look, and never does where client and backend take turns.
//!
//! Must not know: what the pieces are. Next: [`crate::session`], which asks for it; [`crate::worker`], which waits.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a thread waits: some answers of a backend, and little beside a round trip in any network.
const WAIT: Duration = Duration::from_micros(30);

/// Pieces that are further apart than this do not belong together.
const NEAR: Duration = Duration::from_micros(100);

/// A piece of this size, that of a full record, is worth one. RFC 9846 5.1
const LARGE: u64 = 1 << 14;

/// After waits in vain at most so many are left out.
const MOST_LEFT_OUT: u8 = 63;

thread_local! {
    static WANTED: Cell<bool> = const { Cell::new(false) };
}

/// What one connection knows of its backend's pieces.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// When the last one came, if it was small and the client has not been the only one to speak since.
    last: Option<Instant>,
    /// The last one was followed by a wait, of which it is not known whether it was in vain.
    waited: bool,
    /// Waits that are left out: the next ones, and so many after the last one that was in vain.
    left_out: u8,
    in_vain: u8,
}

impl Gathering {
    /// Only the client has spoken: it is the backend's turn.
    pub(crate) fn interrupt(&mut self) {
        self.last = None;
        self.judge(false);
    }

    /// A piece of so many bytes came; whether the next ones are worth a wait.
    pub(crate) fn is_worth_a_wait(&mut self, length: u64, now: Instant) -> bool {
        let near = self.last.is_some_and(|last| now.saturating_duration_since(last) < NEAR);
        self.judge(near);
        self.last = (length < LARGE).then_some(now);
        if !near || self.last.is_none() {
            return false;
        }
        if self.left_out > 0 {
            self.left_out = self.left_out.saturating_sub(1);
            return false;
        }
        self.waited = true;
        true
    }

    /// Notes whether the last wait brought anything. The more were in vain, the rarer they are; so are those of a
    /// machine on which a wait takes far longer than it should.
    fn judge(&mut self, useful: bool) {
        if !std::mem::take(&mut self.waited) {
            return;
        }
        let more = self.in_vain.saturating_mul(2).saturating_add(1).min(MOST_LEFT_OUT);
        self.in_vain = if useful { 0 } else { more };
        self.left_out = self.in_vain;
    }
}

/// Has the thread wait before it next has nothing to do.
pub(crate) fn want() {
    WANTED.set(true);
}

/// For a thread that has nothing to do: waits, if somebody wants it to.
pub(crate) fn wait() {
    if WANTED.take() {
        std::thread::sleep(WAIT);
    }
}

/// Has this thread's waits be as short as they are meant to be; the system's own idea is 50 microseconds more.
pub(crate) fn be_punctual() {
    // Where it is not done, waits are longer.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = nix::sys::prctl::set_timerslack(1000);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of 100 bytes at these microseconds; before which of the next ones it waits.
    fn waits(gathering: &mut Gathering, from: Instant, at: &[u64]) -> Vec<bool> {
        let mut piece = |at| gathering.is_worth_a_wait(100, from + Duration::from_micros(at));
        at.iter().map(|at| piece(*at)).collect()
    }

    #[test]
    fn pieces_that_follow_each_other_are_waited_for() {
        let now = Instant::now();
        let mut gathering = Gathering::default();
        assert_eq!(waits(&mut gathering, now, &[0, 10, 50, 149]), [false, true, true, true]);
        // Later ones belong to something else, and begin anew.
        assert_eq!(waits(&mut gathering, now, &[249, 1000, 1010]), [false, false, false]);
        assert_eq!(waits(&mut gathering, now, &[1020]), [true]);
    }

    #[test]
    fn where_client_and_backend_take_turns_nothing_waits() {
        let now = Instant::now();
        let mut gathering = Gathering::default();
        for at in 0..10 {
            assert_eq!(waits(&mut gathering, now, &[at * 10]), [false]);
            gathering.interrupt();
        }
    }

    #[test]
    fn a_piece_that_fills_a_record_is_not_waited_for() {
        let now = Instant::now();
        let mut gathering = Gathering::default();
        assert_eq!(waits(&mut gathering, now, &[0]), [false]);
        assert!(!gathering.is_worth_a_wait(LARGE, now));
        assert_eq!(waits(&mut gathering, now, &[0, 0]), [false, true]);
    }

    #[test]
    fn waits_in_vain_become_rare_and_a_useful_one_makes_up_for_them() {
        let now = Instant::now();
        let mut gathering = Gathering::default();
        let mut waited = Vec::new();
        // Answers of two pieces, one after the other.
        for answer in 0..300 {
            if waits(&mut gathering, now, &[answer * 10, answer * 10]) == [false, true] {
                waited.push(answer);
            }
            gathering.interrupt();
        }
        assert_eq!(waited, [0, 2, 6, 14, 30, 62, 126, 190, 254]);
        // Then many of one.
        let many = waits(&mut gathering, now, &[4000; 100]);
        let first = many.iter().position(|waited| *waited).unwrap();
        assert!(first < 64 && many[first..].iter().all(|waited| *waited));
    }

    #[test]
    fn a_thread_waits_once_and_only_if_it_is_to() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().on_thread_park(wait).build().unwrap();
        runtime.block_on(async {
            want();
            tokio::task::yield_now().await;
            assert!(WANTED.get(), "there was something to do");
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(!WANTED.get());
        });
        let begun = Instant::now();
        want();
        wait();
        assert!(begun.elapsed() >= WAIT);
    }
}
