//! Where a session of TLS 1.2 is kept: it must not be resumed once a connection of it ended with a fatal alert.
//! RFC 5246 7.2.2
//!
//! One for all connections of a session that is kept as a value in one store; those of further stores share whether it is
//! forgotten. Copies that are made by way of bytes share nothing. Must not know: which alert, and who sent it. Next:
//! `connection/link.rs`, which holds this for as long as a connection can fail.

use core::ptr::addr_eq;
use std::sync::{Arc, Weak};

use super::client_store::{ClientSessionKey, ClientSessionStore};
use super::state::Session;
use super::store::{ForgetSession, SessionStore};
use crate::config::client::ClientConfig;
use crate::config::policy::Policy;
use crate::config::server::ServerConfig;
use crate::sync::atomic::{AtomicBool, Ordering};

/// A session's store, which may go before its connections do, and its name there.
pub(crate) struct StoredSession {
    place: Place,
    /// Whether a connection of it ended with a fatal alert; that of `first` counts if there is one.
    forgotten: AtomicBool,
    /// The place that was noted for this session before, in another store or under another name.
    first: Option<Arc<Self>>,
}

enum Place {
    OfServer {
        store: Weak<dyn SessionStore>,
        id: [u8; 32],
    },
    /// An application keeps it.
    Elsewhere {
        told: Arc<dyn ForgetSession>,
        id: [u8; 32],
    },
    /// A store does not tell a client's sessions with one server from one another: all of them go.
    OfClient {
        store: Weak<dyn ClientSessionStore>,
        key: ClientSessionKey,
    },
}

impl StoredSession {
    /// That of a server's session, which its first connection has noted.
    pub(crate) fn of_server(
        session: &Session,
        store: &Arc<dyn SessionStore>,
        id: [u8; 32],
    ) -> Arc<Self> {
        let place = || Place::OfServer { store: Arc::downgrade(store), id };
        let noted = session.stored.get_or_init(|| Self::at(place()));
        match &noted.place {
            Place::OfServer { store: there, id: known }
                if addr_eq(there.as_ptr(), Arc::as_ptr(store)) && *known == id =>
            {
                Arc::clone(noted)
            }
            // One store may stand in front of another, and not for as long.
            _ => Arc::new(Self::of(place(), Some(Arc::clone(noted)))),
        }
    }

    /// The same for a client's.
    pub(crate) fn of_client(
        session: &Session,
        store: &Arc<dyn ClientSessionStore>,
        key: &ClientSessionKey,
    ) -> Arc<Self> {
        let place = || Place::OfClient { store: Arc::downgrade(store), key: key.clone() };
        let noted = session.stored.get_or_init(|| Self::at(place()));
        match &noted.place {
            Place::OfClient { store: there, key: known }
                if addr_eq(there.as_ptr(), Arc::as_ptr(store)) && known == key =>
            {
                Arc::clone(noted)
            }
            _ => Arc::new(Self::of(place(), Some(Arc::clone(noted)))),
        }
    }

    /// That of a server's session by its id alone, where the configuration says.
    pub(crate) fn by_id(config: &ServerConfig, id: [u8; 32]) -> Option<Arc<Self>> {
        let resumption = &config.resumption;
        Some(Self::at(match resumption.store.as_ref()? {
            Policy::Here(store) => Place::OfServer { store: Arc::downgrade(store), id },
            Policy::Ask => Place::Elsewhere { told: Arc::clone(resumption.forget.as_ref()?), id },
        }))
    }

    /// The same for a client's, by its key.
    pub(crate) fn by_key(config: &ClientConfig, key: ClientSessionKey) -> Option<Arc<Self>> {
        let store = config.resumption.store.as_ref()?;
        Some(Self::at(Place::OfClient { store: Arc::downgrade(store), key }))
    }

    /// Its id on a server.
    pub(crate) fn id(&self) -> Option<&[u8; 32]> {
        match &self.place {
            Place::OfServer { id, .. } | Place::Elsewhere { id, .. } => Some(id),
            Place::OfClient { .. } => None,
        }
    }

    /// Its key on a client.
    pub(crate) fn key(&self) -> Option<&ClientSessionKey> {
        match &self.place {
            Place::OfClient { key, .. } => Some(key),
            Place::OfServer { .. } | Place::Elsewhere { .. } => None,
        }
    }

    fn at(place: Place) -> Arc<Self> {
        Arc::new(Self::of(place, None))
    }

    fn of(place: Place, first: Option<Arc<Self>>) -> Self {
        Self { place, forgotten: AtomicBool::new(false), first }
    }

    /// Whether a connection of this session ended with a fatal alert, so that it must not be resumed from whatever store
    /// it came out of.
    pub(crate) fn has_forgotten(session: &Session) -> bool {
        session.stored.get().is_some_and(|noted| noted.is_forgotten())
    }

    /// Calls `put`, by which a connection that has taken it out of its store puts it back, unless it is to be forgotten:
    /// while it was away, another connection of it may have ended.
    pub(crate) fn put_back(&self, put: impl FnOnce()) {
        if self.is_forgotten() {
            return;
        }
        put();
        // Whoever has it forgotten may have looked for it before it was there.
        if self.is_forgotten() {
            self.forget();
        }
    }

    fn is_forgotten(&self) -> bool {
        self.flag().load(Ordering::SeqCst)
    }

    fn flag(&self) -> &AtomicBool {
        &self.first.as_deref().unwrap_or(self).forgotten
    }

    /// Has it forgotten.
    pub(crate) fn forget(&self) {
        // First: who puts it back looks afterwards.
        self.flag().store(true, Ordering::SeqCst);
        match &self.place {
            Place::OfServer { store, id } => {
                if let Some(store) = store.upgrade() {
                    store.remove(id);
                }
            }
            Place::Elsewhere { told, id } => told.forget_session(id),
            Place::OfClient { store, key } => {
                if let Some(store) = store.upgrade() {
                    store.remove(key);
                }
            }
        }
    }
}
