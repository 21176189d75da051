//! The limit of open file descriptors, and a reserve of them for backends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The limit of open file descriptors, RLIMIT_NOFILE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimit {
    /// The limit in effect.
    pub soft: u64,
    /// The maximum to which an unprivileged process may raise the soft limit.
    pub hard: u64,
}

/// Returns the limit.
///
/// # Errors
///
/// If the system call fails.
pub fn file_limit() -> io::Result<FileLimit> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(FileLimit { soft, hard })
}

/// Raises the soft limit to the hard limit, and returns the new limit.
///
/// A terminator needs two descriptors for each connection. The usual soft limit of 1024 exists for
/// programs that use `select`.
///
/// # Errors
///
/// If the system call fails.
pub fn raise_file_limit() -> io::Result<FileLimit> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    file_limit()
}

/// The highest descriptors below the limit, reserved for the backend connections of clients that
/// were already accepted. It is better for a client to wait in the accept queue than to be accepted
/// without a backend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DescriptorReserve {
    /// The lowest reserved descriptor. The system assigns the lowest free descriptor. If it assigns
    /// this one or a higher one, all lower descriptors are in use.
    from: i32,
}

/// Maximum size of the reserve; at most a quarter of the limit is reserved.
const MAX_RESERVED: u64 = 1024;

impl DescriptorReserve {
    /// Creates a reserve for the current limit.
    pub(crate) fn new() -> Self {
        let soft = file_limit().map_or(u64::MAX, |limit| limit.soft);
        let from = soft.saturating_sub(MAX_RESERVED.min(soft / 4));
        Self { from: i32::try_from(from).unwrap_or(i32::MAX) }
    }

    /// Whether this descriptor is reserved.
    pub(crate) fn contains(self, descriptor: &impl AsRawFd) -> bool {
        descriptor.as_raw_fd() >= self.from
    }

    /// Whether the next descriptor would be reserved.
    pub(crate) fn is_reached(self) -> bool {
        File::open("/dev/null").map_or(true, |file| self.contains(&file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{in_child, run_in_child};

    // This runs in a process of its own, because other tests need descriptors too.
    #[test]
    fn soft_limit_is_raised_to_the_hard_limit() {
        if !in_child() {
            let test = "system::file_limit::tests::soft_limit_is_raised_to_the_hard_limit";
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
    fn last_quarter_of_descriptors_is_reserved() {
        if !in_child() {
            run_in_child(
                "system::file_limit::tests::last_quarter_of_descriptors_is_reserved",
                |_| (),
            );
            return;
        }
        let hard = file_limit().unwrap().hard;
        setrlimit(Resource::RLIMIT_NOFILE, 64, hard).unwrap();
        let reserve = DescriptorReserve::new();
        let mut files = Vec::new();
        while !reserve.is_reached() {
            files.push(File::open("/dev/null").unwrap());
        }
        assert!(files.iter().all(|file| !reserve.contains(file)));
        let others: Vec<_> = (0..16).map(|_| File::open("/dev/null").unwrap()).collect();
        assert!(others.iter().all(|file| reserve.contains(file)));
        files.pop();
        assert!(!reserve.is_reached());
    }
}
