//! Reassembly of handshake messages from record fragments.
//!
//! A fragment that contains whole messages is copied once, and the messages share the copy. A
//! buffer for a split message grows only as bytes arrive, up to the limit for the message's type.

use core::ops::Range;
use std::sync::Arc;

use tercel_wire::{HandshakeType, MessageHeader};

use super::limits;
use crate::error::{Error, PeerError};

/// Handshake bytes that were received and not yet returned as messages.
pub(crate) enum Joiner {
    /// A fragment that began with a complete message, and the number of its bytes that were
    /// returned.
    Whole(Arc<[u8]>, usize),
    /// The beginning of a split message; empty if no byte is pending.
    Partial(Vec<u8>),
    /// The rest of a message that is discarded: the number of its bytes, which is not 0.
    Discarded(usize),
}

/// A handshake message, including its header.
#[derive(Clone)]
pub(crate) struct Message(Storage);

#[derive(Clone)]
enum Storage {
    /// A range of the copy that all messages of one record share.
    Shared(Arc<[u8]>, Range<usize>),
    /// A short message without an allocation, and its length.
    Inline([u8; MAX_INLINE], usize),
}

/// The longest message stored inline: a Finished with the longest hash of a cipher suite.
const MAX_INLINE: usize = MESSAGE_HEADER + 48;

/// The number of bytes of a handshake message before its body.
const MESSAGE_HEADER: usize = 4;

impl Joiner {
    /// Adds the content of one handshake record.
    pub(crate) fn push(&mut self, mut fragment: &[u8]) {
        match self {
            Self::Partial(partial) if !partial.is_empty() => {
                partial.extend_from_slice(fragment);
                return;
            }
            Self::Discarded(rest) => {
                let Some((_, after)) = fragment.split_at_checked(*rest) else {
                    *rest = rest.saturating_sub(fragment.len());
                    return;
                };
                *self = Self::default();
                fragment = after;
            }
            _ => {}
        }
        let waiting = self.waiting();
        *self = match first_length(fragment) {
            Ok(Some(_)) if waiting.is_empty() => Self::Whole(fragment.into(), 0),
            _ => Self::Partial([waiting, fragment].concat()),
        };
    }

    /// Returns the fragment as a message if it is exactly one short message and no bytes are
    /// pending.
    pub(crate) fn short_message(&self, fragment: &[u8]) -> Result<Option<Message>, Error> {
        if fragment.len() > MAX_INLINE || !self.is_empty() {
            return Ok(None);
        }
        let whole = first_length(fragment)? == Some(fragment.len());
        Ok(whole.then(|| {
            let mut bytes = [0; MAX_INLINE];
            bytes.iter_mut().zip(fragment).for_each(|(to, from)| *to = *from);
            Message(Storage::Inline(bytes, fragment.len()))
        }))
    }

    /// Whether no bytes are pending. A change of keys requires this. RFC 9846 5.1
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().is_empty() && !self.is_discarding()
    }

    /// Whether the rest of a message is discarded when it arrives.
    pub(crate) fn is_discarding(&self) -> bool {
        matches!(self, Self::Discarded(_))
    }

    /// Discards the next message as soon as its header is complete, and the rest of the message
    /// when it arrives. Returns `false` if no header is complete.
    pub(crate) fn discard_next(&mut self) -> Result<bool, Error> {
        let (total, waiting) = match total_length(self.waiting())? {
            Some(total) => (total, self.waiting()),
            None => return Ok(false),
        };
        *self = match waiting.get(total..) {
            Some(after) => Self::Partial(after.to_vec()),
            None => Self::Discarded(total.saturating_sub(waiting.len())),
        };
        Ok(true)
    }

    /// Frees the memory that the pending bytes do not need.
    pub(crate) fn release(&mut self) {
        if !self.is_discarding() {
            *self = Self::Partial(self.waiting().to_vec());
        }
    }

    /// Returns the pending bytes, which were received and not yet returned as messages.
    pub(crate) fn waiting(&self) -> &[u8] {
        match self {
            Self::Whole(shared, taken) => shared.get(*taken..).unwrap_or_default(),
            Self::Partial(partial) => partial,
            Self::Discarded(_) => &[],
        }
    }

    /// Returns the next complete message, including its header.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, Error> {
        let Some(length) = first_length(self.waiting())? else { return Ok(None) };
        let (shared, start) = match core::mem::take(self) {
            Self::Whole(shared, taken) => (shared, taken),
            Self::Partial(partial) => (partial.into(), 0),
            Self::Discarded(_) => return Ok(None),
        };
        let end = start.saturating_add(length);
        if end < shared.len() {
            *self = Self::Whole(Arc::clone(&shared), end);
        }
        Ok(Some(Message(Storage::Shared(shared, start..end))))
    }
}

impl Default for Joiner {
    fn default() -> Self {
        Self::Partial(Vec::new())
    }
}

/// Returns the length of the first message, including its header, if the message is complete.
fn first_length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    Ok(total_length(bytes)?.filter(|total| *total <= bytes.len()))
}

/// Returns the length of the first message, including its header, if the header is complete.
fn total_length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some(header) = bytes.first_chunk::<MESSAGE_HEADER>() else { return Ok(None) };
    let header = MessageHeader::parse(header);
    let body = header.length as usize;
    if body > limits::message_body(header.handshake_type) {
        return Err(PeerError::MessageTooLong.into());
    }
    Ok(Some(body.saturating_add(MESSAGE_HEADER)))
}

/// A message that was not received in this form.
#[cfg(feature = "ech")]
impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self(Storage::Shared(bytes.into(), range))
    }
}

impl Message {
    pub(crate) fn kind(&self) -> HandshakeType {
        HandshakeType(self.bytes().first().copied().unwrap_or_default())
    }

    /// Returns the message without its header.
    pub(crate) fn body(&self) -> &[u8] {
        self.bytes().get(MESSAGE_HEADER..).unwrap_or_default()
    }

    /// Returns the message with its header, as the transcript hash covers it.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.0 {
            Storage::Shared(shared, range) => shared.get(range.clone()).unwrap_or_default(),
            Storage::Inline(bytes, length) => bytes.get(..*length).unwrap_or_default(),
        }
    }

    pub(crate) fn require(&self, kind: HandshakeType) -> Result<(), Error> {
        if self.kind() == kind { Ok(()) } else { Err(PeerError::UnexpectedMessage.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates Finished messages with bodies of these lengths.
    fn messages(lengths: &[u8]) -> Vec<u8> {
        let body = |length: u8| vec![length; length.into()];
        let message = |length: &u8| [vec![20, 0, 0, *length], body(*length)].concat();
        lengths.iter().flat_map(message).collect()
    }

    #[test]
    fn messages_are_reassembled_from_fragments_of_any_length() {
        let all = messages(&[3, 0, 60, 1]);
        for cut in 1..=all.len() {
            let mut joiner = Joiner::default();
            let mut got = Vec::new();
            for fragment in all.chunks(cut) {
                joiner.push(fragment);
                while let Some(message) = joiner.next().unwrap() {
                    assert_eq!(usize::from(message.bytes()[3]), message.body().len());
                    got.extend_from_slice(message.bytes());
                }
            }
            assert!(joiner.is_empty());
            assert_eq!(got, all, "in pieces of {cut}");
        }
    }

    #[test]
    fn fragments_pushed_while_messages_are_pending_stay_in_order() {
        let mut joiner = Joiner::default();
        let (first, second) = (messages(&[1, 2]), messages(&[3]));
        let (now, later) = second.split_at(2);
        joiner.push(&[&first[..], now].concat());
        assert_eq!(joiner.next().unwrap().unwrap().body(), [1]);
        joiner.push(later);
        assert_eq!(joiner.waiting().len(), first.len() - 5 + second.len());
        assert_eq!(joiner.next().unwrap().unwrap().body(), [2, 2]);
        assert_eq!(joiner.next().unwrap().unwrap().body(), [3, 3, 3]);
        assert!(joiner.is_empty() && joiner.next().unwrap().is_none());
    }

    #[test]
    fn messages_of_one_record_share_its_memory() {
        let mut joiner = Joiner::default();
        joiner.push(&messages(&[1, 2]));
        let (first, second) = (joiner.next().unwrap().unwrap(), joiner.next().unwrap().unwrap());
        let (Storage::Shared(first, _), Storage::Shared(second, _)) = (first.0, second.0) else {
            panic!("the messages do not share a copy")
        };
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(Arc::strong_count(&first), 2);
    }

    #[test]
    fn a_short_message_alone_is_returned_without_an_allocation() {
        let mut joiner = Joiner::default();
        let finished = messages(&[48]);
        let passed = joiner.short_message(&finished).unwrap().unwrap();
        assert_eq!((passed.bytes(), passed.kind().0), (&*finished, 20));
        let passes = |joiner: &Joiner, bytes: &[u8]| joiner.short_message(bytes).unwrap().is_some();
        assert!(!passes(&joiner, &messages(&[49])));
        assert!(!passes(&joiner, &messages(&[3, 3])) && !passes(&joiner, &finished[..51]));
        assert!(!passes(&joiner, &[]) && joiner.short_message(&[11, 255, 0, 0]).is_err());
        joiner.push(&[20]);
        assert!(!passes(&joiner, &finished));
    }

    #[test]
    fn a_message_is_discarded_from_its_header_on_without_storing_it() {
        let all = [messages(&[60]), messages(&[3])].concat();
        for cut in 1..=all.len() {
            let (mut joiner, mut discarded) = (Joiner::default(), false);
            for fragment in all.chunks(cut) {
                joiner.push(fragment);
                if !discarded {
                    discarded = joiner.discard_next().unwrap();
                    assert!(discarded || joiner.waiting().len() < MESSAGE_HEADER, "{cut}");
                }
                assert!(joiner.waiting().len() <= MESSAGE_HEADER + 3, "{cut}");
            }
            assert!(!joiner.is_empty() && !joiner.is_discarding());
            assert_eq!(joiner.next().unwrap().unwrap().body(), [3; 3]);
            assert!(joiner.is_empty());
        }
        let mut joiner = Joiner::default();
        joiner.push(&messages(&[60])[..4]);
        assert!(joiner.discard_next().unwrap() && joiner.is_discarding());
        joiner.release();
        // A discarded message is as incomplete as any other.
        assert!(!joiner.is_empty() && joiner.next().unwrap().is_none());
        assert!(!joiner.discard_next().unwrap());
        joiner.push(&[60; 59]);
        assert!(!joiner.is_empty());
        joiner.push(&[60]);
        assert!(joiner.is_empty());
        joiner.push(&[20, 0, 0, 65]);
        assert_eq!(joiner.discard_next(), Err(PeerError::MessageTooLong.into()));
    }

    #[test]
    fn a_message_too_long_for_its_type_is_refused_by_its_header() {
        let mut joiner = Joiner::default();
        joiner.push(&[&messages(&[1])[..], &[20, 0, 0, 65]].concat());
        assert!(joiner.next().unwrap().is_some());
        assert_eq!(joiner.next().err(), Some(PeerError::MessageTooLong.into()));
    }
}
