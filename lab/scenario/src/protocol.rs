//! The line protocol between the controller and a worker.
//!
//! One JSON object a line. The controller writes a [`Request`] to the worker's standard input, the worker
//! one [`Reply`] to its standard output. The end of the input ends the worker. lab/README.md shows a
//! conversation. Must not know: what is measured.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::accounting::Program;
use crate::distribution::Distribution;
use crate::row::Row;

/// Raised when an old worker could not be understood any more.
pub const VERSION: u32 = 1;

/// Why a library has no figures in published accounting.
pub const NO_PROGRAM: &str = "no program of its own has published figures";

/// What the controller asks for. What is measured is a [`Row`], or in the series of OpenSSL a
/// [`crate::series::Job`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request<R = Row> {
    /// Who are you? Answered by [`Reply::About`].
    Hello,
    /// Get ready for this row: read certificates, configure, do it some times to warm up and to see that
    /// both sides do what is asked. Answered by [`Reply::Ready`] or [`Reply::Cannot`].
    Prepare {
        /// What will be measured.
        row: Box<R>,
        /// The folder of [`crate::Files`]: of this round, the same for all workers.
        files: PathBuf,
        /// Where the worker's memory shall lie: below 2^32, another for each process. Before it reads the files it
        /// takes memory of all sizes, more or less of each by this number, and keeps it. Absent where memory or
        /// instructions are counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placement: Option<u64>,
    },
    /// Measure the row that was prepared. Answered by [`Reply::Measured`].
    Measure {
        /// For about so long, and at least once.
        milliseconds: u64,
    },
    /// Do the row that was prepared without a clock, for a program that counts from outside what each side does.
    /// Asked only of workers that say that they do it. Answered by [`Reply::Measured`] without figures, or
    /// by [`Reply::Cannot`].
    Repeat {
        /// So often; bulk rows of small writes: so many batches of them.
        count: u64,
    },
    /// Go away. Not answered.
    Quit,
}

/// What a worker answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// Who the worker is.
    About(About),
    /// The row is prepared.
    Ready,
    /// The library has no way to do this row. Not a failure.
    Cannot {
        /// In a few words.
        why: String,
    },
    /// What was measured.
    Measured(Measurement),
    /// It went wrong, or what happened is not what was asked. The row is lost for this peer.
    Failed {
        /// In a few words.
        why: String,
    },
}

/// Who a worker is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// [`VERSION`].
    pub protocol: u32,
    /// The library's name.
    pub library: String,
    /// Its version.
    pub version: String,
    /// The cryptographic library below it, with its version.
    pub crypto: String,
    /// The interface of the library through which it is driven.
    pub interface: String,
    /// The compiler of the worker and what it was told, as far as the worker knows.
    pub build: String,
    /// Whether it answers [`Request::Repeat`], with each side's work in a function of its own as in `spans.rs`.
    #[serde(default)]
    pub repeats: bool,
    /// The program that it follows in published accounting. Without one it is not asked for that.
    #[serde(default)]
    pub program: Option<Program>,
}

/// What was measured. Times are nanoseconds for one repetition, sizes bytes for one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// How often the row was done: handshakes, connections, or writes.
    pub repetitions: u64,
    /// The judged figures, by the names of [`Row::sides`].
    pub sides: BTreeMap<String, f64>,
    /// Figures that are told but not judged.
    pub parts: BTreeMap<String, f64>,
    /// Latency rows: how the times of `client` and `server` are distributed.
    #[serde(default)]
    pub distributions: BTreeMap<String, Distribution>,
    /// What both sides agreed on, seen in every repetition.
    pub done: BTreeMap<String, String>,
}
