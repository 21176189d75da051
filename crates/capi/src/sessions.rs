//! The sessions of one connection of a client whose application keeps sessions itself.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tercel::pki_types::UnixTime;
use tercel::session::{ClientSessionKey, ClientSessionStore};
use zeroize::Zeroizing;

/// A store for one connection: it has at most one session to offer, and receives the new ones,
/// which the application takes.
#[derive(Default)]
pub(crate) struct GivenSessions(Mutex<Store>);

#[derive(Default)]
struct Store {
    offered: Option<Zeroizing<Vec<u8>>>,
    new: VecDeque<NewSession>,
}

/// A session for the application.
pub(crate) struct NewSession {
    pub(crate) session: Zeroizing<Vec<u8>>,
    pub(crate) expires: u64,
}

impl GivenSessions {
    /// Sets the session to offer.
    pub(crate) fn offer(&self, session: &[u8]) {
        self.open().offered = Some(Zeroizing::new(session.to_vec()));
    }

    /// Takes the oldest new session.
    pub(crate) fn take_new(&self) -> Option<NewSession> {
        self.open().new.pop_front()
    }

    fn open(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for GivenSessions {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        let session = Zeroizing::new(session);
        self.open().new.push_back(NewSession { session, expires: expires.as_secs() });
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.open().offered.take().map(|mut session| core::mem::take(&mut *session))
    }

    fn remove(&self, _: &ClientSessionKey) {
        *self.open() = Store::default();
    }
}
