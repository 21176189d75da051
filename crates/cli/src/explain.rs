//! Errors in words, and the one way of saying something on standard error.
//!
//! Must not know: which subcommand runs. Next: [`crate::transport`], where time limits become errors.

use std::fmt;
use std::io::{self, Write};

use tercel::{Error, Handshake};

/// Writes a line to standard error, whole, so that lines of several threads do not mix.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    // If nobody listens there is nobody to tell.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Why a handshake failed, with what it kept of a refused certificate.
pub(crate) fn handshake(error: &io::Error, handshake: &Handshake) -> String {
    match (tls_error(error), handshake.refusal()) {
        (Some(Error::Refused(_)), Some(refusal)) => format!("certificate refused: {refusal}"),
        (Some(Error::Truncated | Error::ClosedInHandshake), _) => {
            "the peer ended the connection during the handshake".to_owned()
        }
        _ if is_timeout(error) => "timeout during the handshake".to_owned(),
        _ => connection(error),
    }
}

/// Why a connection failed after its handshake.
pub(crate) fn connection(error: &io::Error) -> String {
    match tls_error(error) {
        Some(error) => tls(error),
        None => input_output(error),
    }
}

/// An error of the library in words.
pub(crate) fn tls(error: Error) -> String {
    match error {
        Error::Truncated => format!("truncated: {error}"),
        other => other.to_string(),
    }
}

/// An error of the operating system in words, without its number.
pub(crate) fn input_output(error: &io::Error) -> String {
    let words = match error.kind() {
        _ if is_timeout(error) => "timeout",
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset => "connection reset by the peer",
        io::ErrorKind::BrokenPipe => "the other end no longer reads",
        _ => return error.to_string(),
    };
    words.to_owned()
}

/// Whether a time limit passed; which of the two kinds it is depends on the system.
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
        assert_eq!(connection(&reset), "connection reset by the peer");
        assert_eq!(connection(&io::ErrorKind::WouldBlock.into()), "timeout");
    }
}
