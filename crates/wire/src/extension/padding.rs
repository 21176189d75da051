//! padding: zeros that make a ClientHello longer. RFC 7685 3
//!
//! Only the length is kept; what a peer puts there is not looked at. Next: [`crate::ClientHello`].

use crate::{DecodeError, Reader, Writer};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
    u16::try_from(reader.rest().len()).map_err(|_| DecodeError::InvalidLength)
}

pub(super) fn write(length: &u16, w: &mut Writer<'_>) {
    w.zeros(usize::from(*length));
}
