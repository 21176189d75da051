//! CertificateRequest of TLS 1.2. RFC 5246 7.4.4
//!
//! Which certificate fits is for the protocol. Next: [`crate::CertificateVerify`].

use crate::{
    ClientCertificateType, DecodeError, DistinguishedName, HandshakeMessage, HandshakeType, List,
    Reader, SignatureScheme, Writer,
};

/// A request for the client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateRequestTls12<'a> {
    /// The kinds of key; at least one.
    pub certificate_types: List<'a, ClientCertificateType>,
    /// How things may be signed; at least one.
    pub supported_signature_algorithms: List<'a, SignatureScheme>,
    /// The authorities the server knows; none means any.
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
    fn types_and_algorithms_are_needed_and_authorities_are_not() {
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
