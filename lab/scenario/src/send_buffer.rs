//! The buffer from which an application sends, for libraries that encrypt into the caller's memory.
//!
//! An application passes encrypted records to the system before it encrypts the next ones to the
//! same memory. Libraries that send in callbacks do this record by record. For the others, the
//! lab's workers encrypt a long write in pieces, with this buffer between them: when it is full,
//! its content is copied to the transport. This copy stands for a system call, so it is not timed.

use crate::accounting::Accounting;
use crate::meter::untimed;
use crate::row::Row;

/// The size of pieces: four records, which adapters for tokio encrypt at a time.
const PIECE: usize = 64 << 10;

/// More bytes than the records of a piece add to its content.
const OVERHEAD: usize = 4 * 64;

/// The size of pieces in which a worker encrypts a write. Published accounting has no pieces.
#[must_use]
pub fn piece_size(row: &Row) -> usize {
    if row.accounting == Accounting::Published { usize::MAX } else { PIECE }
}

/// Memory for encrypted records, which is used again and again.
pub struct SendBuffer {
    space: Vec<u8>,
    /// The filled length of `space`.
    filled: usize,
    /// What the transport has taken.
    sent: Vec<u8>,
}

impl SendBuffer {
    /// A buffer for writes that make at most `capacity` bytes of records, encrypted in pieces.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let space = vec![0; capacity.min(PIECE + OVERHEAD)];
        Self { space, filled: 0, sent: Vec::with_capacity(capacity) }
    }

    /// A buffer for writes that make at most `capacity` bytes of records, encrypted at once.
    #[must_use]
    pub fn without_pieces(capacity: usize) -> Self {
        Self { space: vec![0; capacity], filled: 0, sent: Vec::new() }
    }

    /// Space for at least `least` bytes, or all that there is. If less than that is left, the
    /// transport takes what was written before.
    pub fn space(&mut self, least: usize) -> &mut [u8] {
        if self.space.len() - self.filled < least {
            untimed(|| self.send());
        }
        &mut self.space[self.filled..]
    }

    /// Marks bytes of the space as written.
    pub fn fill(&mut self, count: usize) {
        self.filled += count;
    }

    fn send(&mut self) {
        self.sent.extend_from_slice(&self.space[..self.filled]);
        self.filled = 0;
    }

    /// Moves at most `most` written bytes to the end of `wire`.
    pub fn collect_at_most(&mut self, wire: &mut Vec<u8>, most: usize) {
        self.send();
        wire.extend(self.sent.drain(..most.min(self.sent.len())));
    }

    /// Moves all written bytes to the end of `wire`.
    pub fn collect(&mut self, wire: &mut Vec<u8>) {
        self.send();
        wire.append(&mut self.sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_collected_once_and_in_order() {
        let mut buffer = SendBuffer::new(8);
        for bytes in [b"abc", b"def", b"ghi"] {
            buffer.space(3)[..3].copy_from_slice(bytes);
            buffer.fill(3);
        }
        let mut wire = Vec::new();
        buffer.collect_at_most(&mut wire, 4);
        assert_eq!(wire, b"abcd");
        buffer.collect(&mut wire);
        buffer.collect(&mut wire);
        assert_eq!(wire, b"abcdefghi");
        assert_eq!(buffer.space(9).len(), 8, "all that there is");
    }

    #[test]
    fn a_long_write_uses_the_same_memory_for_each_piece() {
        let mut buffer = SendBuffer::new(1 << 20);
        let place = buffer.space(PIECE).as_ptr();
        for _ in 0..4 {
            assert_eq!(buffer.space(PIECE).as_ptr(), place);
            buffer.fill(PIECE);
        }
        let mut wire = Vec::new();
        buffer.collect(&mut wire);
        assert_eq!(wire.len(), 4 * PIECE);

        let mut whole = SendBuffer::without_pieces(1 << 20);
        assert_eq!(whole.space(1 << 20).len(), 1 << 20);
    }
}
