//! The session that a client resumes, and the number of received tickets. Shared with the worker
//! for BoringSSL through `crate::library`.
//!
//! The libraries pass both to callbacks that receive only the connection. A thread of a worker has
//! one client at a time, so the callbacks store them in thread-local variables.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;

use crate::library::ssl::SslSession;

thread_local! {
    static SESSION: RefCell<Option<SslSession>> = const { RefCell::new(None) };
    static ARRIVED: Cell<u32> = const { Cell::new(0) };
}

/// Stores the session for the next client.
pub(crate) fn keep(session: Option<SslSession>) {
    SESSION.replace(session);
}

/// Takes the stored session.
pub(crate) fn take() -> Option<SslSession> {
    SESSION.take()
}

/// Counts received tickets.
pub(crate) fn count_received(count: u32) {
    ARRIVED.set(ARRIVED.get() + count);
}

/// The number of tickets received since [`reset_received`].
pub(crate) fn received() -> u32 {
    ARRIVED.get()
}

/// Resets the count for a new client connection.
pub(crate) fn reset_received() {
    ARRIVED.set(0);
}

/// Published accounting: the session of the first connection, which all later connections in all
/// threads resume.
#[derive(Default)]
pub(crate) struct Shared(OnceLock<SslSession>);

impl Shared {
    /// The session, once any connection has stored one.
    pub(crate) fn session(&self) -> Option<&SslSession> {
        if self.0.get().is_none() {
            let session = take()?;
            // Another thread may have stored a session before.
            let _ = self.0.set(session);
        }
        self.0.get()
    }
}
