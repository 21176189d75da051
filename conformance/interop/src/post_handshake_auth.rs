//! Post-handshake client authentication (RFC 9846 4.7.2): cells, command lines and checks.
//!
//! These cells differ from the others because each needs a sequence of messages, three times with
//! the same server: data, a request for the client's certificate, more data. As a server, `tercel
//! serve --client-auth later` requests the certificate after the first data. `s_server` does so at
//! the command `c`, `gnutls-serv` when the client sends `**REAUTH**`, and
//! `peers/post_handshake_auth.py` after the first data.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::cells::Role;
use crate::parameters::Key;
use crate::programs::{BUILT_OPENSSL, CONNECTIONS, find, python};
use crate::relay::Relay;
use crate::run::Setting;
use tercel_harness::pki::{Credential, SERVER_NAME};
use tercel_harness::ports::free_port;
use tercel_harness::process::Process;

/// The name of the matrix row that contains the cells of this file.
pub(crate) const CATEGORY: &str = "post-handshake-auth";
/// The time limit of a cell.
const LIMIT: Duration = Duration::from_secs(60);
/// The messages before and after the request. No program takes them for commands.
const MESSAGES: [&[u8]; 2] = [b"0123 before\n", b"4567 after\n"];
/// The name of the client in the output of programs.
const CLIENT: &str = "interop client";

/// The program with which Tercel makes connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Peer {
    OpenSsl,
    /// The program of `conformance/peers`.
    BuiltOpenSsl,
    GnuTls,
    Python,
}

/// One test of the subject against a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostHandshakeAuthCell {
    /// The role of the subject.
    pub(crate) role: Role,
    peer: Peer,
    /// The key of the client's certificate. A client without a certificate is refused.
    client: Option<Key>,
    /// Whether the subject updates all keys before the request.
    update: bool,
}

/// All cells; the folder has the programs that were built.
pub(crate) fn cells(built: Option<&Path>) -> Vec<PostHandshakeAuthCell> {
    let mut cells = Vec::new();
    let built = built.filter(|folder| folder.join(BUILT_OPENSSL).is_file());
    let built = built.map(|_| Peer::BuiltOpenSsl);
    for role in [Role::Serve, Role::Connect] {
        for peer in [Peer::OpenSsl, Peer::GnuTls, Peer::Python].into_iter().chain(built) {
            for key in Key::COMMON {
                let update = role == Role::Connect && key == Key::P256;
                cells.push(PostHandshakeAuthCell { role, peer, client: Some(key), update });
            }
        }
    }
    cells.push(PostHandshakeAuthCell {
        role: Role::Serve,
        peer: Peer::OpenSsl,
        client: None,
        update: false,
    });
    cells
}

impl fmt::Display for PostHandshakeAuthCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = if self.role == Role::Serve { "serve" } else { "connect" };
        write!(f, "{role} {} 1.3 {CATEGORY}", self.peer())?;
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

impl PostHandshakeAuthCell {
    /// The name of the peer.
    pub(crate) fn peer(&self) -> &'static str {
        match self.peer {
            Peer::OpenSsl => "openssl",
            Peer::BuiltOpenSsl => BUILT_OPENSSL,
            Peer::GnuTls => "gnutls",
            Peer::Python => "python",
        }
    }

    /// Whether the peer's program is installed.
    pub(crate) fn present(&self) -> bool {
        match self.peer {
            Peer::OpenSsl => find("openssl").is_some(),
            // `cells` creates cells for this program only if it was built.
            Peer::BuiltOpenSsl => true,
            Peer::GnuTls => find("gnutls-cli").is_some() && find("gnutls-serv").is_some(),
            Peer::Python => python().is_some(),
        }
    }

    /// Runs the cell, with the option `--fips` or without it. The error states the fault.
    pub(crate) fn run(
        &self,
        subject: &Path,
        fips: bool,
        setting: &Setting,
        built: Option<&Path>,
    ) -> Result<()> {
        let port = free_port()?;
        let relay = Relay::start(vec![port])?;
        let openssl = match (self.peer, built) {
            (Peer::BuiltOpenSsl, Some(built)) => built.join(BUILT_OPENSSL).canonicalize()?,
            _ => "openssl".into(),
        };
        let programs = Programs { cell: self, subject, fips, setting, openssl };
        let mut processes = Processes {
            server: Process::start(programs.server(port)?)?,
            client: Process::start(programs.client(relay.port())?)?,
            turn: 1,
            deadline: Instant::now() + LIMIT,
        };
        loop {
            let verdict = processes.exchange_messages(self);
            verdict.map_err(|error| error.context(processes.last_output()))?;
            if processes.turn == CONNECTIONS {
                return Ok(());
            }
            processes.client = Process::start(programs.client(relay.port())?)?;
            processes.turn += 1;
        }
    }
}

/// Builds the command lines of a cell.
struct Programs<'a> {
    cell: &'a PostHandshakeAuthCell,
    subject: &'a Path,
    fips: bool,
    setting: &'a Setting,
    openssl: PathBuf,
}

impl Programs<'_> {
    /// A command of the subject.
    fn subject(&self, name: &str) -> Command {
        let mut command = Command::new(self.subject);
        command.arg(name).args(self.fips.then_some("--fips"));
        command
    }

    fn server(&self, port: u16) -> Result<Command> {
        let own = self.setting.pki.server(Key::P256);
        let roots = self.setting.pki.client_roots();
        let mut command;
        match (self.cell.role, self.cell.peer) {
            (Role::Serve, _) => {
                command = self.subject("serve");
                command.arg("--listen").arg(format!("127.0.0.1:{port}"));
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
                command = self.subject("connect");
                command.arg(format!("127.0.0.1:{port}")).arg("--ca").arg(roots);
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

    /// `post_handshake_auth.py serve|connect PORT CERTIFICATE KEY ROOTS NAME`
    fn python(&self, role: &str, port: u16, own: &Credential, roots: &Path) -> Result<Command> {
        let script: PathBuf = self.setting.files.join("post_handshake_auth.py");
        fs::write(&script, include_str!("../peers/post_handshake_auth.py"))?;
        let mut command = Command::new(python().unwrap_or_default());
        command.arg(script).arg(role).arg(port.to_string());
        command.arg(&own.certificate).arg(&own.key).arg(roots).arg(SERVER_NAME);
        Ok(command)
    }
}

struct Processes {
    server: Process,
    client: Process,
    /// The number of the connection, from 1. The server's output covers all connections until then.
    turn: usize,
    deadline: Instant,
}

impl Processes {
    fn exchange_messages(&mut self, cell: &PostHandshakeAuthCell) -> Result<()> {
        let [before, after] = MESSAGES;
        self.client.send_input(before);
        if cell.client.is_none() {
            return self.expect_refusal();
        }
        let openssl_serves =
            cell.role == Role::Connect && matches!(cell.peer, Peer::OpenSsl | Peer::BuiltOpenSsl);
        let gnutls_serves = cell.role == Role::Connect && cell.peer == Peer::GnuTls;
        // `s_server` prints what it receives and sends its standard input, so the harness echoes.
        self.expect_echo(before, openssl_serves)?;
        if openssl_serves {
            self.server.send_input(b"c\n");
            self.wait("s_server to report its request", |processes| {
                let output = processes.server.output().text();
                output.matches("SSL_do_handshake -> 1").count() >= processes.turn
            })?;
        }
        if gnutls_serves {
            self.client.send_input(b"**REAUTH**\n");
            self.wait("the answer of gnutls-serv", |processes| {
                processes.client.output().text().contains("Successfully executed command")
            })?;
        }
        if cell.role == Role::Connect {
            // `tercel connect` reports the certificate that it has sent, and sends the next data
            // after that.
            self.wait("tercel to report its certificate", |processes| {
                let output = processes.client.error_output().text();
                output.contains(&format!("after the handshake: CN={CLIENT}"))
            })?;
        }
        self.client.send_input(after);
        self.expect_echo(after, openssl_serves)?;
        self.client.end_input();
        // Every server except gnutls-serv reports the client; gnutls-serv answers only if it
        // received a certificate.
        if !gnutls_serves {
            self.wait("the server to report the client's name", |processes| {
                processes.server.error_output().text().matches(CLIENT).count() >= processes.turn
            })?;
        }
        self.wait_for_client()?;
        ensure!(
            self.client.ended()?.is_some_and(|status| status.success()),
            "the client reports a failure"
        );
        Ok(())
    }

    /// Waits until the server has received the message, and the client its echo.
    fn expect_echo(&mut self, message: &[u8], harness_echoes: bool) -> Result<()> {
        if harness_echoes {
            self.wait("the server to print the message", |processes| {
                let shown = processes.server.output().bytes();
                shown.windows(message.len()).filter(|shown| *shown == message).count()
                    >= processes.turn
            })?;
            self.server.send_input(message);
        }
        self.wait("the echo", |processes| contains(&processes.client.output().bytes(), message))
    }

    fn expect_refusal(&mut self) -> Result<()> {
        self.wait("the client to report the alert", |processes| {
            processes.client.error_output().text().contains("certificate required")
        })?;
        self.wait("the server to report the cause", |processes| {
            let output = processes.server.error_output().text();
            output.lines().filter(|line| line.contains("no certificate")).count() >= processes.turn
        })?;
        self.client.end_input();
        self.wait_for_client()?;
        ensure!(
            !contains(&self.client.output().bytes(), MESSAGES[1]),
            "the connection was not refused"
        );
        Ok(())
    }

    fn wait_for_client(&mut self) -> Result<()> {
        self.wait("the client to end", |processes| {
            processes.client.ended().is_ok_and(|ended| ended.is_some())
        })
    }

    fn wait(&mut self, what: &str, mut reached: impl FnMut(&mut Self) -> bool) -> Result<()> {
        while !reached(self) {
            ensure!(Instant::now() < self.deadline, "timeout waiting for {what}");
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The last lines that each program wrote to its standard error.
    fn last_output(&self) -> String {
        let mut last_output = String::new();
        for (side, process) in [("server", &self.server), ("client", &self.client)] {
            let text = process.error_output().text();
            let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in &lines[lines.len().saturating_sub(8)..] {
                last_output += &format!("\n    {side}: {line}");
            }
        }
        last_output
    }
}

fn contains(text: &[u8], message: &[u8]) -> bool {
    text.windows(message.len()).any(|window| window == message)
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
