//! Accounting: which steps of a connection are timed, and for which side.
//!
//! In neutral accounting, each side's time is the work of its own library and nothing else. The two
//! programs behind the published comparisons also attribute transport and other work to a side,
//! each in its own way. In published accounting, a library is timed by the rules of its program.
//! See lab/README.md for the effects.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::meter::Clock;

/// The rules by which a run is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accounting {
    /// All libraries follow the same rules.
    #[default]
    Neutral,
    /// Each library follows the rules of its [`Program`].
    Published,
}

impl Accounting {
    /// All accountings.
    pub const ALL: [Self; 2] = [Self::Neutral, Self::Published];

    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Published => "published",
        }
    }
}

impl fmt::Display for Accounting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A program with published results, which a worker follows in published accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// The benchmark of rustls. It times the creation of connections, and attributes the transport
    /// of a flight to the receiver.
    RustlsBench,
    /// The benchmark for OpenSSL and BoringSSL. It does not time the creation of connections, and
    /// attributes the transport of a flight to the sender. It times only four spans (not the
    /// client's last read), with a clock that has microseconds.
    OpensslBench,
}

impl Program {
    /// The program's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RustlsBench => "rustls-bench",
            Self::OpensslBench => "openssl-bench",
        }
    }
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A step in the life of a connection. The names are those of [`crate::Endpoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Create(Side),
    Advance(Side),
    Collect(Side),
    Deliver(Side),
    Drop(Side),
    /// Encrypt application data.
    Send,
    /// Take encrypted data from the sender's library.
    Drain,
    /// Pass encrypted data to the receiver's library.
    Fill,
    /// Decrypt application data.
    Receive,
}

/// The total to which the time of a step is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    CreateClient,
    Client,
    DropClient,
    CreateServer,
    Server,
    DropServer,
    Send,
    Receive,
}

pub(crate) const PARTS: usize = 8;

impl Part {
    fn of(side: Side) -> Self {
        match side {
            Side::Client => Self::Client,
            Side::Server => Self::Server,
        }
    }

    fn creation_of(side: Side) -> Self {
        match side {
            Side::Client => Self::CreateClient,
            Side::Server => Self::CreateServer,
        }
    }

    fn drop_of(side: Side) -> Self {
        match side {
            Side::Client => Self::DropClient,
            Side::Server => Self::DropServer,
        }
    }
}

/// The rules for one library: the neutral rules, or those of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimingRules(pub(crate) Option<Program>);

impl TimingRules {
    /// The part to which a step is added; `None` if the step is not timed.
    pub(crate) fn part(self, step: Step) -> Option<Part> {
        match (step, self.0) {
            (Step::Send, _) => Some(Part::Send),
            (Step::Receive, _) | (Step::Fill, Some(Program::RustlsBench)) => Some(Part::Receive),
            (Step::Fill | Step::Drain, _) => None,
            (Step::Advance(side), _) => Some(Part::of(side)),
            (Step::Create(_), Some(Program::OpensslBench)) => None,
            (Step::Create(side), _) => Some(Part::creation_of(side)),
            (Step::Drop(side), None) => Some(Part::drop_of(side)),
            (Step::Drop(_), Some(_)) | (Step::Collect(_) | Step::Deliver(_), None) => None,
            (Step::Collect(side), Some(Program::RustlsBench)) => Some(Part::of(side.other())),
            (Step::Deliver(side), Some(Program::RustlsBench)) => Some(Part::of(side)),
            (Step::Collect(side), Some(Program::OpensslBench)) => Some(Part::of(side)),
            (Step::Deliver(side), Some(Program::OpensslBench)) => Some(Part::of(side.other())),
        }
    }

    /// The number of spans of a handshake that are timed, from its start.
    pub(crate) fn spans(self) -> usize {
        match self.0 {
            None => usize::MAX,
            // The spans are the creation of both ends, the client's first flight, and two turns of
            // each side.
            Some(Program::RustlsBench) => 7,
            Some(Program::OpensslBench) => 4,
        }
    }

    /// The plaintext of bulk writes. rustls-bench writes zeros from pages that were never written
    /// to; these share one physical page and take no space in CPU caches. Other writes have varying
    /// bytes.
    pub(crate) fn plaintext(self, size: usize) -> Vec<u8> {
        match self.0 {
            Some(Program::RustlsBench) => vec![0; size],
            None | Some(Program::OpensslBench) => (0..=250).cycle().take(size).collect(),
        }
    }

    pub(crate) fn clock(self) -> Clock {
        match self.0 {
            None => Clock::Corrected,
            Some(Program::RustlsBench) => Clock::AsRead,
            Some(Program::OpensslBench) => Clock::Microseconds,
        }
    }
}
