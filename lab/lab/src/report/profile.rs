//! Profiles: the instructions of each side of a row, by purpose.

use std::collections::BTreeMap;

use lab_scenario::{Row, Task};
use serde::{Deserialize, Serialize};

/// The purposes, in the order of reports.
pub const PURPOSES: [&str; 11] = [
    "key exchange",
    "signatures",
    "chain validation",
    "key schedule",
    "transcript",
    "record protection",
    "sessions",
    "random",
    "parsing and writing",
    "allocation",
    OTHER,
];

/// The purpose of functions that no pattern matches.
pub const OTHER: &str = "other";

/// The profile of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The row.
    pub row: Row,
    /// The row's title.
    pub title: String,
    /// The unit and the tool.
    pub counted: String,
    /// The peers that were counted.
    pub peers: Vec<PeerProfile>,
    /// Peers whose count failed, with the reason.
    pub failures: BTreeMap<String, String>,
    /// Peers that cannot be counted, with the reason.
    pub unable: BTreeMap<String, String>,
}

/// The profile of one peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerProfile {
    /// The peer's name.
    pub peer: String,
    /// The peer's label in reports.
    pub label: String,
    /// The sides, as in [`Row::sides`].
    pub sides: Vec<SideProfile>,
}

/// One side of a peer. Counts are for one repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideProfile {
    /// The side's name.
    pub side: String,
    /// The total count.
    pub instructions: f64,
    /// Every purpose, in the order of [`PURPOSES`].
    pub purposes: Vec<Part>,
}

/// The instructions that serve one purpose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// One of [`PURPOSES`].
    pub purpose: String,
    /// The instruction count.
    pub instructions: f64,
    /// The functions with the highest exclusive counts.
    pub functions: Vec<Function>,
}

/// A function and its exclusive instruction count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The function's name. A function that moves memory is listed together with its caller.
    pub name: String,
    /// The instruction count.
    pub instructions: f64,
}

impl SideProfile {
    /// The instructions of this purpose.
    #[must_use]
    pub fn of(&self, purpose: &str) -> Option<&Part> {
        self.purposes.iter().find(|part| part.purpose == purpose)
    }
}

impl Profile {
    /// The name of one repetition.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self.row.task {
            Task::Bulk => "write",
            Task::SetUp => "connection",
            _ => "handshake",
        }
    }
}
