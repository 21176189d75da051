//! One cell: start the server, the relay and the client, carry the payload, judge.
//!
//! The client connects three times, with what it remembers of the time before. A cell passes when the
//! payload came back byte for byte, the client ended well, and the recorded hellos of each connection show
//! what was asked for, and a resumption where both programs resume by default; or, for a fault, when nothing
//! came back, the side that had to refuse did each time, and Tercel said why. This module must not know any
//! program's command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cells::{Cell, Client, Fault, LimitedBy, Role};
use crate::evidence;
use crate::programs::{
    CONNECTIONS, Connect, FIRST_WORDS, Limits, Program, RecordSize, Returns, Serve,
};
use crate::relay::Relay;
use crate::terms::Version;
use tercel_harness::pki::{Pki, SERVER_NAME};
use tercel_harness::ports::free_port;
use tercel_harness::process::{Process, last_words};

/// How long a cell may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);
/// The bytes echoed in each cell.
const PAYLOAD: usize = 1024 * 1024;
/// Seven lines, less than the smallest record size in use.
const SHORT_PAYLOAD: usize = 7 * 64;
/// What protection adds to a record at most: explicit nonce, content type, tag.
pub(crate) const PROTECTION: usize = 8 + 1 + 16;
/// The name of the file that holds the payload, for programs that fetch instead of echoing.
pub(crate) const PAYLOAD_FILE: &str = "payload.txt";

/// What all cells of a run share.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) pki: Pki,
    /// Holds the payload as a file.
    pub(crate) files: PathBuf,
    pub(crate) payload: Vec<u8>,
}

impl Setting {
    /// A new folder for one cell.
    pub(crate) fn scratch(&self) -> Result<PathBuf> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let scratch = self.files.join(format!("cell-{number}"));
        fs::create_dir(&scratch)?;
        Ok(scratch)
    }
}

/// Runs one cell. The error says what was wrong and quotes both programs.
pub(crate) fn run(
    cell: &Cell,
    subject: &dyn Program,
    peer: &dyn Program,
    setting: &Setting,
) -> Result<()> {
    let mut parties = Parties::start(cell, subject, peer, setting)?;
    let verdict = match cell.fault {
        None => parties.expect_echoes(),
        Some(fault) => parties.expect_refusals(fault),
    };
    verdict.map_err(|error| error.context(parties.quotes()))
}

/// Text in lines, because some programs read lines, without the letters that others take as
/// commands, and never the same twice, so that a lost or doubled piece cannot go unseen.
pub(crate) fn payload() -> Vec<u8> {
    const LETTERS: &[u8; 16] = b"0123456789defghi";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(PAYLOAD);
    while bytes.len() < PAYLOAD {
        for _ in 0..63 {
            // Marsaglia's xorshift: repeatable noise is all that is needed.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.push(LETTERS[usize::from(state.to_le_bytes()[7] & 15)]);
        }
        bytes.push(b'\n');
    }
    bytes
}

/// What a client without TLS of its own words asks a server that gives files.
pub(crate) fn request(file: &Path) -> Vec<u8> {
    format!("GET {} HTTP/1.0\r\n\r\n", file.display()).into_bytes()
}

struct Parties<'a> {
    cell: &'a Cell,
    setting: &'a Setting,
    server: Process,
    /// The newest run of the client.
    client: Option<Process>,
    client_program: &'a dyn Program,
    server_program: &'a dyn Program,
    relay: Relay,
    scratch: PathBuf,
    deadline: Instant,
    subject_explains: bool,
    peer_record_size: RecordSize,
    peer_sends_alerts: bool,
}

impl<'a> Parties<'a> {
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
            subject_explains: subject.explains(),
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

    /// Every connection echoes, the last one the whole payload.
    fn expect_echoes(&mut self) -> Result<()> {
        let returns = self.client_program.returns();
        for run in 0..returns.runs() {
            self.start_client(run > 0)?;
            self.expect_echo(run + 1 == returns.runs())?;
        }
        let seen = self.relay.connections();
        let expected = returns.connections();
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
        let returns = self.client_program.returns();
        let fetches = self.client_program.abilities().fetches;
        let from_files = self.server_program.abilities().serves_files;
        let divided = self.cell.record_size.is_some();
        let payload = if !last && !fetches && !from_files {
            &setting.payload[..SHORT_PAYLOAD]
        } else if divided && self.peer_record_size == RecordSize::Received {
            // gnutls-cli limits itself as well, and then drops what does not fit into one record.
            // The server's Certificate must still be split.
            &setting.payload[..SHORT_PAYLOAD]
        } else {
            &setting.payload
        };
        let mut expected = Vec::new();
        if fetches {
            expected = payload.repeat(returns.each());
            self.client()?.end_input();
        } else if from_files {
            expected.extend_from_slice(payload);
            self.client()?.give(&request(&setting.files.join(PAYLOAD_FILE)));
        } else {
            if returns == Returns::Itself {
                expected = FIRST_WORDS.repeat(returns.each() - 1);
            }
            expected.extend_from_slice(payload);
            self.client()?.give(payload);
        }
        let chatty = self.client_program.abilities().chatty;
        self.wait("the payload to come back", |parties| {
            let received = parties.client()?.output();
            let enough = received.len() >= expected.len();
            let whole = enough && (!chatty || contains(&received.bytes(), &expected));
            Ok(received.ended() || whole)
        })?;
        if !from_files {
            // Only now, so that no program is asked to half-close; what follows must be an orderly end.
            self.client()?.end_input();
        }
        self.wait("the client to end", |parties| Ok(parties.client()?.output().ended()))?;
        let mut received = self.client()?.output().bytes();
        if from_files {
            let head = received.windows(4).position(|end| end == b"\r\n\r\n");
            received.drain(..head.map_or(0, |at| at + 4));
        }
        ensure!(
            received == expected || (chatty && contains(&received, &expected)),
            "{} bytes came back, {}",
            received.len(),
            difference(&received, &expected)
        );
        let status = self.client_status()?;
        ensure!(status, "the payload came back, but the client reports failure");
        self.check_server()
    }

    /// Every connection is refused. A program that stops at the first refusal is started again.
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
        // Something to echo, so that a handshake that succeeds by mistake shows.
        if self.client_program.abilities().fetches {
            self.client()?.end_input();
        } else if self.server_program.abilities().serves_files {
            let file = self.setting.files.join(PAYLOAD_FILE);
            self.client()?.give(&request(&file));
        } else {
            self.client()?.give(FIRST_WORDS);
        }
        let chatty = self.client_program.abilities().chatty;
        self.wait("the client to give up", |parties| {
            let client = parties.client()?;
            Ok(client.ended()?.is_some() || (!chatty && !client.output().is_empty()))
        })?;
        let heard = self.client()?.output().bytes();
        let accepted = if chatty { contains(&heard, FIRST_WORDS) } else { !heard.is_empty() };
        ensure!(!accepted, "was not refused: {} bytes came back", heard.len());

        let succeeded = self.client_status()?;
        let subject_is_client = self.cell.role == Role::Connect;
        if !fault.refused_by_client() && subject_is_client && !self.peer_sends_alerts {
            return Ok(());
        }
        if subject_is_client || fault.refused_by_client() {
            ensure!(!succeeded, "the client reports success");
        }
        if subject_is_client && self.subject_explains {
            let said = self.client()?.complaints().text().to_lowercase();
            for words in fault.words() {
                let named = words.iter().any(|word| said.contains(word));
                ensure!(named, "the complaint names none of {words:?}");
            }
        }
        self.check_server()
    }

    /// A server of ours goes on serving, whatever one client did.
    fn check_server(&mut self) -> Result<()> {
        if self.cell.role == Role::Serve && self.subject_explains {
            let ended = self.server.ended()?;
            ensure!(ended.is_none(), "the server ended: {ended:?}");
        }
        Ok(())
    }

    /// The side that had to keep its records small did.
    fn check_records(&self, connection: usize) -> Result<()> {
        let Some(size) = self.cell.record_size else { return Ok(()) };
        let sent_by_subject = self.peer_record_size == RecordSize::Received;
        let sent_by_client = sent_by_subject == (self.cell.role == Role::Connect);
        let recorded = if sent_by_client {
            self.relay.client_said(connection)
        } else {
            self.relay.server_said(connection)
        };
        let longest = evidence::longest_record(&recorded).context("no protected record")?;
        let allowed = usize::from(size) + PROTECTION;
        ensure!(longest <= allowed, "a record of {longest} bytes was sent");
        Ok(())
    }

    fn check_negotiated(&mut self, connection: usize) -> Result<()> {
        let cell = self.cell;
        let from_server = self.relay.server_said(connection);
        let seen = evidence::negotiated(&from_server).context("no ServerHello")?;
        ensure!(seen.version == cell.version.code(), "negotiated version {:04x}", seen.version);
        if let Some(suite) = cell.suite {
            ensure!(seen.suite == suite.code, "negotiated suite {:04x}", seen.suite);
        }
        let resumed = evidence::resumed(&from_server).context("no ServerHello")?;
        let expected = resumes(self.client_program, self.server_program, cell.version, connection)
            && (cell.version == Version::Tls13
                || !matches!(cell.client, Client::Certified(_))
                || self.server_program.abilities().keeps_certified);
        ensure!(resumed == expected, "on the wire: resumed is {resumed}");
        // A resumed session of TLS 1.2 has no key exchange. RFC 5246 7.3
        let exchanged = cell.version == Version::Tls13 || !resumed;
        if let Some(group) = cell.group.filter(|_| exchanged) {
            ensure!(seen.group == Some(group.code), "negotiated group {:04x?}", seen.group);
        }
        // A client may remember the group afterwards.
        let retry = cell.retry && connection == 0;
        ensure!(!retry || seen.retried, "no HelloRetryRequest was seen");
        if self.subject_explains && cell.role == Role::Connect {
            let report = self.client()?.complaints().text();
            let told = format!("TLS {}", cell.version);
            ensure!(report.contains(&told), "the report does not say {told}");
        }
        Ok(())
    }

    /// Where the subject refuses before encryption, its alert can be read.
    fn check_alert(&self, fault: Fault, connection: usize) -> Result<()> {
        let by_client = fault.refused_by_client();
        let refused_here = by_client == (self.cell.role == Role::Connect);
        let in_clear = self.cell.version == Version::Tls12 || fault == Fault::NoCommonVersion;
        if !refused_here || !in_clear {
            return Ok(());
        }
        let recorded = if by_client {
            self.relay.client_said(connection)
        } else {
            self.relay.server_said(connection)
        };
        match evidence::alert(&recorded) {
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
        self.client.as_mut().context("no client was started")
    }

    fn client_status(&mut self) -> Result<bool> {
        self.wait("the client to exit", |parties| {
            // Its last words may arrive after its end.
            let client = parties.client()?;
            Ok(client.ended()?.is_some() && client.complaints().ended())
        })?;
        Ok(self.client()?.ended()?.is_some_and(|status| status.success()))
    }

    fn wait(
        &mut self,
        what: &str,
        mut reached: impl FnMut(&mut Self) -> Result<bool>,
    ) -> Result<()> {
        while !reached(self)? {
            ensure!(Instant::now() < self.deadline, "timeout waiting for {what}");
            // In this order: a server may well end between its only connection and our question.
            let ended = self.server.ended()?.is_some();
            ensure!(!ended || self.relay.connections() > 0, "the server did not start");
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The last lines each program wrote to its standard error.
    fn quotes(&mut self) -> String {
        let client = self.client.iter_mut().map(|client| ("client", client));
        last_words([("server", &mut self.server)].into_iter().chain(client))
    }
}

/// Whether this connection of these programs has to be a resumed one, both keeping to their defaults.
pub(crate) fn resumes(
    client: &dyn Program,
    server: &dyn Program,
    version: Version,
    connection: usize,
) -> bool {
    client.returns().is_return(connection)
        && client.abilities().resumes.contains(&version)
        && server.abilities().gives_sessions.contains(&version)
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
