//! The parameters of one operation, and its state between the parts of a message.

use super::vector::Vector;

/// The parameters of one operation.
pub(super) struct Message<'a> {
    pub(super) nonce: &'a [u8; 12],
    /// The last block of the additional data, of at most 16 bytes. What comes before has been added
    /// to it by `message::absorb`.
    pub(super) aad_block: &'a [u8],
    /// The length of all additional data.
    pub(super) aad_len: usize,
    pub(super) input: *const u8,
    pub(super) input_len: usize,
    /// A byte that is sealed after the input, or none.
    pub(super) extra: Option<u8>,
    pub(super) out: *mut u8,
    /// The received tag, if the message is opened.
    pub(super) received_tag: *const u8,
    /// Where to write the tag. If the message is opened, its difference from the received one.
    pub(super) tag: *mut u8,
}

impl Message<'_> {
    /// The number of encrypted bytes.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.input_len + usize::from(self.extra.is_some())
    }

    /// The data for a vector with `room` bytes at this offset, where the message may end.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of `V`. The input must be valid.
    #[inline(always)]
    pub(super) unsafe fn load_end<V: Vector>(&self, offset: usize, room: usize) -> V {
        let from = self.input.wrapping_add(offset);
        // SAFETY: the caller's promise.
        let data = unsafe { V::load_first(from, self.input_len.saturating_sub(offset).min(room)) };
        // The position of the extra byte, 64 if it is not in this vector.
        let at = self.input_len.wrapping_sub(offset);
        let at = if self.extra.is_some() && at < room { at } else { 64 };
        data.with_byte(at, self.extra.unwrap_or(0))
    }
}

/// The state between the parts of a message.
#[derive(Clone, Copy)]
pub(super) struct Progress<V> {
    /// The first state of AES for lanes with counters 0 to 3: the counter block plus the first
    /// round key.
    pub(super) start: V,
    /// The hash so far.
    pub(super) hash: V,
    /// The number of processed bytes.
    pub(super) offset: usize,
    /// The first counter that was not yet used, a multiple of four.
    pub(super) counter: u32,
}
