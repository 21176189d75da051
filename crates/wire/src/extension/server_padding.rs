//! server_padding: how much longer a client would like a server's first flight to be.
//!
//! BoringSSL's, to measure what larger certificates would cost; its number is not assigned. The answer in
//! EncryptedExtensions has so many bytes of no meaning. Next: `padding`, which lengthens a ClientHello.

use crate::{DecodeError, Reader, Writer};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
    reader.u16()
}

pub(super) fn write(bytes: &u16, w: &mut Writer<'_>) {
    w.u16(*bytes);
}
