//! Runs cells: starts both endpoints, and compares what they print.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cells::{Cell, Role};
use crate::facts::Facts;
use crate::options::Options;
use crate::pki::Pki;
use crate::programs::{Program, Setup};

/// The result of a cell.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed,
    Failed(String),
}

/// Runs a cell with this program, and Tercel in this role.
pub(crate) fn run(program: &dyn Program, cell: Cell, role: Role, pki: &Pki) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let (ours, theirs) = options(program, cell, role, pki)?;
    let setup = Setup { cell, role, options: theirs, folder: folder.path(), pki };
    let mut tercel = Command::new(std::env::current_exe()?);
    match cell {
        // Quinn has version 1 only.
        Cell::Version2 => tercel.arg("version2"),
        _ => tercel.args(["endpoint", "--stack", "tercel", role.name()]),
    };
    tercel.args(ours.arguments());
    let others = program.commands(&setup);
    let (servers, clients) = match role {
        Role::Serve => (vec![tercel], others),
        Role::Connect => (others, vec![tercel]),
    };
    let mut server = servers.into_iter().next().context("a server is one process")?;
    let server_log = folder.path().join("server-output");
    let mut server = Process::start(&mut server, &server_log)?;
    let result = wait_for_port(ours.port, &mut server).and_then(|()| {
        if role == Role::Connect {
            std::thread::sleep(program.start_time(cell));
        }
        clients
            .into_iter()
            .enumerate()
            .map(|(number, mut client)| {
                let log = folder.path().join(format!("client-output-{number}"));
                let mut client = Process::start(&mut client, &log)?;
                client.wait(CLIENT_LIMIT)?;
                Ok(read(&log))
            })
            .collect::<Result<Vec<_>>>()
    });
    let clients = match result {
        Ok(clients) => clients,
        Err(error) => return Ok(Outcome::Failed(format!("{error:#}\n{}", read(&server_log)))),
    };
    // A server prints a connection when it has ended; some programs print none.
    let limit = if role == Role::Serve { CONNECTION_LIMIT } else { PROGRAM_LIMIT };
    let end = Instant::now() + limit;
    while lines(&read(&server_log)).len() < cell.connections() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(server);
    let server = read(&server_log);
    let (tercel, other) = match role {
        Role::Serve => (lines(&server), program.facts(&setup, &clients)),
        Role::Connect => (
            clients.iter().flat_map(|log| lines(log)).collect(),
            program.facts(&setup, std::slice::from_ref(&server)),
        ),
    };
    let checked = cell.check(&tercel, cell != Cell::Version2).context("Tercel").and_then(|()| {
        if other.is_empty() { Ok(()) } else { cell.check(&other, false).context(program.name()) }
    });
    Ok(match checked {
        Ok(()) => Outcome::Passed,
        Err(error) => {
            let output: Vec<String> =
                clients.iter().chain([&server]).map(|log| tail(log)).collect();
            Outcome::Failed(format!("{error:#}\n{}", output.join("\n--\n")))
        }
    })
}

/// The options of Tercel and of the other program.
fn options(program: &dyn Program, cell: Cell, role: Role, pki: &Pki) -> Result<(Options, Options)> {
    let port = UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut common =
        Options { port, alpn: program.alpn().to_owned(), connections: 1, ..Options::default() };
    cell.apply(&mut common);
    let certificate = cell == Cell::ClientCertificate;
    let roots = if cell == Cell::RefusedCertificate { &pki.other_roots } else { &pki.roots };
    let client = Options {
        roots: Some(roots.clone()),
        cert: certificate.then(|| pki.client.cert.clone()),
        key: certificate.then(|| pki.client.key.clone()),
        ..common.clone()
    };
    let server = Options {
        roots: certificate.then(|| pki.roots.clone()),
        cert: Some(pki.server.cert.clone()),
        key: Some(pki.server.key.clone()),
        ..common
    };
    let (mut ours, mut theirs) = match role {
        Role::Serve => (server, client),
        Role::Connect => (client, server),
    };
    ours.key_update = cell == Cell::KeyUpdateHere;
    theirs.key_update = cell == Cell::KeyUpdateThere;
    Ok((ours, theirs))
}

fn lines(output: &str) -> Vec<Facts> {
    output.lines().filter_map(Facts::parse).collect()
}

fn read(log: &Path) -> String {
    fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// A process, which is killed when it is dropped.
struct Process(Child);

impl Process {
    fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::create(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        Ok(Self(command.spawn().with_context(|| format!("{command:?}"))?))
    }

    /// Waits for the end, and for nothing else: what counts is the output.
    fn wait(&mut self, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        while self.0.try_wait()?.is_none() {
            ensure!(Instant::now() < end, "no end within {limit:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Waits until a process listens on this UDP port.
fn wait_for_port(port: u16, process: &mut Process) -> Result<()> {
    let wanted = format!(":{port:04X} ");
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        let tables = ["/proc/net/udp", "/proc/net/udp6"].map(|table| read(Path::new(table)));
        let listens = |line: &str| {
            line.split_whitespace()
                .nth(1)
                .is_some_and(|local| format!("{local} ").ends_with(&wanted))
        };
        if tables.iter().any(|table| table.lines().any(listens)) {
            return Ok(());
        }
        if let Some(status) = process.0.try_wait()? {
            bail!("the server has ended: {status}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("the server does not listen")
}

/// The time for one process of a client.
const CLIENT_LIMIT: Duration = Duration::from_secs(60);

/// The time until a server reports the end of a connection, which is longer than an idle timeout.
const CONNECTION_LIMIT: Duration = Duration::from_secs(8);

/// The time for another program's server.
const PROGRAM_LIMIT: Duration = Duration::from_secs(1);
