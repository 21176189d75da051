//! A server's session as a value, for stores that do not need bytes.

use std::sync::Arc;

use super::{Session, SessionValue};

/// A server's session for a [`ServerSessionStore`](crate::session::ServerSessionStore). Clones
/// share one session, whose secret is zeroized when the last clone is dropped.
///
/// If a store keeps this value instead of bytes, a resumption does not have to decode the session.
#[derive(Clone)]
pub struct ServerSession(Arc<Session>);

impl ServerSession {
    /// Decodes the bytes that a store received. Returns `None` if they are damaged or have the
    /// format of another version of this library.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Session::from_stored_bytes(bytes).map(Self::new)
    }

    /// Encodes the session. The bytes contain keys and have to be protected accordingly. Returns
    /// `None` if a field is too long to be encoded.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        self.0.to_stored_bytes()
    }

    pub(crate) fn new(session: Session) -> Self {
        Self(Arc::new(session))
    }

    pub(crate) fn inner(&self) -> &Session {
        &self.0
    }

    pub(crate) fn into_inner(self) -> Arc<Session> {
        self.0
    }
}

impl SessionValue for ServerSession {
    fn from_session(session: Session) -> Self {
        Self(Arc::new(session))
    }

    fn session(&self) -> &Session {
        &self.0
    }
}

debug_fields!(ServerSession);
