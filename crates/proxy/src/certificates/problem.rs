//! What is wrong with a certificate, its key, or their folder: one line that names the file.
//!
//! Must not know: who reads it. Next: `pair`, the usual source.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tercel::CredentialError;
use tercel::pki::{PemError, ReadableTime};
use tercel::pki_types::UnixTime;

/// A file, and why it cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub file: PathBuf,
    /// What is wrong with it.
    pub reason: Reason,
}

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It cannot be read.
    Unreadable(String),
    /// It is longer than any certificate or key.
    TooLong,
    /// It has no certificate, or one that is cut short or damaged.
    Certificate(PemError),
    /// It has no private key, or one that is cut short, damaged or under a password.
    Key(PemError),
    /// The certificate and the key in `key` do not make a credential: they do not belong together, or one is of no use.
    Credential {
        /// The key's file.
        key: PathBuf,
        /// What is wrong.
        error: CredentialError,
    },
    /// The leaf is valid no longer.
    Expired(UnixTime),
    /// The leaf is not valid yet.
    NotYetValid(UnixTime),
    /// No certificate stands beside this key, or no key beside this certificate.
    Alone {
        /// The names that were looked for.
        wanted: String,
    },
    /// There is not one certificate with its key.
    Empty,
}

impl Problem {
    pub(super) fn new(file: &Path, reason: Reason) -> Self {
        Self { file: file.to_owned(), reason }
    }

    pub(super) fn unreadable(file: &Path, error: &io::Error) -> Self {
        Self::new(file, Reason::Unreadable(error.to_string()))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Quoted, so that a file's name cannot break the line.
        write!(f, "{:?}: ", self.file)?;
        match &self.reason {
            Reason::Unreadable(error) => write!(f, "{error}"),
            Reason::TooLong => f.write_str("too long for a certificate or a key"),
            Reason::Certificate(error) => write!(f, "no certificate: {error}"),
            Reason::Key(error) => write!(f, "no private key: {error}"),
            Reason::Credential { key, error } => write!(f, "{error} (the key is {key:?})"),
            Reason::Expired(since) => write!(f, "expired at {}", ReadableTime(*since)),
            Reason::NotYetValid(from) => write!(f, "not valid before {}", ReadableTime(*from)),
            Reason::Alone { wanted } => write!(f, "there is no {wanted} beside it"),
            Reason::Empty => f.write_str("no certificate with its key in there"),
        }
    }
}

impl std::error::Error for Problem {}
