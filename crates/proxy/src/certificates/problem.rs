//! Problems with certificate files, printed as one line with the file's name.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tercel::files::{FileError, FileErrorReason};

/// A file or folder, and the reason why it cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub file: PathBuf,
    /// The problem.
    pub reason: Reason,
}

/// The reason why a file or folder cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The file or folder cannot be read, or the file cannot be used.
    File(FileErrorReason),
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

    pub(super) fn unreadable(file: &Path, error: &io::Error) -> Self {
        FileError::unreadable(file, error).into()
    }

    /// Whether the only problem is that the leaf has expired or is not valid yet.
    pub(super) fn is_validity_period(&self) -> bool {
        use FileErrorReason::{Expired, NotYetValid};
        matches!(self.reason, Reason::File(Expired(_) | NotYetValid(_)))
    }
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        Self { file: error.file, reason: Reason::File(error.reason) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` quotes the name, so that it cannot break the line.
        write!(f, "{:?}: ", self.file)?;
        match &self.reason {
            Reason::File(reason) => reason.fmt(f),
            Reason::MissingPartner { missing } => write!(f, "{missing} is missing"),
            Reason::Empty => f.write_str("no certificate with a private key found"),
        }
    }
}

impl std::error::Error for Problem {}
