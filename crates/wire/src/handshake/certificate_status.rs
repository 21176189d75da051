//! CertificateStatus, a separate message in TLS 1.2. RFC 6066 8
//!
//! In TLS 1.3 the same structure is an extension of a certificate; `extension::status_request`
//! reads both.

use crate::code_points::HandshakeType;
use crate::error::DecodeError;
use crate::extension::CertificateStatus;
use crate::extension::status;
use crate::handshake::HandshakeMessage;
use crate::reader::Reader;
use crate::writer::Writer;

impl<'a> HandshakeMessage<'a> for CertificateStatus<'a> {
    const TYPE: HandshakeType = HandshakeType::CERTIFICATE_STATUS;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        status::read(reader)
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        status::write(self, w);
    }
}
