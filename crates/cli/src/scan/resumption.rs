//! Whether sessions can be resumed, and early data. The library's own client makes these
//! connections, because a session begins with a complete handshake.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tercel::certificates::AcceptAnyPeer;
use tercel::pki_types::{ServerName, UnixTime};
use tercel::session::{ClientSessionKey, ClientSessionStore};
use tercel::{
    ClientConfig, Connection, ConnectionInfo, EarlyData, Handshake, Opened, Policy, ReceiveBuffer,
};
use tercel_wire::{ExtensionType, ProtocolVersion};

use super::handshake;
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
            if let Reply::Hello(flight) = scanner.ask(&offer, Depth::Hello) {
                found.issues_session_ids = Some(flight.session_id_length > 0);
            }
        }
        if let Err(why) = resume(scanner, version, name, early_data, &mut found) {
            found.note = Some(format!("not tried: {why}"));
        }
        report.resumption.push(found);
    }
}

fn resume(
    scanner: &mut Scanner,
    version: ProtocolVersion,
    name: &ServerName<'static>,
    early_data: bool,
    found: &mut Resumption,
) -> Result<(), String> {
    let sessions = Arc::new(Sessions::default());
    let plain = config(version, &sessions, false)?;
    run(scanner, &plain, name, &sessions)?;
    let count = sessions.count();
    let tls13 = version == ProtocolVersion::TLS1_3;
    if tls13 {
        found.tickets = Some(count);
    }
    if count == 0 && scanner.observed.flights.iter().any(|flight| flight.requests_certificate) {
        return Err("the server requests a client certificate".to_owned());
    }
    if count == 0 {
        found.resumed = Some(false);
        return Ok(());
    }
    if tls13 {
        found.early_data_bytes = Some(early_data_limit(version, &sessions, name)?);
    }
    let info = run(scanner, &plain, name, &sessions)?;
    found.resumed = Some(info.resumed);
    if early_data && info.resumed && found.early_data_bytes > Some(0) && sessions.count() > 0 {
        let info = run(scanner, &config(version, &sessions, true)?, name, &sessions)?;
        found.early_data_accepted = Some(info.early_data == EarlyData::Accepted);
    }
    Ok(())
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

/// Completes a handshake, receives the tickets after it, and closes.
fn run(
    scanner: &mut Scanner,
    config: &Arc<ClientConfig>,
    name: &ServerName<'static>,
    sessions: &Sessions,
) -> Result<ConnectionInfo, String> {
    let transport = scanner.connections.open()?;
    let completed = handshake::complete(&transport, config, name);
    let (mut connection, mut received) = match completed {
        Ok(completed) => completed,
        Err(failure) => return Err(scanner.note_failure(failure)),
    };
    scanner.note_completed(&connection.info);
    let before = sessions.count();
    if connection.info.version == ProtocolVersion::TLS1_3 {
        let wait = scanner.connections.time().min(TICKET_WAIT);
        receive_tickets(&transport, &mut connection, &mut received, wait, || {
            sessions.count() > before
        });
    }
    let mut out = Vec::new();
    if connection.sender.close(&mut out).is_ok() {
        // The deadline for tickets may have passed.
        transport.set_deadline(Instant::now() + scanner.connections.time());
        let _ = (&transport).write_all(&out);
    }
    // OpenSSL removes a session whose connection was reset or ended without close_notify.
    transport.close_gracefully();
    Ok(connection.info)
}

/// Reads until the server's tickets have arrived. Their number is unknown, so the wait ends shortly
/// after the first one.
fn receive_tickets(
    mut transport: &Transport,
    connection: &mut Connection,
    received: &mut ReceiveBuffer,
    wait: Duration,
    arrived: impl Fn() -> bool,
) {
    let mut deadline = Instant::now() + wait;
    for _ in 0..MAX_READS {
        match connection.receiver.open(received) {
            Ok(Opened::Data(_)) => continue,
            Ok(Opened::More) => {}
            _ => return,
        }
        if arrived() {
            deadline = deadline.min(Instant::now() + FURTHER_TICKETS);
        }
        transport.set_deadline(deadline);
        if !matches!(received.read_from(&mut transport), Ok(1..)) {
            return;
        }
    }
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
