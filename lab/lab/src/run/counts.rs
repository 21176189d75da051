//! Thread and connection counts of rows, from the machine and the mode.

use anyhow::{Result, ensure};
use lab_scenario::{Row, Task, rows};

use crate::report::Settings;

/// The highest thread count.
pub(crate) const MAX_THREADS: usize = 1024;

/// Thread counts from 1 to 1.5 times the number of CPUs, at most 18 of them.
pub(crate) fn threads(cpus: usize) -> Vec<usize> {
    let most = cpus + cpus / 2;
    let up_to = (2..cpus).step_by(cpus.div_ceil(11).max(1));
    let beyond = (cpus..most).step_by((most - cpus).div_ceil(4).max(1));
    let mut counts: Vec<_> = [1].into_iter().chain(up_to).chain(beyond).chain([most]).collect();
    counts.dedup();
    counts.retain(|count| (1..=MAX_THREADS).contains(count));
    counts
}

/// The connection counts of memory rows.
pub(crate) fn connections(mode: &str) -> Vec<usize> {
    if mode == "quick" { rows::QUICK_CONNECTIONS.to_vec() } else { rows::CONNECTIONS.to_vec() }
}

/// Checks the counts.
pub(crate) fn check(settings: &Settings) -> Result<()> {
    let (threads, connections) = (&settings.threads, &settings.connections);
    let growing = |counts: &[usize]| counts.windows(2).all(|pair| pair[0] < pair[1]);
    let in_range = threads.iter().all(|count| (1..=MAX_THREADS).contains(count));
    ensure!(
        !threads.is_empty() && in_range && growing(threads),
        "--threads: counts must be ascending, from 1 to {MAX_THREADS}"
    );
    ensure!(
        connections.len() >= 2 && connections[0] >= 1 && growing(connections),
        "--connections: two or more ascending counts are required"
    );
    Ok(())
}

/// Sets the thread and connection counts of rows.
pub(crate) fn apply(rows: &mut [Row], settings: &Settings) {
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
