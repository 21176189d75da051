//! application_layer_protocol_negotiation (ALPN). RFC 7301 3.1
//!
//! Names are compared byte by byte.

use std::fmt;

use crate::error::DecodeError;
use crate::list::Element;
use crate::reader::{Reader, not_empty};
use crate::structure::Encoding;
use crate::writer::Writer;

/// The name of an application protocol, such as `h2`; never empty.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ProtocolName<'a>(pub &'a [u8]);

impl<'a> Element<'a> for ProtocolName<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self(not_empty(reader.opaque8()?)?))
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque8(self.0);
    }
}

impl fmt::Debug for ProtocolName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// The encoding of the protocol that the server selected: a list of exactly one.
pub(super) struct SelectedProtocol;

impl<'a> Encoding<'a, ProtocolName<'a>> for SelectedProtocol {
    fn read(reader: &mut Reader<'a>) -> Result<ProtocolName<'a>, DecodeError> {
        let mut list = reader.vec16()?;
        if list.is_empty() {
            return Err(DecodeError::EmptyList);
        }
        let name = Element::read(&mut list)?;
        // The response has exactly one name. RFC 7301 3.1
        if list.is_empty() { Ok(name) } else { Err(DecodeError::InvalidProtocolSelection) }
    }

    fn write(name: &ProtocolName<'a>, w: &mut Writer<'_>) {
        w.vec16(|w| Element::write(name, w));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::List;
    use crate::structure::Vector;

    fn offer(body: &[u8]) -> Result<List<'_, ProtocolName<'_>>, DecodeError> {
        Reader::parse_all(body, Vector::<2, 1>::read)
    }

    #[test]
    fn an_offer_needs_names_that_are_not_empty() {
        assert_eq!(offer(&[0, 0]), Err(DecodeError::EmptyList));
        assert_eq!(offer(&[0, 1, 0]), Err(DecodeError::InvalidLength));
        assert!(offer(&[0, 3, 2, b'h', b'2']).is_ok());
    }

    /// RFC 7301 3.1
    #[test]
    fn an_answer_is_exactly_one_name() {
        assert_eq!(Reader::parse_all(&[0, 0], SelectedProtocol::read), Err(DecodeError::EmptyList));
        assert_eq!(
            Reader::parse_all(&[0, 1, 0], SelectedProtocol::read),
            Err(DecodeError::InvalidLength)
        );
        assert_eq!(
            Reader::parse_all(&[0, 4, 1, b'a', 1, b'b'], SelectedProtocol::read),
            Err(DecodeError::InvalidProtocolSelection)
        );
        assert_eq!(
            Reader::parse_all(&[0, 3, 2, b'h', b'2'], SelectedProtocol::read),
            Ok(ProtocolName(b"h2"))
        );
    }
}
