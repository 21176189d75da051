//! Buffers of fixed size between a library and the transport, as an application has them.
//!
//! Some libraries decrypt in these buffers, and others copy from and to them in callbacks. Such a
//! copy stands for a system call, so it is not timed, unless it takes less time than reading the
//! clock.

use crate::meter::untimed;

/// The shortest copy that is not timed. Shorter copies take less time than reading the clock.
const MIN_UNTIMED_COPY: usize = 1 << 10;

/// Received bytes and bytes to send, for one connection at a time.
pub struct TransportBuffers {
    received: Vec<u8>,
    /// The start of the unread part of `received`.
    start: usize,
    end: usize,
    sent: Vec<u8>,
    /// The filled length of `sent`.
    written: usize,
}

impl TransportBuffers {
    /// Buffers of this size for each direction.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { received: vec![0; capacity], start: 0, end: 0, sent: vec![0; capacity], written: 0 }
    }

    /// Takes as many bytes from the transport as fit and returns their number.
    pub fn deliver(&mut self, bytes: &[u8]) -> usize {
        self.received.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let room = &mut self.received[self.end..];
        let count = room.len().min(bytes.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.end += count;
        count
    }

    /// Moves the bytes to send to the end of `wire`.
    pub fn collect(&mut self, wire: &mut Vec<u8>) {
        wire.extend_from_slice(&self.sent[..self.written]);
        self.written = 0;
    }

    /// The unread received bytes.
    pub fn unread(&mut self) -> &mut [u8] {
        &mut self.received[self.start..self.end]
    }

    /// Marks received bytes as read.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
    }

    /// Whether there are unread bytes.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        self.start < self.end
    }

    /// Reads into a buffer of the library. Long copies are not timed.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.end - self.start);
        let from = &self.received[self.start..self.start + count];
        copy(from, &mut into[..count]);
        self.start += count;
        count
    }

    /// Writes bytes of the library; `None` if they do not fit. Long copies are not timed.
    pub fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        let end = self.written + bytes.len();
        copy(bytes, self.sent.get_mut(self.written..end)?);
        self.written = end;
        Some(bytes.len())
    }
}

fn copy(from: &[u8], into: &mut [u8]) {
    if from.len() < MIN_UNTIMED_COPY {
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
        let mut wire = TransportBuffers::new(4);
        assert_eq!(wire.deliver(b"abcdef"), 4);
        let mut two = [0; 2];
        assert_eq!((wire.read(&mut two), &two), (2, b"ab"));
        assert_eq!(wire.deliver(b"ef"), 2);
        assert_eq!(wire.unread(), b"cdef");
        wire.consume(3);
        assert!(wire.has_unread());
        assert_eq!((wire.read(&mut two), two[0]), (1, b'f'));
        assert!(!wire.has_unread());
    }

    #[test]
    fn what_is_written_is_collected_once_and_too_much_is_refused() {
        let mut wire = TransportBuffers::new(4);
        assert_eq!(wire.write(b"abc"), Some(3));
        assert_eq!(wire.write(b"de"), None);
        assert_eq!(wire.write(b"d"), Some(1));
        let mut sent = Vec::new();
        wire.collect(&mut sent);
        wire.collect(&mut sent);
        assert_eq!(sent, b"abcd");
    }
}
