//! Why a node cannot take part, or keys were refused.
//!
//! Must not know: who is told. Next: [`crate::fleet`].

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tercel::TicketKeyError;

/// Why a node cannot take part in its fleet, or has refused what it was given.
#[derive(Debug)]
#[non_exhaustive]
pub enum FleetError {
    /// A setting is out of range or contradicts another: its name, and why.
    Setting(&'static str, &'static str),
    /// A file cannot be read.
    File(PathBuf, io::Error),
    /// A file holds secrets, and others than its owner and group may read it, or others than its owner write it.
    Exposed(PathBuf),
    /// A file is not what it should be.
    Content(PathBuf, &'static str),
    /// The keys in a file are no set.
    Keys(PathBuf, TicketKeyError),
    /// The set of keys in the store was not sealed under this fleet's secret and name, or is damaged.
    ForeignKeys,
    /// What nodes of this fleet write in the store was not written under a secret of this node's.
    ForeignSecret,
    /// A setting differs from that of the nodes that admit early data: its name, its value here, and its value there.
    Disagreement {
        /// The setting's name.
        setting: &'static str,
        /// Its value here.
        here: Duration,
        /// Its value at the other nodes.
        there: Duration,
    },
    /// The store is away or did not answer in time.
    Away,
    /// The store answered with an error, whose code this is.
    Store(String),
    /// The thread that looks after the store cannot be started.
    Thread(io::Error),
    /// There is no randomness.
    Random,
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(name, why) => write!(f, "{name}: {why}"),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Exposed(path) => write!(
                f,
                "{}: others may read it, or the group write it; it holds secrets (chmod 600)",
                path.display()
            ),
            Self::Content(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Keys(path, error) => write!(f, "{}: {error}", path.display()),
            Self::ForeignKeys => f.write_str(
                "the ticket keys in the store are damaged, or of another fleet or secret",
            ),
            Self::ForeignSecret => f.write_str(
                "the fleet secret is not that of the other nodes: no session of theirs can be read",
            ),
            Self::Disagreement { setting, here, there } => write!(
                f,
                "{setting} is {here:?} here and {there:?} at the nodes that admit early data now; \
                 it has to be the same on all"
            ),
            Self::Away => f.write_str("the store is away"),
            Self::Store(code) => write!(f, "the store answers {code}"),
            Self::Thread(error) => write!(f, "no thread for the store: {error}"),
            Self::Random => f.write_str("no randomness"),
        }
    }
}

impl std::error::Error for FleetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(_, error) | Self::Thread(error) => Some(error),
            Self::Keys(_, error) => Some(error),
            _ => None,
        }
    }
}
