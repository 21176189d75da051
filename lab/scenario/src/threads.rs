//! Measurements in several threads, each with its own connections.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use crate::accounting::Accounting;
use crate::library::Result;
use crate::placement;
use crate::protocol::Measurement;
use crate::row::{self, JUDGED_PERCENTILES, Row, Task};
use crate::worker::PreparedTask;

/// A closure that each thread calls to prepare its task. All threads share the closure.
pub type ThreadSetup = Box<dyn Fn() -> Result<Box<dyn PreparedTask>> + Send + Sync>;

/// A row of threads or latency: the same handshakes in several threads.
pub struct Threads {
    thread_setup: ThreadSetup,
    row: Row,
}

impl Threads {
    /// Prepares a row of [`Task::Threads`] or [`Task::Latency`]. The measurement of each thread has
    /// a side `server`, and for latency distributions.
    ///
    /// # Errors
    /// The errors of one thread's preparation, which is tried once.
    pub fn new(row: &Row, thread_setup: ThreadSetup) -> Result<Self> {
        thread_setup()?;
        Ok(Self { thread_setup, row: row.clone() })
    }
}

/// Measures in `count` threads at the same time.
///
/// # Errors
/// The errors of any thread.
pub fn run_threads(
    thread_setup: &ThreadSetup,
    count: usize,
    budget: Duration,
) -> Result<Vec<Measurement>> {
    let barrier = Barrier::new(count);
    let one = &|index| {
        placement::of_thread(index);
        let prepared = thread_setup();
        // A thread that failed also waits at the barrier. Otherwise the other threads would block.
        barrier.wait();
        prepared?.measure(budget)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|index| scope.spawn(move || one(index))).collect();
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ended.map(|end| end.unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    })
}

impl PreparedTask for Threads {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        let mut whole = Measurement::default();
        for count in &self.row.threads {
            let parts = run_threads(&self.thread_setup, *count, budget)?;
            whole.repetitions += parts.iter().map(|part| part.repetitions).sum::<u64>();
            whole.done = parts.first().map(|part| part.done.clone()).unwrap_or_default();
            if self.row.task == Task::Latency {
                whole.sides = percentiles(&mut whole.distributions, &parts);
            } else {
                let of_all = combined_time(&parts, "server", self.row.accounting)?;
                whole.sides.insert(row::threads(*count), of_all);
            }
        }
        Ok(whole)
    }

    fn slices(&self) -> u32 {
        1
    }
}

/// Nanoseconds of one side per repetition, for all threads together: the mean over all repetitions
/// divided by the number of threads.
///
/// The sum of the threads' own rates would be too high if there are more threads than CPUs. A
/// thread that is descheduled outside that side's span would count as if it had its own CPU.
/// Published accounting uses the sum of the rates.
///
/// # Errors
/// If a measurement lacks this side.
#[allow(clippy::cast_precision_loss)]
pub fn combined_time(parts: &[Measurement], side: &str, accounting: Accounting) -> Result<f64> {
    let (mut spent, mut repeated, mut rates) = (0.0, 0.0, 0.0);
    for part in parts {
        let repetitions = part.repetitions as f64;
        let time = part.sides.get(side).ok_or("a thread measured no time")?;
        spent += repetitions * time;
        repeated += repetitions;
        rates += 1.0 / time;
    }
    Ok(match accounting {
        Accounting::Neutral => spent / repeated / parts.len() as f64,
        Accounting::Published => 1.0 / rates,
    })
}

/// Adds up the distributions of all threads and returns the judged percentiles.
fn percentiles(
    whole: &mut BTreeMap<String, crate::Distribution>,
    parts: &[Measurement],
) -> BTreeMap<String, f64> {
    for (side, part) in parts.iter().flat_map(|part| &part.distributions) {
        whole.entry(side.clone()).or_default().add(part);
    }
    let judged = whole.iter().flat_map(|(side, all)| {
        JUDGED_PERCENTILES.map(|(name, part)| (format!("{side} {name}"), all.percentile(part)))
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Distribution;
    use crate::rows;

    /// A task that takes 1000 ns in the first thread, 2000 ns in the second, and so on.
    struct Fixed(f64);

    impl PreparedTask for Fixed {
        fn measure(&mut self, _: Duration) -> Result<Measurement> {
            let mut times = Distribution::default();
            times.count(self.0);
            Ok(Measurement {
                repetitions: 1,
                sides: [("server".to_owned(), self.0)].into(),
                distributions: [("server".to_owned(), times)].into(),
                ..Measurement::default()
            })
        }
    }

    fn prepared(task: Task, threads: &[usize]) -> Threads {
        let row = rows::all().into_iter().find(|row| row.task == task).unwrap();
        let row = Row { threads: threads.to_vec(), ..row };
        // `Threads::new` makes the first call as a trial.
        let made = AtomicUsize::new(0);
        let thread_setup = move || -> Result<Box<dyn PreparedTask>> {
            let number = u32::try_from(made.fetch_add(1, Ordering::SeqCst))?;
            Ok(Box::new(Fixed(f64::from(number) * 1000.0)))
        };
        Threads::new(&row, Box::new(thread_setup)).unwrap()
    }

    #[test]
    fn threads_are_taken_together() {
        let measured = prepared(Task::Threads, &[1, 2]).measure(Duration::ZERO).unwrap();
        assert_eq!(measured.repetitions, 3);
        assert!((measured.sides["1 thread"] - 1000.0).abs() < 1e-9);
        // Two threads take 2500 ns each.
        assert!((measured.sides["2 threads"] - 1250.0).abs() < 1e-9, "{:?}", measured.sides);
    }

    #[test]
    fn the_published_rate_of_threads_is_the_sum_of_theirs() {
        let mut threads = prepared(Task::Threads, &[1, 2]);
        threads.row.accounting = Accounting::Published;
        let measured = threads.measure(Duration::ZERO).unwrap();
        assert!((measured.sides["1 thread"] - 1000.0).abs() < 1e-9);
        // The threads take 2000 ns and 3000 ns.
        assert!((measured.sides["2 threads"] - 1200.0).abs() < 1e-9, "{:?}", measured.sides);
    }

    #[test]
    fn times_of_all_threads_are_one_distribution() {
        let measured = prepared(Task::Latency, &[3]).measure(Duration::ZERO).unwrap();
        assert_eq!(measured.distributions["server"].total(), 3);
        assert!((measured.sides["server P50"] / 2000.0 - 1.0).abs() < 0.011);
        assert!((measured.sides["server P99"] / 3000.0 - 1.0).abs() < 0.011);
    }

    #[test]
    fn a_thread_that_fails_does_not_keep_the_others_waiting() {
        let row = rows::all().into_iter().find(|row| row.task == Task::Threads).unwrap();
        let row = Row { threads: vec![3], ..row };
        let made = Arc::new(AtomicUsize::new(0));
        let thread_setup = move || -> Result<Box<dyn PreparedTask>> {
            match made.fetch_add(1, Ordering::SeqCst) {
                2 => Err("the second thread fails".into()),
                _ => Ok(Box::new(Fixed(1.0))),
            }
        };
        let mut threads = Threads::new(&row, Box::new(thread_setup)).unwrap();
        let error = threads.measure(Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("second thread"), "{error}");
    }
}
