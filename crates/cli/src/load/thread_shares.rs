//! The distribution of connections over threads.

use super::options::{Mode, Options};

/// The connections of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadShare {
    /// The indices of the thread's connection loops.
    pub(crate) loops: Vec<usize>,
    /// The number of idle connections to make.
    pub(crate) idle: usize,
}

pub(super) fn thread_shares(options: &Options, threads: usize) -> Vec<ThreadShare> {
    let idle = if let Mode::Idle(number) = options.mode() { number } else { 0 };
    (0..threads)
        .map(|thread| ThreadShare {
            loops: (thread..options.connections.get()).step_by(threads).collect(),
            idle: (thread..idle).step_by(threads).count(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn every_connection_belongs_to_a_thread() {
        let arguments = ["load", "x:1", "--idle", "8", "--connections", "5"];
        let options = Line::parse_from(arguments).options;
        let [one, two, three] = thread_shares(&options, 3).try_into().unwrap();
        assert_eq!(one, ThreadShare { loops: vec![0, 3], idle: 3 });
        assert_eq!(two, ThreadShare { loops: vec![1, 4], idle: 3 });
        assert_eq!(three, ThreadShare { loops: vec![2], idle: 2 });
    }
}
