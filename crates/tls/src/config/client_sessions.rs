//! Options for resumption on a client.

use std::sync::Arc;

use super::client::ClientConfigBuilder;
use crate::resumption::session::client_store::ClientSessionStore;

impl ClientConfigBuilder {
    /// Sets the store for sessions. Default: a store in memory for this configuration only.
    #[must_use]
    pub fn session_store(mut self, store: Arc<dyn ClientSessionStore>) -> Self {
        self.resumption.store = Some(store);
        self
    }

    /// Disables resumption and requests no tickets.
    #[must_use]
    pub fn without_resumption(mut self) -> Self {
        self.default_store = false;
        self.resumption.store = None;
        self
    }

    /// Sets whether early data is sent if the offered session allows it. Default: off.
    ///
    /// Early data can be replayed: send only data that the server may safely process twice.
    /// RFC 9846 8, F.5
    #[must_use]
    pub fn early_data(mut self, on: bool) -> Self {
        self.resumption.early_data = on;
        self
    }

    /// Sets whether the server's stored certificate is verified again before a session is offered.
    /// If the certificate is refused, a full handshake is performed. Default: off. A session always
    /// expires with the certificate.
    #[must_use]
    pub fn verify_resumed(mut self, on: bool) -> Self {
        self.resumption.verify_resumed = on;
        self
    }

    /// Sets the context, for configurations that share a store. A session is offered only under an
    /// equal context, equal roots and equal application protocols. A configuration with a verifier
    /// of the application, or with client credentials, shares sessions only if it has a context;
    /// use one context only for configurations that trust the same servers and authenticate as the
    /// same client.
    #[must_use]
    pub fn session_context(mut self, context: &[u8]) -> Self {
        self.resumption.session_context = context.to_vec();
        self
    }
}
