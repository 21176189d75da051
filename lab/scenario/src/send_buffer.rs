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
    /// The part of `space` that is written and not collected.
    start: usize,
    end: usize,
    /// What the transport has taken.
    sent: Vec<u8>,
    piece: usize,
}

impl SendBuffer {
    /// A buffer for writes that make at most `capacity` bytes of records.
    #[must_use]
    pub fn new(row: &Row, capacity: usize) -> Self {
        Self::with_piece(piece_size(row), capacity)
    }

    fn with_piece(piece: usize, capacity: usize) -> Self {
        let space = vec![0; capacity.min(piece.saturating_add(OVERHEAD))];
        Self { space, start: 0, end: 0, sent: Vec::with_capacity(capacity), piece }
    }

    /// [`piece_size`] of the row.
    #[must_use]
    pub fn piece_size(&self) -> usize {
        self.piece
    }

    /// Space for at least `least` bytes, or all that there is. If less than that is left, the
    /// transport takes what was written before.
    pub fn space(&mut self, least: usize) -> &mut [u8] {
        if self.space.len() - self.end < least {
            untimed(|| {
                self.sent.extend_from_slice(&self.space[self.start..self.end]);
                (self.start, self.end) = (0, 0);
            });
        }
        &mut self.space[self.end..]
    }

    /// Marks bytes of the space as written.
    pub fn fill(&mut self, count: usize) {
        self.end += count;
    }

    /// Moves at most `most` written bytes to the end of `wire`.
    pub fn collect_at_most(&mut self, wire: &mut Vec<u8>, most: usize) {
        let from_sent = most.min(self.sent.len());
        wire.extend(self.sent.drain(..from_sent));
        let rest = &self.space[self.start..self.end];
        let taken = rest.get(..most - from_sent).unwrap_or(rest);
        wire.extend_from_slice(taken);
        self.start += taken.len();
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Moves all written bytes to the end of `wire`.
    pub fn collect(&mut self, wire: &mut Vec<u8>) {
        self.collect_at_most(wire, usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_collected_once_and_in_order() {
        let mut buffer = SendBuffer::with_piece(PIECE, 8);
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
        let mut buffer = SendBuffer::with_piece(PIECE, 1 << 20);
        let place = buffer.space(PIECE).as_ptr();
        for _ in 0..4 {
            assert_eq!(buffer.space(PIECE).as_ptr(), place);
            buffer.fill(PIECE);
        }
        let mut wire = Vec::new();
        buffer.collect(&mut wire);
        assert_eq!(wire.len(), 4 * PIECE);

        let mut whole = SendBuffer::with_piece(usize::MAX, 1 << 20);
        assert_eq!(whole.space(1 << 20).len(), 1 << 20);
    }
}
