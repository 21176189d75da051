//! Options for resumption on a client.

use std::sync::Arc;

use super::client::ClientConfigBuilder;
use crate::resumption::session::client_store::ClientSessionStore;

impl ClientConfigBuilder {
    /// The store for sessions. Default: a store of this configuration, in memory.
    #[must_use]
    pub fn session_store(mut self, store: Arc<dyn ClientSessionStore>) -> Self {
        self.resumption.store = Some(store);
        self
    }

    /// Resumes no sessions, and requests no tickets.
    #[must_use]
    pub fn without_resumption(mut self) -> Self {
        self.default_store = false;
        self.resumption.store = None;
        self
    }

    /// Offers early data with sessions that allow it. Default: off.
    ///
    /// Early data can be replayed: send only what the server may safely process twice. RFC 9846 8,
    /// F.5
    #[must_use]
    pub fn early_data(mut self, on: bool) -> Self {
        self.resumption.early_data = on;
        self
    }

    /// Verifies the server's stored certificate again before a session is offered; if it is
    /// refused, the handshake is a full one. Default: off. A session always ends with its
    /// certificate's validity.
    #[must_use]
    pub fn verify_resumed(mut self, on: bool) -> Self {
        self.resumption.verify_resumed = on;
        self
    }

    /// A context for configurations that share a store. A session is offered only under an equal
    /// context, equal roots and equal application protocols. A configuration with a verifier of the
    /// application, or with client credentials, shares sessions only if it has a context; use one
    /// context only for configurations that trust the same servers and authenticate as the same
    /// client.
    #[must_use]
    pub fn session_context(mut self, context: &[u8]) -> Self {
        self.resumption.session_context = context.to_vec();
        self
    }
}
