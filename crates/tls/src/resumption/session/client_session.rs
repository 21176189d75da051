//! A client's session as a value, for stores that do not need bytes.

use super::{Session, SessionValue};

/// A client's session for a [`ClientSessionStore`](crate::session::ClientSessionStore). Its secret
/// is zeroized on drop.
///
/// If a store keeps this value instead of bytes, a resumption does not have to decode the session.
/// The largest part of a session is the server's certificates.
pub struct ClientSession(Box<Session>);

impl ClientSession {
    /// Decodes the bytes that a store received. Returns `None` if they are damaged or have the
    /// format of another version of this library.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Session::from_stored_bytes(bytes).map(|session| Self(Box::new(session)))
    }

    /// Encodes the session. The bytes contain keys and suffice to impersonate this client to the
    /// server. Returns `None` if a field is too long to be encoded.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        self.0.to_stored_bytes()
    }

    /// Returns how many bytes of early data the session's ticket allows; 0 for none. RFC 9846 4.7.1
    #[must_use]
    pub fn max_early_data(&self) -> u32 {
        self.0.max_early_data
    }

    /// Returns for how many seconds the server accepts the session's ticket. `None` if the session
    /// has no ticket, but an ID of TLS 1.2. RFC 9846 4.7.1, RFC 5077 3.3
    #[must_use]
    pub fn ticket_lifetime(&self) -> Option<u32> {
        self.0.has_ticket().then_some(self.0.lifetime)
    }

    pub(crate) fn new(session: Box<Session>) -> Self {
        Self(session)
    }

    pub(crate) fn into_inner(self) -> Box<Session> {
        self.0
    }
}

impl SessionValue for ClientSession {
    fn from_session(session: Session) -> Self {
        Self(Box::new(session))
    }

    fn session(&self) -> &Session {
        &self.0
    }
}

debug_fields!(ClientSession);
