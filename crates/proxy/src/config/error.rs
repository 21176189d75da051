//! Configuration errors.

use std::fmt;

/// An error in a configuration, displayed as `FILE: KEY: REASON` on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file name, or `command line`.
    pub source: String,
    /// The key, such as `listener[1].route[0].to`, or the command line option; empty if the error
    /// concerns the file as a whole.
    pub key: String,
    /// The error, in words.
    pub reason: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", one_line(&self.source))?;
        if !self.key.is_empty() {
            write!(f, "{}: ", one_line(&self.key))?;
        }
        f.write_str(&one_line(&self.reason))
    }
}

impl std::error::Error for ConfigError {}

/// Replaces control characters, so that the error stays on one line: names and values may contain
/// them.
fn one_line(text: &str) -> String {
    text.trim().chars().map(|each| if each.is_control() { ' ' } else { each }).collect()
}
