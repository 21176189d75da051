//! The kinds of bad clients, and what has to become of each.
//!
//! Must not know: how any of it is done. Next: `bad.rs`, which does it.

/// How a client misbehaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Connects and says nothing.
    HalfOpen,
    /// Stops after some byte of its handshake, and holds the connection.
    SlowLoris(Version),
    /// Stops after some byte of its handshake, and resets the connection.
    Resets(Version),
    /// Stops after some byte of its handshake, and closes.
    Closes(Version),
    /// Sends random bytes.
    Garbage,
    /// Sends a record of 65535 bytes.
    LargeRecord,
    /// Sends a ClientHello without end.
    EndlessHello,
    /// Speaks TLS 1.0.
    OldVersion,
    /// Speaks HTTP without TLS.
    PlainHttp,
    /// Completes the handshake and resets the connection, before it has asked for anything.
    ResetsOnceConnected,
    /// Asks for much and resets the connection in the middle of the answer.
    ResetsInAnswer,
    /// Asks for something, and closes without reading.
    LeavesAtOnce,
    /// Asks for much and reads nothing.
    NeverReads,
    /// Asks for a name whose backend does not listen.
    BackendDown,
    /// Asks for a name whose backend takes its time.
    BackendSlow,
    /// Asks for a name whose backend closes instead of answering.
    BackendCloses,
    /// Asks for a name whose backend resets instead of answering.
    BackendResets,
    /// Asks for a name whose backend does not answer.
    BackendSilent,
}

/// A version, whose handshake differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    Tls12,
    Tls13,
}

/// What has to become of a bad client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// Its handshake fails, or does not begin, and that is counted.
    Refused,
    /// Its handshake succeeds. What comes later is its own business.
    Connected,
    /// Its handshake succeeds, and a failure of the backend is counted.
    BackendFails,
}

impl Kind {
    pub(crate) const ALL: [Self; 21] = [
        Self::HalfOpen,
        Self::SlowLoris(Version::Tls12),
        Self::SlowLoris(Version::Tls13),
        Self::Garbage,
        Self::Resets(Version::Tls12),
        Self::Resets(Version::Tls13),
        Self::Closes(Version::Tls12),
        Self::Closes(Version::Tls13),
        Self::LargeRecord,
        Self::EndlessHello,
        Self::OldVersion,
        Self::PlainHttp,
        Self::ResetsOnceConnected,
        Self::ResetsInAnswer,
        Self::LeavesAtOnce,
        Self::BackendDown,
        Self::BackendCloses,
        Self::BackendResets,
        Self::NeverReads,
        Self::BackendSlow,
        Self::BackendSilent,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HalfOpen => "half-open",
            Self::SlowLoris(Version::Tls12) => "slow-loris 1.2, each byte",
            Self::SlowLoris(Version::Tls13) => "slow-loris 1.3, each byte",
            Self::Resets(Version::Tls12) => "reset 1.2, after each byte",
            Self::Resets(Version::Tls13) => "reset 1.3, after each byte",
            Self::Closes(Version::Tls12) => "close 1.2, after each byte",
            Self::Closes(Version::Tls13) => "close 1.3, after each byte",
            Self::Garbage => "garbage",
            Self::LargeRecord => "record of 65535 bytes",
            Self::EndlessHello => "hello without end",
            Self::OldVersion => "hello of TLS 1.0",
            Self::PlainHttp => "plain HTTP",
            Self::ResetsOnceConnected => "reset once connected",
            Self::ResetsInAnswer => "reset in the answer",
            Self::LeavesAtOnce => "asks and leaves",
            Self::NeverReads => "never reads",
            Self::BackendDown => "backend down",
            Self::BackendSlow => "backend slow",
            Self::BackendCloses => "backend closes",
            Self::BackendResets => "backend resets",
            Self::BackendSilent => "backend silent",
        }
    }

    pub(crate) fn fate(self) -> Fate {
        match self {
            Self::ResetsOnceConnected
            | Self::ResetsInAnswer
            | Self::LeavesAtOnce
            | Self::NeverReads
            | Self::BackendSlow
            | Self::BackendCloses
            | Self::BackendSilent => Fate::Connected,
            Self::BackendDown | Self::BackendResets => Fate::BackendFails,
            _ => Fate::Refused,
        }
    }

    /// Whether it waits until a time limit ends it.
    pub(crate) fn waits(self) -> bool {
        use Kind::{BackendSilent, BackendSlow, Garbage, HalfOpen, NeverReads, SlowLoris};
        matches!(self, HalfOpen | SlowLoris(_) | Garbage | NeverReads | BackendSlow | BackendSilent)
    }

    /// The version whose handshake is cut after each of its bytes.
    pub(crate) fn cut(self) -> Option<Version> {
        match self {
            Self::SlowLoris(version) | Self::Resets(version) | Self::Closes(version) => {
                Some(version)
            }
            _ => None,
        }
    }
}
