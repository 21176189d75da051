//! Authentication after the handshake (RFC 9846 4.7.2): cells, command lines and judgement.
//!
//! Apart from the other cells because each takes a conversation, three times with the same server: data, a request for the client's
//! certificate, more data. As a server, `tercel serve --client-auth later` asks after the first data; of the
//! others, `s_server` asks when it is given `c`, `gnutls-serv` when the client says `**REAUTH**`, and
//! `peers/late_auth.py` after the first data. Next: `run.rs`, the same without a conversation.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::cells::Role;
use crate::programs::{BUILT_OPENSSL, CONNECTIONS, find, python};
use crate::relay::Relay;
use crate::run::Setting;
use crate::terms::Key;
use tercel_harness::pki::{Credential, SERVER_NAME};
use tercel_harness::ports::free_port;
use tercel_harness::process::Process;

/// The line of the matrix that these cells belong to.
pub(crate) const MATTER: &str = "post-handshake-auth";
/// How long a cell may take.
const LIMIT: Duration = Duration::from_secs(20);
/// What is said before the request and after it. No program takes these for commands.
const WORDS: [&[u8]; 2] = [b"0123 before\n", b"4567 after\n"];
/// What a program says of the client, once it knows it.
const CLIENT: &str = "interop client";

/// Who is on the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Peer {
    OpenSsl,
    /// The one of `conformance/peers`.
    BuiltOpenSsl,
    GnuTls,
    Python,
}

/// One run of the subject against a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateCell {
    /// What the subject does.
    pub(crate) role: Role,
    peer: Peer,
    /// The key of the client's certificate; `None`: it has none, and is refused.
    client: Option<Key>,
    /// The subject changes all keys first.
    update: bool,
}

/// All cells; of what was built, those of programs in this folder.
pub(crate) fn cells(built: Option<&Path>) -> Vec<LateCell> {
    let mut cells = Vec::new();
    let built = built.filter(|folder| folder.join(BUILT_OPENSSL).is_file());
    let built = built.map(|_| Peer::BuiltOpenSsl);
    for role in [Role::Serve, Role::Connect] {
        for peer in [Peer::OpenSsl, Peer::GnuTls, Peer::Python].into_iter().chain(built) {
            for key in Key::COMMON {
                let update = role == Role::Connect && key == Key::P256;
                cells.push(LateCell { role, peer, client: Some(key), update });
            }
        }
    }
    cells.push(LateCell { role: Role::Serve, peer: Peer::OpenSsl, client: None, update: false });
    cells
}

impl fmt::Display for LateCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = if self.role == Role::Serve { "serve" } else { "connect" };
        write!(f, "{role} {} 1.3 {MATTER}", self.peer())?;
        match self.client {
            Some(key) => write!(f, " client-{}", key.name())?,
            None => f.write_str(" client-declines")?,
        }
        if self.update {
            f.write_str(" key-update")?;
        }
        Ok(())
    }
}

impl LateCell {
    /// The peer as it is called.
    pub(crate) fn peer(&self) -> &'static str {
        match self.peer {
            Peer::OpenSsl => "openssl",
            Peer::BuiltOpenSsl => BUILT_OPENSSL,
            Peer::GnuTls => "gnutls",
            Peer::Python => "python",
        }
    }

    /// Whether the peer's program is on this machine.
    pub(crate) fn present(&self) -> bool {
        match self.peer {
            Peer::OpenSsl => find("openssl").is_some(),
            // It has cells only if it is there.
            Peer::BuiltOpenSsl => true,
            Peer::GnuTls => find("gnutls-cli").is_some() && find("gnutls-serv").is_some(),
            Peer::Python => python().is_some(),
        }
    }

    /// Runs the cell. The error says what was wrong.
    pub(crate) fn run(
        &self,
        subject: &Path,
        setting: &Setting,
        built: Option<&Path>,
    ) -> Result<()> {
        let port = free_port()?;
        let relay = Relay::start(vec![port])?;
        let openssl = match (self.peer, built) {
            (Peer::BuiltOpenSsl, Some(built)) => built.join(BUILT_OPENSSL).canonicalize()?,
            _ => "openssl".into(),
        };
        let programs = Programs { cell: self, subject, setting, openssl };
        let mut parties = Parties {
            server: Process::start(programs.server(port)?)?,
            client: Process::start(programs.client(relay.port())?)?,
            turn: 1,
            deadline: Instant::now() + LIMIT,
        };
        loop {
            let verdict = parties.converse(self);
            verdict.map_err(|error| error.context(parties.quotes()))?;
            if parties.turn == CONNECTIONS {
                return Ok(());
            }
            parties.client = Process::start(programs.client(relay.port())?)?;
            parties.turn += 1;
        }
    }
}

/// The command lines of a cell.
struct Programs<'a> {
    cell: &'a LateCell,
    subject: &'a Path,
    setting: &'a Setting,
    openssl: PathBuf,
}

impl Programs<'_> {
    fn server(&self, port: u16) -> Result<Command> {
        let own = self.setting.pki.server(Key::P256);
        let roots = self.setting.pki.client_roots();
        let mut command;
        match (self.cell.role, self.cell.peer) {
            (Role::Serve, _) => {
                command = Command::new(self.subject);
                command.arg("serve").arg("--listen").arg(format!("127.0.0.1:{port}"));
                command.args(["--echo", "--client-auth", "later", "--client-ca"]).arg(roots);
                command.arg("--cert").arg(own.certificate).arg("--key").arg(own.key);
            }
            (Role::Connect, Peer::OpenSsl | Peer::BuiltOpenSsl) => {
                command = Command::new(&self.openssl);
                command.arg("s_server").arg("-accept").arg(format!("127.0.0.1:{port}"));
                command.args(["-verify_return_error", "-CAfile"]).arg(roots);
                command.arg("-cert").arg(&own.certificate).arg("-cert_chain").arg(&own.certificate);
                command.arg("-key").arg(own.key);
            }
            (Role::Connect, Peer::GnuTls) => {
                command = Command::new("gnutls-serv");
                command.args(["--echo", "-p", &port.to_string(), "--x509cafile"]).arg(roots);
                command.args(["--disable-client-cert", "--verify-client-cert"]);
                command.arg("--x509certfile").arg(own.certificate);
                command.arg("--x509keyfile").arg(own.key);
            }
            (Role::Connect, Peer::Python) => command = self.python("serve", port, &own, &roots)?,
        }
        Ok(command)
    }

    fn client(&self, port: u16) -> Result<Command> {
        let own = self.cell.client.map(|key| self.setting.pki.client(key));
        let roots = self.setting.pki.server_roots();
        let mut command;
        match (self.cell.role, self.cell.peer, own) {
            (Role::Connect, _, own) => {
                command = Command::new(self.subject);
                command.arg("connect").arg(format!("127.0.0.1:{port}")).arg("--ca").arg(roots);
                command.args(["--name", SERVER_NAME, "--post-handshake-auth"]);
                if let Some(own) = own {
                    command.arg("--cert").arg(own.certificate).arg("--key").arg(own.key);
                }
                if self.cell.update {
                    command.arg("--update-key");
                }
            }
            (Role::Serve, Peer::OpenSsl | Peer::BuiltOpenSsl, own) => {
                command = Command::new(&self.openssl);
                command.arg("s_client").arg("-connect").arg(format!("127.0.0.1:{port}"));
                command.args(["-quiet", "-no_ign_eof", "-verify_return_error", "-enable_pha"]);
                command.arg("-CAfile").arg(roots).args(["-servername", SERVER_NAME]);
                if let Some(own) = own {
                    command.arg("-cert").arg(&own.certificate);
                    command.arg("-cert_chain").arg(&own.certificate).arg("-key").arg(own.key);
                }
            }
            (Role::Serve, Peer::GnuTls, own) => {
                command = Command::new("gnutls-cli");
                command.args(["--logfile=/dev/stderr", "-p", &port.to_string(), "127.0.0.1"]);
                command.arg("--post-handshake-auth").arg("--x509cafile").arg(roots);
                command.args(["--verify-hostname", SERVER_NAME, "--sni-hostname", SERVER_NAME]);
                if let Some(own) = own {
                    command.arg("--x509certfile").arg(own.certificate);
                    command.arg("--x509keyfile").arg(own.key);
                }
            }
            (Role::Serve, Peer::Python, own) => {
                let own = own.unwrap_or_else(|| self.setting.pki.client(Key::P256));
                command = self.python("connect", port, &own, &roots)?;
            }
        }
        Ok(command)
    }

    /// `late_auth.py serve|connect PORT CERTIFICATE KEY ROOTS NAME`
    fn python(&self, role: &str, port: u16, own: &Credential, roots: &Path) -> Result<Command> {
        let script: PathBuf = self.setting.files.join("late_auth.py");
        fs::write(&script, include_str!("../peers/late_auth.py"))?;
        let mut command = Command::new(python().unwrap_or_default());
        command.arg(script).arg(role).arg(port.to_string());
        command.arg(&own.certificate).arg(&own.key).arg(roots).arg(SERVER_NAME);
        Ok(command)
    }
}

struct Parties {
    server: Process,
    client: Process,
    /// Which connection it is, from 1. What the server says is of all so far.
    turn: usize,
    deadline: Instant,
}

impl Parties {
    fn converse(&mut self, cell: &LateCell) -> Result<()> {
        let [before, after] = WORDS;
        self.client.give(before);
        if cell.client.is_none() {
            return self.expect_refusal();
        }
        let openssl_serves =
            cell.role == Role::Connect && matches!(cell.peer, Peer::OpenSsl | Peer::BuiltOpenSsl);
        let gnutls_serves = cell.role == Role::Connect && cell.peer == Peer::GnuTls;
        // It shows what it gets and sends what it is given.
        self.expect_words(before, openssl_serves)?;
        if openssl_serves {
            self.server.give(b"c\n");
            self.wait("s_server to say that it asked", |parties| {
                let said = parties.server.output().text();
                said.matches("SSL_do_handshake -> 1").count() >= parties.turn
            })?;
        }
        if gnutls_serves {
            self.client.give(b"**REAUTH**\n");
            self.wait("gnutls-serv to say that it was answered", |parties| {
                parties.client.output().text().contains("Successfully executed command")
            })?;
        }
        if cell.role == Role::Connect {
            // It speaks of what it sent, and data follows on that.
            self.wait("tercel to say what it showed", |parties| {
                let said = parties.client.complaints().text();
                said.contains(&format!("certificate shown after the handshake: CN={CLIENT}"))
            })?;
        }
        self.client.give(after);
        self.expect_words(after, openssl_serves)?;
        self.client.end_input();
        // Each server speaks of the client, but gnutls-serv, which would not have answered without.
        if !gnutls_serves {
            self.wait("the server to say who the client is", |parties| {
                parties.server.complaints().text().matches(CLIENT).count() >= parties.turn
            })?;
        }
        self.wait_for_client()?;
        ensure!(
            self.client.ended()?.is_some_and(|status| status.success()),
            "the client reports failure"
        );
        Ok(())
    }

    /// The words come to the server and back.
    fn expect_words(&mut self, words: &[u8], harness_echoes: bool) -> Result<()> {
        if harness_echoes {
            self.wait("the server to show the words", |parties| {
                let shown = parties.server.output().bytes();
                shown.windows(words.len()).filter(|shown| *shown == words).count() >= parties.turn
            })?;
            self.server.give(words);
        }
        self.wait("the words to come back", |parties| {
            contains(&parties.client.output().bytes(), words)
        })
    }

    fn expect_refusal(&mut self) -> Result<()> {
        self.wait("the client to hear why", |parties| {
            parties.client.complaints().text().contains("certificate required")
        })?;
        self.wait("the server to say why", |parties| {
            let said = parties.server.complaints().text();
            said.matches("the client showed no certificate").count() >= parties.turn
        })?;
        self.client.end_input();
        self.wait_for_client()?;
        ensure!(!contains(&self.client.output().bytes(), WORDS[1]), "it was not refused");
        Ok(())
    }

    fn wait_for_client(&mut self) -> Result<()> {
        self.wait("the client to end", |parties| {
            parties.client.ended().is_ok_and(|ended| ended.is_some())
        })
    }

    fn wait(&mut self, what: &str, mut reached: impl FnMut(&mut Self) -> bool) -> Result<()> {
        while !reached(self) {
            ensure!(Instant::now() < self.deadline, "timeout waiting for {what}");
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The last lines each program wrote to its standard error.
    fn quotes(&self) -> String {
        let mut quotes = String::new();
        for (who, process) in [("server", &self.server), ("client", &self.client)] {
            let text = process.complaints().text();
            let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in &lines[lines.len().saturating_sub(8)..] {
                quotes += &format!("\n    {who}: {line}");
            }
        }
        quotes
    }
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|window| window == words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = cells(None).iter().map(ToString::to_string).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
