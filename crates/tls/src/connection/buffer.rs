//! Bytes from the transport on their way to the record layer.
//!
//! Lent to [`crate::Handshake::advance`] and [`crate::Receiver::open`]; between calls it belongs to the
//! caller, who may keep one per thread. Must not know: records' meaning. Next: [`super::receiver`].

use std::io::{self, Read};

use crate::record::limits;

/// A buffer of received bytes: the transport appends, the record layer consumes.
///
/// It grows to one record at most, unless asked for more, and can be emptied of its memory when idle.
#[derive(Default)]
pub struct Received {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// What a buffer holds when first filled.
const INITIAL: usize = 4096;

impl Received {
    /// An empty buffer without memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer of this many bytes. For bulk, some multiples of 16 KiB serve well.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], start: 0, end: 0 }
    }

    /// How many bytes it has memory for, unread ones included.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Appends what one `read` call gives; the number of bytes, 0 at the end of input.
    ///
    /// # Errors
    /// Those of the transport.
    pub fn read_from(&mut self, transport: &mut impl Read) -> io::Result<usize> {
        let count = transport.read(self.spare())?;
        self.filled(count);
        Ok(count)
    }

    /// Initialised room behind the unread bytes, never empty. Follow with [`Self::filled`].
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        if self.end == self.bytes.len() {
            self.make_room();
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Says that this many bytes of [`Self::spare`] were written.
    pub fn filled(&mut self, count: usize) {
        self.end = self.end.saturating_add(count).min(self.bytes.len());
    }

    /// Appends these bytes.
    pub fn extend(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let spare = self.spare();
            let count = spare.len().min(bytes.len());
            let (now, later) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
            if let Some(room) = spare.get_mut(..now.len()) {
                room.copy_from_slice(now);
            }
            self.filled(now.len());
            bytes = later;
        }
    }

    /// The bytes not consumed yet.
    #[must_use]
    pub fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether no unconsumed byte is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Gives the memory back if nothing unread is in it; otherwise shrinks to what is.
    pub fn release(&mut self) {
        let rest = self.unread().to_vec();
        self.end = rest.len();
        self.start = 0;
        self.bytes = rest;
    }

    /// Consumes `count` bytes and lends them out, to be changed where they lie.
    pub(crate) fn take(&mut self, count: usize) -> &mut [u8] {
        let start = self.start;
        let end = start.saturating_add(count).min(self.end);
        self.start = end;
        self.bytes.get_mut(start..end).unwrap_or_default()
    }

    /// Lends out the first `count` unread bytes without consuming them.
    pub(crate) fn peek(&mut self, count: usize) -> &mut [u8] {
        let end = self.start.saturating_add(count).min(self.end);
        self.bytes.get_mut(self.start..end).unwrap_or_default()
    }

    fn make_room(&mut self) {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end = self.end.saturating_sub(self.start);
            self.start = 0;
            return;
        }
        let length = match self.bytes.len() {
            0 => INITIAL,
            // One record fits in any case; more is held only if the caller appends without consuming.
            length if length < limits::MAX_RECORD => limits::MAX_RECORD,
            length => length.saturating_mul(2),
        };
        self.bytes.resize(length, 0);
    }
}

impl core::fmt::Debug for Received {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Received").field("unread", &self.unread().len()).finish_non_exhaustive()
    }
}
