//! SMTP: RFC 5321 4.1.1.1 and RFC 3207 4.

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;
use super::reply;

pub(super) fn begin<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    let greeting = reply::read(dialogue, SMTP)?;
    match greeting.code {
        220 => {}
        400..=599 => return Err(StarttlsError::refused(greeting.text())),
        _ => return Err(StarttlsError::not(SMTP, greeting.text())),
    }
    // The client's name is an address literal, because a workstation has no name that servers could
    // look up.
    dialogue.send("EHLO [127.0.0.1]\r\n")?;
    let extensions = reply::read(dialogue, SMTP)?;
    match extensions.code {
        250 => {}
        400..=599 => return Err(StarttlsError::refused(extensions.text())),
        _ => return Err(StarttlsError::not(SMTP, extensions.text())),
    }
    // The first line is the greeting of the server.
    let mut keywords = extensions.lines.iter().skip(1);
    if !keywords.any(|keyword| keyword.trim().eq_ignore_ascii_case("STARTTLS")) {
        return Err(StarttlsError::not_offered(extensions.text()));
    }
    dialogue.send("STARTTLS\r\n")?;
    match reply::read(dialogue, SMTP)? {
        permission if permission.code == 220 => Ok(()),
        refusal => Err(StarttlsError::refused(refusal.text())),
    }
}

const SMTP: &str = "SMTP";

#[cfg(test)]
mod tests {
    use super::super::Protocol::Smtp;
    use super::super::script::Step::{Expect, Send};
    use super::super::script::{check, run};

    /// RFC 3207 4, RFC 5321 4.1.1.1, 4.2.1
    #[test]
    fn starttls_is_used_where_it_is_offered() {
        let offer = b"250-mx greets you\r\n250-SIZE 1000\r\n250-starttls\r\n250 HELP\r\n";
        let greeting = Send(b"220-mx ESMTP\r\n220 ready\r\n");
        let hello = Expect(b"EHLO [127.0.0.1]\r\n");
        let command = Expect(b"STARTTLS\r\n");
        check(Smtp, &[greeting, hello, Send(offer), command, Send(b"220 Go ahead\r\n")]);

        let refused = [greeting, hello, Send(offer), command, Send(b"454 4.7.0 not now\r\n")];
        let refused = run(Smtp, &refused).unwrap_err().to_string();
        assert_eq!(refused, "the server refused STARTTLS; it answered `454 4.7.0 not now`");
        // The first line is not a keyword, even if it reads like one.
        let none = Send(b"250-STARTTLS\r\n250-SIZE 1000\r\n250 HELP\r\n");
        let absent = run(Smtp, &[greeting, hello, none]).unwrap_err().to_string();
        assert!(absent.contains("does not offer STARTTLS") && absent.contains("HELP"), "{absent}");
    }

    #[test]
    fn other_greetings_are_quoted() {
        let busy = run(Smtp, &[Send(b"554 no service\r\n")]).unwrap_err().to_string();
        assert!(busy.contains("refused") && busy.contains("554 no service"), "{busy}");
        let other = run(Smtp, &[Send(b"SSH-2.0-x\r\n")]).unwrap_err().to_string();
        assert_eq!(other, "the server does not speak SMTP; it sent `SSH-2.0-x`");
    }
}
