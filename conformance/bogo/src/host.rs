//! Which configuration a client gets: all the same one but for how its session is kept, and for what is equal to
//! the server and so left to the client.
//!
//! Must not know: sockets. Next: [`crate::config`], which builds the configurations.

use std::sync::Arc;

use tercel::wire::{ClientHello, ProtocolVersion};
use tercel::{ChooseConfig, ServerConfig};

use crate::choices::versions;
use crate::config::server_config;
use crate::judge::Judge;

/// Chooses a configuration after a look at what the client says.
pub(crate) struct Host {
    pub(crate) judge: Arc<Judge>,
}

impl Host {
    /// Sessions of TLS 1.2 are stored for clients that take no tickets, and those of TLS 1.3 never: once the
    /// library has a store, it stores them all.
    fn stores(&self, hello: &ClientHello<'_>) -> bool {
        let ours = versions(&self.judge.options).contains(&ProtocolVersion::TLS1_3);
        let theirs = hello.extensions.supported_versions;
        !(ours && theirs.is_some_and(|versions| versions.contains(ProtocolVersion::TLS1_3)))
    }
}

impl ChooseConfig for Host {
    fn choose_config(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        self.judge.look_at(hello);
        server_config(&self.judge, self.stores(hello), Some(hello)).ok()
    }
}
