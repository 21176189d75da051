//! Label values: closed sets, so that clients cannot create new time series.

use std::io;

use tercel::wire::{AlertDescription, CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{ConnectionInfo, EarlyData, Ech, Error, error::PeerError};
use tercel_tokio::HandshakeError;

/// Defines an enum of label values with their slots in a counter table.
macro_rules! label_values {
    ($(#[$meta:meta])* $Type:ident { $($(#[$each:meta])* $Variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Type { $($(#[$each])* $Variant,)* }

        impl $Type {
            /// All values, in the order of their slots.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// The label value.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)* }
            }

            /// The slot of this value in a counter table.
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

label_values! {
    /// The reason why a connection was closed before its handshake.
    ConnectionRefusal {
        /// The connection limit of the process is reached.
        ConnectionLimit = "connection_limit",
        /// The connection limit of the listener is reached.
        ListenerLimit = "listener_limit",
        /// The connection limit of the client address is reached.
        AddressLimit = "address_limit",
        /// The process is draining.
        Draining = "draining",
        /// The PROXY header is missing or malformed, or the peer may not send one.
        ProxyHeader = "proxy_header",
        /// There is no route for the requested name.
        NoRoute = "no_route",
    }
}

label_values! {
    /// The kind of a successful handshake.
    HandshakeOutcome {
        /// A full handshake.
        Full = "full",
        /// A resumed session.
        Resumed = "resumed",
        /// A resumed session with accepted early data.
        EarlyData = "early_data",
    }
}

label_values! {
    /// The reason why a handshake failed.
    HandshakeFailure {
        /// The peer violated the protocol.
        Protocol = "protocol",
        /// There is no common version, cipher suite, group, signature scheme, certificate type,
        /// ALPN protocol or pre-shared key, or the client does not support a required extension.
        NothingInCommon = "nothing_in_common",
        /// The first bytes were plaintext HTTP.
        PlainHttp = "plain_http",
        /// There is no certificate for the requested name.
        UnrecognizedName = "unrecognized_name",
        /// The client sent no certificate, but one is required.
        CertificateRequired = "certificate_required",
        /// The client's certificate was rejected.
        CertificateRefused = "certificate_refused",
        /// The client sent a fatal alert.
        AlertReceived = "alert_received",
        /// The client closed the connection.
        Closed = "closed",
        /// The handshake timed out.
        TimedOut = "timed_out",
        /// The transport failed.
        Transport = "transport",
        /// The error is on this side.
        Local = "local",
    }
}

label_values! {
    /// The reason why a backend connection failed.
    BackendFailure {
        /// The connection was refused.
        Refused = "refused",
        /// Connecting timed out.
        TimedOut = "timed_out",
        /// The address is unreachable.
        Unreachable = "unreachable",
        /// The backend reset the connection.
        Reset = "reset",
        /// All backends of the route failed.
        NoneLeft = "none_left",
        /// Any other error.
        Other = "other",
    }
}

label_values! {
    /// The reason why `accept` failed.
    AcceptFailure {
        /// The file descriptor limit of the process or system is reached.
        FileLimit = "file_limit",
        /// There is not enough memory.
        Memory = "memory",
        /// The client closed the connection before it was accepted.
        Aborted = "aborted",
        /// Any other error.
        Other = "other",
    }
}

label_values! {
    /// The kind of data that was reloaded.
    Reload {
        /// The configuration.
        Configuration = "configuration",
        /// The certificates.
        Certificates = "certificates",
        /// The ticket keys.
        TicketKeys = "ticket_keys",
        /// The keys for Encrypted ClientHello.
        EchKeys = "ech_keys",
    }
}

label_values! {
    /// The result of a client's Encrypted ClientHello.
    EchResult {
        /// A key opened it.
        Accepted = "accepted",
        /// The client has ended the connection, because no key opened it.
        Rejected = "rejected",
        /// No key opened it: the client's key is out of date, or the content is random.
        GreaseOrUnknown = "grease_or_unknown",
        /// A client-facing server has opened it.
        Backend = "backend",
    }
}

impl EchResult {
    /// The result of a completed handshake. `None` without Encrypted ClientHello.
    pub(super) fn of(info: &ConnectionInfo) -> Option<Self> {
        match info.ech {
            Ech::Accepted => Some(Self::Accepted),
            Ech::Rejected => Some(Self::GreaseOrUnknown),
            Ech::Backend => Some(Self::Backend),
            _ => None,
        }
    }

    /// Whether a client has ended a connection because of the rejection.
    pub(super) fn is_rejection(error: &io::Error) -> bool {
        let inner = error.get_ref();
        let error = match handshake_error(error) {
            Some(HandshakeError::Protocol { error, .. }) => Some(*error),
            Some(_) => None,
            None => inner.and_then(|inner| inner.downcast_ref::<Error>()).copied(),
        };
        error == Some(Error::AlertReceived(AlertDescription::ECH_REQUIRED))
    }
}

impl HandshakeOutcome {
    pub(super) fn of(info: &ConnectionInfo) -> Self {
        match (info.resumed, info.early_data) {
            (true, EarlyData::Accepted) => Self::EarlyData,
            (true, _) => Self::Resumed,
            (false, _) => Self::Full,
        }
    }
}

impl HandshakeFailure {
    /// Classifies a handshake error.
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
            Error::Peer(PeerError::PlainHttp) => Self::PlainHttp,
            Error::Peer(PeerError::UnrecognizedName) => Self::UnrecognizedName,
            Error::Peer(PeerError::CertificateRequired | PeerError::CertificateRequiredTls12) => {
                Self::CertificateRequired
            }
            Error::Peer(error) if error.is_disagreement() => Self::NothingInCommon,
            Error::Peer(_) => Self::Protocol,
            Error::Refused(_) => Self::CertificateRefused,
            Error::AlertReceived(_) => Self::AlertReceived,
            Error::Truncated | Error::ClosedInHandshake => Self::Closed,
            // Error variants added later count as local until they are listed here.
            _ => Self::Local,
        }
    }
}

impl BackendFailure {
    /// Classifies an error of a backend connection.
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
    /// Classifies an error of `accept`.
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

/// The number of slots for a set of code points: one for each named point, one for `none` and one
/// for `other`. Code points without a name share the slot of `other`, because peers can send any
/// code point.
pub(super) const fn slots(named: usize) -> usize {
    named.saturating_add(2)
}

/// The slot of a code point.
pub(super) fn slot<T: PartialEq>(named: &[T], point: Option<T>) -> usize {
    match point {
        None => named.len(),
        Some(point) => named
            .iter()
            .position(|known| *known == point)
            .unwrap_or_else(|| named.len().saturating_add(1)),
    }
}

/// The label value of a slot.
pub(super) fn slot_name<T: Copy>(
    named: &[T],
    slot: usize,
    name: impl Fn(T) -> Option<&'static str>,
) -> &'static str {
    match named.get(slot) {
        Some(point) => name(*point).unwrap_or("other"),
        None if slot == named.len() => "none",
        None => "other",
    }
}

/// The protocol versions that can be negotiated.
pub(super) const VERSIONS: [(ProtocolVersion, &str); 2] =
    [(ProtocolVersion::TLS1_2, "1.2"), (ProtocolVersion::TLS1_3, "1.3")];

pub(super) const SUITES: usize = slots(CipherSuite::NAMED.len());
pub(super) const GROUPS: usize = slots(NamedGroup::NAMED.len());
pub(super) const ALERTS: usize = slots(AlertDescription::NAMED.len());

/// The alert that was sent or received with a handshake error.
pub(super) fn alert(error: &io::Error) -> Option<AlertDescription> {
    match handshake_error(error)? {
        HandshakeError::Protocol { error: Error::AlertReceived(alert), .. } => Some(*alert),
        HandshakeError::Protocol { error, .. } => error.alert(),
        _ => None,
    }
}
