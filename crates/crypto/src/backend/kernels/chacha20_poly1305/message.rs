//! The AEAD of RFC 8439 2.8 for one message.
//!
//! Block 0 of the key stream, which has the one-time key, is computed together with the last blocks
//! of the text. A copy of the ciphertext of these blocks replaces their key stream, padded and
//! followed by the lengths, so that Poly1305 reads whole blocks there ([`Stream`]).
//!
//! Lengths select the path: no branch and no address depends on a key or a text.

use core::mem::MaybeUninit;
use core::ptr;

use super::TAG_LEN;
use super::chacha20::{self, Block, CHUNK, Start};
use super::poly1305::{BLOCK, GROUP, Lanes};
use super::scalar::{self, OneTimeKey};
use super::subroutines::Subroutines;
use super::vector::Vector;

/// The bytes of a block of key stream.
const STREAM: usize = size_of::<Block>();

/// The longest text for [`short`], for which Poly1305 is faster without vectors.
pub(super) const SHORT: usize = 256;

/// The bytes of a chunk.
pub(super) const CHUNK_LEN: usize = CHUNK * STREAM;

/// The most bytes of text that are computed together with block 0.
const LAST: usize = (CHUNK - 1) * STREAM;

/// The bytes that are computed at once, where more than [`LAST`] remain after all chunks.
const PIECE: usize = 16 * STREAM;

/// The memory of a text: an input of `len` bytes, which `extra` follows, and the output of both.
///
/// The input must be readable, and the output writable for as many bytes as the input and `extra`
/// have. They must be at the same address or not overlap. `extra` must not overlap the output.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) input: *const u8,
    pub(crate) len: usize,
    pub(crate) extra: &'a [u8],
    pub(crate) output: *mut u8,
}

impl Text<'_> {
    /// The length of the output.
    pub(super) fn total(&self) -> usize {
        self.len + self.extra.len()
    }

    /// Encrypts or decrypts `count` bytes from `at` on, and replaces the key stream in `stream` by
    /// the ciphertext, padded with zeros to whole blocks of key stream.
    ///
    /// # Safety
    ///
    /// The memory of the text must be as [`Text`] requires.
    #[inline(always)]
    unsafe fn process<V: Vector, const SEAL: bool>(
        &self,
        proof: V::Proof,
        mut at: usize,
        count: usize,
        stream: &mut [Block],
    ) {
        let end = at + count;
        let used = count.div_ceil(STREAM);
        for block in &mut stream[..used] {
            let (input, output) = (self.input.wrapping_add(at), self.output.wrapping_add(at));
            let place = block.as_mut_ptr();
            if at + STREAM <= end.min(self.len) {
                // SAFETY: the block is a part of the input, and of the output.
                unsafe {
                    let from = V::load(proof, input);
                    let to = from.xor(V::load(proof, place));
                    to.store(output);
                    if SEAL { to.store(place) } else { from.store(place) }
                }
            } else {
                let all = first_bytes(end - at);
                let of_input = first_bytes(self.len.saturating_sub(at)) & all;
                let of_extra = all & !of_input;
                // SAFETY: the selected bytes are parts of the input, of `extra`, of the stream and
                // of the output.
                unsafe {
                    let mut from = V::load_some(proof, input, of_input);
                    if of_extra != 0 {
                        let extra = self.extra.as_ptr().wrapping_add(at).wrapping_sub(self.len);
                        from = from.xor(V::load_some(proof, extra, of_extra));
                    }
                    let to = from.xor(V::load_some(proof, place, all));
                    to.store_some(output, all);
                    if SEAL { to.store(place) } else { from.store(place) }
                }
            }
            at += STREAM;
        }
    }
}

/// The bits of this many first bytes of a block of key stream.
#[inline(always)]
fn first_bytes(count: usize) -> u64 {
    if count < STREAM { (1 << count) - 1 } else { u64::MAX }
}

/// The blocks of zeros after the last blocks of text: as many as may be key stream that is not
/// used, and more than the rest of a group of Poly1305's blocks.
const ZEROS: usize = 4;

/// Memory for key stream, outside of the stack that is wiped after each text. What remains there is
/// ciphertext.
#[repr(C, align(64))]
pub(super) struct Stream {
    /// Block 0 and the last blocks, followed by the lengths and zeros.
    last: [MaybeUninit<Block>; CHUNK + ZEROS],
    piece: [MaybeUninit<Block>; PIECE / STREAM],
}

impl Stream {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            last: [const { MaybeUninit::uninit() }; CHUNK + ZEROS],
            piece: [const { MaybeUninit::uninit() }; PIECE / STREAM],
        }
    }
}

/// The first blocks of this memory.
///
/// # Safety
///
/// They must be initialised.
#[inline(always)]
unsafe fn blocks(memory: &mut [MaybeUninit<Block>], count: usize) -> &mut [Block] {
    // SAFETY: the caller's promise.
    unsafe { &mut *(ptr::from_mut(&mut memory[..count]) as *mut [Block]) }
}

/// Encrypts or decrypts a text of at most [`SHORT`] bytes, and returns its tag.
///
/// # Safety
///
/// The memory of the text must be as [`Text`] requires.
#[inline(always)]
pub(super) unsafe fn short<V: Subroutines, const SEAL: bool>(
    proof: V::Proof,
    start: Start<'_>,
    aad: &[u8],
    text: &Text<'_>,
) -> [u8; TAG_LEN] {
    let len = text.total();
    // Block 0, the text, and the lengths.
    let mut stream = [MaybeUninit::uninit(); 8 + ZEROS];
    let sets = if len <= 3 * STREAM {
        chacha20::rows::<V, 1>(proof, start, [0, 1], &mut stream);
        1
    } else {
        V::rows(proof, 2, start, [0, 1], &mut stream);
        2
    };
    // SAFETY: the call has written the blocks of these sets.
    let (key, used) = unsafe {
        let stream = blocks(&mut stream, 4 * sets);
        text.process::<V, SEAL>(proof, 0, len, &mut stream[1..]);
        (one_time_key(&stream[0]), 1 + len.div_ceil(STREAM))
    };
    stream[used] = MaybeUninit::new([0; STREAM]);
    // SAFETY: initialised above, and in this line.
    let stream = unsafe { blocks(&mut stream, used + 1) };
    let blocks = put_lengths(&mut stream[1..], len, [aad.len(), len]);
    let mut sum = absorb_aad::<V>(proof, &key, aad);
    for block in stream[1..].as_flattened().chunks_exact(BLOCK).take(blocks) {
        sum = scalar::add(key.multiply(sum), scalar::with_end(block));
    }
    key.tag(key.multiply(sum))
}

/// Encrypts or decrypts a text of any length, and returns its tag.
///
/// # Safety
///
/// The memory of the text must be as [`Text`] requires.
#[inline(always)]
pub(super) unsafe fn long<V: Subroutines, const SEAL: bool>(
    proof: V::Proof,
    start: Start<'_>,
    aad: &[u8],
    text: &Text<'_>,
    stream: &mut Stream,
) -> [u8; TAG_LEN] {
    let after_chunks = text.len / CHUNK_LEN * CHUNK_LEN;
    let pieces = (text.total() - after_chunks).saturating_sub(LAST).div_ceil(PIECE);
    let last_at = after_chunks + pieces * PIECE;
    let last_len = text.total() - last_at;

    let sets = (last_len + STREAM).div_ceil(4 * STREAM);
    V::rows(proof, sets, start, [0, counter_at(last_at)], &mut stream.last);
    // SAFETY: the call has written the blocks of these sets.
    let (key, used) = unsafe {
        let last = blocks(&mut stream.last, 4 * sets);
        text.process::<V, SEAL>(proof, last_at, last_len, &mut last[1..]);
        (one_time_key(&last[0]), 1 + last_len.div_ceil(STREAM))
    };
    // The one-time key, and key stream that is not used.
    stream.last[0] = MaybeUninit::new([0; STREAM]);
    for at in 0..ZEROS {
        stream.last[used + at] = MaybeUninit::new([0; STREAM]);
    }
    // SAFETY: initialised above.
    let last = unsafe { blocks(&mut stream.last, used + ZEROS) };
    let blocks = put_lengths(&mut last[1..], last_len, [aad.len(), text.total()]);

    let groups = (blocks - 1) / GROUP;
    let mut powers = MaybeUninit::uninit();
    let longest = if last_at > 0 { usize::MAX } else { groups };
    let powers = V::powers(&mut powers, proof, key.r, longest);
    let mut lanes = Lanes::<V>::new(proof, absorb_aad::<V>(proof, &key, aad));
    for at in (0..after_chunks).step_by(CHUNK_LEN) {
        const GROUPS: usize = CHUNK_LEN / BLOCK / GROUP;
        // SAFETY: the caller's promise, for this chunk. The ciphertext is read before it is
        // decrypted, or after it is encrypted.
        unsafe {
            let (input, output) = (text.input.add(at), text.output.add(at));
            if SEAL {
                V::chunk(proof, start, counter_at(at), input, output);
                V::absorb(&mut lanes, powers, output, GROUPS);
            } else {
                V::absorb(&mut lanes, powers, input, GROUPS);
                V::chunk(proof, start, counter_at(at), input, output);
            }
        }
    }
    for at in (after_chunks..last_at).step_by(PIECE) {
        let counter = counter_at(at);
        V::rows(
            proof,
            PIECE / STREAM / 4,
            start,
            [counter, counter.wrapping_add(1)],
            &mut stream.piece,
        );
        // SAFETY: the call has written all blocks of the piece, which has as many bytes as the
        // groups; the caller's promise.
        unsafe {
            let piece = self::blocks(&mut stream.piece, PIECE / STREAM);
            text.process::<V, SEAL>(proof, at, PIECE, piece);
            V::absorb(&mut lanes, powers, piece.as_ptr().cast(), PIECE / BLOCK / GROUP);
        }
    }
    let bytes = last[1..].as_flattened();
    let end = &bytes[groups * GROUP * BLOCK..][..GROUP * BLOCK];
    // SAFETY: both are parts of the stream.
    let sum = unsafe {
        V::absorb(&mut lanes, powers, bytes.as_ptr(), groups);
        lanes.finish(powers, end.as_ptr(), blocks - groups * GROUP)
    };
    key.tag(sum)
}

/// The counter of the block at this place of the text, which is a multiple of a block. The text's
/// first block has the counter 1. RFC 8439 2.8
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "the counter has 32 bits")]
fn counter_at(at: usize) -> u32 {
    (at / STREAM) as u32 + 1
}

#[inline(always)]
fn one_time_key(block: &Block) -> OneTimeKey {
    OneTimeKey::new(block.first_chunk().expect("a block is longer than the key"))
}

/// Writes the lengths after this many bytes of ciphertext and their padding. Returns the number of
/// blocks of Poly1305, including the lengths.
#[inline(always)]
fn put_lengths(stream: &mut [Block], bytes: usize, [aad, text]: [usize; 2]) -> usize {
    let blocks = bytes.div_ceil(BLOCK);
    let place = &mut stream.as_flattened_mut()[blocks * BLOCK..][..BLOCK];
    place[..8].copy_from_slice(&(aad as u64).to_le_bytes());
    place[8..].copy_from_slice(&(text as u64).to_le_bytes());
    blocks + 1
}

/// Absorbs the associated data. The last block is added but not multiplied.
#[inline(always)]
fn absorb_aad<V: Vector>(proof: V::Proof, key: &OneTimeKey, aad: &[u8]) -> [u64; 3] {
    let mut sum = [0; 3];
    let (whole, rest) = aad.split_at(aad.len() / BLOCK * BLOCK);
    for block in whole.chunks_exact(BLOCK) {
        sum = scalar::add(key.multiply(sum), scalar::with_end(block));
    }
    if !rest.is_empty() {
        let mut block = [0; STREAM];
        // SAFETY: the selected bytes are those of `rest`; the block has 64 bytes.
        unsafe {
            let part = V::load_some(proof, rest.as_ptr(), first_bytes(rest.len()));
            part.store(block.as_mut_ptr());
        }
        sum = scalar::add(key.multiply(sum), scalar::with_end(&block[..BLOCK]));
    }
    sum
}
