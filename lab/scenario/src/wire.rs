//! The buffers of fixed size that an application keeps for all its connections, between library and transport.
//!
//! Libraries that are lent buffers work in them; those that call back for bytes read and write them. Such a copy stands
//! for a system call, so it is not timed where it lasts longer than reading the clock does.
//! Must not know: TLS. Next: [`crate::untimed`].

use crate::meter::untimed;

/// Shorter copies take less time than reading the clock around them.
const WORTH_A_CLOCK: usize = 1 << 10;

/// What arrived and what is to be sent, for one connection at a time.
pub struct Wire {
    received: Vec<u8>,
    /// Of `received`, what has come and is not used yet.
    start: usize,
    end: usize,
    sent: Vec<u8>,
    /// How far `sent` is filled.
    written: usize,
}

impl Wire {
    /// Buffers for so many bytes each way.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self { received: vec![0; at_once], start: 0, end: 0, sent: vec![0; at_once], written: 0 }
    }

    /// Takes bytes from the transport, as far as there is room. Returns how many.
    pub fn deliver(&mut self, bytes: &[u8]) -> usize {
        self.received.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let room = &mut self.received[self.end..];
        let count = room.len().min(bytes.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.end += count;
        count
    }

    /// Appends what is to be sent.
    pub fn collect(&mut self, wire: &mut Vec<u8>) {
        wire.extend_from_slice(&self.sent[..self.written]);
        self.written = 0;
    }

    /// What has come and is not used yet, and where what is to be sent can be written.
    pub fn both(&mut self) -> (&mut [u8], &mut [u8]) {
        (&mut self.received[self.start..self.end], &mut self.sent[self.written..])
    }

    /// So many bytes more of what has come are used.
    pub fn use_up(&mut self, count: usize) {
        self.start += count;
    }

    /// So many bytes more are to be sent.
    pub fn fill(&mut self, count: usize) {
        self.written += count;
    }

    /// Whether something has come that is not used yet.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.start < self.end
    }

    /// A library asks for bytes: as many as have come and fit. Not timed if they are many.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.end - self.start);
        let from = &self.received[self.start..self.start + count];
        copy(from, &mut into[..count]);
        self.start += count;
        count
    }

    /// A library hands bytes over: all of them, or `None` if there is no room. Not timed if they are many.
    pub fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        let end = self.written + bytes.len();
        copy(bytes, self.sent.get_mut(self.written..end)?);
        self.written = end;
        Some(bytes.len())
    }
}

fn copy(from: &[u8], into: &mut [u8]) {
    if from.len() < WORTH_A_CLOCK {
        into.copy_from_slice(from);
    } else {
        untimed(|| into.copy_from_slice(from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_delivered_is_read_and_what_does_not_fit_is_left() {
        let mut wire = Wire::new(4);
        assert_eq!(wire.deliver(b"abcdef"), 4);
        let mut two = [0; 2];
        assert_eq!((wire.read(&mut two), &two), (2, b"ab"));
        assert_eq!(wire.deliver(b"ef"), 2);
        assert_eq!(wire.both().0, b"cdef");
        wire.use_up(3);
        assert!(wire.has_more());
        assert_eq!((wire.read(&mut two), two[0]), (1, b'f'));
        assert!(!wire.has_more());
    }

    #[test]
    fn what_is_written_is_collected_once_and_too_much_is_refused() {
        let mut wire = Wire::new(4);
        assert_eq!(wire.write(b"abc"), Some(3));
        assert_eq!(wire.write(b"de"), None);
        wire.both().1[0] = b'd';
        wire.fill(1);
        let mut sent = Vec::new();
        wire.collect(&mut sent);
        wire.collect(&mut sent);
        assert_eq!(sent, b"abcd");
    }
}
