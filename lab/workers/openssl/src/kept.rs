//! The client's session to resume, and the count of its tickets; shared with the worker for BoringSSL, by
//! `crate::library`.
//!
//! The library tells of both by callbacks, which know the connection only; a worker's thread has one client at a
//! time, so they leave what they have with the thread.
//! Must not know: how sessions come. Next: `session.rs` of each worker.

use std::cell::{Cell, RefCell};

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
