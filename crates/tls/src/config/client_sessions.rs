//! How a client comes back: where its sessions are, and what they are good for.
//!
//! Must not know: how sessions are kept. Next: [`super::resumption`], and `handshake/client_session.rs`, which offers them.

use std::sync::Arc;

use super::client::ClientConfigBuilder;
use crate::session::client_store::ClientSessionStore;

impl ClientConfigBuilder {
    /// Keeps sessions in this store. Default: one of this configuration's own, in memory.
    #[must_use]
    pub fn session_store(mut self, store: Arc<dyn ClientSessionStore>) -> Self {
        self.resumption.store = Some(store);
        self
    }

    /// Resumes nothing, and asks for no tickets.
    #[must_use]
    pub fn without_resumption(mut self) -> Self {
        self.default_store = false;
        self.resumption.store = None;
        self
    }

    /// Offers early data where a session admits it. Default: off.
    ///
    /// Early data can be replayed: send only what may be acted on twice. RFC 9846 8, F.5
    #[must_use]
    pub fn early_data(mut self, on: bool) -> Self {
        self.resumption.early_data = on;
        self
    }

    /// Judges the server's stored certificate again before a session is offered; if it is refused, the
    /// handshake is a full one. Default: off; an expired certificate ends a session in any case.
    #[must_use]
    pub fn verify_resumed(mut self, on: bool) -> Self {
        self.resumption.verify_again = on;
        self
    }

    /// What this configuration's sessions are stored under besides the server's name, for stores that
    /// several configurations or processes share. Roots and protocols are part of that in any case; with
    /// a verifier of another kind, or client credentials, only configurations with a label share, and
    /// equal labels must mean equal decisions.
    #[must_use]
    pub fn session_context(mut self, label: &[u8]) -> Self {
        self.resumption.label = label.to_vec();
        self
    }
}
