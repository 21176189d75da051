//! Whole handshake messages out of record fragments.
//!
//! A fragment that holds whole messages is copied once, and they share the copy. A message that is split
//! grows with what has arrived, never ahead of it, and never past its kind's limit.
//! Must not know: what the messages say. Next: [`super::limits::message_body`].

use core::ops::Range;
use std::sync::Arc;

use tercel_wire::{HandshakeType, MessageHeader};

use super::limits;
use crate::error::{Error, Peer};

/// Bytes of handshake messages that are not complete yet, or not asked for yet.
pub(crate) enum Joiner {
    /// Begins with a whole message, or did: so many bytes at the front were handed out.
    Whole(Arc<[u8]>, usize),
    /// Grows until its first message is whole; empty if nothing waits here.
    Partial(Vec<u8>),
}

/// A handshake message, header included.
#[derive(Clone)]
pub(crate) struct Message(Form);

#[derive(Clone)]
enum Form {
    /// With all messages that came in the same record.
    Shared(Arc<[u8]>, Range<usize>),
    /// Alone and short: so many bytes of these.
    Short([u8; SHORT], usize),
}

/// A Finished with the longest hash.
const SHORT: usize = MESSAGE_HEADER + 48;

/// Bytes of a handshake message before its body.
const MESSAGE_HEADER: usize = 4;

impl Joiner {
    /// Adds the content of one handshake record.
    pub(crate) fn push(&mut self, fragment: &[u8]) {
        if let Self::Partial(partial) = self {
            if !partial.is_empty() {
                partial.extend_from_slice(fragment);
                return;
            }
        }
        let waiting = self.waiting();
        *self = match first_length(fragment) {
            Ok(Some(_)) if waiting.is_empty() => Self::Whole(fragment.into(), 0),
            _ => Self::Partial([waiting, fragment].concat()),
        };
    }

    /// The content of a record that is one short message and nothing else, if nothing waits here.
    pub(crate) fn pass_short(&self, fragment: &[u8]) -> Result<Option<Message>, Error> {
        if fragment.len() > SHORT || !self.is_empty() {
            return Ok(None);
        }
        let whole = first_length(fragment)? == Some(fragment.len());
        Ok(whole.then(|| {
            let mut bytes = [0; SHORT];
            for (to, from) in bytes.iter_mut().zip(fragment) {
                *to = *from;
            }
            Message(Form::Short(bytes, fragment.len()))
        }))
    }

    /// No byte of a next message waits here: keys may change. RFC 9846 5.1
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Holds no more memory than what waits here needs.
    pub(crate) fn release(&mut self) {
        *self = Self::Partial(self.waiting().to_vec());
    }

    /// The bytes that were not handed out.
    pub(crate) fn waiting(&self) -> &[u8] {
        match self {
            Self::Whole(shared, taken) => shared.get(*taken..).unwrap_or_default(),
            Self::Partial(partial) => partial,
        }
    }

    /// The next whole message, header included.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, Error> {
        let Some(length) = first_length(self.waiting())? else { return Ok(None) };
        let (shared, start) = match core::mem::take(self) {
            Self::Whole(shared, taken) => (shared, taken),
            Self::Partial(partial) => (partial.into(), 0),
        };
        let end = start.saturating_add(length);
        if end < shared.len() {
            *self = Self::Whole(Arc::clone(&shared), end);
        }
        Ok(Some(Message(Form::Shared(shared, start..end))))
    }
}

impl Default for Joiner {
    fn default() -> Self {
        Self::Partial(Vec::new())
    }
}

/// The length of the message at the front, header included, once all of it is there.
fn first_length(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some(header) = bytes.first_chunk::<MESSAGE_HEADER>() else { return Ok(None) };
    let header = MessageHeader::parse(header);
    let body = header.length as usize;
    if body > limits::message_body(header.handshake_type) {
        return Err(Peer::MessageTooLong.into());
    }
    let total = body.saturating_add(MESSAGE_HEADER);
    Ok((total <= bytes.len()).then_some(total))
}

impl Message {
    pub(crate) fn kind(&self) -> HandshakeType {
        HandshakeType(self.bytes().first().copied().unwrap_or_default())
    }

    /// The message without its header.
    pub(crate) fn body(&self) -> &[u8] {
        self.bytes().get(MESSAGE_HEADER..).unwrap_or_default()
    }

    /// The message with its header, as the transcript wants it.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.0 {
            Form::Shared(shared, range) => shared.get(range.clone()).unwrap_or_default(),
            Form::Short(bytes, length) => bytes.get(..*length).unwrap_or_default(),
        }
    }

    pub(crate) fn require(&self, kind: HandshakeType) -> Result<(), Error> {
        if self.kind() == kind { Ok(()) } else { Err(Peer::UnexpectedMessage.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finished messages with bodies of these lengths.
    fn messages(lengths: &[u8]) -> Vec<u8> {
        let body = |length: u8| vec![length; length.into()];
        let message = |length: &u8| [vec![20, 0, 0, *length], body(*length)].concat();
        lengths.iter().flat_map(message).collect()
    }

    #[test]
    fn messages_come_out_whole_however_they_are_cut() {
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
    fn what_was_pushed_before_the_last_message_was_taken_stays_in_order() {
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
        let (Form::Shared(first, _), Form::Shared(second, _)) = (first.0, second.0) else {
            panic!("a copy of its own")
        };
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(Arc::strong_count(&first), 2);
    }

    #[test]
    fn a_short_message_alone_passes_by() {
        let mut joiner = Joiner::default();
        let finished = messages(&[48]);
        let passed = joiner.pass_short(&finished).unwrap().unwrap();
        assert_eq!((passed.bytes(), passed.kind().0), (&*finished, 20));
        let passes = |joiner: &Joiner, bytes: &[u8]| joiner.pass_short(bytes).unwrap().is_some();
        assert!(!passes(&joiner, &messages(&[49])));
        assert!(!passes(&joiner, &messages(&[3, 3])) && !passes(&joiner, &finished[..51]));
        assert!(!passes(&joiner, &[]) && joiner.pass_short(&[11, 255, 0, 0]).is_err());
        joiner.push(&[20]);
        assert!(!passes(&joiner, &finished));
    }

    #[test]
    fn a_message_too_long_for_its_kind_is_refused_by_its_header() {
        let mut joiner = Joiner::default();
        joiner.push(&[&messages(&[1])[..], &[20, 0, 0, 65]].concat());
        assert!(joiner.next().unwrap().is_some());
        assert_eq!(joiner.next().err(), Some(Peer::MessageTooLong.into()));
    }
}
