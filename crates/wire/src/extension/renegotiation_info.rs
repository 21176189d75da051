//! renegotiation_info: ties a renegotiation to what came before; here always empty in practice. RFC 5746 3.2
//!
//! Whether the contents match is for the protocol. Next: `CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV`.

use crate::{DecodeError, Reader, Writer};

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    reader.opaque8()
}

pub(super) fn write(renegotiated_connection: &&[u8], w: &mut Writer<'_>) {
    w.opaque8(renegotiated_connection);
}
