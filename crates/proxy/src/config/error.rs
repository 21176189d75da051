//! Configuration errors.

use std::fmt;
use std::io;

/// An error in a configuration, displayed as `FILE: KEY: REASON (line N)` on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file name, or `command line`.
    pub source: String,
    /// The key, such as `listener[1].route[0].to`, or the command line option; empty if the error
    /// concerns the file as a whole.
    pub key: String,
    /// The error, in words.
    pub reason: String,
    /// The line of the key in the file, from 1, if it is known.
    pub line: Option<usize>,
}

impl ConfigError {
    /// An error without a line.
    pub(crate) fn new(
        source: impl Into<String>,
        key: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self { source: source.into(), key: key.into(), reason: reason.into(), line: None }
    }
}

/// The text of an error of the operating system, without its number.
pub(crate) fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error ").next().unwrap_or_default().to_owned()
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", one_line(&self.source))?;
        if !self.key.is_empty() {
            write!(f, "{}: ", one_line(&self.key))?;
        }
        f.write_str(&one_line(&self.reason))?;
        match self.line {
            Some(line) => write!(f, " (line {line})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Replaces control characters, so that the error stays on one line: names and values may contain
/// them.
fn one_line(text: &str) -> String {
    text.trim().chars().map(|each| if each.is_control() { ' ' } else { each }).collect()
}
