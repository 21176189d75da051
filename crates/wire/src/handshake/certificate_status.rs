//! CertificateStatus, a message of its own in TLS 1.2. RFC 6066 8
//!
//! In TLS 1.3 the same structure is an extension of a certificate; `extension::status_request` reads both.

use crate::extension::status;
use crate::{CertificateStatus, DecodeError, HandshakeMessage, HandshakeType, Reader, Writer};

impl<'a> HandshakeMessage<'a> for CertificateStatus<'a> {
    const TYPE: HandshakeType = HandshakeType::CERTIFICATE_STATUS;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        status::read(reader)
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        status::write(self, w);
    }
}
