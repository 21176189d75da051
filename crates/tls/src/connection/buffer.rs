//! [`ReceiveBuffer`]: received bytes that the record layer has not processed yet.

use core::ops::Range;
use std::io::{self, Read};

use crate::record::limits;

/// A buffer of received bytes: the caller appends, the record layer consumes.
///
/// [`crate::Handshake::advance`] and [`crate::Receiver::open`] borrow the buffer. It grows to the
/// size of one record, or more if the caller appends bytes faster than they are consumed.
/// [`Self::release`] frees its memory while the connection is idle.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut transport: &[u8] = b"bytes of a socket";
/// let mut received = tercel::ReceiveBuffer::new();
/// let count = received.read_from(&mut transport)?; // 0 at the end of input
/// assert_eq!(received.unread().len(), count);
/// # Ok(()) }
/// ```
#[derive(Default)]
pub struct ReceiveBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// The size of the first allocation in bytes.
const INITIAL: usize = 4096;

impl ReceiveBuffer {
    /// Creates an empty buffer without allocating memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty buffer with a capacity of this many bytes. For bulk transfer use a multiple
    /// of 16 KiB.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], start: 0, end: 0 }
    }

    /// Returns the capacity in bytes, including unread bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the addresses of the buffer's memory: consumed and unread bytes, and free space. A
    /// caller that works with addresses can compare other memory with them.
    #[must_use]
    pub fn memory(&self) -> Range<*const u8> {
        let start = self.bytes.as_ptr();
        start..start.wrapping_add(self.bytes.capacity())
    }

    /// Appends the bytes of one `read` call. Returns their number, 0 at the end of input.
    ///
    /// # Errors
    /// The errors of the transport.
    pub fn read_from(&mut self, transport: &mut impl Read) -> io::Result<usize> {
        let count = transport.read(self.spare())?;
        self.filled(count);
        Ok(count)
    }

    /// Returns initialized memory after the unread bytes, for the caller to write to. The slice is
    /// never empty. Call [`Self::filled`] afterwards.
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

    /// Appends the first `count` bytes of [`Self::spare`], which the caller has written.
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

    /// Returns the bytes that are not consumed yet.
    #[must_use]
    pub fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Returns whether there are no unread bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Frees the memory of the buffer. Only unread bytes are kept.
    pub fn release(&mut self) {
        let rest = self.unread().to_vec();
        self.end = rest.len();
        self.start = 0;
        self.bytes = rest;
    }

    /// Consumes the first `count` unread bytes, and returns them for decryption in place.
    pub(crate) fn take(&mut self, count: usize) -> &mut [u8] {
        let start = self.start;
        let end = start.saturating_add(count).min(self.end);
        self.start = end;
        self.bytes.get_mut(start..end).unwrap_or_default()
    }

    /// Returns the first `count` unread bytes without consuming them.
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
            // One record always fits. More memory is needed only if the caller appends bytes faster
            // than they are consumed.
            length if length < limits::MAX_RECORD => limits::MAX_RECORD,
            length => length.saturating_mul(2),
        };
        self.bytes.resize(length, 0);
    }
}

debug_fields!(ReceiveBuffer, buffer: unread = buffer.unread().len());
