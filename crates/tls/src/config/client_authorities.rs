//! The certificate_authorities extension of a client. RFC 9846 4.3.4

use super::client::ClientConfigBuilder;

impl ClientConfigBuilder {
    /// The authorities announced to servers (TLS 1.3), so that a server with several chains sends
    /// one that the client trusts: each a DER `Name`, as [`tercel_pki::Roots::subjects`] returns
    /// them. The verifier decides what is accepted. Default: none, because they enlarge the
    /// ClientHello and disclose which authorities the client trusts. RFC 9846 4.3.4
    #[must_use]
    pub fn certificate_authorities(mut self, names: Vec<Vec<u8>>) -> Self {
        self.certificate_authorities = names;
        self
    }
}
