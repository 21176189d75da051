//! Error messages, and output to standard error.

mod alerts;
mod not_tls;
mod style;

use std::error::Error as _;
use std::fmt;
use std::io::{self, Write};

use tercel::pki::Refusal;
use tercel::{Error, Handshake};

pub(crate) use not_tls::{Fault, FirstBytes};
pub(crate) use style::{HELP, print_error, warn};

/// An error in the combination of options that the parser cannot detect.
#[derive(Debug)]
pub(crate) struct UsageError(String);

impl UsageError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Writes a line to standard error at once, so that lines of several threads do not mix.
pub(crate) fn print_line(line: fmt::Arguments<'_>) {
    // Nothing can be reported if standard error is closed.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// The reason why a handshake with a server failed, with details of a refused certificate.
pub(crate) fn handshake(error: &io::Error, handshake: &Handshake) -> String {
    match (tls_error(error), handshake.refusal()) {
        (Some(Error::Refused(_)), Some(refusal)) => refused(refusal),
        (Some(Error::Truncated | Error::ClosedInHandshake), _) => CLOSED_IN_HANDSHAKE.to_owned(),
        _ if is_fault(error) => error.to_string(),
        _ if is_timeout(error) => "handshake timed out".to_owned(),
        _ => connection(error),
    }
}

/// The reason why a handshake with a client failed.
pub(crate) fn handshake_with_client(error: &io::Error, handshake: &Handshake) -> String {
    match (tls_error(error), handshake.refusal()) {
        (Some(Error::Refused(_)), Some(refusal)) => format!("certificate refused: {refusal}"),
        (Some(Error::Truncated | Error::ClosedInHandshake), _) => CLOSED_IN_HANDSHAKE.to_owned(),
        _ if is_timeout(error) => "handshake timed out".to_owned(),
        _ => connection_with_client(error),
    }
}

/// The refusal of a server's certificate.
pub(crate) fn refused(refusal: &Refusal) -> String {
    format!("certificate refused: {refusal}; {}", alerts::refusal(refusal.reason))
}

/// The refusal of the certificate of a server that rejected Encrypted ClientHello, for the public
/// name of the configuration.
pub(crate) fn refused_public_name(refusal: &Refusal) -> String {
    format!(
        "the server rejected Encrypted ClientHello, and its certificate for the public name was \
         refused: {refusal}; {}",
        alerts::refusal_of_public_name(refusal.reason)
    )
}

/// The reason why a connection to a server failed after its handshake.
pub(crate) fn connection(error: &io::Error) -> String {
    match tls_error(error) {
        Some(error) => tls(error),
        None => io_error(error),
    }
}

/// The reason why a connection of a client failed after its handshake.
pub(crate) fn connection_with_client(error: &io::Error) -> String {
    match tls_error(error) {
        Some(error) => with_hint(text(error), alerts::server(error)),
        None => io_error(error),
    }
}

/// The error of the transport, if that was the cause of an error in HTTP.
pub(crate) fn http(error: hyper::Error) -> io::Error {
    let Some(cause) = error.source() else { return io::Error::other(error) };
    let Some(cause) = cause.downcast_ref::<io::Error>() else {
        return io::Error::other(format!("{error}: {cause}"));
    };
    match (tls_error(cause), cause.raw_os_error()) {
        (Some(error), _) => io::Error::new(cause.kind(), error),
        (None, Some(number)) => io::Error::from_raw_os_error(number),
        (None, None) => io::Error::new(cause.kind(), cause.to_string()),
    }
}

/// The message for an error of the library in a connection to a server.
pub(crate) fn tls(error: Error) -> String {
    with_hint(text(error), alerts::client(error))
}

fn text(error: Error) -> String {
    match error {
        Error::Truncated => format!("truncated: {error}"),
        other => other.to_string(),
    }
}

fn with_hint(text: String, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{text}; {hint}"),
        None => text,
    }
}

/// The message for an error of the operating system, without its number.
pub(crate) fn io_error(error: &io::Error) -> String {
    let words = match error.kind() {
        _ if is_timeout(error) => "timed out",
        io::ErrorKind::ConnectionRefused => "connection refused; nothing listens on that port",
        io::ErrorKind::ConnectionReset => "connection reset by peer",
        io::ErrorKind::BrokenPipe => "broken pipe",
        io::ErrorKind::NotFound => "there is no such file",
        io::ErrorKind::IsADirectory => "is a directory, not a file",
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "there is no route to it"
        }
        _ => {
            let text = error.to_string();
            return match text.split_once(" (os error ") {
                Some((text, _)) => text.to_owned(),
                None => text,
            };
        }
    };
    words.to_owned()
}

/// An error and its causes, without the numbers of errors of the operating system.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let parts = error.chain().map(|cause| match cause.downcast_ref::<io::Error>() {
        Some(error) if error.raw_os_error().is_some() => io_error(error),
        _ => cause.to_string(),
    });
    parts.collect::<Vec<_>>().join(": ")
}

/// The message for an address that cannot be listened on, and what to do.
pub(crate) fn listen_error(address: std::net::SocketAddr, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use by another program; choose another port, or 0 for a free one".into()
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied; choose a port from 1024 on, or run with CAP_NET_BIND_SERVICE".into()
        }
        io::ErrorKind::AddrNotAvailable => "this machine does not have that address".into(),
        _ => io_error(error),
    };
    format!("cannot listen on {address}: {why}")
}

const CLOSED_IN_HANDSHAKE: &str = "connection closed by peer during the handshake";

/// Whether a time limit passed; the error kind depends on the system.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

fn is_fault(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref::<not_tls::Fault>()).is_some()
}

fn tls_error(error: &io::Error) -> Option<Error> {
    error.get_ref()?.downcast_ref::<Error>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tercel::wire::AlertDescription;

    #[test]
    fn the_cause_is_named() {
        let wrapped = |error: Error| io::Error::other(error);
        let alert = wrapped(Error::AlertReceived(AlertDescription::UNKNOWN_CA));
        assert!(connection(&alert).contains("unknown_ca"));
        assert!(connection(&wrapped(Error::Truncated)).starts_with("truncated: "));
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(connection(&reset), "connection reset by peer");
        assert_eq!(connection(&io::ErrorKind::WouldBlock.into()), "timed out");
    }
}
