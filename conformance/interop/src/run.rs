//! Runs a cell: starts server, relay and client, sends the payload, and checks the result.
//!
//! The client connects three times, with the sessions of earlier connections. A cell passes if the
//! payload is echoed byte for byte, the client succeeds, and the recorded hellos of each connection
//! have the required parameters. If both programs resume by default, the hellos must also show a
//! resumption. A cell with a fault passes if nothing is echoed, the right side refuses each time,
//! and Tercel reports the cause.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cells::{Cell, Client, Fault, LimitedBy, Role};
use crate::parameters::Version;
use crate::programs::{
    CONNECTIONS, Connect, ConnectionPlan, FIRST_MESSAGE, Limits, Program, RecordSize, Serve,
};
use crate::recorded;
use crate::relay::Relay;
use tercel_harness::pki::{Pki, SERVER_NAME};
use tercel_harness::ports::free_port;
use tercel_harness::process::{Process, last_error_lines};

/// The time limit of a cell.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// The bytes echoed in each cell.
const PAYLOAD: usize = 1024 * 1024;
/// Seven lines, less than the smallest record size limit.
const SHORT_PAYLOAD: usize = 7 * 64;
/// The most that protection adds to a record: explicit nonce, content type, tag.
pub(crate) const PROTECTION: usize = 8 + 1 + 16;
/// The file with the payload, for programs that fetch instead of echoing.
pub(crate) const PAYLOAD_FILE: &str = "payload.txt";

/// The resources that all cells of a run share.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) pki: Pki,
    /// The folder with the payload file.
    pub(crate) files: PathBuf,
    pub(crate) payload: Vec<u8>,
}

impl Setting {
    /// Creates a folder for one cell.
    pub(crate) fn scratch(&self) -> Result<PathBuf> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let scratch = self.files.join(format!("cell-{number}"));
        fs::create_dir(&scratch)?;
        Ok(scratch)
    }
}

/// Runs one cell. The error states the fault and has the last output of both programs.
pub(crate) fn run(
    cell: &Cell,
    subject: &dyn Program,
    peer: &dyn Program,
    setting: &Setting,
) -> Result<()> {
    let mut processes = Processes::start(cell, subject, peer, setting)?;
    let verdict = match cell.fault {
        None => processes.expect_echoes(),
        Some(fault) => processes.expect_refusals(fault),
    };
    verdict.map_err(|error| error.context(processes.last_output()))
}

/// Text in lines, because some programs read lines. The text has no characters that programs
/// interpret as commands, and does not repeat, so that a lost or doubled part is noticed.
pub(crate) fn payload() -> Vec<u8> {
    const LETTERS: &[u8; 16] = b"0123456789defghi";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(PAYLOAD);
    while bytes.len() < PAYLOAD {
        for _ in 0..63 {
            // Marsaglia's xorshift: the noise only has to be repeatable.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.push(LETTERS[usize::from(state.to_le_bytes()[7] & 15)]);
        }
        bytes.push(b'\n');
    }
    bytes
}

/// The HTTP request for a file, for a client that only sends its input.
pub(crate) fn request(file: &Path) -> Vec<u8> {
    format!("GET {} HTTP/1.0\r\n\r\n", file.display()).into_bytes()
}

struct Processes<'a> {
    cell: &'a Cell,
    setting: &'a Setting,
    server: Process,
    /// The current process of the client.
    client: Option<Process>,
    client_program: &'a dyn Program,
    server_program: &'a dyn Program,
    relay: Relay,
    scratch: PathBuf,
    deadline: Instant,
    subject_names_causes: bool,
    peer_record_size: RecordSize,
    peer_sends_alerts: bool,
}

impl<'a> Processes<'a> {
    fn start(
        cell: &'a Cell,
        subject: &'a dyn Program,
        peer: &'a dyn Program,
        setting: &'a Setting,
    ) -> Result<Self> {
        let (server_program, client_program) = match cell.role {
            Role::Serve => (subject, peer),
            Role::Connect => (peer, subject),
        };
        let fetches = client_program.abilities().fetches;
        let port = free_port()?;
        let scratch = setting.scratch()?;
        let served = server_program.serve(&Serve {
            port,
            credential: server_credential(cell, &setting.pki),
            limits: limits(cell, cell.role == Role::Serve),
            client_auth: cell.client_auth(),
            client_roots: setting.pki.client_roots(),
            files: fetches.then_some(setting.files.as_path()),
            scratch: &scratch,
            extra: None,
        });
        let server = if served.harness_echoes {
            Process::start_echoing(served.command)?
        } else {
            Process::start(served.command)?
        };
        Ok(Self {
            cell,
            setting,
            server,
            client: None,
            client_program,
            server_program,
            relay: Relay::start(vec![port])?,
            scratch,
            deadline: Instant::now() + LIMIT,
            subject_names_causes: subject.names_causes(),
            peer_record_size: peer.abilities().record_size,
            peer_sends_alerts: peer.abilities().sends_alerts,
        })
    }

    fn start_client(&mut self, again: bool) -> Result<()> {
        let (cell, pki) = (self.cell, &self.setting.pki);
        self.client = Some(Process::start(self.client_program.connect(&Connect {
            port: self.relay.port(),
            name: if cell.by_address { "127.0.0.1" } else { SERVER_NAME },
            roots: pki.server_roots(),
            credential: match (cell.client, cell.fault) {
                (_, Some(Fault::UnknownClientAuthority)) => Some(pki.unknown_client()),
                (Client::Certified(key), _) => Some(pki.client(key)),
                _ => None,
            },
            limits: limits(cell, cell.role == Role::Connect),
            fetch: PAYLOAD_FILE,
            scratch: &self.scratch,
            again,
            refused: cell.fault.is_some(),
            extra: None,
        }))?);
        Ok(())
    }

    /// Checks that every connection echoes, and that the last connection echoes the whole payload.
    fn expect_echoes(&mut self) -> Result<()> {
        let plan = self.client_program.connection_plan();
        for run in 0..plan.runs() {
            self.start_client(run > 0)?;
            self.expect_echo(run + 1 == plan.runs())?;
        }
        let seen = self.relay.connections();
        let expected = plan.connections();
        ensure!(seen == expected, "{seen} connections were made, not {expected}");
        for connection in 0..expected {
            self.check_records(connection)?;
            self.check_negotiated(connection)
                .with_context(|| format!("connection {connection}"))?;
        }
        Ok(())
    }

    fn expect_echo(&mut self, last: bool) -> Result<()> {
        let setting = self.setting;
        let plan = self.client_program.connection_plan();
        let fetches = self.client_program.abilities().fetches;
        let from_files = self.server_program.abilities().serves_files;
        let divided = self.cell.record_size.is_some();
        let payload = if !last && !fetches && !from_files {
            &setting.payload[..SHORT_PAYLOAD]
        } else if divided && self.peer_record_size == RecordSize::ReceiveBuffer {
            // gnutls-cli also limits its own records, and drops data that does not fit into one
            // record. The server's Certificate must still be divided.
            &setting.payload[..SHORT_PAYLOAD]
        } else {
            &setting.payload
        };
        let mut expected = Vec::new();
        if fetches {
            expected = payload.repeat(plan.per_run());
            self.client()?.end_input();
        } else if from_files {
            expected.extend_from_slice(payload);
            self.client()?.send_input(&request(&setting.files.join(PAYLOAD_FILE)));
        } else {
            if plan == ConnectionPlan::All {
                expected = FIRST_MESSAGE.repeat(plan.per_run() - 1);
            }
            expected.extend_from_slice(payload);
            self.client()?.send_input(payload);
        }
        let prints_own_lines = self.client_program.abilities().prints_own_lines;
        self.wait("the echo of the payload", |processes| {
            let received = processes.client()?.output();
            let enough = received.len() >= expected.len();
            let whole = enough && (!prints_own_lines || contains(&received.bytes(), &expected));
            Ok(received.ended() || whole)
        })?;
        if !from_files {
            // The input ends only after the echo has arrived, so that no program has to half-close.
            // The connection must then end in order.
            self.client()?.end_input();
        }
        self.wait("the client to end", |processes| Ok(processes.client()?.output().ended()))?;
        let mut received = self.client()?.output().bytes();
        if from_files {
            let head = received.windows(4).position(|end| end == b"\r\n\r\n");
            received.drain(..head.map_or(0, |at| at + 4));
        }
        ensure!(
            received == expected || (prints_own_lines && contains(&received, &expected)),
            "{} bytes were echoed, {}",
            received.len(),
            difference(&received, &expected)
        );
        let status = self.client_status()?;
        ensure!(status, "the payload was echoed, but the client reports a failure");
        self.check_server()
    }

    /// Checks that every connection is refused. A program that ends after the first refusal is
    /// started again.
    fn expect_refusals(&mut self, fault: Fault) -> Result<()> {
        while self.relay.connections() < CONNECTIONS {
            let before = self.relay.connections();
            self.start_client(before > 0)?;
            self.expect_refusal(fault)?;
            ensure!(self.relay.connections() > before, "the client did not connect");
        }
        for connection in 0..self.relay.connections() {
            self.check_alert(fault, connection)?;
        }
        Ok(())
    }

    fn expect_refusal(&mut self, fault: Fault) -> Result<()> {
        // The client sends data to echo, so that a handshake that succeeds by mistake is noticed.
        if self.client_program.abilities().fetches {
            self.client()?.end_input();
        } else if self.server_program.abilities().serves_files {
            let file = self.setting.files.join(PAYLOAD_FILE);
            self.client()?.send_input(&request(&file));
        } else {
            self.client()?.send_input(FIRST_MESSAGE);
        }
        let prints_own_lines = self.client_program.abilities().prints_own_lines;
        self.wait("the client to end", |processes| {
            let client = processes.client()?;
            Ok(client.ended()?.is_some() || (!prints_own_lines && !client.output().is_empty()))
        })?;
        let received = self.client()?.output().bytes();
        let accepted = if prints_own_lines {
            contains(&received, FIRST_MESSAGE)
        } else {
            !received.is_empty()
        };
        ensure!(!accepted, "not refused: {} bytes were echoed", received.len());

        let succeeded = self.client_status()?;
        let subject_is_client = self.cell.role == Role::Connect;
        if !fault.refused_by_client() && subject_is_client && !self.peer_sends_alerts {
            return Ok(());
        }
        if subject_is_client || fault.refused_by_client() {
            ensure!(!succeeded, "the client reports no failure");
        }
        if subject_is_client && self.subject_names_causes {
            let output = self.client()?.error_output().text().to_lowercase();
            for words in fault.error_words() {
                let named = words.iter().any(|word| output.contains(word));
                ensure!(named, "the error has none of {words:?}");
            }
        }
        self.check_server()
    }

    /// Checks that Tercel's server continues after any fault of a client.
    fn check_server(&mut self) -> Result<()> {
        if self.cell.role == Role::Serve && self.subject_names_causes {
            let ended = self.server.ended()?;
            ensure!(ended.is_none(), "the server ended: {ended:?}");
        }
        Ok(())
    }

    /// Checks that the records of the limited side are small.
    fn check_records(&self, connection: usize) -> Result<()> {
        let Some(size) = self.cell.record_size else { return Ok(()) };
        let sent_by_subject = self.peer_record_size == RecordSize::ReceiveBuffer;
        let sent_by_client = sent_by_subject == (self.cell.role == Role::Connect);
        let recorded = if sent_by_client {
            self.relay.client_bytes(connection)
        } else {
            self.relay.server_bytes(connection)
        };
        let longest = recorded::longest_record(&recorded).context("no protected record")?;
        let allowed = usize::from(size) + PROTECTION;
        ensure!(longest <= allowed, "a record of {longest} bytes was sent");
        Ok(())
    }

    fn check_negotiated(&mut self, connection: usize) -> Result<()> {
        let cell = self.cell;
        let from_server = self.relay.server_bytes(connection);
        let seen = recorded::negotiated(&from_server).context("no ServerHello")?;
        ensure!(seen.version == cell.version.code(), "negotiated version {:04x}", seen.version);
        if let Some(suite) = cell.suite {
            ensure!(seen.suite == suite.code, "negotiated suite {:04x}", seen.suite);
        }
        let resumed = recorded::resumed(&from_server).context("no ServerHello")?;
        let expected = resumes(self.client_program, self.server_program, cell.version, connection)
            && (cell.version == Version::Tls13
                || !matches!(cell.client, Client::Certified(_))
                || self.server_program.abilities().resumes_authenticated);
        ensure!(resumed == expected, "on the wire: resumed = {resumed}");
        // A resumed session of TLS 1.2 has no key exchange. RFC 5246 7.3
        let exchanged = cell.version == Version::Tls13 || !resumed;
        if let Some(group) = cell.group.filter(|_| exchanged) {
            ensure!(seen.group == Some(group.code), "negotiated group {:04x?}", seen.group);
        }
        // A client may remember the group, and so avoid the retry in later connections.
        let retry = cell.retry && connection == 0;
        ensure!(!retry || seen.retried, "no HelloRetryRequest was sent");
        if self.subject_names_causes && cell.role == Role::Connect {
            let report = self.client()?.error_output().text();
            let expected = format!("TLS {}", cell.version);
            ensure!(report.contains(&expected), "the report does not contain {expected}");
        }
        Ok(())
    }

    /// Checks the subject's alert if it refuses before encryption.
    fn check_alert(&self, fault: Fault, connection: usize) -> Result<()> {
        let by_client = fault.refused_by_client();
        let refused_by_subject = by_client == (self.cell.role == Role::Connect);
        let before_keys = matches!(fault, Fault::NoCommonVersion | Fault::NotApproved);
        let in_plaintext = self.cell.version == Version::Tls12 || before_keys;
        if !refused_by_subject || !in_plaintext {
            return Ok(());
        }
        let recorded = if by_client {
            self.relay.client_bytes(connection)
        } else {
            self.relay.server_bytes(connection)
        };
        match recorded::alert(&recorded) {
            Some(description) => ensure!(
                fault.alerts().contains(&description),
                "alert {description} was sent, not one of {:?}",
                fault.alerts()
            ),
            None => bail!("no fatal alert was sent"),
        }
        Ok(())
    }

    fn client(&mut self) -> Result<&mut Process> {
        self.client.as_mut().context("no client process")
    }

    fn client_status(&mut self) -> Result<bool> {
        self.wait("the client to exit", |processes| Ok(processes.client()?.ended()?.is_some()))?;
        Ok(self.client()?.ended()?.is_some_and(|status| status.success()))
    }

    fn wait(
        &mut self,
        what: &str,
        mut reached: impl FnMut(&mut Self) -> Result<bool>,
    ) -> Result<()> {
        while !reached(self)? {
            ensure!(Instant::now() < self.deadline, "timeout waiting for {what}");
            // The conditions are checked in this order, because a server may end after its only
            // connection.
            let ended = self.server.ended()?.is_some();
            ensure!(!ended || self.relay.connections() > 0, "the server did not start");
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The last lines that each program wrote to its standard error.
    fn last_output(&mut self) -> String {
        let client = self.client.iter_mut().map(|client| ("client", client));
        last_error_lines([("server", &mut self.server)].into_iter().chain(client))
    }
}

/// Whether programs with default settings must resume this connection.
pub(crate) fn resumes(
    client: &dyn Program,
    server: &dyn Program,
    version: Version,
    connection: usize,
) -> bool {
    client.connection_plan().has_session(connection)
        && client.abilities().resumes.contains(&version)
        && server.abilities().issues_sessions.contains(&version)
}

fn server_credential(cell: &Cell, pki: &Pki) -> tercel_harness::pki::Credential {
    match cell.fault {
        Some(Fault::Expired) => pki.expired(),
        Some(Fault::OtherName) => pki.other_name(),
        Some(Fault::UnknownAuthority) => pki.unknown_server(),
        _ => pki.server(cell.key),
    }
}

/// The limits of one side of a cell.
fn limits(cell: &Cell, subject: bool) -> Limits {
    if cell.fault == Some(Fault::NoCommonVersion) {
        let version = if subject { cell.version } else { cell.version.other() };
        return Limits { version: Some(version), ..Limits::default() };
    }
    let limited = match cell.limited_by {
        LimitedBy::Subject => subject,
        LimitedBy::Peer => !subject,
        LimitedBy::Neither => false,
    };
    if limited {
        return Limits {
            version: Some(cell.version),
            suite: cell.suite,
            group: cell.group,
            record_size: cell.record_size,
        };
    }
    Limits::default()
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn difference(received: &[u8], sent: &[u8]) -> String {
    let first = received.iter().zip(sent).position(|(received, sent)| received != sent);
    match first {
        Some(at) => format!("differing from byte {at}"),
        None => format!("of {}", sent.len()),
    }
}
