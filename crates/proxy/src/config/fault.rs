//! Why a configuration is not used: one line.
//!
//! Must not know: what keys there are. Next: [`super::keys`], which finds most of them.

use std::fmt;

/// What is wrong with a configuration: `FILE: KEY: REASON`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file's name, or `command line`.
    pub source: String,
    /// The key, as `listener[1].route[0].to`, or the option; empty if it is about the whole.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", one_line(&self.source))?;
        if !self.key.is_empty() {
            write!(f, "{}: ", one_line(&self.key))?;
        }
        f.write_str(&one_line(&self.reason))
    }
}

impl std::error::Error for Fault {}

/// Names and values come from files, and may hold what would make two lines of one.
fn one_line(text: &str) -> String {
    text.trim().chars().map(|each| if each.is_control() { ' ' } else { each }).collect()
}
