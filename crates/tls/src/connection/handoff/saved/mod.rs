//! Saves connections as bytes, to continue them in another process. A number after a field is the
//! field's length in bytes. `2..` means a field with a length prefix of two bytes, and `3.. of 3..`
//! a list with a length prefix of three bytes, whose fields have such prefixes too:
//!
//! ```text
//! format 2 (always 0002) | side 1 | version 2 | cipher suite 2
//! sender, receiver: see `halves` | exporter | has early exporter 1 | [early exporter]
//! info: see `info` | has tickets 1 | [tickets: see `tickets`]
//! has stored session 1 | [server: id 32; client: key, see `resumption/session/client_store.rs`]
//! the first 16 bytes of the SHA-256 of all of these
//! ```
//!
//! The digest detects corruption, not an attack: an attacker who can change the bytes can also read
//! the keys in them.

mod halves;
mod info;
mod tickets;

use std::sync::Arc;

use tercel_crypto::{Digest, Hash, HashAlgorithm};
use tercel_wire::{CipherSuite, ProtocolVersion, Reader, Writer};
use zeroize::Zeroizing;

use super::traffic_keys::HandoffError;
use crate::config::client::ClientConfig;
use crate::config::common::Common;
use crate::config::server::ServerConfig;
use crate::connection::export::Exporter;
use crate::connection::{Connection, receiver};
use crate::error::{Error, InternalError, Misuse};
use crate::keys::suite;
use crate::resumption::session::client_store::ClientSessionKey;
use crate::resumption::session::invalidation::StoredSession;
use crate::side::Side;

/// The reason why a connection cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The format of the bytes is unknown: another version of this library wrote them.
    UnknownFormat(u16),
    /// The bytes were changed or truncated.
    Damaged,
    /// The bytes are those of a client's connection but a server's connection is to be restored, or
    /// vice versa.
    WrongSide,
    /// The bytes were not written by [`Connection::save`].
    Malformed,
    /// With the feature `fips`: the FIPS module cannot continue a TLS 1.3 connection with AES-GCM,
    /// see [`crate::error::Misuse::BoundToFipsModule`].
    NotInFipsModule,
}

/// The version of the format.
const FORMAT: u16 = 2;

/// The number of bytes of the digest at the end.
const DIGEST: usize = 16;

impl Connection {
    /// Saves this connection as bytes, for [`Self::restore_client`] or [`Self::restore_server`] in
    /// another process. The caller has to pass on the transport, and the received bytes that were
    /// not processed yet ([`crate::ReceiveBuffer::unread`]).
    ///
    /// **The bytes contain the connection's keys in plaintext**: keep them secret, and wipe all
    /// copies. The returned buffer wipes itself. **Restore them only once.** Two connections from
    /// the same bytes would encrypt different records with the same key and nonce, which reveals
    /// both plaintexts and allows records to be forged.
    ///
    /// The configuration at restoration provides what is not saved: the session store, whether a
    /// client's new sessions are returned, a client's clock, and whether truncation is tolerated.
    /// After a fatal alert, a TLS 1.2 session is removed from the session store of this
    /// configuration, or its [`forget_session`](crate::server::ServerConfigBuilder::forget_session)
    /// is notified (RFC 5246 7.2.2). A restored server cannot request certificates, since the
    /// transcript hash of the handshake is not saved.
    ///
    /// Sessions that a client [returns](crate::client::ClientConfigBuilder::return_new_sessions)
    /// are lost if they were not [taken](crate::Receiver::take_new_sessions) before. A TLS 1.2
    /// session that was taken as a value is not invalidated by a fatal alert in another process.
    ///
    /// # Errors
    /// Returns the connection with the reason: [`InternalError::Failed`] after an error;
    /// [`crate::error::Misuse::CertificatePending`] for a client that may receive a post-handshake
    /// certificate request, and for a server with an unanswered one;
    /// [`crate::error::Misuse::PartialMessage`] while a refused renegotiation is received;
    /// [`crate::error::Misuse::BoundToFipsModule`] for TLS 1.3 with AES-GCM, if the feature `fips`
    /// is on; [`InternalError::Encode`] if a part is longer than its length field.
    pub fn save(mut self) -> Result<Zeroizing<Vec<u8>>, HandoffError> {
        match self.encode() {
            Ok(bytes) => Ok(bytes),
            Err(reason) => Err(HandoffError { connection: Box::new(self), reason }),
        }
    }

    /// Restores a client's connection from the bytes of [`Self::save`]. The keys are expanded on
    /// first use.
    ///
    /// Sessions from later tickets are stored in the store of `config`, or returned, as `config`
    /// says. Only a client with the same requirements on servers as the original configuration
    /// finds them there.
    ///
    /// # Errors
    /// If the bytes are not those of a client's connection, or their format is unknown.
    pub fn restore_client(bytes: &[u8], config: &ClientConfig) -> Result<Self, RestoreError> {
        restore(bytes, &Config::Client(config))
    }

    /// Restores a server's connection from the bytes of [`Self::save`]. The keys are expanded on
    /// first use.
    ///
    /// # Errors
    /// If the bytes are not those of a server's connection, or their format is unknown.
    pub fn restore_server(bytes: &[u8], config: &ServerConfig) -> Result<Self, RestoreError> {
        restore(bytes, &Config::Server(config))
    }

    fn encode(&mut self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let Self { sender, receiver, info, exporter, early_exporter, requester: _ } = self;
        if let receiver::State::Failed(_) = receiver.state {
            return Err(InternalError::Failed.into());
        }
        receiver.post_handshake.check_idle()?;
        if receiver.post_handshake.joiner.is_discarding() {
            return Err(Misuse::PartialMessage.into());
        }
        sender.check_movable()?;
        let tickets = receiver
            .post_handshake
            .sessions
            .as_mut()
            .and_then(|sessions| tickets::to_bytes(sessions));
        // The capacity is sufficient from the start, since a reallocation would leave secrets in
        // memory.
        let parts = [
            info::length(info),
            receiver.post_handshake.joiner.waiting().len(),
            tickets.as_ref().map_or(0, |bytes| bytes.len()),
            1024,
        ];
        let room = parts.into_iter().fold(0_usize, usize::saturating_add);
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        let mut w = Writer::new(&mut bytes);
        w.u16(FORMAT);
        w.u8(side_code(receiver.post_handshake.side));
        w.u16(info.version.0);
        w.u16(info.cipher_suite.0);
        halves::write_sender(&mut w, sender);
        halves::write_receiver(&mut w, receiver);
        exporter.write(&mut w);
        w.u8(u8::from(early_exporter.is_some()));
        if let Some(exporter) = early_exporter {
            exporter.write(&mut w);
        }
        info::write(&mut w, info);
        w.u8(u8::from(tickets.is_some()));
        if let Some(tickets) = &tickets {
            w.bytes(tickets);
        }
        write_session(&mut w, sender.link().session_to_invalidate().as_deref());
        w.finish().map_err(|_| InternalError::Encode)?;
        let digest = digest(&bytes);
        bytes.extend_from_slice(digest.get(..DIGEST).unwrap_or_default());
        debug_assert!(bytes.len() <= room, "{} bytes exceed the capacity of {room}", bytes.len());
        Ok(bytes)
    }
}

/// The configuration of the restored connection.
enum Config<'a> {
    Client(&'a ClientConfig),
    Server(&'a ServerConfig),
}

impl Config<'_> {
    fn side(&self) -> Side {
        match self {
            Self::Client(_) => Side::Client,
            Self::Server(_) => Side::Server,
        }
    }

    fn common(&self) -> &Common {
        match self {
            Self::Client(config) => &config.common,
            Self::Server(config) => &config.common,
        }
    }

    fn client(&self) -> Option<&ClientConfig> {
        match self {
            Self::Client(config) => Some(config),
            Self::Server(_) => None,
        }
    }
}

fn restore(bytes: &[u8], config: &Config<'_>) -> Result<Connection, RestoreError> {
    let format = bytes.first_chunk().ok_or(RestoreError::Malformed)?;
    let format = u16::from_be_bytes(*format);
    if format != FORMAT {
        return Err(RestoreError::UnknownFormat(format));
    }
    let (body, sum) = bytes.split_last_chunk::<DIGEST>().ok_or(RestoreError::Damaged)?;
    if digest(body).get(..DIGEST) != Some(sum) {
        return Err(RestoreError::Damaged);
    }
    let mut r = Reader::new(body.get(2..).unwrap_or_default());
    match r.u8() {
        Ok(code) if code == side_code(config.side()) => {}
        Ok(CLIENT | SERVER) => return Err(RestoreError::WrongSide),
        _ => return Err(RestoreError::Malformed),
    }
    let connection = read(&mut r, config).ok_or(RestoreError::Malformed)?;
    match connection.sender.check_movable() {
        Ok(()) => Ok(connection),
        Err(_) => Err(RestoreError::NotInFipsModule),
    }
}

/// Reads all fields after the side. All values are checked, since the digest does not authenticate
/// them.
fn read(r: &mut Reader<'_>, config: &Config<'_>) -> Option<Connection> {
    let (side, tolerate_truncation) = (config.side(), config.common().tolerate_truncation);
    let version = ProtocolVersion(r.u16().ok()?);
    let suite = suite::find(CipherSuite(r.u16().ok()?))?;
    if suite.is_tls13() != (version == ProtocolVersion::TLS1_3) {
        return None;
    }
    if !suite.is_tls13() && version != ProtocolVersion::TLS1_2 {
        return None;
    }
    let sender = halves::read_sender(r, version, suite)?;
    let link = sender.link();
    let mut receiver = halves::read_receiver(r, side, version, suite, link, tolerate_truncation)?;
    let exporter = Exporter::read(r, suite)?;
    let early_exporter = match read_bool(r)? {
        true => Some(Box::new(Exporter::read(r, suite)?)),
        false => None,
    };
    let info = info::read(r, version, suite.code)?;
    if read_bool(r)? {
        receiver.post_handshake.sessions = tickets::read(r, config.client()?, suite)?;
    }
    if read_bool(r)? {
        // A TLS 1.3 connection has no stored session, since a fatal alert invalidates no session.
        // RFC 9846 6
        let stored = read_session(r, config).filter(|_| !suite.is_tls13())?;
        if let Some(stored) = stored {
            sender.link().invalidate_on_alert(stored);
        }
    }
    r.expect_end().ok()?;
    Some(Connection { sender, receiver, info, exporter, early_exporter, requester: None })
}

fn write_session(w: &mut Writer<'_>, stored: Option<&StoredSession>) {
    w.u8(u8::from(stored.is_some()));
    let Some(stored) = stored else { return };
    match (stored.id(), stored.key()) {
        (Some(id), _) => w.bytes(id),
        (None, Some(key)) => key.write(w),
        (None, None) => {}
    }
}

/// Reads the reference to the stored session that a fatal alert invalidates. Returns `None` if the
/// reference is malformed, and `Some(None)` if the configuration has no store.
#[allow(clippy::option_option)]
fn read_session(r: &mut Reader<'_>, config: &Config<'_>) -> Option<Option<Arc<StoredSession>>> {
    Some(match config {
        Config::Client(config) => {
            let key = ClientSessionKey::read(r)?;
            let store = config.resumption.store.as_ref();
            store.map(|store| StoredSession::in_client_store(store, key))
        }
        Config::Server(config) => config.resumption.stored_session(*r.array().ok()?),
    })
}

const CLIENT: u8 = 1;
const SERVER: u8 = 2;

fn side_code(side: Side) -> u8 {
    match side {
        Side::Client => CLIENT,
        Side::Server => SERVER,
    }
}

fn read_bool(r: &mut Reader<'_>) -> Option<bool> {
    match r.u8().ok()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Hash::digest(HashAlgorithm::Sha256, &[bytes])
}

impl core::fmt::Display for RestoreError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UnknownFormat(format) => {
                write!(f, "saved connection has unknown format {format}")
            }
            Self::Damaged => f.write_str("saved connection was changed or truncated"),
            Self::WrongSide => f.write_str("saved connection is that of the other side"),
            Self::Malformed => f.write_str("malformed saved connection"),
            Self::NotInFipsModule => {
                f.write_str("the FIPS module cannot continue a saved TLS 1.3 connection")
            }
        }
    }
}

impl std::error::Error for RestoreError {}
