//! The values that labels can have: closed sets, known before the first client comes.
//!
//! Must not know: what is counted with them. Next: [`super::Shard`].

use std::io;

use tercel::wire::{AlertDescription, CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{EarlyData, Error, Facts, Peer};
use tercel_tokio::HandshakeError;

/// Makes a closed set: the variants, their names as label values, and their places in a table.
macro_rules! closed_set {
    ($(#[$meta:meta])* $Type:ident { $($(#[$each:meta])* $Variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Type { $($(#[$each])* $Variant,)* }

        impl $Type {
            /// All of them, in the order of their places.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// The label's value.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)* }
            }

            /// Its place in a table.
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

closed_set! {
    /// Why a connection was closed before its handshake began.
    Refused {
        /// The process serves as many connections as it may.
        ConnectionLimit = "connection_limit",
        /// The listener serves as many as it may.
        ListenerLimit = "listener_limit",
        /// The client's address has as many as it may.
        AddressLimit = "address_limit",
        /// The process is about to end.
        Draining = "draining",
        /// What stands before the handshake is no header of the PROXY protocol, or comes from somebody who may not send one.
        ProxyHeader = "proxy_header",
        /// No route for the name asked for.
        NoRoute = "no_route",
    }
}

closed_set! {
    /// How a handshake succeeded.
    Outcome {
        /// With a new session.
        Full = "full",
        /// With an earlier one.
        Resumed = "resumed",
        /// With an earlier one, and early data was accepted.
        EarlyData = "early_data",
    }
}

closed_set! {
    /// Why a handshake failed.
    Failure {
        /// The peer broke a rule of the protocol.
        Protocol = "protocol",
        /// What the peer offers has nothing in common with what is accepted here.
        NothingInCommon = "nothing_in_common",
        /// The first bytes were plain HTTP.
        PlainHttp = "plain_http",
        /// No certificate for the name asked for.
        UnrecognizedName = "unrecognized_name",
        /// The client showed no certificate where one is required.
        CertificateRequired = "certificate_required",
        /// The client's certificate was refused.
        CertificateRefused = "certificate_refused",
        /// The client sent a fatal alert.
        AlertReceived = "alert_received",
        /// The client closed before the end.
        Closed = "closed",
        /// It was not complete in time.
        TimedOut = "timed_out",
        /// The transport failed.
        Transport = "transport",
        /// Something on this side is missing or failed.
        Local = "local",
    }
}

closed_set! {
    /// Why no connection to a backend came about, or why it ended early.
    BackendFailure {
        /// Nobody listens there.
        Refused = "refused",
        /// No answer in time.
        TimedOut = "timed_out",
        /// No way there.
        Unreachable = "unreachable",
        /// It cut the connection.
        Reset = "reset",
        /// All of a route's backends failed, or are held to be down.
        NoneLeft = "none_left",
        /// Anything else.
        Other = "other",
    }
}

closed_set! {
    /// Why a connection could not be accepted.
    AcceptFailure {
        /// The process or the system has no file descriptor left.
        FileLimit = "file_limit",
        /// The system has no memory for it.
        Memory = "memory",
        /// The client was gone before it was accepted.
        Aborted = "aborted",
        /// Anything else.
        Other = "other",
    }
}

closed_set! {
    /// What is read anew while the process runs.
    Reload {
        /// The configuration.
        Configuration = "configuration",
        /// The certificates.
        Certificates = "certificates",
        /// The ticket keys.
        TicketKeys = "ticket_keys",
    }
}

impl Outcome {
    pub(super) fn of(facts: &Facts) -> Self {
        match (facts.resumed, facts.early_data) {
            (true, EarlyData::Accepted) => Self::EarlyData,
            (true, _) => Self::Resumed,
            (false, _) => Self::Full,
        }
    }
}

impl Failure {
    /// What this error of a handshake counts as.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        match handshake_error(error) {
            Some(HandshakeError::Protocol { error, .. }) => Self::of_protocol(*error),
            Some(HandshakeError::TimedOut(_)) => Self::TimedOut,
            Some(_) => Self::Local,
            None => match error.kind() {
                io::ErrorKind::TimedOut => Self::TimedOut,
                io::ErrorKind::UnexpectedEof => Self::Closed,
                _ => Self::Transport,
            },
        }
    }

    fn of_protocol(error: Error) -> Self {
        match error {
            Error::Peer(
                Peer::UnsupportedVersion
                | Peer::InappropriateFallback
                | Peer::NoSharedCipherSuite
                | Peer::NoSharedGroup
                | Peer::NoCommonSignatureScheme
                | Peer::NoCommonCertificateType
                | Peer::NoApplicationProtocol
                | Peer::ExtendedMainSecretRequired
                | Peer::UnsafeLegacyRenegotiation
                | Peer::UnknownPreSharedKey,
            ) => Self::NothingInCommon,
            Error::Peer(Peer::PlainHttp) => Self::PlainHttp,
            Error::Peer(Peer::UnrecognizedName) => Self::UnrecognizedName,
            Error::Peer(Peer::CertificateRequired | Peer::CertificateRequiredTls12) => {
                Self::CertificateRequired
            }
            Error::Peer(_) => Self::Protocol,
            Error::Refused(_) => Self::CertificateRefused,
            Error::AlertReceived(_) => Self::AlertReceived,
            Error::Truncated | Error::ClosedInHandshake => Self::Closed,
            // A kind that a later version may add is our concern until it is named here.
            _ => Self::Local,
        }
    }
}

impl BackendFailure {
    /// What this error of a connection to a backend counts as.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionRefused => Self::Refused,
            Kind::TimedOut => Self::TimedOut,
            Kind::HostUnreachable | Kind::NetworkUnreachable | Kind::AddrNotAvailable => {
                Self::Unreachable
            }
            Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe => Self::Reset,
            _ => Self::Other,
        }
    }
}

impl AcceptFailure {
    /// What this error of `accept` counts as.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        use nix::errno::Errno;
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EMFILE | Errno::ENFILE) => Self::FileLimit,
            Some(Errno::ENOBUFS | Errno::ENOMEM) => Self::Memory,
            Some(Errno::ECONNABORTED | Errno::EPROTO) => Self::Aborted,
            _ => Self::Other,
        }
    }
}

fn handshake_error(error: &io::Error) -> Option<&HandshakeError> {
    error.get_ref()?.downcast_ref::<HandshakeError>()
}

/// A set whose members are the code points that have a name, and beside them one place for `none` and one for the others.
/// A peer can send any number; what it gets is a place that exists.
pub(super) const fn places(named: usize) -> usize {
    named.saturating_add(2)
}

/// The place of a code point among the named ones.
pub(super) fn place<T: PartialEq>(named: &[T], point: Option<T>) -> usize {
    match point {
        None => named.len(),
        Some(point) => named
            .iter()
            .position(|known| *known == point)
            .unwrap_or_else(|| named.len().saturating_add(1)),
    }
}

/// The label's value for a place.
pub(super) fn place_name<T: Copy>(
    named: &[T],
    place: usize,
    name: impl Fn(T) -> Option<&'static str>,
) -> &'static str {
    match named.get(place) {
        Some(point) => name(*point).unwrap_or("other"),
        None if place == named.len() => "none",
        None => "other",
    }
}

/// The versions that can be agreed on.
pub(super) const VERSIONS: [(ProtocolVersion, &str); 2] =
    [(ProtocolVersion::TLS1_2, "1.2"), (ProtocolVersion::TLS1_3, "1.3")];

pub(super) const SUITES: usize = places(CipherSuite::NAMED.len());
pub(super) const GROUPS: usize = places(NamedGroup::NAMED.len());
pub(super) const ALERTS: usize = places(AlertDescription::NAMED.len());

/// The alert that an error of a handshake was told by, whoever sent it.
pub(super) fn alert(error: &io::Error) -> Option<AlertDescription> {
    match handshake_error(error)? {
        HandshakeError::Protocol { error: Error::AlertReceived(alert), .. } => Some(*alert),
        HandshakeError::Protocol { error, .. } => error.alert(),
        _ => None,
    }
}
