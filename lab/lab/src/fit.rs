//! What machine and mode decide about rows: how many threads, how many connections.
//!
//! Must not know: how rows are measured. Next: [`lab_scenario::rows`].

use anyhow::{Result, ensure};
use lab_scenario::{Row, Task, rows};

use crate::report::Settings;

/// Most threads that are asked of a worker.
pub(crate) const MAX_THREADS: usize = 1024;

/// Counts of threads up to the logical processors, then up to half as many again; not many in all.
pub(crate) fn threads(cpus: usize) -> Vec<usize> {
    let most = cpus + cpus / 2;
    let up_to = (2..cpus).step_by(cpus.div_ceil(11).max(1));
    let beyond = (cpus..most).step_by((most - cpus).div_ceil(4).max(1));
    let mut counts: Vec<_> = [1].into_iter().chain(up_to).chain(beyond).chain([most]).collect();
    counts.dedup();
    counts.retain(|count| (1..=MAX_THREADS).contains(count));
    counts
}

/// Logical processors that this program may use.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How many connections are open in memory rows.
pub(crate) fn connections(mode: &str) -> Vec<usize> {
    if mode == "quick" { rows::FEW_CONNECTIONS.to_vec() } else { rows::CONNECTIONS.to_vec() }
}

/// Whether these counts can be measured.
pub(crate) fn check(settings: &Settings) -> Result<()> {
    let (threads, connections) = (&settings.threads, &settings.connections);
    let growing = |counts: &[usize]| counts.windows(2).all(|pair| pair[0] < pair[1]);
    let in_range = threads.iter().all(|count| (1..=MAX_THREADS).contains(count));
    ensure!(
        !threads.is_empty() && in_range && growing(threads),
        "--threads wants counts from 1 to {MAX_THREADS}, growing"
    );
    ensure!(
        connections.len() >= 2 && connections[0] >= 1 && growing(connections),
        "--connections wants two counts or more, growing"
    );
    Ok(())
}

/// The rows as they are measured here.
pub(crate) fn fit(rows: &mut [Row], settings: &Settings) {
    for row in rows {
        match row.task {
            Task::Threads => row.threads.clone_from(&settings.threads),
            Task::Latency => row.threads = vec![settings.cpus],
            Task::Memory => row.connections.clone_from(&settings.connections),
            Task::Handshake | Task::Bulk | Task::SetUp | Task::Loading | Task::Instructions => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_go_from_one_to_half_more_than_there_are_processors() {
        assert_eq!(threads(1), [1]);
        assert_eq!(threads(2), [1, 2, 3]);
        assert_eq!(threads(4), [1, 2, 3, 4, 5, 6]);
        for cpus in 1..=256 {
            let counts = threads(cpus);
            assert!(counts.len() <= 18, "{counts:?}");
            assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
            assert!(counts.contains(&cpus) && counts.last() == Some(&(cpus + cpus / 2)));
        }
    }
}
