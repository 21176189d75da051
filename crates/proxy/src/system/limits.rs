//! How many files the process may have open, sockets included.
//!
//! Must not know: what they are. Next: [`super::privileges`].

use std::io;

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
    Ok(FileLimit { soft: soft.into(), hard: hard.into() })
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
}
