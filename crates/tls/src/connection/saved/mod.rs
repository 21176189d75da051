//! Connections as bytes, to go on in another process.
//!
//! ```text
//! format 2 = 0002 | side 1 | version 2 | cipher suite 2
//! sender, receiver: see `halves` | exporter | has early exporter 1 | [early exporter]
//! facts: see `facts` | has tickets 1 | [tickets: see `tickets`]
//! has session to forget 1 | [of a server: id 32; of a client: key, see `session/client_store.rs`]
//! the first 16 bytes of SHA-256 of all this
//! ```
//!
//! The digest finds damage, not malice: who can change the bytes can also read the keys in them.
//! Must not know: who carries the bytes. Next: [`halves`].

mod facts;
mod halves;
mod tickets;

use std::sync::Arc;

use tercel_crypto::{Digest, Hash, HashAlgorithm};
use tercel_wire::{CipherSuite, ProtocolVersion, Reader, Writer};
use zeroize::Zeroizing;

use super::Connection;
use super::export::Exporter;
use super::receiver;
use super::traffic_keys::NotHandedOver;
use crate::config::client::ClientConfig;
use crate::config::common::Common;
use crate::config::policy::Side;
use crate::config::server::ServerConfig;
use crate::error::{Error, Local};
use crate::keys::suite;
use crate::session::client_store::ClientSessionKey;
use crate::session::stored::StoredSession;

/// Why bytes are no connection of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes are in a format that this library does not know: another version of it wrote them.
    UnknownFormat(u16),
    /// The bytes were changed or cut since they were written.
    Damaged,
    /// The bytes are those of the connection's other side.
    WrongSide,
    /// The bytes are as they were written, but not by [`Connection::save`].
    Malformed,
}

/// The form of the bytes; another number is another form and is not read.
const FORMAT: u16 = 2;

/// Bytes of the digest at the end.
const DIGEST: usize = 16;

impl Connection {
    /// All that this connection is, as bytes, for [`Self::restore_client`] or [`Self::restore_server`] to go on with
    /// in another process. TLS keeps no state elsewhere: the transport is handed over beside it, and so is what was
    /// received and not read yet ([`crate::Received::unread`]).
    ///
    /// **The bytes hold the connection's keys in the clear**: keep them from everyone, and wipe them; the buffer they
    /// are returned in does. **Restore them once.** Two connections out of the same bytes would protect different
    /// records under one key and one nonce, which gives both plaintexts and the key's integrity away.
    ///
    /// What is not carried comes from the configuration that is given when it is restored: the session store of
    /// either side, where a session of TLS 1.2 is forgotten if the connection ends with a fatal alert (RFC 5246 7.2.2), a
    /// client's clock, and whether truncation is tolerated. A server that is restored cannot ask for a certificate any more: the
    /// running hash of the handshake is not carried.
    ///
    /// # Errors
    /// The connection, with the reason: [`Local::Failed`] after an error, when there is nothing left to go on with;
    /// [`crate::Misuse::CertificateAwaited`] for a client that may be asked for its certificate, and a server that has asked;
    /// [`Local::Encode`] if a part of it is longer than its length field.
    pub fn save(mut self) -> Result<Zeroizing<Vec<u8>>, NotHandedOver> {
        match self.encode() {
            Ok(bytes) => Ok(bytes),
            Err(reason) => Err(NotHandedOver { connection: Box::new(self), reason }),
        }
    }

    /// A client's connection out of the bytes that [`Self::save`] gave. Its keys are made when they are needed first.
    ///
    /// Tickets that arrive later go to the store of `config`, for clients with the same demands on servers as the
    /// one that the connection was made by.
    ///
    /// # Errors
    /// If these are not the bytes of a client's connection, or not in the form that this version knows.
    pub fn restore_client(bytes: &[u8], config: &ClientConfig) -> Result<Self, RestoreError> {
        restore(bytes, &Config::Client(config))
    }

    /// A server's connection out of the bytes that [`Self::save`] gave. Its keys are made when they are needed first.
    ///
    /// # Errors
    /// If these are not the bytes of a server's connection, or not in the form that this version knows.
    pub fn restore_server(bytes: &[u8], config: &ServerConfig) -> Result<Self, RestoreError> {
        restore(bytes, &Config::Server(config))
    }

    fn encode(&mut self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let Self { sender, receiver, facts, exporter, early_exporter, requester: _ } = self;
        if let receiver::State::Failed(_) = receiver.state {
            return Err(Local::Failed.into());
        }
        receiver.post.check_idle()?;
        let tickets = receiver.post.tickets.as_mut().and_then(|taker| tickets::to_bytes(taker));
        // Room from the start: what grows leaves its secrets behind.
        let parts = [
            facts::length(facts),
            receiver.post.joiner.waiting().len(),
            tickets.as_ref().map_or(0, |bytes| bytes.len()),
            1024,
        ];
        let room = parts.into_iter().fold(0_usize, usize::saturating_add);
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        let mut w = Writer::new(&mut bytes);
        w.u16(FORMAT);
        w.u8(side_code(receiver.post.side));
        w.u16(facts.version.0);
        w.u16(facts.cipher_suite.0);
        halves::write_sender(&mut w, sender);
        halves::write_receiver(&mut w, receiver);
        exporter.write(&mut w);
        w.u8(u8::from(early_exporter.is_some()));
        if let Some(exporter) = early_exporter {
            exporter.write(&mut w);
        }
        facts::write(&mut w, facts);
        w.u8(u8::from(tickets.is_some()));
        if let Some(tickets) = &tickets {
            w.bytes(tickets);
        }
        write_session(&mut w, sender.link().to_forget().as_deref());
        w.finish().map_err(|_| Local::Encode)?;
        let digest = digest(&bytes);
        bytes.extend_from_slice(digest.get(..DIGEST).unwrap_or_default());
        debug_assert!(bytes.len() <= room, "{} bytes where {room} were foreseen", bytes.len());
        Ok(bytes)
    }
}

/// What a connection goes on by.
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
    read(&mut r, config).ok_or(RestoreError::Malformed)
}

/// What follows the side. The digest says that these bytes were written, not by whom: nothing is taken on trust.
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
    let facts = facts::read(r, version, suite.code)?;
    if read_bool(r)? {
        receiver.post.tickets = tickets::read(r, config.client()?, suite)?;
    }
    if read_bool(r)? {
        // A connection of TLS 1.3 has none noted. RFC 9846 6
        let stored = read_session(r, config).filter(|_| !suite.is_tls13())?;
        if let Some(stored) = stored {
            sender.link().forget_on_alert(stored);
        }
    }
    r.expect_end().ok()?;
    Some(Connection { sender, receiver, facts, exporter, early_exporter, requester: None })
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

/// `None`: malformed. `Some(None)`: there is no store to forget it in any more.
#[allow(clippy::option_option)]
fn read_session(r: &mut Reader<'_>, config: &Config<'_>) -> Option<Option<Arc<StoredSession>>> {
    Some(match config {
        Config::Client(config) => StoredSession::by_key(config, ClientSessionKey::read(r)?),
        Config::Server(config) => StoredSession::by_id(config, *r.array().ok()?),
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
                write!(f, "a saved connection in format {format}, which is not known here")
            }
            Self::Damaged => f.write_str("the saved connection was changed or cut"),
            Self::WrongSide => f.write_str("the saved connection is that of the other side"),
            Self::Malformed => f.write_str("the bytes are no saved connection"),
        }
    }
}

impl std::error::Error for RestoreError {}
