//! A server's CertificateRequest: the options, the message, and the requirements on the client's
//! answer.

use tercel_wire::{
    CertificateRequest, CertificateRequestExtensions, CertificateType, DistinguishedName,
    EncodeError, HandshakeMessage, List,
};

use super::server::{ServerConfig, ServerConfigBuilder};
use crate::auth::certificate_expectations::CertificateExpectations;
use crate::auth::compressed_certificate;
use crate::side::Side;

impl ServerConfigBuilder {
    /// Sets whether a stapled OCSP response is requested with a client's certificate (TLS 1.3; TLS
    /// 1.2 has no such request). Default: no. The response is passed to the verifier, which also
    /// decides whether a missing response is accepted. RFC 9846 4.5.1.1
    #[must_use]
    pub fn request_ocsp(mut self, request: bool) -> Self {
        self.request_ocsp = request;
        self
    }

    /// Sets whether signed certificate timestamps are requested with a client's certificate (TLS
    /// 1.3). Default: no. RFC 9846 4.5.1, RFC 6962 3.3
    #[must_use]
    pub fn request_signed_certificate_timestamps(mut self, request: bool) -> Self {
        self.request_timestamps = request;
        self
    }
}

impl ServerConfig {
    /// Returns the requirements on a client's Certificate message.
    pub(crate) fn certificate_expectations(
        &self,
        certificate_type: CertificateType,
    ) -> CertificateExpectations<'_> {
        CertificateExpectations {
            side: Side::Client,
            ocsp: self.request_ocsp,
            timestamps: self.request_timestamps,
            certificate_type,
            schemes: &self.common.signature_schemes,
            compression: self.common.offered_compression(),
        }
    }

    /// Writes a CertificateRequest. RFC 9846 4.4.2
    pub(crate) fn write_certificate_request(
        &self,
        context: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let authorities = self.authorities();
        let names: Vec<_> = authorities.iter().map(|name| DistinguishedName(name)).collect();
        let compressions = compressed_certificate::codes(self.common.offered_compression());
        let for_certificates = self.common.certificate_signature_schemes.as_deref();
        let message = CertificateRequest {
            certificate_request_context: context,
            extensions: CertificateRequestExtensions {
                signature_algorithms: Some(List::new(&self.common.signature_schemes)),
                signature_algorithms_cert: for_certificates.map(List::new),
                certificate_authorities: (!names.is_empty()).then(|| List::new(&names)),
                compress_certificate: (!compressions.is_empty()).then(|| List::new(&compressions)),
                status_request: self.request_ocsp.then_some(()),
                signed_certificate_timestamp: self.request_timestamps.then_some(()),
                ..Default::default()
            },
        };
        message.encode(out)
    }
}
