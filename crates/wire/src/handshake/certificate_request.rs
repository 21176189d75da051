//! CertificateRequest of TLS 1.3: the server wants to know who the client is. RFC 9846 4.4.2
//!
//! Which certificate fits is for the protocol. Next: [`crate::CertificateRequestTls12`].

use crate::{
    CertificateRequestExtensions, DecodeError, HandshakeMessage, HandshakeType, Reader, Writer,
};

/// A request for the client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateRequest<'a> {
    /// To be given back; empty in the handshake, unique after it.
    pub certificate_request_context: &'a [u8],
    /// What the certificate must be like; signature_algorithms must be among them.
    pub extensions: CertificateRequestExtensions<'a>,
}

impl<'a> HandshakeMessage<'a> for CertificateRequest<'a> {
    const TYPE: HandshakeType = HandshakeType::CERTIFICATE_REQUEST;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            certificate_request_context: reader.opaque8()?,
            extensions: CertificateRequestExtensions::parse_block(reader.opaque16()?)?,
        })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.opaque8(self.certificate_request_context);
        self.extensions.write(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_that_only_ask_are_empty() {
        assert!(CertificateRequest::parse(&[0, 0, 4, 0, 5, 0, 0]).is_ok());
        assert_eq!(
            CertificateRequest::parse(&[0, 0, 5, 0, 5, 0, 1, 1]),
            Err(DecodeError::TrailingData)
        );
    }
}
