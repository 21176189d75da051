//! A session store that reports when a session arrives.
//!
//! A server sends tickets after the handshake. A client that closes at once would not receive them.

use std::sync::Arc;

use tercel::pki_types::UnixTime;
use tercel::session::{ClientSessionKey, ClientSessionStore};
use tokio::sync::watch;

/// A store around another one, which keeps the sessions.
pub(crate) struct ArrivingSessions {
    inner: Arc<dyn ClientSessionStore>,
    /// Whether a session has arrived.
    arrived: watch::Sender<bool>,
}

impl ArrivingSessions {
    pub(crate) fn new(inner: Arc<dyn ClientSessionStore>) -> Self {
        Self { inner, arrived: watch::Sender::new(false) }
    }

    /// Waits until a session has arrived since the last call of [`Self::expect`].
    pub(crate) async fn arrived(&self) {
        // The sender exists, so this cannot fail.
        let _ = self.arrived.subscribe().wait_for(|arrived| *arrived).await;
    }

    /// Disregards the sessions that have arrived so far.
    pub(crate) fn expect(&self) {
        self.arrived.send_replace(false);
    }
}

impl ClientSessionStore for ArrivingSessions {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.inner.put(key, session, expires);
        self.arrived.send_replace(true);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.inner.take(key, now)
    }

    fn remove(&self, key: &ClientSessionKey) {
        self.inner.remove(key);
    }
}
