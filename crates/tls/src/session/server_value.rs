//! A server's session as a value, for stores that need no bytes.
//!
//! Must not know: who keeps it. Next: [`super::store`], [`super::state`].

use core::fmt;
use std::sync::Arc;

use super::form::Value;
use super::state::Session;

/// A session as a store may keep it: as it is, its secret wiped when the last of those who share it lets go.
///
/// To make it of bytes takes a check and a copy of all of it, for each connection that resumes.
#[derive(Clone)]
pub struct ServerSession(Arc<Session>);

impl ServerSession {
    /// The session in the bytes that a store was given; `None` if they are damaged, or those of another version of this
    /// library that has another form for them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Session::from_stored_bytes(bytes).map(Self::new)
    }

    /// The bytes, which hold keys: keep them as such. `None` if a part is longer than they have room for.
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

impl Value for ServerSession {
    fn room(&self) -> usize {
        self.0.room()
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        self.to_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

impl fmt::Debug for ServerSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSession").finish_non_exhaustive()
    }
}
