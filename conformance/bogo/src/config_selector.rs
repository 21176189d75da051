//! Selects a server's configuration by the ClientHello. The configurations differ in two points:
//! whether sessions are stored, and the order of equally preferred groups and cipher suites, which
//! is the client's order.

use std::sync::Arc;

use tercel::wire::{ClientHello, ProtocolVersion};
use tercel::{ServerConfig, server::ChooseConfig};

use crate::application::Application;
use crate::choices::versions;
use crate::config::server_config;

/// A selector that selects a configuration by the ClientHello.
pub(crate) struct ConfigSelector {
    pub(crate) application: Arc<Application>,
}

impl ConfigSelector {
    /// Whether the session of a client is stored. Sessions of TLS 1.3 must not be stored, and a
    /// store gets all sessions of its configuration.
    fn stores(&self, hello: &ClientHello<'_>) -> bool {
        let ours = versions(&self.application.options).contains(&ProtocolVersion::TLS1_3);
        let theirs = hello.extensions.supported_versions;
        !(ours && theirs.is_some_and(|versions| versions.contains(ProtocolVersion::TLS1_3)))
    }
}

impl ChooseConfig for ConfigSelector {
    fn choose_config(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        self.application.check_client_hello(hello);
        server_config(&self.application, self.stores(hello), Some(hello)).ok()
    }
}
