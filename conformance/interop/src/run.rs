//! One cell: start the server, the relay and the client, carry the payload, judge.
//!
//! A cell passes when the payload came back byte for byte, both programs ended well, and the
//! recorded hellos show what was asked for; or, for a fault, when nothing came back, the side that
//! had to refuse did, and Tercel said why. This module must not know any program's command line.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cells::{Cell, Client, Fault, LimitedBy, Role};
use crate::evidence;
use crate::programs::{Connect, Limits, Program, RecordSize, Serve};
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

/// Runs one cell. The error says what was wrong and quotes both programs.
pub(crate) fn run(
    cell: &Cell,
    subject: &dyn Program,
    peer: &dyn Program,
    setting: &Setting,
) -> Result<()> {
    let mut parties = Parties::start(cell, subject, peer, setting)?;
    let verdict = match cell.fault {
        None => parties.expect_echo(cell, setting),
        Some(fault) => parties.expect_refusal(cell, fault),
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

struct Parties {
    server: Process,
    client: Process,
    relay: Relay,
    deadline: Instant,
    subject_explains: bool,
    peer_record_size: RecordSize,
    peer_sends_alerts: bool,
    fetches: bool,
}

impl Parties {
    fn start(
        cell: &Cell,
        subject: &dyn Program,
        peer: &dyn Program,
        setting: &Setting,
    ) -> Result<Self> {
        let (server, client) = match cell.role {
            Role::Serve => (subject, peer),
            Role::Connect => (peer, subject),
        };
        let fetches = client.abilities().fetches;
        let port = free_port()?;
        let relay = Relay::start(vec![port])?;

        let served = server.serve(&Serve {
            port,
            credential: server_credential(cell, &setting.pki),
            limits: limits(cell, cell.role == Role::Serve),
            client_auth: cell.client_auth(),
            client_roots: setting.pki.client_roots(),
            files: fetches.then_some(setting.files.as_path()),
            extra: None,
        });
        let server = if served.harness_echoes {
            Process::start_echoing(served.command)?
        } else {
            Process::start(served.command)?
        };
        let client = Process::start(client.connect(&Connect {
            port: relay.port(),
            name: if cell.by_address { "127.0.0.1" } else { SERVER_NAME },
            roots: setting.pki.server_roots(),
            credential: match (cell.client, cell.fault) {
                (_, Some(Fault::UnknownClientAuthority)) => Some(setting.pki.unknown_client()),
                (Client::Certified(key), _) => Some(setting.pki.client(key)),
                _ => None,
            },
            limits: limits(cell, cell.role == Role::Connect),
            fetch: PAYLOAD_FILE,
            extra: None,
        }))?;
        let deadline = Instant::now() + LIMIT;
        Ok(Self {
            server,
            client,
            relay,
            deadline,
            subject_explains: subject.explains(),
            peer_record_size: peer.abilities().record_size,
            peer_sends_alerts: peer.abilities().sends_alerts,
            fetches,
        })
    }

    fn expect_echo(&mut self, cell: &Cell, setting: &Setting) -> Result<()> {
        let payload = if cell.record_size.is_some() && self.peer_record_size == RecordSize::Received
        {
            // gnutls-cli limits itself as well, and then drops what does not fit into one record.
            // The server's Certificate must still be split.
            &setting.payload[..SHORT_PAYLOAD]
        } else {
            &setting.payload
        };
        if self.fetches {
            self.client.end_input();
        } else {
            self.client.give(payload);
        }
        self.wait("the payload to come back", |parties| {
            let received = parties.client.output();
            Ok(received.ended() || received.len() >= payload.len())
        })?;
        // Only now, so that no program is asked to half-close; what follows must be an orderly end.
        self.client.end_input();
        self.wait("the client to end", |parties| Ok(parties.client.output().ended()))?;
        let received = self.client.output().bytes();
        ensure!(
            received == payload,
            "{} bytes came back, {}",
            received.len(),
            difference(&received, payload)
        );
        let status = self.client_status()?;
        ensure!(status, "the payload came back, but the client reports failure");
        self.check_server(cell)?;
        self.check_records(cell)?;
        self.check_negotiated(cell)
    }

    fn expect_refusal(&mut self, cell: &Cell, fault: Fault) -> Result<()> {
        // Something to echo, so that a handshake that succeeds by mistake shows.
        if self.fetches {
            self.client.end_input();
        } else {
            self.client.give(b"0123\n");
        }
        self.wait("the client to give up", |parties| {
            Ok(!parties.client.output().is_empty() || parties.client.ended()?.is_some())
        })?;
        let accepted = self.client.output().len();
        ensure!(accepted == 0, "was not refused: {accepted} bytes came back");

        let succeeded = self.client_status()?;
        let subject_is_client = cell.role == Role::Connect;
        if !fault.refused_by_client() && subject_is_client && !self.peer_sends_alerts {
            return Ok(());
        }
        if subject_is_client || fault.refused_by_client() {
            ensure!(!succeeded, "the client reports success");
        }
        if subject_is_client && self.subject_explains {
            let said = self.client.complaints().text().to_lowercase();
            for words in fault.words() {
                let named = words.iter().any(|word| said.contains(word));
                ensure!(named, "the complaint names none of {words:?}");
            }
        }
        self.check_alert(cell, fault)?;
        self.check_server(cell)
    }

    /// A server of ours goes on serving, whatever one client did.
    fn check_server(&mut self, cell: &Cell) -> Result<()> {
        if cell.role == Role::Serve && self.subject_explains {
            let ended = self.server.ended()?;
            ensure!(ended.is_none(), "the server ended: {ended:?}");
        }
        Ok(())
    }

    /// The side that had to keep its records small did.
    fn check_records(&self, cell: &Cell) -> Result<()> {
        let Some(size) = cell.record_size else { return Ok(()) };
        let sent_by_subject = self.peer_record_size == RecordSize::Received;
        let sent_by_client = sent_by_subject == (cell.role == Role::Connect);
        let recorded =
            if sent_by_client { self.relay.client_said(0) } else { self.relay.server_said(0) };
        let longest = evidence::longest_record(&recorded).context("no protected record")?;
        let allowed = usize::from(size) + PROTECTION;
        ensure!(longest <= allowed, "a record of {longest} bytes was sent");
        Ok(())
    }

    fn check_negotiated(&self, cell: &Cell) -> Result<()> {
        let seen = evidence::negotiated(&self.relay.server_said(0)).context("no ServerHello")?;
        ensure!(seen.version == cell.version.code(), "negotiated version {:04x}", seen.version);
        if let Some(suite) = cell.suite {
            ensure!(seen.suite == suite.code, "negotiated suite {:04x}", seen.suite);
        }
        if let Some(group) = cell.group {
            ensure!(seen.group == Some(group.code), "negotiated group {:04x?}", seen.group);
        }
        ensure!(!cell.retry || seen.retried, "no HelloRetryRequest was seen");
        if self.subject_explains && cell.role == Role::Connect {
            let report = self.client.complaints().text();
            let told = format!("TLS {}", cell.version);
            ensure!(report.contains(&told), "the report does not say {told}");
        }
        Ok(())
    }

    /// Where the subject refuses before encryption, its alert can be read.
    fn check_alert(&self, cell: &Cell, fault: Fault) -> Result<()> {
        let by_client = fault.refused_by_client();
        let refused_here = by_client == (cell.role == Role::Connect);
        let in_clear = cell.version == Version::Tls12 || fault == Fault::NoCommonVersion;
        if !refused_here || !in_clear {
            return Ok(());
        }
        let recorded =
            if by_client { self.relay.client_said(0) } else { self.relay.server_said(0) };
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

    fn client_status(&mut self) -> Result<bool> {
        self.wait("the client to exit", |parties| {
            // Its last words may arrive after its end.
            Ok(parties.client.ended()?.is_some() && parties.client.complaints().ended())
        })?;
        Ok(self.client.ended()?.is_some_and(|status| status.success()))
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
        last_words([("server", &mut self.server), ("client", &mut self.client)].into_iter())
    }
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
    if subject == (cell.limited_by == LimitedBy::Subject) {
        return Limits {
            version: Some(cell.version),
            suite: cell.suite,
            group: cell.group,
            record_size: cell.record_size,
        };
    }
    Limits::default()
}

fn difference(received: &[u8], sent: &[u8]) -> String {
    let first = received.iter().zip(sent).position(|(received, sent)| received != sent);
    match first {
        Some(at) => format!("differing from byte {at}"),
        None => format!("of {}", sent.len()),
    }
}
