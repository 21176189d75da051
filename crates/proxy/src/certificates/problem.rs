//! Problems with certificate files, printed as one line with the file's name.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tercel::certificates::CredentialError;
use tercel::pki::{FileContent, PemError, ReadableTime};
use tercel::pki_types::UnixTime;

use crate::config::without_number;

/// A file, and the reason why it cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub file: PathBuf,
    /// The problem.
    pub reason: Reason,
}

/// The reason why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The file could not be read.
    Unreadable(String),
    /// The file exceeds the maximum size.
    TooLong,
    /// The file contains something other than the expected certificate or private key.
    WrongContent {
        /// What it should contain, with an article.
        expected: &'static str,
        /// What it contains.
        found: FileContent,
    },
    /// The file has no certificate, or the certificate is truncated or malformed.
    Certificate(PemError),
    /// The file has no private key, or the key is truncated, malformed or encrypted.
    Key(PemError),
    /// Certificate and key do not form a credential: they do not match, or one of the two is
    /// unsupported.
    Credential {
        /// The key file.
        key: PathBuf,
        /// The error.
        error: CredentialError,
    },
    /// The leaf has expired.
    Expired(UnixTime),
    /// The leaf is not valid yet.
    NotYetValid(UnixTime),
    /// There is a key without a certificate, or a certificate without a key.
    MissingPartner {
        /// The missing file names.
        missing: String,
    },
    /// The folder contains no pair.
    Empty,
}

impl Problem {
    pub(super) fn new(file: &Path, reason: Reason) -> Self {
        Self { file: file.to_owned(), reason }
    }

    /// The problem with a file that could not be read as PEM.
    pub(super) fn pem(file: &Path, expected: &'static str, content: &[u8], other: Reason) -> Self {
        match other {
            Reason::Certificate(PemError::NothingFound) | Reason::Key(PemError::NothingFound) => {
                let found = FileContent::of(content);
                Self::new(file, Reason::WrongContent { expected, found })
            }
            other => Self::new(file, other),
        }
    }

    pub(super) fn unreadable(file: &Path, error: &io::Error) -> Self {
        Self::new(file, Reason::Unreadable(without_number(error)))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` quotes the name, so that it cannot break the line.
        write!(f, "{:?}: ", self.file)?;
        match &self.reason {
            Reason::Unreadable(error) => write!(f, "{error}"),
            Reason::TooLong => f.write_str("file is too large for a certificate or a key"),
            Reason::WrongContent { expected, found: FileContent::Empty } => {
                write!(f, "is empty; it must contain {expected} in PEM")
            }
            Reason::WrongContent { found: found @ FileContent::Der, .. } => {
                write!(f, "contains {found}; convert it to PEM with openssl")
            }
            Reason::WrongContent { expected, found } if found.name() == *expected => write!(
                f,
                "contains {found} in a PEM section that is not read; its begin line must be alone \
                 on a line, and its label must be a supported one"
            ),
            Reason::WrongContent { expected, found } => {
                write!(f, "contains {found}, not {expected} in PEM")
            }
            Reason::Certificate(error) => write!(f, "cannot load certificate: {error}"),
            Reason::Key(error) => write!(f, "cannot load private key: {error}"),
            Reason::Credential { key, error } => write!(f, "{error} (private key: {key:?})"),
            Reason::Expired(since) => write!(f, "expired at {}", ReadableTime(*since)),
            Reason::NotYetValid(from) => write!(f, "not valid before {}", ReadableTime(*from)),
            Reason::MissingPartner { missing } => write!(f, "{missing} is missing"),
            Reason::Empty => f.write_str("no certificate with a private key found"),
        }
    }
}

impl std::error::Error for Problem {}
