//! The kinds of faulty clients, and the result that each must have.

/// The behaviour of a faulty client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Connects and sends nothing.
    HalfOpen,
    /// Stops after some byte of its handshake and keeps the connection open.
    SlowLoris(Version),
    /// Stops after some byte of its handshake and resets the connection.
    Resets(Version),
    /// Stops after some byte of its handshake and closes the connection.
    Closes(Version),
    /// Sends random bytes.
    Garbage,
    /// Sends a record of 65535 bytes.
    LargeRecord,
    /// Sends an endless ClientHello.
    EndlessHello,
    /// Offers TLS 1.0.
    OldVersion,
    /// Sends HTTP without TLS.
    PlainHttp,
    /// Completes the handshake and resets the connection before any request.
    ResetsOnceConnected,
    /// Requests a large answer and resets the connection within it.
    ResetsInAnswer,
    /// Sends a request and closes without reading.
    ClosesAfterRequest,
    /// Requests a large answer and reads nothing.
    NeverReads,
    /// Requests a name whose backend does not listen.
    BackendDown,
    /// Requests a name whose backend is slow.
    BackendSlow,
    /// Requests a name whose backend closes instead of answering.
    BackendCloses,
    /// Requests a name whose backend resets instead of answering.
    BackendResets,
    /// Requests a name whose backend does not answer.
    BackendSilent,
}

/// The TLS version of a partial handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    Tls12,
    Tls13,
}

/// The result that a faulty client must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExpectedResult {
    /// The client's handshake fails or does not begin, and the failure is counted.
    Refused,
    /// The client's handshake succeeds. Later events are not counted.
    Connected,
    /// The client's handshake succeeds, and a failure of the backend is counted.
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
        Self::ClosesAfterRequest,
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
            Self::ClosesAfterRequest => "closes after request",
            Self::NeverReads => "never reads",
            Self::BackendDown => "backend down",
            Self::BackendSlow => "backend slow",
            Self::BackendCloses => "backend closes",
            Self::BackendResets => "backend resets",
            Self::BackendSilent => "backend silent",
        }
    }

    pub(crate) fn expected(self) -> ExpectedResult {
        match self {
            Self::ResetsOnceConnected
            | Self::ResetsInAnswer
            | Self::ClosesAfterRequest
            | Self::NeverReads
            | Self::BackendSlow
            | Self::BackendCloses
            | Self::BackendSilent => ExpectedResult::Connected,
            Self::BackendDown | Self::BackendResets => ExpectedResult::BackendFails,
            _ => ExpectedResult::Refused,
        }
    }
    /// Whether a time limit must end it.
    pub(crate) fn waits(self) -> bool {
        use Kind::{BackendSilent, BackendSlow, Garbage, HalfOpen, NeverReads, SlowLoris};
        matches!(self, HalfOpen | SlowLoris(_) | Garbage | NeverReads | BackendSlow | BackendSilent)
    }
    /// The version whose handshake is cut after each of its bytes.
    pub(crate) fn cut_version(self) -> Option<Version> {
        match self {
            Self::SlowLoris(version) | Self::Resets(version) | Self::Closes(version) => {
                Some(version)
            }
            _ => None,
        }
    }
}
