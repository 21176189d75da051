//! IMAP: RFC 9051 6.2.1 and 7.1.

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;

pub(super) fn begin<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    let greeting = dialogue.line()?;
    match status(&greeting, b"*").as_deref() {
        Some(b"OK") => {}
        // TLS cannot be started on a connection that is authenticated already, nor on one that the
        // server closes.
        Some(b"PREAUTH" | b"BYE") => return Err(StarttlsError::refused(greeting)),
        _ => return Err(StarttlsError::not(IMAP, greeting)),
    }
    dialogue.send("a STARTTLS\r\n")?;
    loop {
        let line = dialogue.line()?;
        match status(&line, b"a").as_deref() {
            Some(b"OK") => return Ok(()),
            Some(b"NO" | b"BAD") => return Err(StarttlsError::refused(line)),
            _ if status(&line, b"*").as_deref() == Some(b"BYE") => {
                return Err(StarttlsError::refused(line));
            }
            // Untagged responses may come at any time, such as CAPABILITY.
            _ if line.starts_with(b"* ") => {}
            _ => return Err(StarttlsError::not(IMAP, line)),
        }
    }
}

/// The word that follows this tag, in capitals.
fn status(line: &[u8], tag: &[u8]) -> Option<Vec<u8>> {
    let rest = line.strip_prefix(tag)?.strip_prefix(b" ")?;
    rest.split(|&byte| byte == b' ').next().map(<[u8]>::to_ascii_uppercase)
}

const IMAP: &str = "IMAP";

#[cfg(test)]
mod tests {
    use super::super::Protocol::Imap;
    use super::super::script::Step::{Expect, Send};
    use super::super::script::{check, run};

    /// RFC 9051 6.2.1
    #[test]
    fn tls_begins_after_the_tagged_ok() {
        let greeting = Send(b"* OK [CAPABILITY STARTTLS] ready\r\n");
        let command = Expect(b"a STARTTLS\r\n");
        check(Imap, &[greeting, command, Send(b"* CAPABILITY IMAP4rev2\r\na OK Begin\r\n")]);
        for refusal in [&b"a BAD no TLS"[..], b"a no TLS", b"* BYE bye"] {
            let line = [refusal, b"\r\n"].concat();
            let refused = run(Imap, &[greeting, command, Send(&line)]).unwrap_err().to_string();
            assert!(refused.starts_with("the server refused STARTTLS; it answered "), "{refused}");
            assert!(refused.contains(std::str::from_utf8(refusal).unwrap()), "{refused}");
        }
        // Only the answer to this command counts.
        let other = run(Imap, &[greeting, command, Send(b"b OK Begin\r\n")]).unwrap_err();
        assert!(other.to_string().contains("does not speak IMAP"), "{other}");
    }

    #[test]
    fn an_authenticated_connection_cannot_start_tls() {
        let refused = run(Imap, &[Send(b"* PREAUTH hello\r\n")]).unwrap_err().to_string();
        assert!(refused.contains("refused STARTTLS") && refused.contains("PREAUTH"), "{refused}");
    }
}
