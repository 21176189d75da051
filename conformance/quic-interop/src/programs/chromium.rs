//! Headless Chromium, which loads a page over HTTP/3.

use std::fs;
use std::process::Command;

use super::{Program, Setup, is_installed};
use crate::cells::{Cell, Role};
use crate::exchange;
use crate::facts::Facts;

pub(super) struct Chromium {
    program: Option<&'static str>,
}

impl Chromium {
    pub(super) fn find() -> Self {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        Self { program: names.into_iter().find(|name| is_installed(name)) }
    }
}

impl Program for Chromium {
    fn name(&self) -> &'static str {
        "chromium"
    }

    fn absent(&self) -> Option<String> {
        self.program.is_none().then(|| "no chromium: Debian's package chromium".to_owned())
    }

    /// A process makes one connection and stores no session. Certificates are verified while the
    /// connection is used, and a refusal closes it with a code of the application.
    fn supports(&self, cell: Cell, role: Role) -> bool {
        let cells =
            [Cell::Handshake, Cell::Retry, Cell::HelloRetryRequest, Cell::ChaCha20, Cell::Http3];
        role == Role::Serve && cells.contains(&cell)
    }

    fn alpn(&self) -> &'static str {
        "h3"
    }

    fn commands(&self, setup: &Setup<'_>) -> Vec<Command> {
        let port = setup.options.port;
        let mut command = Command::new(self.program.unwrap_or_default());
        command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio"]);
        command.args(["--no-first-run", "--disable-background-networking", "--dump-dom"]);
        command.arg(format!("--user-data-dir={}", setup.folder.join("profile").display()));
        command.arg(format!("--log-net-log={}", setup.folder.join("net-log").display()));
        command.arg(format!("--origin-to-force-quic-on=localhost:{port}"));
        command.arg("--host-resolver-rules=MAP localhost 127.0.0.1");
        let digest = base64(&setup.pki.server_key_digest);
        command.arg(format!("--ignore-certificate-errors-spki-list={digest}"));
        command.arg(format!("https://localhost:{port}/"));
        vec![command]
    }

    fn facts(&self, setup: &Setup<'_>, outputs: &[String]) -> Vec<Facts> {
        let mut facts = Facts::default();
        // What it prints is the page as it has parsed it.
        let is_shown = outputs.iter().any(|output| output.contains(exchange::HTML_TEXT));
        facts.set("exchanges", u8::from(is_shown));
        let log = fs::read(setup.folder.join("net-log")).unwrap_or_default();
        let is_http3 = has_event(&String::from_utf8_lossy(&log), "HTTP3_HEADERS_DECODED");
        facts.set("protocol", if is_http3 { "h3" } else { "unknown" });
        vec![facts]
    }
}

/// Whether a net log has an event of this type. The log begins with the numbers of all types.
fn has_event(log: &str, name: &str) -> bool {
    let number = log
        .split_once(&format!("\"{name}\":"))
        .map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    number.is_some_and(|number| {
        let event = format!("\"type\":{number}");
        log.match_indices(&event).any(|(position, _)| {
            let next = log[position + event.len()..].chars().next();
            next.is_some_and(|next| !next.is_ascii_digit())
        })
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let mut group = [0; 4];
        group[1..=part.len()].copy_from_slice(part);
        let group = u32::from_be_bytes(group);
        for position in 0..4 {
            let digit = usize::try_from(group >> (18 - 6 * position) & 63).unwrap_or_default();
            text.push(if position <= part.len() { DIGITS[digit].into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn events_are_found_by_their_number() {
        let log = r#"{"constants":{"logEventTypes":{"A":59,"B":5,"C":7}},"events":[{"type":59},{"type":7}]}"#;
        let has = |name| super::has_event(log, name);
        assert_eq!([has("A"), has("B"), has("C"), has("D")], [true, false, true, false]);
    }

    /// RFC 4648 10
    #[test]
    fn base64_is_padded() {
        let texts =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (bytes, text) in texts {
            assert_eq!(super::base64(bytes.as_bytes()), text);
        }
    }
}
