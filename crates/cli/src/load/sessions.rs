//! The sessions that connections of one thread come back with.
//!
//! Only one server is ever asked, so a list does. Must not know: what is in a session. Next: [`super::slot`].

use std::sync::{Mutex, PoisonError};

use tercel::pki_types::UnixTime;
use tercel::{ClientSessionKey, ClientSessionStore};

/// The newest sessions, up to a number.
pub(crate) struct Sessions {
    kept: Mutex<Vec<Vec<u8>>>,
    most: usize,
}

impl Sessions {
    /// Room for the sessions of so many connections; a server may send two a connection and more.
    pub(crate) fn of(connections: usize) -> Self {
        Self { kept: Mutex::default(), most: connections.saturating_mul(4) }
    }
}

impl ClientSessionStore for Sessions {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == self.most {
            kept.remove(0);
        }
        kept.push(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}
