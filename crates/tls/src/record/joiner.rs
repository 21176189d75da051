//! Whole handshake messages out of record fragments.
//!
//! A message that lies whole in one fragment is copied once, into memory of its own size. One that is
//! split grows with what has arrived, never ahead of it, and never past its kind's limit.
//! Must not know: what the messages say. Next: [`super::limits::message_body`].

use tercel_wire::MessageHeader;

use super::limits;
use crate::error::{Error, Peer};

/// Bytes of handshake messages that are not complete yet, or not asked for yet.
#[derive(Default)]
pub(crate) struct Joiner {
    pending: Vec<u8>,
    /// Bytes at the front of `pending` that were handed out.
    taken: usize,
}

/// Bytes of a handshake message before its body.
const MESSAGE_HEADER: usize = 4;

impl Joiner {
    /// Adds the content of one handshake record.
    pub(crate) fn push(&mut self, fragment: &[u8]) {
        if self.taken == self.pending.len() {
            self.pending.clear();
            self.taken = 0;
        }
        self.pending.extend_from_slice(fragment);
    }

    /// No byte of a next message waits here: keys may change. RFC 9846 5.1
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.pending.len()
    }

    /// Holds no more memory than what waits here needs.
    pub(crate) fn release(&mut self) {
        self.pending.drain(..self.taken.min(self.pending.len()));
        self.taken = 0;
        self.pending.shrink_to_fit();
    }

    /// The bytes that wait for the rest of their message.
    pub(crate) fn waiting(&self) -> &[u8] {
        self.pending.get(self.taken..).unwrap_or_default()
    }

    /// The next whole message, header included.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let rest = self.pending.get(self.taken..).unwrap_or_default();
        let Some(header) = rest.first_chunk::<MESSAGE_HEADER>() else { return Ok(None) };
        let header = MessageHeader::parse(header);
        let body = header.length as usize;
        if body > limits::message_body(header.handshake_type) {
            return Err(Peer::MessageTooLong.into());
        }
        let total = body.saturating_add(MESSAGE_HEADER);
        let Some(message) = rest.get(..total) else { return Ok(None) };
        let message = message.to_vec();
        self.taken = self.taken.saturating_add(total);
        if self.is_empty() {
            self.pending = Vec::new();
            self.taken = 0;
        } else if self.taken > limits::MAX_FRAGMENT {
            self.pending.drain(..self.taken);
            self.taken = 0;
        }
        Ok(Some(message))
    }
}
