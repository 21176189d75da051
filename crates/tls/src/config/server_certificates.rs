//! What a server does about certificates besides choosing them: what goes with a client's, and when its own
//! are compressed.
//!
//! Must not know: how a handshake goes. Next: [`super::server`], whose builder this is.

use super::credential::Credential;
use super::server::{ServerConfig, ServerConfigBuilder};
use crate::connection::authentication::certificate::compress_ahead;

impl ServerConfigBuilder {
    /// Whether clients that are asked for a certificate are asked for an OCSP staple too (TLS 1.3; TLS 1.2
    /// cannot ask). Default: no. What comes is shown to the verifier, which has its own say about what does
    /// not come. RFC 9846 4.5.1.1
    #[must_use]
    pub fn request_ocsp(mut self, request: bool) -> Self {
        self.request_ocsp = request;
        self
    }

    /// Whether clients that are asked for a certificate are asked for signed certificate timestamps too
    /// (TLS 1.3). Default: no. RFC 9846 4.5.1, RFC 6962 3.3
    #[must_use]
    pub fn request_signed_certificate_timestamps(mut self, request: bool) -> Self {
        self.request_timestamps = request;
        self
    }

    /// Makes all compressed forms of the credentials now, and of those put in place later before they are
    /// used. Default: off, each form is made in the first handshake that needs it.
    ///
    /// A form takes some milliseconds, for which one handshake and whatever shares its thread would wait. Off
    /// by default, for a server with thousands of credentials would start slowly for what most of them may
    /// never need. It has no effect on credentials that are chosen by another object, see
    /// [`ServerConfig::compress_certificate`]. RFC 8879 6
    #[must_use]
    pub fn compress_certificates_ahead(mut self, on: bool) -> Self {
        self.compress_certificates_ahead = on;
        self
    }
}

impl ServerConfig {
    /// Makes all compressed forms of a credential, in the ways of this configuration, so that no handshake has
    /// to. It takes some milliseconds for each and can be done on any thread. RFC 8879 6
    pub fn compress_certificate(&self, credential: &Credential) {
        compress_ahead(credential, &self.common.certificate_compression);
    }
}
