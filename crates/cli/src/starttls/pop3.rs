//! POP3: RFC 1939 and RFC 2595 4.

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;

pub(super) fn begin<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    expect_ok(dialogue)?;
    dialogue.send("STLS\r\n")?;
    expect_ok(dialogue)
}

fn expect_ok<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    let line = dialogue.line()?;
    match line.split(|&byte| byte == b' ').next() {
        Some(b"+OK") => Ok(()),
        Some(b"-ERR") => Err(StarttlsError::refused(line)),
        _ => Err(StarttlsError::not("POP3", line)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Protocol::Pop3;
    use super::super::script::Step::{Expect, Send};
    use super::super::script::{check, run};

    /// RFC 2595 4
    #[test]
    fn tls_begins_after_stls() {
        let greeting = Send(b"+OK POP3 server ready\r\n");
        let command = Expect(b"STLS\r\n");
        check(Pop3, &[greeting, command, Send(b"+OK Begin TLS negotiation\r\n")]);
        let refusal = Send(b"-ERR no TLS here\r\n");
        let refused = run(Pop3, &[greeting, command, refusal]).unwrap_err().to_string();
        assert_eq!(refused, "the server refused STARTTLS; it answered `-ERR no TLS here`");
        let other = run(Pop3, &[Send(b"+OKAY\r\n")]).unwrap_err().to_string();
        assert_eq!(other, "the server does not speak POP3; it sent `+OKAY`");
    }
}
