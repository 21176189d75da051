//! The reasons why TLS cannot be started.

use std::fmt;
use std::io;

use crate::explain;

/// The reason why TLS was not started.
#[derive(Debug)]
pub(crate) enum StarttlsError {
    /// The server does not offer TLS, but this.
    NotOffered(String),
    /// The server refused to start TLS with this answer.
    Refused(String),
    /// The server does not speak the protocol with this name, but sent this.
    NotThisProtocol(&'static str, String),
    /// The server sent this plaintext between its permission and the handshake.
    Injected(String),
    /// One answer of the server is longer than this many bytes.
    TooLong(usize),
    /// The answers of the server together are longer than this many bytes.
    TooMuch(usize),
    /// The server closed the connection.
    Closed,
    /// The connection failed, or the time limit passed.
    Io(io::Error),
}

impl StarttlsError {
    /// An answer of another protocol, quoted.
    pub(crate) fn not(protocol: &'static str, answer: impl AsRef<[u8]>) -> Self {
        Self::NotThisProtocol(protocol, quote(answer))
    }

    /// A refusal, quoted.
    pub(crate) fn refused(answer: impl AsRef<[u8]>) -> Self {
        Self::Refused(quote(answer))
    }

    /// Plaintext after the permission, quoted.
    pub(crate) fn injected(plaintext: impl AsRef<[u8]>) -> Self {
        Self::Injected(quote(plaintext))
    }

    /// The absence of an offer, with the quoted answer.
    pub(crate) fn not_offered(answer: impl AsRef<[u8]>) -> Self {
        Self::NotOffered(quote(answer))
    }
}

impl fmt::Display for StarttlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOffered(answer) => {
                write!(f, "the server does not offer STARTTLS; it answered {answer}")
            }
            Self::Refused(answer) => {
                write!(f, "the server refused STARTTLS; it answered {answer}")
            }
            Self::NotThisProtocol(protocol, answer) => {
                write!(f, "the server does not speak {protocol}; it sent {answer}")
            }
            Self::Injected(text) => write!(
                f,
                "the server sent plaintext between its permission for STARTTLS and the handshake, \
                 {text}; it may have been injected"
            ),
            Self::TooLong(limit) => {
                write!(f, "an answer before STARTTLS is longer than {limit} bytes")
            }
            Self::TooMuch(limit) => {
                write!(f, "the server sent more than {limit} bytes before STARTTLS")
            }
            Self::Closed => f.write_str("connection closed by peer before STARTTLS"),
            Self::Io(error) if explain::is_timeout(error) => {
                f.write_str("timed out before STARTTLS")
            }
            Self::Io(error) => write!(f, "before STARTTLS: {}", explain::io_error(error)),
        }
    }
}

impl std::error::Error for StarttlsError {}

impl From<io::Error> for StarttlsError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The first characters of an answer, with control characters escaped.
fn quote(answer: impl AsRef<[u8]>) -> String {
    let answer = answer.as_ref().trim_ascii();
    match answer.get(..MAX_QUOTED) {
        Some(start) if answer.len() > MAX_QUOTED => format!("`{}...`", start.escape_ascii()),
        _ => format!("`{}`", answer.escape_ascii()),
    }
}

/// The maximum number of bytes that are quoted.
const MAX_QUOTED: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_quoted_in_part_and_without_control_characters() {
        let text = StarttlsError::refused("\x1b[2J454 no\r\n").to_string();
        assert!(text.ends_with(r"`\x1b[2J454 no`"), "{text}");
        let text = StarttlsError::not("SMTP", "x".repeat(100_000)).to_string();
        assert!(text.len() < 300 && text.ends_with("xx...`"), "{text}");
    }
}
