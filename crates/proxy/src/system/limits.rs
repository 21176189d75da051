//! How many files the process may have open, sockets included.
//!
//! Must not know: what they are. Next: [`super::privileges`].

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// A limit as it is now, and how far it can be raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimit {
    /// What the process may have open.
    pub soft: u64,
    /// What it may allow itself without privileges.
    pub hard: u64,
}

/// The limit as it is.
///
/// # Errors
/// If the system does not tell.
pub fn file_limit() -> io::Result<FileLimit> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(FileLimit { soft, hard })
}

/// Raises the soft limit to the hard one, which needs no privileges, and says how it is then.
///
/// A terminator needs two descriptors for each connection; the usual soft limit of 1024 is there for programs with `select`,
/// which this is not.
///
/// # Errors
/// If the system refuses.
pub fn raise_file_limit() -> io::Result<FileLimit> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    file_limit()
}

/// The last of the files that may be open, kept for backends of clients that were accepted already: a client
/// that waits in the system's queue is better off than one that is taken and cannot be served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserve {
    /// New descriptors are the lowest that are free, so one this high tells that all others are taken.
    from: i32,
}

/// So many at the most are kept; and no more than a quarter.
const KEPT: u64 = 1024;

impl Reserve {
    /// Of the limit as it is.
    pub(crate) fn new() -> Self {
        let soft = file_limit().map_or(u64::MAX, |limit| limit.soft);
        let from = soft.saturating_sub(KEPT.min(soft / 4));
        Self { from: i32::try_from(from).unwrap_or(i32::MAX) }
    }

    /// Whether this one is of the reserve.
    pub(crate) fn has(self, descriptor: &impl AsRawFd) -> bool {
        descriptor.as_raw_fd() >= self.from
    }

    /// Whether the next one would be.
    pub(crate) fn is_next(self) -> bool {
        File::open("/dev/null").map_or(true, |file| self.has(&file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{in_child, run_in_child};

    // In a process of its own: the other tests want files, too.
    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        if !in_child() {
            let test = "system::limits::tests::the_soft_limit_becomes_the_hard_one";
            run_in_child(test, |_| ());
            return;
        }
        let hard = file_limit().unwrap().hard;
        setrlimit(Resource::RLIMIT_NOFILE, 64, hard).unwrap();
        assert_eq!(file_limit().unwrap(), FileLimit { soft: 64, hard });
        assert_eq!(raise_file_limit().unwrap(), FileLimit { soft: hard, hard });
        assert_eq!(file_limit().unwrap().soft, hard);
    }
    #[test]
    fn the_last_quarter_is_kept() {
        if !in_child() {
            run_in_child("system::limits::tests::the_last_quarter_is_kept", |_| ());
            return;
        }
        let hard = file_limit().unwrap().hard;
        setrlimit(Resource::RLIMIT_NOFILE, 64, hard).unwrap();
        let reserve = Reserve::new();
        let mut files = Vec::new();
        while !reserve.is_next() {
            files.push(File::open("/dev/null").unwrap());
        }
        assert!(files.iter().all(|file| !reserve.has(file)));
        let others: Vec<_> = (0..16).map(|_| File::open("/dev/null").unwrap()).collect();
        assert!(others.iter().all(|file| reserve.has(file)));
        files.pop();
        assert!(!reserve.is_next());
    }
}
