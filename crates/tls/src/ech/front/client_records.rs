//! The records that a client sends between its ClientHellos. RFC 9846 5.1

use tercel_wire::ContentType;

use crate::error::{Error, PeerError};
use crate::record::frame::{self, RecordVersion};
use crate::record::joiner::{Joiner, Message};
use crate::record::limits;

/// Separates handshake records, which are joined, from others, which are forwarded without waiting
/// for their end.
#[derive(Default)]
pub(super) struct ClientRecords {
    /// The header of the current record, as far as it is received.
    header: Vec<u8>,
    /// The number of bytes of the current record that are to be forwarded.
    to_forward: usize,
    /// The current record, if it is a handshake record.
    handshake: Vec<u8>,
    joiner: Joiner,
    empty_records: u8,
}

/// A part of the received bytes.
pub(super) enum Part {
    /// Bytes that were forwarded, or that do not complete anything.
    Other,
    /// The first byte of a handshake record.
    HandshakeBegins,
    Message(Message),
}

impl ClientRecords {
    /// Takes the next part from `received`, which is not empty.
    pub(super) fn next(&mut self, received: &mut &[u8], out: &mut Vec<u8>) -> Result<Part, Error> {
        if self.to_forward > 0 {
            let bytes = take(received, self.to_forward);
            self.to_forward = self.to_forward.saturating_sub(bytes.len());
            out.extend_from_slice(bytes);
            return Ok(Part::Other);
        }
        if !self.handshake.is_empty() {
            return self.continue_handshake_record(received);
        }
        let kind = self.header.first().or(received.first()).copied();
        if kind == Some(ContentType::HANDSHAKE.0) {
            self.handshake.extend_from_slice(take(received, 1));
            return Ok(Part::HandshakeBegins);
        }
        // The message must not be interrupted. RFC 9846 5.1
        if !self.joiner.is_empty() {
            return Err(PeerError::InterruptedHandshakeMessage.into());
        }
        let bytes = take(received, limits::HEADER.saturating_sub(self.header.len()));
        self.header.extend_from_slice(bytes);
        out.extend_from_slice(bytes);
        if let [_, _, _, high, low] = self.header[..] {
            self.to_forward = u16::from_be_bytes([high, low]).into();
            self.header.clear();
        }
        Ok(Part::Other)
    }

    fn continue_handshake_record(&mut self, received: &mut &[u8]) -> Result<Part, Error> {
        let missing = match self.handshake[..] {
            [_, _, _, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([high, low]));
                length.saturating_add(limits::HEADER).saturating_sub(self.handshake.len())
            }
            _ => limits::HEADER.saturating_sub(self.handshake.len()),
        };
        self.handshake.extend_from_slice(take(received, missing));
        let Some(frame) = frame::first(&self.handshake, RecordVersion::Tls13, false)? else {
            return Ok(Part::Other);
        };
        let content = self.handshake.get(limits::HEADER..frame.total).unwrap_or_default();
        self.empty_records =
            if content.is_empty() { self.empty_records.saturating_add(1) } else { 0 };
        if self.empty_records > limits::MAX_EMPTY_RECORDS {
            return Err(PeerError::TooManyEmptyRecords.into());
        }
        self.joiner.push(content);
        self.handshake.clear();
        match self.joiner.next()? {
            None => Ok(Part::Other),
            // A change of keys follows the ClientHello. RFC 9846 5.1
            Some(_) if !self.joiner.is_empty() => Err(PeerError::ExcessHandshakeData.into()),
            Some(message) => Ok(Part::Message(message)),
        }
    }
}

/// Takes at most `count` bytes.
fn take<'b>(bytes: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (taken, rest) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
    *bytes = rest;
    taken
}
