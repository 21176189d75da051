//! A server's CertificateRequest.

use tercel_wire::{
    CertificateRequest, CertificateRequestExtensions, DistinguishedName, EncodeError,
    HandshakeMessage, List,
};

use super::server::ServerConfig;
use crate::auth::compressed_certificate;

impl ServerConfig {
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
                status_request: self.common.request_ocsp.then_some(()),
                signed_certificate_timestamp: self.common.request_timestamps.then_some(()),
                ..Default::default()
            },
        };
        message.encode(out)
    }
}
