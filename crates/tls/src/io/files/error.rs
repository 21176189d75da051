//! The reason why a file cannot be used, printed as one line with the file's name.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use pki_types::UnixTime;
use tercel_pki::{FileContent, PemError, ReadableTime};

use crate::auth::credential::CredentialError;

/// A file, and the reason why it cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub file: PathBuf,
    /// The reason.
    pub reason: FileErrorReason,
}

/// The reason why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileErrorReason {
    /// The file could not be read.
    Unreadable(String),
    /// The file exceeds the maximum size.
    TooLong,
    /// The file contains something other than the expected certificate or private key.
    WrongContent {
        /// The expected content, with an article.
        expected: &'static str,
        /// The content.
        found: FileContent,
    },
    /// The file has no certificate, or the certificate is truncated or malformed.
    Certificate(PemError),
    /// The file has no private key, or the key is truncated, malformed or encrypted.
    Key(PemError),
    /// Certificate and key do not form a credential: they do not match, one of the two is
    /// unsupported, or the certificate is for another use.
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
    /// The thread that watches the file cannot be started.
    NotWatched(String),
}

impl FileError {
    /// Creates the error of this file.
    #[must_use]
    pub fn new(file: &Path, reason: FileErrorReason) -> Self {
        Self { file: file.to_owned(), reason }
    }

    /// Creates the error of a file that could not be read.
    #[must_use]
    pub fn unreadable(file: &Path, error: &io::Error) -> Self {
        Self::new(file, FileErrorReason::Unreadable(without_number(error)))
    }

    /// Returns whether the only reason is that the leaf has expired or is not valid yet.
    #[must_use]
    pub fn is_validity_period(&self) -> bool {
        matches!(self.reason, FileErrorReason::Expired(_) | FileErrorReason::NotYetValid(_))
    }

    /// Creates the error of a file that could not be read as PEM.
    pub(super) fn pem(
        file: &Path,
        expected: &'static str,
        content: &[u8],
        other: FileErrorReason,
    ) -> Self {
        match other {
            FileErrorReason::Certificate(PemError::NothingFound)
            | FileErrorReason::Key(PemError::NothingFound) => {
                let found = FileContent::of(content);
                Self::new(file, FileErrorReason::WrongContent { expected, found })
            }
            other => Self::new(file, other),
        }
    }
}

/// Returns the text of an error of the operating system, without its number.
pub(super) fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` quotes the name, so that it cannot break the line.
        write!(f, "{:?}: {}", self.file, self.reason)
    }
}

impl fmt::Display for FileErrorReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "{error}"),
            Self::TooLong => f.write_str("file is too large for a certificate or a key"),
            Self::WrongContent { expected, found: FileContent::Empty } => {
                write!(f, "is empty; it must contain {expected} in PEM")
            }
            Self::WrongContent { found: found @ FileContent::Der, .. } => {
                write!(f, "contains {found}; convert it to PEM with openssl")
            }
            Self::WrongContent { expected, found } if found.name() == *expected => write!(
                f,
                "contains {found} in a PEM section that is not read; its begin line must be alone \
                 on a line, and its label must be a supported one"
            ),
            Self::WrongContent { expected, found } => {
                write!(f, "contains {found}, not {expected} in PEM")
            }
            Self::Certificate(error) => write!(f, "cannot load certificate: {error}"),
            Self::Key(error) => write!(f, "cannot load private key: {error}"),
            Self::Credential { key, error } => write!(f, "{error} (private key: {key:?})"),
            Self::Expired(since) => write!(f, "expired at {}", ReadableTime(*since)),
            Self::NotYetValid(from) => write!(f, "not valid before {}", ReadableTime(*from)),
            Self::NotWatched(error) => write!(f, "cannot be watched: {error}"),
        }
    }
}

impl std::error::Error for FileError {}
