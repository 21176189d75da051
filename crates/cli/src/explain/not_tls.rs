//! Servers that do not speak TLS: what they answered, and which option may help.

use std::fmt;
use std::io;

use super::{is_timeout, tls_error};
use tercel::Error;

/// The first bytes that a server sent, for the message about a handshake that failed.
#[derive(Debug, Default)]
pub(crate) struct FirstBytes(Vec<u8>);

impl FirstBytes {
    /// Adds received bytes, up to the limit.
    pub(crate) fn record(&mut self, received: &[u8]) {
        let room = LIMIT.saturating_sub(self.0.len());
        self.0.extend(received.iter().take(room));
    }

    /// Replaces the error of a handshake by a more exact one if the server did not speak TLS, or
    /// sent nothing.
    pub(crate) fn explain(self, error: io::Error) -> io::Error {
        let fault = match tls_error(&error) {
            Some(Error::Peer(_) | Error::Truncated | Error::ClosedInHandshake)
                if !self.0.is_empty() && !begins_with_record(&self.0) =>
            {
                Fault::NotTls(self.0)
            }
            Some(Error::Truncated | Error::ClosedInHandshake) if self.0.is_empty() => Fault::Closed,
            None if is_timeout(&error) && self.0.is_empty() => Fault::Silent,
            None if is_timeout(&error) => Fault::Stalled,
            _ => return error,
        };
        io::Error::new(error.kind(), fault)
    }
}

/// The reason why a handshake failed, if the library does not know it.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server sent these bytes, which are not TLS.
    NotTls(Vec<u8>),
    /// The server closed without an answer.
    Closed,
    /// The server sent nothing within the time limit.
    Silent,
    /// The server answered, but did not complete the handshake within the time limit.
    Stalled,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTls(answer) => {
                let (protocol, hint) = protocol(answer);
                write!(f, "the server does not speak TLS on this port: it answered ")?;
                if let Some(protocol) = protocol {
                    write!(f, "with {protocol}, ")?;
                }
                write!(f, "{}; {hint}", quoted(answer))
            }
            Self::Closed => f.write_str(
                "connection closed by peer during the handshake, before it sent anything; the port \
                 may not speak TLS, or only after a command: see --starttls",
            ),
            Self::Silent => f.write_str(
                "handshake timed out: the server sent nothing; the port may not speak TLS, or \
                 only after a command: see --starttls; a longer limit is set with --timeout",
            ),
            Self::Stalled => f.write_str(
                "handshake timed out: the server stopped answering; a longer limit is set with \
                 --timeout",
            ),
        }
    }
}

impl std::error::Error for Fault {}

/// Whether the bytes begin with the header of a TLS record. RFC 9846 5.1
fn begins_with_record(bytes: &[u8]) -> bool {
    matches!(bytes, [20..=24] | [20..=24, 3, ..])
}

/// The name of the protocol that begins in this way, if it is known, and what to do.
fn protocol(answer: &[u8]) -> (Option<&'static str>, &'static str) {
    let upper = answer.to_ascii_uppercase();
    let contains = |word: &str| upper.windows(word.len()).any(|part| part == word.as_bytes());
    match answer {
        _ if upper.starts_with(b"HTTP/") => {
            (Some("plain HTTP"), "use the port of HTTPS, usually 443 or 8443")
        }
        [b'2' | b'4' | b'5', b'2', b'0', ..] | [b'4', _, b'1', ..] if contains("FTP") => {
            (Some("FTP"), "try --starttls ftp")
        }
        [b'2' | b'4' | b'5', b'0'..=b'9', b'0'..=b'9', b' ' | b'-', ..] => {
            (Some("SMTP or FTP"), "try --starttls smtp or --starttls ftp")
        }
        _ if upper.starts_with(b"+OK") => (Some("POP3"), "try --starttls pop3"),
        _ if upper.starts_with(b"* OK") => (Some("IMAP"), "try --starttls imap"),
        _ if upper.starts_with(b"SSH-") => (Some("SSH"), "SSH has no TLS: use another port"),
        _ if contains("<STREAM:") || upper.starts_with(b"<?XML") => {
            (Some("XMPP"), "try --starttls xmpp")
        }
        _ if upper.starts_with(b"-ERR") => {
            (Some("Redis or POP3"), "use the port on which that server speaks TLS")
        }
        [_, _, 0, 0, 10, ..] => (Some("MySQL"), "try --starttls mysql"),
        // A notice of disconnection has the message ID 0. RFC 4511 4.4.1
        [0x30, _, 2, 1, 0, 0x78, ..] | [0x30, 0x84, _, _, _, _, 2, 1, 0, 0x78, ..] => {
            (Some("LDAP"), "try --starttls ldap")
        }
        _ => (None, "use another port, or --starttls if TLS begins after a command"),
    }
}

/// The first line in quotes, with other characters than printable ASCII escaped.
fn quoted(answer: &[u8]) -> String {
    let end = answer.iter().position(|byte| matches!(byte, b'\r' | b'\n')).filter(|end| *end > 0);
    let line = answer.get(..end.unwrap_or(answer.len())).unwrap_or_default();
    let shown = line.get(..SHOWN).unwrap_or(line);
    let more = if shown.len() < answer.len() { "..." } else { "" };
    format!("\"{}\"{more}", shown.escape_ascii())
}

/// The number of bytes that are kept to recognize a protocol.
const LIMIT: usize = 200;

/// The number of bytes that are shown.
const SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(first: &[u8], error: Error) -> String {
        let mut bytes = FirstBytes::default();
        bytes.record(first);
        bytes.explain(io::Error::other(error)).to_string()
    }

    /// RFC 4511 4.4.1
    #[test]
    fn a_notice_of_disconnection_is_ldap() {
        let text = explained(&[0x30, 0x24, 2, 1, 0, 0x78, 0x1f], Error::Truncated);
        assert!(
            text.contains("with LDAP, \"0$\\x02\\x01\\x00x\\x1f\"; try --starttls ldap"),
            "{text}"
        );
    }

    #[test]
    fn answers_are_quoted_with_a_hint() {
        for (answer, expected) in [
            (
                &b"HTTP/1.1 400 Bad Request\r\nServer: x"[..],
                "with plain HTTP, \"HTTP/1.1 400 Bad Request\"...; use",
            ),
            (
                b"220 mail.example ESMTP\r\n",
                "SMTP or FTP, \"220 mail.example ESMTP\"...; try --starttls smtp",
            ),
            (b"220 ProFTPD\r\n", "with FTP, \"220 ProFTPD\"...; try --starttls ftp"),
            (b"* OK IMAP4rev1\r\n", "try --starttls imap"),
            (b"+OK ready\r\n", "try --starttls pop3"),
            (b"SSH-2.0-OpenSSH_9\r\n", "with SSH, \"SSH-2.0-OpenSSH_9\""),
            (b"\x4a\0\0\0\x0a8.0", "with MySQL, \"J\\x00\\x00\\x00\"...; try"),
            (b"<?xml version='1.0'?>", "try --starttls xmpp"),
            (b"\x1b[2J\xff", "it answered \"\\x1b[2J\\xff\"; use another port"),
        ] {
            let text = explained(answer, Error::Truncated);
            assert!(text.contains(expected), "{text}\n{expected}");
            assert!(!text.contains(char::is_control), "{text:?}");
        }
    }

    #[test]
    fn what_is_kept_and_shown_is_bounded() {
        let text = explained(&[b'x'; 1 << 20], Error::Truncated);
        assert!(text.len() < 250 && text.contains("xxx\"..."), "{text}");
    }

    #[test]
    fn records_are_tls() {
        let text = explained(&[22, 3, 3, 0, 2], Error::Truncated);
        assert_eq!(text, Error::Truncated.to_string());
        assert!(explained(b"", Error::ClosedInHandshake).contains("before it sent anything"));
    }
}
