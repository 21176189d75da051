//! Which configuration a client gets: all the same one but for how its session is kept.
//!
//! Must not know: sockets. Next: [`crate::config`], which builds both configurations.

use std::sync::Arc;

use tercel::wire::{ClientHello, ProtocolVersion};
use tercel::{ChooseConfig, ServerConfig};

use crate::choices::versions;
use crate::judge::Judge;

/// Chooses a configuration after a look at what the client says.
pub(crate) struct Host {
    pub(crate) judge: Arc<Judge>,
    /// Sessions travel in tickets, if there may be any.
    pub(crate) tickets: Arc<ServerConfig>,
    /// Sessions are kept here.
    pub(crate) stored: Arc<ServerConfig>,
}

impl Host {
    /// Sessions are stored for clients of TLS 1.2 that take no tickets, and if there may be no tickets.
    /// BoringSSL does the same, while the library would store all sessions once it has a store.
    fn stores(&self, hello: &ClientHello<'_>) -> bool {
        let options = &self.judge.options;
        let theirs = hello.extensions.supported_versions;
        let tls13 = versions(options).contains(&ProtocolVersion::TLS1_3)
            && theirs.is_some_and(|versions| versions.contains(ProtocolVersion::TLS1_3));
        !tls13 && (options.no_ticket || hello.extensions.session_ticket.is_none())
    }
}

impl ChooseConfig for Host {
    fn choose_config(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        self.judge.look_at(hello);
        Some(Arc::clone(if self.stores(hello) { &self.stored } else { &self.tickets }))
    }
}
