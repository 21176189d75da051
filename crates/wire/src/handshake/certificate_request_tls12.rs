//! CertificateRequest of TLS 1.2. RFC 5246 7.4.4

use crate::code_points::{ClientCertificateType, HandshakeType, SignatureScheme};
use crate::error::DecodeError;
use crate::extension::DistinguishedName;
use crate::handshake::HandshakeMessage;
use crate::list::List;
use crate::reader::Reader;
use crate::writer::Writer;

/// A request for the client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateRequestTls12<'a> {
    /// The accepted certificate types; at least one.
    pub certificate_types: List<'a, ClientCertificateType>,
    /// The accepted signature schemes; at least one.
    pub supported_signature_algorithms: List<'a, SignatureScheme>,
    /// The accepted authorities; an empty list accepts any.
    pub certificate_authorities: List<'a, DistinguishedName<'a>>,
}

impl<'a> HandshakeMessage<'a> for CertificateRequestTls12<'a> {
    const TYPE: HandshakeType = HandshakeType::CERTIFICATE_REQUEST;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            certificate_types: List::read8(reader)?.not_empty()?,
            supported_signature_algorithms: List::read16(reader)?.not_empty()?,
            certificate_authorities: List::read16(reader)?,
        })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        self.certificate_types.write8(w);
        self.supported_signature_algorithms.write16(w);
        self.certificate_authorities.write16(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_algorithms_are_required_and_authorities_are_optional() {
        assert!(CertificateRequestTls12::parse(&[1, 64, 0, 2, 4, 3, 0, 0]).is_ok());
        for (body, error) in [
            (&[0, 0, 2, 4, 3, 0, 0][..], DecodeError::EmptyList),
            (&[1, 64, 0, 0, 0, 0], DecodeError::EmptyList),
            (&[1, 64, 0, 1, 4, 0, 0], DecodeError::Truncated),
            (&[1, 64, 0, 2, 4, 3, 0, 2, 0, 0], DecodeError::InvalidLength),
        ] {
            assert_eq!(CertificateRequestTls12::parse(body), Err(error));
        }
    }
}
