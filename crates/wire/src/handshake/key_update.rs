//! KeyUpdate: the sender switches to new traffic keys. RFC 9846 4.7.3

use crate::code_points::{HandshakeType, KeyUpdateRequest};
use crate::error::DecodeError;
use crate::handshake::HandshakeMessage;
use crate::reader::Reader;
use crate::writer::Writer;

/// A KeyUpdate message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyUpdate {
    /// Whether the peer must update its keys as well; always one of the two named values.
    pub request_update: KeyUpdateRequest,
}

impl HandshakeMessage<'_> for KeyUpdate {
    const TYPE: HandshakeType = HandshakeType::KEY_UPDATE;

    fn read_body(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let request_update = KeyUpdateRequest(reader.u8()?);
        // Any other value is an illegal_parameter. RFC 9846 4.7.3
        match request_update {
            KeyUpdateRequest::UPDATE_NOT_REQUESTED | KeyUpdateRequest::UPDATE_REQUESTED => {
                Ok(Self { request_update })
            }
            _ => Err(DecodeError::InvalidKeyUpdate),
        }
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        w.u8(self.request_update.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_yes_or_no() {
        let request_update = KeyUpdateRequest::UPDATE_REQUESTED;
        assert_eq!(KeyUpdate::parse(&[1]), Ok(KeyUpdate { request_update }));
        assert_eq!(KeyUpdate::parse(&[]), Err(DecodeError::Truncated));
        assert_eq!(KeyUpdate::parse(&[0, 0]), Err(DecodeError::TrailingData));
        let error = KeyUpdate::parse(&[2]).unwrap_err();
        assert_eq!(error, DecodeError::InvalidKeyUpdate);
        assert_eq!(error.alert(), crate::AlertDescription::ILLEGAL_PARAMETER);
    }
}
