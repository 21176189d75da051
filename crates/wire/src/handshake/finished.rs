//! Finished: the proof that both sides saw the same handshake. RFC 9846 4.5.3, RFC 5246 7.4.9
//!
//! How long the proof must be depends on the suite and is checked where it is compared, in constant time.
//! Next: [`crate::NewSessionTicket`].

use crate::{DecodeError, HandshakeMessage, HandshakeType, Reader, Writer};

/// The end of a side's handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished<'a> {
    /// The whole body: twelve bytes in TLS 1.2, a hash in TLS 1.3.
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
