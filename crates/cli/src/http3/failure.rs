//! The reasons why connections and requests fail, with the hints of other connections.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

use h3::error::{Code, LocalError, StreamError};
use quinn::ConnectionError;
use tercel::wire::AlertDescription;
use tercel::{ConnectionInfo, Error};
use tercel_quinn::{HandshakeData, TlsFailure};

use crate::explain;
use crate::negotiated::printable;

/// The reason why there is no connection to a server.
#[derive(Debug)]
pub(crate) enum Failure {
    /// TLS ended the handshake on this side.
    Tls(Box<TlsFailure>),
    /// The server or the transport ended the handshake.
    Quic(ConnectionError),
    /// Nothing listens on the UDP port of the server.
    Refused,
    /// No answer, or no complete handshake, within the time limit.
    TimedOut,
    /// This machine cannot connect.
    Local(String),
}

impl Failure {
    /// The failure of a handshake that ended with this error. `tls` is the failure of TLS, if that
    /// was the reason.
    pub(super) fn new(error: ConnectionError, tls: Option<Box<TlsFailure>>) -> Self {
        match tls {
            Some(failure) => Self::Tls(failure),
            None if error == ConnectionError::TimedOut => Self::TimedOut,
            None => Self::Quic(error),
        }
    }

    /// The fatal alert with which the server ended the handshake.
    pub(crate) fn alert(&self) -> Option<AlertDescription> {
        match self {
            Self::Quic(error) => alert_of(error),
            _ => None,
        }
    }
}

/// Writes the reason, and what to do.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls(failure) => match (&failure.refusal, failure.ended.error) {
                (Some(refusal), Error::Refused(_)) => f.write_str(&explain::refused(refusal)),
                (_, error) => f.write_str(&explain::tls(error)),
            },
            Self::Quic(error) => f.write_str(&connection_error(error)),
            Self::Refused => f.write_str(
                "connection refused; nothing listens on that UDP port: the server may have no \
                 HTTP/3, or not at this port",
            ),
            Self::TimedOut => f.write_str(
                "handshake timed out: no answer over QUIC; the server may have no HTTP/3, or a \
                 firewall may block UDP; a longer limit is set with --timeout",
            ),
            Self::Local(why) => f.write_str(why),
        }
    }
}

/// What quinn returns as handshake data: the negotiated parameters if the handshake is complete, or
/// the failure if TLS ended it.
pub(crate) fn handshake_result(
    data: Option<Box<dyn Any>>,
) -> Result<Arc<ConnectionInfo>, Option<Box<TlsFailure>>> {
    match data.ok_or(None)?.downcast::<HandshakeData>() {
        Ok(data) => data.info.ok_or(None),
        Err(other) => Err(other.downcast().ok()),
    }
}

/// The fatal alert with which the peer closed the connection. RFC 9001 4.8
pub(crate) fn alert_of(error: &ConnectionError) -> Option<AlertDescription> {
    let ConnectionError::ConnectionClosed(close) = error else { return None };
    let code = u64::from(close.error_code).checked_sub(CRYPTO_ERROR)?;
    u8::try_from(code).ok().map(AlertDescription)
}

/// The error as one of TLS, if the peer sent an alert.
pub(super) fn tls_error(error: &ConnectionError) -> Option<Error> {
    alert_of(error).map(Error::AlertReceived)
}

/// The reason why a connection to a server ended.
pub(crate) fn connection_error(error: &ConnectionError) -> String {
    match (tls_error(error), error) {
        (Some(error), _) => explain::tls(error),
        (None, ConnectionError::VersionMismatch) => {
            "the server does not support version 1 of QUIC".to_owned()
        }
        (None, ConnectionError::TimedOut) => "timed out; the peer stopped answering".to_owned(),
        (None, ConnectionError::ApplicationClosed(close)) => {
            let code = Code::from(close.error_code.into_inner());
            closed_by_peer(&code, &close.reason)
        }
        (None, ConnectionError::ConnectionClosed(close)) => {
            closed_by_peer(&close.error_code, &close.reason)
        }
        // This side ended the handshake; the text is that of TLS.
        (None, ConnectionError::TransportError(error))
            if u64::from(error.code) >= CRYPTO_ERROR && !error.reason.is_empty() =>
        {
            printable(&error.reason)
        }
        (None, ConnectionError::Reset) => "connection reset by peer".to_owned(),
        // The text may contain that of the peer.
        (None, other) => printable(other.to_string()),
    }
}

fn closed_by_peer(code: &impl fmt::Display, reason: &[u8]) -> String {
    let code = printable(code.to_string());
    match reason {
        [] => format!("connection closed by peer: {code}"),
        reason => format!("connection closed by peer: {code}, \"{}\"", printable(reason)),
    }
}

/// The reason why a request failed. If the connection ended, the reason is that of the connection.
pub(crate) fn request_error(error: &StreamError, connection: &quinn::Connection) -> String {
    match error {
        StreamError::StreamError { code, reason, .. } => {
            format!("malformed message ({code}): {}", printable(reason))
        }
        StreamError::RemoteTerminate { code, .. } => format!("the server ended the stream: {code}"),
        StreamError::HeaderTooBig { actual_size, max_size, .. } => {
            format!("the head has {actual_size} bytes, more than {max_size}")
        }
        StreamError::RemoteClosing { .. } => "the server accepts no more requests".to_owned(),
        StreamError::Undefined { 0: error, .. } => printable(error.to_string()),
        StreamError::ConnectionError { 0: error, .. } => http_error(error, connection),
        other => printable(other.to_string()),
    }
}

/// The reason why HTTP/3 ended.
pub(crate) fn http_error(
    error: &h3::error::ConnectionError,
    connection: &quinn::Connection,
) -> String {
    match (error, connection.close_reason()) {
        (_, Some(reason)) if reason != ConnectionError::LocallyClosed => connection_error(&reason),
        (h3::error::ConnectionError::Local { error, .. }, _) => match error {
            LocalError::Application { code, reason, .. } => {
                format!("the peer violates HTTP/3 ({code}): {}", printable(reason))
            }
            other => printable(format!("{other:?}")),
        },
        (other, _) => printable(other.to_string()),
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TimedOut => io::ErrorKind::TimedOut.into(),
            Failure::Refused => io::ErrorKind::ConnectionRefused.into(),
            other => Self::other(other.to_string()),
        }
    }
}

/// The code of alert 0. RFC 9001 4.8
const CRYPTO_ERROR: u64 = 0x0100;

#[cfg(test)]
mod tests {
    use super::*;
    use quinn::{ApplicationClose, ConnectionClose, TransportErrorCode};

    fn closed(code: TransportErrorCode, reason: &'static [u8]) -> ConnectionError {
        ConnectionError::ConnectionClosed(ConnectionClose {
            error_code: code,
            frame_type: None,
            reason: reason.into(),
        })
    }

    /// RFC 9001 4.8
    #[test]
    fn codes_of_alerts_have_the_hints_of_alerts() {
        let error = closed(TransportErrorCode::crypto(116), b"");
        assert_eq!(alert_of(&error), Some(AlertDescription::CERTIFICATE_REQUIRED));
        let text = connection_error(&error);
        assert!(text.contains("certificate_required; ") && text.contains("--cert"), "{text}");
        assert_eq!(alert_of(&closed(TransportErrorCode::PROTOCOL_VIOLATION, b"")), None);
    }

    #[test]
    fn the_text_of_a_peer_cannot_affect_a_terminal() {
        let reason = b"\x1b[2J";
        let application = ConnectionError::ApplicationClosed(ApplicationClose {
            error_code: 0x107_u32.into(),
            reason: reason[..].into(),
        });
        for error in [closed(TransportErrorCode::PROTOCOL_VIOLATION, reason), application] {
            let text = connection_error(&error);
            assert!(text.ends_with(r#", "\x1b[2J""#), "{text}");
        }
    }
}
