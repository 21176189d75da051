//! The three messages with an empty body.

use super::message;
use crate::error::DecodeError;
use crate::list::Element;
use crate::reader::Reader;
use crate::writer::Writer;

/// EndOfEarlyData: the end of the client's early data. RFC 9846 4.6
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndOfEarlyData;

/// HelloRequest: a TLS 1.2 server asks for renegotiation. RFC 5246 7.4.1.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelloRequest;

/// ServerHelloDone: the end of a TLS 1.2 server's first flight. RFC 5246 7.4.5
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHelloDone;

macro_rules! empty_message {
    ($Message:ident, $TYPE:ident) => {
        message! { $Message = $TYPE }

        impl Element<'_> for $Message {
            fn read(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self) // `parse` refuses trailing bytes
            }

            fn write(&self, _: &mut Writer<'_>) {}
        }
    };
}
empty_message!(EndOfEarlyData, END_OF_EARLY_DATA);
empty_message!(HelloRequest, HELLO_REQUEST);
empty_message!(ServerHelloDone, SERVER_HELLO_DONE);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HandshakeMessage;

    /// RFC 5246 7.4.5
    #[test]
    fn empty_messages_are_empty() {
        assert_eq!(EndOfEarlyData::parse(&[]), Ok(EndOfEarlyData));
        assert_eq!(EndOfEarlyData::parse(&[0]), Err(DecodeError::TrailingData));
        assert_eq!(HelloRequest::parse(&[0]), Err(DecodeError::TrailingData));
        assert_eq!(ServerHelloDone::parse(&[0]), Err(DecodeError::TrailingData));
        let mut out = Vec::new();
        ServerHelloDone.encode(&mut out).unwrap();
        assert_eq!(out, [14, 0, 0, 0]);
    }
}
