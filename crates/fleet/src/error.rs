//! Errors of the fleet.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tercel::pki::RootsError;
use tercel::session::TicketKeyError;

/// The reason why a node could not join its fleet, or refused ticket keys or secrets.
#[derive(Debug)]
#[non_exhaustive]
pub enum FleetError {
    /// A setting is out of range or contradicts another setting: the name of the setting, and the
    /// reason.
    Setting(&'static str, &'static str),
    /// A file could not be read.
    File(PathBuf, io::Error),
    /// A file that holds secrets is readable by users other than its owner and group, or writable
    /// by users other than its owner.
    Exposed(PathBuf),
    /// A file has the wrong type or content.
    Content(PathBuf, &'static str),
    /// The authorities of the operating system, which verify the store, cannot be read.
    Roots(RootsError),
    /// The keys in a file do not form a valid set.
    Keys(PathBuf, TicketKeyError),
    /// Keys in the store could not be decrypted with the secret and name of this fleet.
    UnreadableKeys,
    /// A set of keys for Encrypted ClientHello cannot be used: the reason.
    EchKeys(String),
    /// Other keys for Encrypted ClientHello replaced those that were published.
    Superseded,
    /// The other nodes of this fleet encrypt with a secret that this node does not have.
    SecretMismatch,
    /// A setting has another value than on the nodes that admit early data.
    SettingMismatch {
        /// The name of the setting.
        setting: &'static str,
        /// The value on this node.
        here: Duration,
        /// The value on the other nodes.
        there: Duration,
    },
    /// There is no connection to the store, or the store did not answer in time.
    StoreUnavailable,
    /// The store answered with this error code.
    Store(String),
    /// The background thread could not be started.
    Thread(io::Error),
    /// The random number generator failed.
    Random,
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(name, why) => write!(f, "{name}: {why}"),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Exposed(path) => write!(
                f,
                "{}: file holds secrets and is accessible to other users, or writable by its group \
                 (chmod 600)",
                path.display()
            ),
            Self::Content(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Keys(path, error) => write!(f, "{}: {error}", path.display()),
            Self::UnreadableKeys => f.write_str(
                "keys in the store cannot be decrypted: damaged, or sealed by another fleet or \
                 under another fleet secret",
            ),
            Self::Roots(error) => write!(f, "store.roots: {error}"),
            Self::EchKeys(why) => f.write_str(why),
            Self::Superseded => f.write_str(
                "other ECH keys replaced the published ones: another node had a newer set, or keys \
                 were published at the same time; publish them again",
            ),
            Self::SecretMismatch => f.write_str(
                "fleet secret differs from that of the other nodes; their sessions cannot be \
                 decrypted",
            ),
            Self::SettingMismatch { setting, here, there } => write!(
                f,
                "{setting} is {here:?} on this node and {there:?} on the nodes that admit early \
                 data; it must be the same on all nodes"
            ),
            Self::StoreUnavailable => f.write_str("store unavailable"),
            Self::Store(code) => write!(f, "store error: {code}"),
            Self::Thread(error) => write!(f, "cannot start the fleet thread: {error}"),
            Self::Random => f.write_str("random number generator failed"),
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
