//! Whether sessions can be resumed, and early data. The library's own client makes these
//! connections, because a session begins with a complete handshake.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tercel::certificates::AcceptAnyPeer;
use tercel::pki_types::UnixTime;
use tercel::session::{ClientSessionKey, ClientSessionStore};
use tercel::{
    ClientConfig, Connection, ConnectionInfo, EarlyData, Handshake, Opened, Policy, ReceiveBuffer,
    ServerName,
};
use tercel_wire::{ExtensionType, ProtocolVersion};

use super::handshake::{self, HandshakeFailure};
use super::probe::Depth;
use super::reply::Reply;
use super::report::{Report, Resumption};
use super::scanner::Scanner;
use crate::explain;
use crate::negotiated::version_name;
use crate::transport::Transport;

/// Tries resumption in each version that the library implements. With `early_data`, early data is
/// offered as well, but none is sent.
pub(crate) fn find(
    scanner: &mut Scanner,
    name: &ServerName<'static>,
    early_data: bool,
    report: &mut Report,
) {
    for version in [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2] {
        let Some(suites) = scanner.suites(version) else { continue };
        let suites = suites.to_vec();
        let mut found = Resumption { version: version_name(version), ..Resumption::default() };
        if version == ProtocolVersion::TLS1_2 {
            let flight = scanner.observed.hellos.iter().find(|flight| flight.version == version);
            found.issues_tickets = flight.map(|flight| flight.has(ExtensionType::SESSION_TICKET));
            let mut offer = scanner.offer(version, &suites);
            offer.ticket = false;
            match scanner.ask(&offer, Depth::Hello) {
                Reply::Hello(flight) => {
                    found.issues_session_ids = Some(flight.session_id_length > 0);
                }
                other => report.note_unanswered("session IDs of TLS 1.2", &other.reason()),
            }
        }
        let mut tried = found.clone();
        let mut result = resume(scanner, version, name, early_data, &mut tried);
        if matches!(result, Err(Untried::Lost(_))) && scanner.connections.stopped().is_none() {
            // From the beginning, because a session may be lost with its connection.
            tried = found;
            result = resume(scanner, version, name, early_data, &mut tried);
            if matches!(result, Err(Untried::Lost(_))) {
                scanner.confirm();
            }
        }
        if let Err(Untried::Lost(why) | Untried::Refused(why)) = result {
            report.note_unknown(&format!("resumption in {}", tried.version), &why);
            tried.note = Some(format!("not tried: {why}"));
        }
        report.resumption.push(tried);
    }
}

fn resume(
    scanner: &mut Scanner,
    version: ProtocolVersion,
    name: &ServerName<'static>,
    early_data: bool,
    found: &mut Resumption,
) -> Result<(), Untried> {
    let sessions = Arc::new(Sessions::default());
    let plain = config(version, &sessions, false)?;
    let (_, tickets) = run(scanner, &plain, name, &sessions)?;
    tickets.map_err(Untried::Lost)?;
    let count = sessions.count();
    let tls13 = version == ProtocolVersion::TLS1_3;
    if tls13 {
        found.tickets = Some(count);
    }
    if count == 0 && scanner.observed.flights.iter().any(|flight| flight.requests_certificate) {
        return Err(Untried::Refused("the server requests a client certificate".to_owned()));
    }
    if count == 0 {
        found.resumed = Some(false);
        return Ok(());
    }
    if tls13 {
        found.early_data_bytes = Some(early_data_limit(version, &sessions, name)?);
    }
    let (info, _) = run(scanner, &plain, name, &sessions)?;
    found.resumed = Some(info.resumed);
    if early_data && info.resumed && found.early_data_bytes > Some(0) && sessions.count() > 0 {
        let (info, _) = run(scanner, &config(version, &sessions, true)?, name, &sessions)?;
        found.early_data_accepted = Some(info.early_data == EarlyData::Accepted);
    }
    Ok(())
}

/// Why resumption could not be tried.
enum Untried {
    /// A connection ended, or failed.
    Lost(String),
    /// Something else, which a further try would not change.
    Refused(String),
}

impl From<String> for Untried {
    fn from(why: String) -> Self {
        Self::Refused(why)
    }
}

/// The number of early data bytes that the newest ticket allows. The ClientHello that would offer
/// it is made, but not sent.
fn early_data_limit(
    version: ProtocolVersion,
    sessions: &Sessions,
    name: &ServerName<'static>,
) -> Result<u64, String> {
    let copy = Arc::new(sessions.copy());
    let mut handshake = Handshake::client(config(version, &copy, true)?, name.clone());
    let step = handshake.advance(&mut ReceiveBuffer::new(), &mut Vec::new());
    step.map_err(explain::tls)?;
    let left = handshake.early_sender().and_then(|sender| sender.early_data_left());
    Ok(left.map_or(0, |bytes| u64::try_from(bytes).unwrap_or(u64::MAX)))
}

fn config(
    version: ProtocolVersion,
    sessions: &Arc<Sessions>,
    early_data: bool,
) -> Result<Arc<ClientConfig>, String> {
    ClientConfig::builder()
        .versions(&[version])
        // The chain is judged elsewhere, and no data is exchanged.
        .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
        .require_secure_renegotiation(false)
        .session_store(Arc::clone(sessions) as _)
        .session_context(b"scan")
        .early_data(early_data)
        .build()
        .map_err(|error| error.to_string())
}

/// Completes a handshake, receives the tickets after it, and closes. The second result is an error
/// if tickets may be lost.
fn run(
    scanner: &mut Scanner,
    config: &Arc<ClientConfig>,
    name: &ServerName<'static>,
    sessions: &Sessions,
) -> Result<(ConnectionInfo, Result<(), String>), Untried> {
    let transport = scanner.connections.open().map_err(Untried::Lost)?;
    let (mut connection, mut received) =
        handshake::complete(&transport, config, name).map_err(|failure| {
            let lost = matches!(failure, HandshakeFailure::Unanswered(_));
            let why = scanner.note_failure(failure);
            if lost { Untried::Lost(why) } else { Untried::Refused(why) }
        })?;
    scanner.note_completed(&connection.info);
    let (before, mut tickets) = (sessions.count(), Ok(()));
    if connection.info.version == ProtocolVersion::TLS1_3 {
        let wait = scanner.connections.time().min(TICKET_WAIT);
        let arrived = || sessions.count() > before;
        tickets = receive_tickets(&transport, &mut connection, &mut received, wait, arrived);
    }
    let mut out = Vec::new();
    if connection.sender.close(&mut out).is_ok() {
        // The deadline for tickets may have passed.
        transport.set_deadline(Instant::now() + scanner.connections.time());
        let _ = (&transport).write_all(&out);
    }
    // OpenSSL removes a session whose connection was reset or ended without close_notify.
    transport.close_gracefully();
    Ok((connection.info, tickets))
}

/// Reads until the server's tickets have arrived. Their number is unknown, so the wait ends shortly
/// after the first one. An error means that the connection failed, so that tickets may be lost.
fn receive_tickets(
    mut transport: &Transport,
    connection: &mut Connection,
    received: &mut ReceiveBuffer,
    wait: Duration,
    arrived: impl Fn() -> bool,
) -> Result<(), String> {
    let mut deadline = Instant::now() + wait;
    for _ in 0..MAX_READS {
        match connection.receiver.open(received) {
            Ok(Opened::Data(_)) => continue,
            Ok(Opened::More) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(explain::tls(error)),
        }
        if arrived() {
            deadline = deadline.min(Instant::now() + FURTHER_TICKETS);
        }
        transport.set_deadline(deadline);
        match received.read_from(&mut transport) {
            Ok(1..) => {}
            Ok(_) if arrived() => return Ok(()),
            Ok(_) => return Err("the server closed the connection before any ticket".to_owned()),
            Err(error) if explain::is_timeout(&error) => return Ok(()),
            Err(error) => return Err(explain::io_error(&error)),
        }
    }
    Ok(())
}

/// A store of sessions that counts them.
#[derive(Debug, Default)]
struct Sessions(Mutex<Vec<(ClientSessionKey, Vec<u8>)>>);

impl Sessions {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(ClientSessionKey, Vec<u8>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.lock().len()
    }

    fn copy(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

impl ClientSessionStore for Sessions {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, _expires: UnixTime) {
        let mut sessions = self.lock();
        if sessions.len() < MAX_SESSIONS {
            sessions.push((key.clone(), session));
        }
    }

    fn take(&self, key: &ClientSessionKey, _now: UnixTime) -> Option<Vec<u8>> {
        let mut sessions = self.lock();
        let newest = sessions.iter().rposition(|(stored, _)| stored == key)?;
        Some(sessions.remove(newest).1)
    }
}

/// How long to wait for the first ticket. Servers send tickets right after the handshake, but some
/// send them only with the first response.
const TICKET_WAIT: Duration = Duration::from_secs(1);

/// How long to wait for further tickets.
const FURTHER_TICKETS: Duration = Duration::from_millis(150);

/// The maximum number of reads while waiting for tickets, and of stored sessions.
const MAX_READS: usize = 64;
const MAX_SESSIONS: usize = 32;
