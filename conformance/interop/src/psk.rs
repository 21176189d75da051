//! External pre-shared keys. These cells are separate because they use no certificates.
//!
//! Both programs must confirm the key: Tercel prints its name, OpenSSL reports that there is no
//! certificate, and GnuTLS prints the name of the client.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cells::Role;
use crate::programs::{self, BUILT_OPENSSL, CONNECTIONS};
use tercel_harness::ports::free_port;
use tercel_harness::process::Process;

/// The programs that support connections without certificates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Peer {
    OpenSsl,
    /// The program of `conformance/peers`.
    BuiltOpenSsl,
    GnuTls,
}

/// The case that a cell tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Case {
    Plain,
    /// There is a HelloRetryRequest, so binders are computed twice.
    Retry,
    /// Tercel offers two keys, and the server knows the second.
    SecondOfTwo,
    WrongKey,
    UnknownName,
}

/// One test of three connections to one server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PskCell {
    role: Role,
    peer: Peer,
    case: Case,
}

const NAME: &str = "gate-7";
const KEY: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const WRONG: &str = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752";
/// One line, which `s_server` sends back in reverse.
const LINE: &str = "0123456789 abcdefghij";
const LIMIT: Duration = Duration::from_secs(60);
const GNUTLS: &str = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK:+DHE-PSK";

/// All cells; the folder has the programs that were built.
pub(crate) fn cells(built: Option<&Path>) -> Vec<PskCell> {
    use Case::{Plain, Retry, SecondOfTwo, UnknownName, WrongKey};
    let mut cells = Vec::new();
    let built = built.filter(|folder| folder.join(BUILT_OPENSSL).is_file());
    let built = built.map(|_| Peer::BuiltOpenSsl);
    for peer in [Peer::OpenSsl, Peer::GnuTls].into_iter().chain(built) {
        for case in [Plain, Retry, SecondOfTwo, WrongKey, UnknownName] {
            // GnuTLS's server invents a key for an unknown name and does not look at the other
            // keys.
            if case != SecondOfTwo || peer != Peer::GnuTls {
                cells.push(PskCell { role: Role::Connect, peer, case });
            }
            // GnuTLS's client sends a share for each kind of group, so there is no retry; and
            // neither program's client has more than one key.
            let retries = case != Retry || peer != Peer::GnuTls;
            if retries && case != SecondOfTwo {
                cells.push(PskCell { role: Role::Serve, peer, case });
            }
        }
    }
    cells
}

/// The row of the matrix.
pub(crate) const CATEGORY: &str = "external pre-shared key";

impl Peer {
    fn name(self) -> &'static str {
        match self {
            Self::OpenSsl => "openssl",
            Self::BuiltOpenSsl => BUILT_OPENSSL,
            Self::GnuTls => "gnutls",
        }
    }
}

impl PskCell {
    /// The row, column and role of the cell in the matrix.
    pub(crate) fn place(self) -> (&'static str, &'static str, Role) {
        (CATEGORY, self.peer.name(), self.role)
    }

    pub(crate) fn name(self) -> String {
        let role = match self.role {
            Role::Serve => "serve",
            Role::Connect => "connect",
        };
        let peer = self.peer.name();
        let case = match self.case {
            Case::Plain => "plain",
            Case::Retry => "retry",
            Case::SecondOfTwo => "second-of-two",
            Case::WrongKey => "wrong-key",
            Case::UnknownName => "unknown-name",
        };
        format!("{role} {peer} psk {case}")
    }

    /// Whether the peer's programs are installed.
    pub(crate) fn present(self, built: Option<&Path>) -> bool {
        self.program(built).is_some()
    }

    fn program(self, built: Option<&Path>) -> Option<PathBuf> {
        programs::find(match (self.peer, self.role) {
            (Peer::OpenSsl, _) => "openssl",
            (Peer::BuiltOpenSsl, _) => return built?.join(BUILT_OPENSSL).canonicalize().ok(),
            (Peer::GnuTls, Role::Serve) => "gnutls-cli",
            (Peer::GnuTls, Role::Connect) => "gnutls-serv",
        })
    }

    /// Runs the cell. The error states the fault and contains the output of both programs.
    pub(crate) fn run(self, tercel: &Path, folder: &Path, built: Option<&Path>) -> Result<()> {
        let program = self.program(built).context("the program is not installed")?;
        let port = free_port()?;
        let server = match self.role {
            Role::Serve => self.tercel_serves(tercel, port),
            Role::Connect => self.peer_serves(&program, port, folder)?,
        };
        let client = || match self.role {
            Role::Serve => self.peer_connects(&program, port),
            Role::Connect => self.tercel_connects(tercel, port),
        };
        let deadline = Instant::now() + LIMIT;
        let server = Process::start(server)?;
        wait(deadline, || {
            ["listening on", "ACCEPT"].iter().any(|text| output_of(&server).contains(text))
        })
        .context("the server does not listen")?;
        for turn in 1..=CONNECTIONS {
            let mut client = Process::start(client())?;
            client.send_input(format!("{LINE}\n").as_bytes());
            self.check(&server, &mut client, turn, deadline).map_err(|error| {
                let quotes =
                    format!("server: {}\nclient: {}\n", output_of(&server), output_of(&client));
                error.context(quotes)
            })?;
        }
        Ok(())
    }

    fn check(
        self,
        server: &Process,
        client: &mut Process,
        turn: usize,
        deadline: Instant,
    ) -> Result<()> {
        let echo: String = match (self.role, self.peer) {
            (Role::Connect, Peer::OpenSsl | Peer::BuiltOpenSsl) => LINE.chars().rev().collect(),
            _ => LINE.to_owned(),
        };
        if matches!(self.case, Case::WrongKey | Case::UnknownName) {
            wait_for_end(client, deadline)?;
            ensure!(!client.output().text().contains(&echo), "the connection was not refused");
            let (side, text) = self.refusal();
            let side = if side == Role::Serve { server } else { client };
            // The server's output also covers the earlier connections.
            let times = if self.refusal().0 == Role::Serve { turn } else { 1 };
            return wait(deadline, || output_of(side).matches(text).count() >= times)
                .context("the cause was not reported");
        }
        wait(deadline, || client.output().text().contains(&echo)).context("no echo")?;
        client.end_input();
        let (tercel, peer): (&Process, &Process) = match self.role {
            Role::Serve => (server, client),
            Role::Connect => (client, server),
        };
        let (times_tercel, times_peer) = match self.role {
            Role::Serve => (turn, 1),
            Role::Connect => (1, turn),
        };
        for text in self.seen_by_tercel() {
            wait(deadline, || output_of(tercel).matches(text).count() >= times_tercel)
                .with_context(|| format!("Tercel does not print {text:?}"))?;
        }
        let text = self.seen_by_peer();
        wait(deadline, || output_of(peer).matches(text).count() >= times_peer)
            .with_context(|| format!("the peer does not print {text:?}"))
    }

    /// The side that reports a refusal, and its text: a server reports the cause, a client the
    /// alert.
    fn refusal(self) -> (Role, &'static str) {
        match (self.role, self.case) {
            (Role::Serve, Case::WrongKey) => (Role::Serve, "binder does not match"),
            (Role::Serve, _) => (Role::Serve, "no known pre-shared key"),
            (Role::Connect, _) => (Role::Connect, "the peer sent the fatal alert"),
        }
    }

    fn seen_by_tercel(self) -> &'static [&'static str] {
        match (self.role, self.case) {
            (Role::Serve, Case::Retry) => &["psk=gate-7", " retried "],
            (Role::Serve, _) => &["psk=gate-7"],
            (Role::Connect, Case::Retry) => {
                &["pre-shared-key        gate-7", "retried               yes"]
            }
            (Role::Connect, _) => &["pre-shared-key        gate-7"],
        }
    }

    fn seen_by_peer(self) -> &'static str {
        match (self.peer, self.role) {
            (Peer::OpenSsl | Peer::BuiltOpenSsl, Role::Serve) => "no peer certificate available",
            (Peer::OpenSsl | Peer::BuiltOpenSsl, Role::Connect) => "No peer certificate",
            (Peer::GnuTls, _) => "PSK authentication. Connected as 'gate-7'",
        }
    }

    /// The client's name and key; the server always has the right key under the right name.
    fn clients_key(self) -> (&'static str, &'static str) {
        match self.case {
            Case::WrongKey => (NAME, WRONG),
            Case::UnknownName => ("gate-8", KEY),
            _ => (NAME, KEY),
        }
    }

    fn tercel_serves(self, tercel: &Path, port: u16) -> Command {
        let mut command = Command::new(tercel);
        command.args(["serve", "--echo", "--psk", &format!("{NAME}:{KEY}"), "--listen"]);
        command.arg(format!("127.0.0.1:{port}"));
        if self.case == Case::Retry {
            command.args(["--groups", "secp384r1"]);
        }
        command
    }

    fn tercel_connects(self, tercel: &Path, port: u16) -> Command {
        let mut command = Command::new(tercel);
        command.arg("connect").arg(format!("127.0.0.1:{port}")).args(["--timeout", "15"]);
        if self.case == Case::SecondOfTwo {
            command.args(["--psk", &format!("gate-8:{WRONG}")]);
        }
        let (name, key) = self.clients_key();
        command.args(["--psk", &format!("{name}:{key}"), "--groups", "x25519:secp384r1"]);
        command
    }

    fn peer_serves(self, program: &Path, port: u16, folder: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        let port = port.to_string();
        let retries = self.case == Case::Retry;
        match self.peer {
            Peer::OpenSsl | Peer::BuiltOpenSsl => {
                command.args(["s_server", "-nocert", "-tls1_3", "-rev", "-psk_identity", NAME]);
                command.args(["-psk", KEY, "-accept", &port]);
                if retries {
                    command.args(["-groups", "P-384"]);
                }
            }
            Peer::GnuTls => {
                let passwords = folder.join(format!("psk-{port}"));
                fs::write(&passwords, format!("{NAME}:{KEY}\n"))?;
                let groups = if retries { ":-GROUP-ALL:+GROUP-SECP384R1" } else { "" };
                command.args(["--echo", "-p", &port, "--priority", &format!("{GNUTLS}{groups}")]);
                command.arg("--pskpasswd").arg(passwords);
            }
        }
        Ok(command)
    }

    fn peer_connects(self, program: &Path, port: u16) -> Command {
        let mut command = Command::new(program);
        let (name, key) = self.clients_key();
        match self.peer {
            Peer::OpenSsl | Peer::BuiltOpenSsl => {
                command.args(["s_client", "-tls1_3", "-psk_identity", name, "-psk", key]);
                command.args(["-groups", "X25519:P-384", "-connect"]);
                command.arg(format!("127.0.0.1:{port}"));
            }
            Peer::GnuTls => {
                command.args(["--pskusername", name, "--pskkey", key, "--priority", GNUTLS]);
                command.args(["-p", &port.to_string(), "127.0.0.1"]);
            }
        }
        command
    }
}

fn output_of(process: &Process) -> String {
    process.output().text() + &process.error_output().text()
}

fn wait(deadline: Instant, mut done: impl FnMut() -> bool) -> Result<()> {
    while !done() {
        if Instant::now() > deadline {
            bail!("no result within {} s", LIMIT.as_secs());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn wait_for_end(process: &mut Process, deadline: Instant) -> Result<()> {
    while process.ended()?.is_none() {
        ensure!(Instant::now() < deadline, "timeout waiting for the client to end");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
