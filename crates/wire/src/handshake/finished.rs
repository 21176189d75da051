//! Finished: authenticates the transcript of the handshake. RFC 9846 4.5.3, RFC 5246 7.4.9
//!
//! The length of verify_data depends on the cipher suite. The caller checks it when it compares
//! verify_data in constant time.

use crate::code_points::HandshakeType;
use crate::error::DecodeError;
use crate::handshake::HandshakeMessage;
use crate::reader::Reader;
use crate::writer::Writer;

/// A Finished message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished<'a> {
    /// The whole body: twelve bytes in TLS 1.2, the length of a hash in TLS 1.3.
    pub verify_data: &'a [u8],
}

impl<'a> HandshakeMessage<'a> for Finished<'a> {
    const TYPE: HandshakeType = HandshakeType::FINISHED;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { verify_data: reader.rest() })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.bytes(self.verify_data);
    }
}
