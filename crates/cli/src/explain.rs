//! Error messages, and output to standard error.

use std::error::Error as _;
use std::fmt;
use std::io::{self, Write};

use tercel::{Error, Handshake};

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

/// The reason why a handshake failed, with details of a refused certificate.
pub(crate) fn handshake(error: &io::Error, handshake: &Handshake) -> String {
    match (tls_error(error), handshake.refusal()) {
        (Some(Error::Refused(_)), Some(refusal)) => format!("certificate refused: {refusal}"),
        (Some(Error::Truncated | Error::ClosedInHandshake), _) => {
            "connection closed by peer during the handshake".to_owned()
        }
        _ if is_timeout(error) => "handshake timed out".to_owned(),
        _ => connection(error),
    }
}

/// The reason why a connection failed after its handshake.
pub(crate) fn connection(error: &io::Error) -> String {
    match tls_error(error) {
        Some(error) => tls(error),
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

/// The message for an error of the library.
pub(crate) fn tls(error: Error) -> String {
    match error {
        Error::Truncated => format!("truncated: {error}"),
        other => other.to_string(),
    }
}

/// The message for an error of the operating system, without its number.
pub(crate) fn io_error(error: &io::Error) -> String {
    let words = match error.kind() {
        _ if is_timeout(error) => "timed out",
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset by peer",
        io::ErrorKind::BrokenPipe => "broken pipe",
        _ => return error.to_string(),
    };
    words.to_owned()
}

/// Whether a time limit passed; the error kind depends on the system.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
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
