//! A client's session as a value, for stores that need no bytes.
//!
//! Must not know: who keeps it. Next: [`super::client_store`], [`super::state`].

use core::fmt;

use super::form::Value;
use super::state::Session;

/// A session as a store may keep it: as it is, its secret wiped when it goes.
///
/// To make it of bytes takes a check and a copy of all of it, the server's certificates above all, for each connection
/// that resumes.
pub struct ClientSession(Box<Session>);

impl ClientSession {
    /// The session in the bytes that a store was given; `None` if they are damaged, or those of another version of this
    /// library that has another form for them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Session::from_stored_bytes(bytes).map(|session| Self(Box::new(session)))
    }

    /// The bytes. Whoever reads them can impersonate this client to the server; `None` if a part is longer than
    /// they have room for.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        self.0.to_stored_bytes()
    }

    pub(crate) fn new(session: Box<Session>) -> Self {
        Self(session)
    }

    pub(crate) fn into_inner(self) -> Box<Session> {
        self.0
    }
}

impl Value for ClientSession {
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

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession").finish_non_exhaustive()
    }
}
