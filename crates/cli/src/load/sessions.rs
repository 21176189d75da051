//! The client session store of one thread. A list is enough, since all connections go to one
//! server.

use std::sync::{Mutex, PoisonError};

use tercel::pki_types::UnixTime;
use tercel::session::{ClientSessionKey, ClientSessionStore};

/// The newest sessions, up to a limit.
pub(crate) struct Sessions {
    kept: Mutex<Vec<Vec<u8>>>,
    most: usize,
}

impl Sessions {
    /// A store for this many connections; a server may send two or more sessions per connection.
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
