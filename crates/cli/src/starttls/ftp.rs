//! FTP: RFC 959 4.2 and RFC 4217 4.

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;
use super::reply;

pub(super) fn begin<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    let mut greeting = reply::read(dialogue, FTP)?;
    // Reply 120 means that the service will be ready in some minutes.
    while greeting.code == 120 {
        greeting = reply::read(dialogue, FTP)?;
    }
    match greeting.code {
        220 => {}
        400..=599 => return Err(StarttlsError::refused(greeting.text())),
        _ => return Err(StarttlsError::not(FTP, greeting.text())),
    }
    dialogue.send("AUTH TLS\r\n")?;
    match reply::read(dialogue, FTP)? {
        permission if permission.code == 234 => Ok(()),
        refusal => Err(StarttlsError::refused(refusal.text())),
    }
}

const FTP: &str = "FTP";

#[cfg(test)]
mod tests {
    use super::super::Protocol::Ftp;
    use super::super::script::Step::{Expect, Send};
    use super::super::script::{check, run};

    /// RFC 959 4.2, RFC 4217 4
    #[test]
    fn tls_begins_after_auth() {
        let greeting = Send(b"120 wait\r\n220-Welcome\r\n  and read\r\n220 this\r\n");
        let command = Expect(b"AUTH TLS\r\n");
        check(Ftp, &[greeting, command, Send(b"234 AUTH TLS OK\r\n")]);
        // 334 would continue a security exchange without TLS. RFC 2228 5.3
        for refusal in [&b"530 Please login\r\n"[..], b"334 continue\r\n"] {
            let refused = run(Ftp, &[greeting, command, Send(refusal)]).unwrap_err().to_string();
            let quoted = String::from_utf8_lossy(refusal.trim_ascii_end());
            assert_eq!(refused, format!("the server refused STARTTLS; it answered `{quoted}`"));
        }
    }
}
