//! The interface of a client's session store.

use core::hash::{Hash, Hasher};
use std::time::Duration;

use pki_types::UnixTime;
use tercel_pki::ServerName;
use tercel_wire::{Reader, Writer};
use zeroize::Zeroizing;

use super::client_session::ClientSession;

/// A client's session store.
pub trait ClientSessionStore: Send + Sync {
    /// Stores an additional session for `key`, until `expires`.
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime);

    /// Stores a session that the server allows to be resumed under every name in its certificate.
    /// draft-ietf-tls-cross-sni-resumption
    ///
    /// By default, the session is stored like any other. A store that knows which names belong
    /// together may return the session for another of these names. The client then verifies the
    /// session's certificate for that name before it sends anything, and does not use the session
    /// if the certificate is refused.
    fn put_across_names(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.put(key, session, expires);
    }

    /// Removes and returns the newest session. A ticket is used once, because a second use would
    /// let observers link the connections. RFC 9846 C.4
    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>>;

    /// Removes all sessions of `key`. This method is called after a fatal alert on a connection of
    /// one of these sessions. RFC 5246 7.2.2
    ///
    /// It is called only on the store in the connection's configuration. If another store contains
    /// the session as a value ([`ClientSession`]), the session is not resumed from that store
    /// either. If another store contains it as bytes, the application has to remove it there.
    ///
    /// By default, all sessions are taken one after the other. A store whose [`Self::take`] returns
    /// sessions of other keys has to override this method, because the default would remove those
    /// sessions too.
    fn remove(&self, key: &ClientSessionKey) {
        // At time 0 no session has expired. The limit ends the loop for a store that always returns
        // a session.
        let beginning = UnixTime::since_unix_epoch(Duration::ZERO);
        let taken = || self.take(key, beginning).map(Zeroizing::new);
        (0..MAX_SESSIONS_EACH).map_while(|_| taken()).for_each(drop);
    }

    /// Stores a session like [`Self::put`], for a store that keeps values. By default, the session
    /// is encoded and passed to [`Self::put`].
    fn put_session(&self, key: &ClientSessionKey, session: ClientSession, expires: UnixTime) {
        if let Some(bytes) = session.to_bytes() {
            self.put(key, bytes, expires);
        }
    }

    /// Removes and returns a session like [`Self::take`], for a store that keeps values. By
    /// default, [`Self::take`] returns bytes, which are decoded and then zeroized.
    fn take_session(&self, key: &ClientSessionKey, now: UnixTime) -> Option<ClientSession> {
        let bytes = Zeroizing::new(self.take(key, now)?);
        ClientSession::from_bytes(&bytes)
    }
}

/// The key of sessions in a client's store. It consists of the properties that must be equal in the
/// connection that created a session and in the connection that resumes it.
#[derive(Clone, Debug, Eq)]
pub struct ClientSessionKey {
    server_name: ServerName<'static>,
    port: Option<u16>,
    configuration: [u8; 32],
}

impl ClientSessionKey {
    /// Creates a key from the server name, the port if it distinguishes servers, and a digest of
    /// the client's configuration, such as ALPN and roots.
    #[must_use]
    pub fn new(
        server_name: ServerName<'static>,
        port: Option<u16>,
        configuration: [u8; 32],
    ) -> Self {
        Self { server_name, port, configuration }
    }

    /// Returns the name by which the client knows the server.
    #[must_use]
    pub fn server_name(&self) -> &ServerName<'static> {
        &self.server_name
    }

    /// Returns the port, if it distinguishes servers.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns the digest of the client's configuration.
    #[must_use]
    pub fn configuration(&self) -> &[u8; 32] {
        &self.configuration
    }

    /// Writes `name 1.. | has port 1 | [port 2] | configuration 32`. The number after a field is
    /// its length in bytes, and with `..` the length of its length prefix.
    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.opaque8(self.server_name.to_str().as_bytes());
        writer.u8(u8::from(self.port.is_some()));
        if let Some(port) = self.port {
            writer.u16(port);
        }
        writer.bytes(&self.configuration);
    }

    /// Reads a key that [`Self::write`] wrote.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let name = core::str::from_utf8(reader.opaque8().ok()?).ok()?;
        let name = ServerName::try_from(name).ok()?;
        let port = match reader.u8().ok()? {
            0 => None,
            1 => Some(reader.u16().ok()?),
            _ => return None,
        };
        let configuration = reader.array().ok()?;
        Some(Self::new(name.to_owned(), port, *configuration))
    }
}

/// Names that differ only in case are equal. RFC 4343 3
impl PartialEq for ClientSessionKey {
    fn eq(&self, other: &Self) -> bool {
        // Comparing bytes first is faster, since equal names nearly always have the same case.
        let named_alike = match (&self.server_name, &other.server_name) {
            (ServerName::DnsName(own), ServerName::DnsName(other)) => {
                own.as_ref().as_bytes() == other.as_ref().as_bytes() || own == other
            }
            (own, other) => own == other,
        };
        named_alike && self.port == other.port && self.configuration == other.configuration
    }
}

/// Hashes the name in large pieces, since each call of the hasher has a cost. The name type's own
/// implementation makes one call for each letter.
impl Hash for ClientSessionKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Eight bytes of the digest suffice for a hash.
        let configuration = self.configuration.first_chunk().copied().map_or(0, u64::from_le_bytes);
        let port = self.port.map_or(u32::MAX, u32::from);
        match &self.server_name {
            ServerName::DnsName(name) => {
                let name = name.as_ref().as_bytes();
                let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
                let rest = length ^ u64::from(port).rotate_left(32) ^ configuration;
                let mut head = [0; 8 + PIECE];
                let (first, room) = head.split_at_mut(8);
                first.copy_from_slice(&rest.to_le_bytes());
                let (begin, more) = name.split_at(name.len().min(PIECE));
                room.iter_mut().zip(begin).for_each(|(to, from)| *to = *from);
                room.make_ascii_lowercase();
                state.write(head.get(..begin.len().saturating_add(8)).unwrap_or_default());
                for part in more.chunks(PIECE) {
                    let mut lower = [0; PIECE];
                    lower.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
                    lower.make_ascii_lowercase();
                    state.write(lower.get(..part.len()).unwrap_or_default());
                }
            }
            ServerName::IpAddress(address) => {
                state.write_u64(u64::from(port) ^ configuration);
                address.hash(state);
            }
        }
    }
}

/// The number of letters of a name that are hashed in one call.
pub(crate) const PIECE: usize = 32;

/// The maximum number of sessions per server. The number is written as one byte.
pub(crate) const MAX_SESSIONS_EACH: usize = 0xff;
