//! CertificateRequest of TLS 1.3: the server requests client authentication. RFC 9846 4.4.2

use crate::code_points::HandshakeType;
use crate::error::DecodeError;
use crate::extension::CertificateRequestExtensions;
use crate::handshake::HandshakeMessage;
use crate::reader::Reader;
use crate::writer::Writer;

/// A request for the client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateRequest<'a> {
    /// The context to echo; empty in the handshake, unique after it.
    pub certificate_request_context: &'a [u8],
    /// The requirements on the certificate; signature_algorithms is mandatory.
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
    fn request_extensions_are_empty() {
        assert!(CertificateRequest::parse(&[0, 0, 4, 0, 5, 0, 0]).is_ok());
        assert_eq!(
            CertificateRequest::parse(&[0, 0, 5, 0, 5, 0, 1, 1]),
            Err(DecodeError::TrailingData)
        );
    }
}
