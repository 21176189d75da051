//! Which spans of a connection count, and for whom.
//!
//! In neutral accounting a side pays for what its own library does, and for that only. The two programs
//! behind the published comparisons share out the rest too, each in its own way; in published accounting a
//! library is timed as its own program does it. lab/README.md says what that favours.
//! Must not know: libraries, and what happens in a step. Next: `ledger.rs`, which adds them up;
//! `handshake.rs` and `bulk.rs`, which go through the steps.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::meter::Clock;

/// Whose way of counting a run follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accounting {
    /// The same for every library.
    #[default]
    Neutral,
    /// For each library that of the [`Program`] whose figures were published.
    Published,
}

impl Accounting {
    /// All of them.
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

/// A program whose figures were published, and which a worker follows in published accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// That of rustls. Making the connection counts; the receiver pays for moving a flight.
    RustlsBench,
    /// That for OpenSSL and BoringSSL. Making the connection is free; the sender pays for moving a
    /// flight; four spans count, what the client reads last does not; the clock knows microseconds.
    OpensslBench,
}

impl Program {
    /// Its name.
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

/// What is done to a connection, in the words of [`crate::Endpoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Create(Side),
    Advance(Side),
    Collect(Side),
    Deliver(Side),
    Drop(Side),
    /// Application data sealed.
    Send,
    /// Sealed data taken from the sender.
    Drain,
    /// Sealed data handed to the receiver.
    Fill,
    /// Application data opened.
    Receive,
}

/// What time is added to.
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

/// The rules by which a library is timed: neutral ones, or those of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules(pub(crate) Option<Program>);

impl Rules {
    /// The part that a step is added to, if it counts at all.
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

    /// How many spans of a handshake count, the first ones.
    pub(crate) fn spans(self) -> usize {
        match self.0 {
            None => usize::MAX,
            // Both ends made, the client's first message, and twice each side's turn.
            Some(Program::RustlsBench) => 7,
            Some(Program::OpensslBench) => 4,
        }
    }

    /// What is written in bulk. No two bytes of a record in a row are alike, but for rustls-bench: its zeros were never
    /// written, so that all their pages are one and take up no room in a processor's caches.
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
