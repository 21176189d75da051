//! The line protocol between the controller and a worker.
//!
//! Each line is a JSON object. The controller writes a [`Request`] to the worker's standard input,
//! and the worker writes one [`Reply`] to its standard output. The worker exits at the end of its
//! input. lab/README.md has an example.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::accounting::Program;
use crate::distribution::Distribution;
use crate::row::Row;

/// The protocol version. It is raised for incompatible changes.
pub const VERSION: u32 = 1;

/// The reason why a library has no results in published accounting.
pub const NO_PROGRAM: &str = "no program of its own has published figures";

/// A request of the controller. The task is a [`Row`], or for `lab openssl` a
/// [`crate::series::Job`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request<R = Row> {
    /// Requests the worker's description. The reply is [`Reply::About`].
    Hello,
    /// Prepares a row: reads certificates, configures, warms up, checks both sides. The reply is
    /// [`Reply::Ready`] or [`Reply::Cannot`].
    Prepare {
        /// The row.
        row: Box<R>,
        /// The directory of [`crate::Files`], the same for all workers in a round.
        files: PathBuf,
        /// The memory placement, below 2^32 and different for each process. Before the worker reads
        /// the files, it allocates blocks of all sizes in numbers derived from the placement, and
        /// keeps them. The field is absent if memory or instructions are counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placement: Option<u64>,
    },
    /// Measures the prepared row. The reply is [`Reply::Measured`].
    Measure {
        /// The approximate duration. At least one repetition is made.
        milliseconds: u64,
    },
    /// Repeats the prepared row without timing, for instruction counts. This is sent only to
    /// workers that support it. The reply is [`Reply::Measured`] without values, or
    /// [`Reply::Cannot`].
    Repeat {
        /// The number of repetitions. For bulk rows with small writes, the number of batches.
        count: u64,
    },
    /// Ends the worker. There is no reply.
    Quit,
}

/// A reply of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// The worker's description.
    About(About),
    /// The row is prepared.
    Ready,
    /// The library does not support the row. This is not a failure.
    Cannot {
        /// The reason.
        why: String,
    },
    /// The measurement.
    Measured(Measurement),
    /// The row failed, or its handshakes did not have the requested parameters.
    Failed {
        /// The reason.
        why: String,
    },
}

/// The description of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The protocol version, [`VERSION`].
    pub protocol: u32,
    /// The library's name.
    pub library: String,
    /// The library's version.
    pub version: String,
    /// The cryptographic library and its version.
    pub crypto: String,
    /// The interface of the library that the worker uses.
    pub interface: String,
    /// The compiler and the build options, as far as the worker knows them.
    pub build: String,
    /// Whether the worker supports [`Request::Repeat`], with marker functions as in `spans.rs`.
    #[serde(default)]
    pub repeats: bool,
    /// The program that the worker follows in published accounting; absent if it does not support
    /// that.
    #[serde(default)]
    pub program: Option<Program>,
}

/// A measurement. Times are nanoseconds per repetition, sizes are bytes per connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The number of repetitions: handshakes, connections, or writes.
    pub repetitions: u64,
    /// The judged values, by the names of [`Row::sides`].
    pub sides: BTreeMap<String, f64>,
    /// Values that are reported but not judged.
    pub parts: BTreeMap<String, f64>,
    /// Latency rows: the time distributions of `client` and `server`.
    #[serde(default)]
    pub distributions: BTreeMap<String, Distribution>,
    /// The negotiated parameters, which are checked in every repetition.
    pub done: BTreeMap<String, String>,
}
