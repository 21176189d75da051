//! The client's session to resume, and the count of its tickets; shared with the worker for BoringSSL, by
//! `crate::library`.
//!
//! The library tells of both by callbacks, which know the connection only; a worker's thread has one client at a
//! time, so they leave what they have with the thread.
//! Must not know: how sessions come. Next: `session.rs` of each worker.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;

use crate::library::ssl::SslSession;

thread_local! {
    static SESSION: RefCell<Option<SslSession>> = const { RefCell::new(None) };
    static ARRIVED: Cell<u32> = const { Cell::new(0) };
}

/// Keeps a session for the next client, or none.
pub(crate) fn keep(session: Option<SslSession>) {
    SESSION.replace(session);
}

/// Takes the session that was kept.
pub(crate) fn take() -> Option<SslSession> {
    SESSION.take()
}

/// So many tickets more have arrived.
pub(crate) fn count_arrived(count: u32) {
    ARRIVED.set(ARRIVED.get() + count);
}

/// Tickets that arrived since [`forget_arrived`].
pub(crate) fn arrived() -> u32 {
    ARRIVED.get()
}

/// A new client's connection begins.
pub(crate) fn forget_arrived() {
    ARRIVED.set(0);
}

/// Published accounting: the session of the first connection, which all others resume, whatever their thread.
#[derive(Default)]
pub(crate) struct Shared(OnceLock<SslSession>);

impl Shared {
    /// The session, once a connection of any thread has left one.
    pub(crate) fn session(&self) -> Option<&SslSession> {
        if self.0.get().is_none() {
            let session = take()?;
            // Another thread may have been first.
            let _ = self.0.set(session);
        }
        self.0.get()
    }
}
