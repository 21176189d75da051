//! Invalidation of TLS 1.2 sessions: a session must not be resumed after one of its connections
//! ended with a fatal alert. RFC 5246 7.2.2
//!
//! All connections of a session that a store keeps as a value share one [`StoredSession`]. If
//! several stores contain the value, they share its invalidation. Sessions decoded from bytes share
//! nothing.

use core::ptr::addr_eq;
use std::sync::{Arc, Weak};

use super::Session;
use super::client_store::{ClientSessionKey, ClientSessionStore};
use super::store::{ForgetSession, ServerSessionStore};
use crate::sync::atomic::{AtomicBool, Ordering};

/// A reference to a session in its store. The store may be dropped before the session's
/// connections.
pub(crate) struct StoredSession {
    location: Location,
    /// Whether a connection of the session ended with a fatal alert. If there is a `first`, its
    /// flag is used instead.
    invalidated: AtomicBool,
    /// The first reference made for this session, if it refers to another store or ID.
    first: Option<Arc<Self>>,
}

enum Location {
    ServerStore {
        store: Weak<dyn ServerSessionStore>,
        id: [u8; 32],
    },
    /// The application stores the session itself.
    Application {
        /// `None` if the application is not notified.
        application: Option<Arc<dyn ForgetSession>>,
        id: [u8; 32],
    },
    /// A client's store does not distinguish sessions of one key, so all sessions of the key are
    /// removed.
    ClientStore {
        store: Weak<dyn ClientSessionStore>,
        key: ClientSessionKey,
    },
}

impl StoredSession {
    /// Returns the reference to a server's session. Connections share the first reference that is
    /// made.
    pub(crate) fn of_server(
        session: &Session,
        store: &Arc<dyn ServerSessionStore>,
        id: [u8; 32],
    ) -> Arc<Self> {
        let location = || Location::ServerStore { store: Arc::downgrade(store), id };
        let first = session.stored.get_or_init(|| Self::at(location()));
        match &first.location {
            Location::ServerStore { store: there, id: known }
                if addr_eq(there.as_ptr(), Arc::as_ptr(store)) && *known == id =>
            {
                Arc::clone(first)
            }
            // The first reference is to another store or ID. It cannot be used here: the other
            // store may be a cache of this one, for instance, and may be dropped first.
            _ => Arc::new(Self::of(location(), Some(Arc::clone(first)))),
        }
    }

    /// Returns the reference to a client's session, like [`Self::of_server`] for a server's
    /// session.
    pub(crate) fn of_client(
        session: &Session,
        store: &Arc<dyn ClientSessionStore>,
        key: &ClientSessionKey,
    ) -> Arc<Self> {
        let location = || Location::ClientStore { store: Arc::downgrade(store), key: key.clone() };
        let first = session.stored.get_or_init(|| Self::at(location()));
        match &first.location {
            Location::ClientStore { store: there, key: known }
                if addr_eq(there.as_ptr(), Arc::as_ptr(store)) && known == key =>
            {
                Arc::clone(first)
            }
            _ => Arc::new(Self::of(location(), Some(Arc::clone(first)))),
        }
    }

    /// Creates a reference to a server's session with this ID in this store.
    pub(crate) fn in_store(store: &Arc<dyn ServerSessionStore>, id: [u8; 32]) -> Arc<Self> {
        Self::at(Location::ServerStore { store: Arc::downgrade(store), id })
    }

    /// Creates a reference to a server's session with this ID that the application stores.
    pub(crate) fn in_application(
        application: Option<Arc<dyn ForgetSession>>,
        id: [u8; 32],
    ) -> Arc<Self> {
        Self::at(Location::Application { application, id })
    }

    /// Creates a reference to a client's sessions with this key in this store.
    pub(crate) fn in_client_store(
        store: &Arc<dyn ClientSessionStore>,
        key: ClientSessionKey,
    ) -> Arc<Self> {
        Self::at(Location::ClientStore { store: Arc::downgrade(store), key })
    }

    /// Returns the session ID, on a server.
    pub(crate) fn id(&self) -> Option<&[u8; 32]> {
        match &self.location {
            Location::ServerStore { id, .. } | Location::Application { id, .. } => Some(id),
            Location::ClientStore { .. } => None,
        }
    }

    /// Returns the key in the store, on a client.
    pub(crate) fn key(&self) -> Option<&ClientSessionKey> {
        match &self.location {
            Location::ClientStore { key, .. } => Some(key),
            Location::ServerStore { .. } | Location::Application { .. } => None,
        }
    }

    fn at(location: Location) -> Arc<Self> {
        Arc::new(Self::of(location, None))
    }

    fn of(location: Location, first: Option<Arc<Self>>) -> Self {
        Self { location, invalidated: AtomicBool::new(false), first }
    }

    /// Whether a connection of this session ended with a fatal alert. Then the session must not be
    /// resumed, whichever store it was found in.
    pub(crate) fn is_session_invalidated(session: &Session) -> bool {
        session.stored.get().is_some_and(|first| first.is_invalidated())
    }

    /// Calls `put`, which returns a session to the store that it was taken from. Does nothing if
    /// another connection has invalidated the session in the meantime.
    pub(crate) fn put_unless_invalidated(&self, put: impl FnOnce()) {
        if self.is_invalidated() {
            return;
        }
        put();
        // A concurrent `invalidate` may have run its removal before `put` inserted the session.
        if self.is_invalidated() {
            self.invalidate();
        }
    }

    fn is_invalidated(&self) -> bool {
        self.flag().load(Ordering::SeqCst)
    }

    fn flag(&self) -> &AtomicBool {
        &self.first.as_deref().unwrap_or(self).invalidated
    }

    /// Invalidates the session and removes it from its store.
    pub(crate) fn invalidate(&self) {
        // The flag is set before the removal, since `put_unless_invalidated` checks the flag after
        // its insertion.
        self.flag().store(true, Ordering::SeqCst);
        match &self.location {
            Location::ServerStore { store, id } => {
                if let Some(store) = store.upgrade() {
                    store.remove(id);
                }
            }
            Location::Application { application: Some(application), id } => {
                application.forget_session(id);
            }
            Location::Application { application: None, .. } => {}
            Location::ClientStore { store, key } => {
                if let Some(store) = store.upgrade() {
                    store.remove(key);
                }
            }
        }
    }
}
