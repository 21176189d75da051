//! Compression of a server's certificates in advance. RFC 8879

use super::server::{ServerConfig, ServerConfigBuilder};
use crate::auth::credential::Credential;
use crate::auth::credential::certificate::compress_ahead;

impl ServerConfigBuilder {
    /// Sets whether credentials are compressed in advance: all credentials when the configuration
    /// is built, and each later credential before it replaces another one. Default: off; then each
    /// compressed message is made in the first handshake that needs it.
    ///
    /// Compression takes some milliseconds, during which the handshake and its thread wait. The
    /// option is off by default, because a server with thousands of credentials would start slowly.
    /// The option has no effect on credentials that an object of the application selects, see
    /// [`ServerConfig::compress_certificate`]. RFC 8879 6
    #[must_use]
    pub fn compress_certificates_ahead(mut self, on: bool) -> Self {
        self.compress_certificates_ahead = on;
        self
    }
}

impl ServerConfig {
    /// Compresses a credential with all algorithms of this configuration in advance, so that no
    /// handshake has to do so. Each compression takes some milliseconds. The method may be called
    /// on any thread. RFC 8879 6
    pub fn compress_certificate(&self, credential: &Credential) {
        compress_ahead(credential, &self.common.certificate_compression);
    }
}
