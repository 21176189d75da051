//! The inputs that a coroutine waits for, and the commands that it gives to its transport.

use tercel_wire::ProtocolVersion;

use super::record_limits::RecordLimits;
use crate::connection::info::ConnectionInfo;
use crate::keys::direction::NewKeys;
use crate::keys::tls13::TrafficSecret;
use crate::record::sealer::Padding;

/// The input that a coroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Message,
    ChangeCipherSpec,
    Answer,
}

/// A command of a coroutine to its transport. It takes effect after the messages sent before it.
pub(crate) enum Command {
    /// Send a change_cipher_spec record.
    SendChangeCipherSpec,
    /// The version is negotiated: apply its rules to received records.
    Negotiated(ProtocolVersion),
    /// Protect further records with these keys.
    InstallWrite(NewKeys),
    /// Open further records with these keys. No byte of a following message may be pending.
    /// RFC 9846 5.1
    InstallRead(NewKeys),
    /// Apply these record size limits. RFC 8449
    RecordLimits(RecordLimits),
    /// Server: received application data is early data under this secret, at most `limit` bytes.
    /// `info` contains the negotiated parameters, for the application that reads early data.
    /// RFC 9846 4.3.10
    ReadEarlyData { secret: TrafficSecret, limit: u32, info: Box<ConnectionInfo> },
    /// Client: protect early data with this secret, at most `limit` bytes. RFC 9846 4.3.10
    WriteEarlyData { secret: TrafficSecret, limit: u32 },
    /// Client: a HelloRetryRequest rejected early data; send further messages unprotected. Over
    /// QUIC, also if another message of the server rejected early data. RFC 9846 4.2.2
    AbandonEarlyData,
    /// Server, QUIC: the secret of the keys that `InstallRead` will install. The transport gets the
    /// keys of both directions when the server may send application data. RFC 9001 4.1.4
    #[cfg(feature = "quic")]
    ReadKeysInAdvance(TrafficSecret),
    /// Server: the application may send data before the client's Finished. RFC 9846 2
    HalfRtt,
    /// Server: skip early data that was not accepted, at most `limit` bytes. RFC 9846 4.3.10
    SkipEarlyData { limit: u32 },
    /// Server: no further early data can arrive, so a record that cannot be opened is an error
    /// again.
    StopSkippingEarlyData,
    /// Apply this padding to further records. RFC 9846 5.4
    Padding(Padding),
}

impl From<RecordLimits> for Command {
    fn from(limits: RecordLimits) -> Self {
        Self::RecordLimits(limits)
    }
}
