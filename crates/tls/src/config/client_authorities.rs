//! The certificate_authorities extension of a client. RFC 9846 4.3.4

use super::client::ClientConfigBuilder;

impl ClientConfigBuilder {
    /// Sets the authorities announced to servers (TLS 1.3), so that a server with several chains
    /// sends one that the client trusts. Each is a DER `Name`, as [`tercel_pki::Roots::subjects`]
    /// returns them. The verifier decides which chains are accepted. Default: none, because the
    /// names enlarge the ClientHello and disclose which authorities the client trusts.
    /// RFC 9846 4.3.4
    #[must_use]
    pub fn certificate_authorities(mut self, names: Vec<Vec<u8>>) -> Self {
        self.certificate_authorities = names;
        self
    }
}
