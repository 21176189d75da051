//! AES-GCM, NIST SP 800-38D 7, on vectors.
//!
//! # Slots
//!
//! What GHASH hashes is divided into slots of one block: an empty one, the last block of the
//! additional data, the blocks of the ciphertext, and the block of lengths. Slot i and the counter
//! i belong together: counter 1 encrypts the tag, and counter 2 the first block of data. So the
//! blocks of four slots are encrypted as one vector and hashed as one vector, and counters of a
//! vector differ from its first one in two bits only.
//!
//! - The vector of slots 0 to 3 is the *header*. Its lanes are in the order 2, 3, 0, 1, so that its
//!   data is at the beginning.
//! - [`last`] processes up to four vectors, of which the last one has the block of lengths, and
//!   computes the tag. For short messages this is all.
//! - `chunks.rs` encrypts eight vectors at a time while it hashes eight others.
//!
//! Between these parts the hash is a vector `hash`, which is added to the next vector. Each of its
//! lanes is multiplied by H^4 for each vector, and finally by the weight of its lane.
//!
//! No branch and no address depends on keys or data, only on lengths.

use super::chunks;
use super::ghash::{Sum, multiply};
use super::key::{Key, POWERS};
use super::parameters::{Message, Progress};
use super::vector::Vector;

/// The longest message that [`short`] accepts.
pub(super) const MAX_SHORT: usize = 16 * (POWERS - 3);

/// Hashes all but the last block of additional data that is longer than a block. Writes the sum of
/// the hash and of the last block to `last`.
///
/// # Safety
///
/// The processor must have the instructions of `V`. There must be additional data.
#[inline(always)]
pub(super) unsafe fn absorb<V: Vector>(key: &Key, aad: &[u8], last: &mut [u8; 16]) {
    // SAFETY: the caller's promise; each block is loaded with its length.
    unsafe {
        let mut blocks = aad.chunks(16);
        let mut hash = V::zero();
        let weight = V::load_block(key.power(1));
        let end = blocks.next_back().unwrap_or_default();
        for block in blocks {
            let block = V::load_block(block.as_ptr()).reverse();
            hash = multiply(hash.xor(block), weight);
        }
        let end = V::load_short_block(end.as_ptr(), end.len());
        hash.reverse().xor(end).store_block(last.as_mut_ptr());
    }
}

/// Seals or opens a message of at most [`MAX_SHORT`] bytes.
///
/// # Safety
///
/// The processor must have the instructions of `V`. Input and output must be valid for the message
/// and at the same address or disjoint; the tags must be valid for 16 bytes.
#[inline(always)]
pub(super) unsafe fn short<V: Vector, const SEAL: bool>(key: &Key, message: &Message<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        let start = V::from_nonce(message.nonce).xor(V::load_block(key.round_key(0)));
        let zero = V::zero();
        let start = start.xor_counters([0, 1, 2, 3]);
        let none = Progress { start, hash: zero, offset: 0, counter: 0 };
        match (message.len().div_ceil(16) + 3).div_ceil(4) {
            1 => last::<V, 1, true, SEAL>(key, message, none, zero),
            2 => last::<V, 2, true, SEAL>(key, message, none, zero),
            3 => last::<V, 3, true, SEAL>(key, message, none, zero),
            _ => last::<V, 4, true, SEAL>(key, message, none, zero),
        }
    }
}

/// Seals or opens a message of more than [`MAX_SHORT`] bytes.
///
/// # Safety
///
/// As for [`short`]. The key must have `ROUNDS` rounds.
#[inline(always)]
pub(super) unsafe fn long<V: Vector, const ROUNDS: usize, const SEAL: bool>(
    key: &Key,
    message: &Message<'_>,
) {
    let blocks = message.len().div_ceil(16) - 2;
    // SAFETY: the caller's promise. Each part finds as many bytes of input and output as it
    // processes, because at least three blocks remain for `last`.
    unsafe {
        let (mut progress, mask) = header::<V, SEAL>(key, message);
        if blocks >= chunks::BLOCKS + 3 {
            let count = (blocks - 3) / chunks::BLOCKS;
            progress = chunks::run::<V, ROUNDS, SEAL>(key, message, progress, count);
        }
        // The slots that remain, with that of the lengths. `last` needs four of them, because the
        // lanes of the hash belong to four different slots.
        let mut slots = (message.len() - progress.offset).div_ceil(16) + 1;
        while slots > POWERS {
            if slots >= 20 {
                progress = middle::<V, 4, SEAL>(key, message, progress);
                slots -= 16;
            } else {
                progress = middle::<V, 1, SEAL>(key, message, progress);
                slots -= 4;
            }
        }
        match slots.div_ceil(4) {
            1 => last::<V, 1, false, SEAL>(key, message, progress, mask),
            2 => last::<V, 2, false, SEAL>(key, message, progress, mask),
            3 => last::<V, 3, false, SEAL>(key, message, progress, mask),
            _ => last::<V, 4, false, SEAL>(key, message, progress, mask),
        }
    }
}

/// The header of a long message. Returns the mask of the tag, too.
///
/// # Safety
///
/// As for [`long`].
#[inline(always)]
unsafe fn header<V: Vector, const SEAL: bool>(
    key: &Key,
    message: &Message<'_>,
) -> (Progress<V>, V) {
    // SAFETY: the caller's promise.
    unsafe {
        let start = V::from_nonce(message.nonce).xor(V::load_block(key.round_key(0)));
        let mut states = [start.xor_counters(HEADER_COUNTERS)];
        let last_key = key.all_but_last_round(&mut states);
        let data = V::load_first(message.input, 32);
        let result = states[0].last_round(last_key.xor(data));
        result.store_first(message.out, 32);
        let hashed = if SEAL { result.keep_first(32) } else { data };
        let hashed = hashed.xor(aad_lane(message)).reverse().swap_lanes();
        let hash = multiply(hashed, V::load_block(key.power(4)));
        let start = start.xor_counters([0, 1, 2, 3]);
        (Progress { start, hash, offset: 32, counter: 4 }, result.repeat_lane::<3>())
    }
}

/// The counters of the lanes of a header.
const HEADER_COUNTERS: [u32; 4] = [2, 3, 0, 1];

/// The last block of additional data in its lane of the header.
///
/// # Safety
///
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn aad_lane<V: Vector>(message: &Message<'_>) -> V {
    let block = message.aad_block;
    // SAFETY: the caller's promise.
    unsafe { V::load_short_block(block.as_ptr(), block.len()) }.only_lane_3()
}

/// Processes `N` vectors of data.
///
/// # Safety
///
/// As for [`long`]; input and output must have these vectors.
#[inline(always)]
unsafe fn middle<V: Vector, const N: usize, const SEAL: bool>(
    key: &Key,
    message: &Message<'_>,
    progress: Progress<V>,
) -> Progress<V> {
    let Progress { start, mut hash, offset, counter } = progress;
    // SAFETY: the caller's promise.
    unsafe {
        let mut states = [start; N];
        for (at, state) in (0..).zip(&mut states) {
            *state = start.xor_counter(counter + 4 * at);
        }
        let last_key = key.all_but_last_round(&mut states);
        let zero = V::zero();
        let mut sum = Sum { low: zero, middle: zero, high: zero };
        for (at, state) in states.into_iter().enumerate() {
            let offset = offset + 64 * at;
            let data = V::load(message.input.add(offset));
            let result = state.last_round(last_key.xor(data));
            result.store(message.out.add(offset));
            let hashed = (if SEAL { result } else { data }).reverse();
            let hashed = if at == 0 { hashed.xor(hash) } else { hashed };
            let weight = V::load_block(key.power(4 * (N - at) as isize));
            sum = sum.add(Sum::of(hashed, weight));
        }
        hash = sum.reduce();
    }
    Progress { start, hash, offset: offset + 64 * N, counter: counter + 4 * N as u32 }
}

/// Processes the last `N` vectors, of which the first is the header if `HEADER`, and computes the
/// tag. `mask` encrypts the tag if there is no header.
///
/// # Safety
///
/// As for [`short`]. Without a header at least four slots must remain.
#[inline(always)]
unsafe fn last<V: Vector, const N: usize, const HEADER: bool, const SEAL: bool>(
    key: &Key,
    message: &Message<'_>,
    progress: Progress<V>,
    mut mask: V,
) {
    let Progress { start, hash, offset, counter } = progress;
    let len = message.len();
    let slots = (len - offset).div_ceil(16) + if HEADER { 3 } else { 1 };
    debug_assert!(slots.div_ceil(4) == N && (HEADER || slots >= 4));
    // SAFETY: the caller's promise.
    unsafe {
        let mut states = [start; N];
        for (at, state) in (0..).zip(&mut states) {
            *state = start.xor_counter(counter + 4 * at);
        }
        if HEADER {
            // Lanes of `start` have counters 0 to 3, those of a header 2, 3, 0 and 1.
            states[0] = start.xor_counter(2);
        }
        let last_key = key.all_but_last_round(&mut states);
        let zero = V::zero();
        let mut sum = Sum { low: zero, middle: zero, high: zero };
        for (at, state) in states.into_iter().enumerate() {
            let is_header = HEADER && at == 0;
            let room = if is_header { 32 } else { 64 };
            let offset = offset + 64 * at - if HEADER && at > 0 { 32 } else { 0 };
            // The message ends in the last vector, or in the one before if only the lengths follow.
            let is_full = at + 2 < N;
            let size = if is_full { room } else { len.saturating_sub(offset).min(room) };
            let data = match (is_full, is_header) {
                (true, false) => V::load(message.input.add(offset)),
                (true, true) => V::load_first(message.input, room),
                (false, _) => message.load_end(offset, room),
            };
            let result = state.last_round(last_key.xor(data));
            let to = message.out.wrapping_add(offset);
            if is_full && !is_header {
                result.store(to);
            } else {
                result.store_first(to, size);
            }

            let mut hashed = match (SEAL, is_full && !is_header) {
                (true, false) => result.keep_first(size),
                (true, true) => result,
                (false, _) => data,
            };
            let mut weights = V::load(key.power(slots as isize - 4 * at as isize));
            if is_header {
                mask = result.repeat_lane::<3>();
                hashed = hashed.xor(aad_lane(message));
                weights = weights.swap_lanes();
            }
            hashed = hashed.reverse();
            if at == 0 && !HEADER {
                hashed = hashed.xor(hash);
            }
            if at == N - 1 {
                let lane = ((slots - 1) % 4) ^ if is_header { 2 } else { 0 };
                let (bits, aad_bits) = (8 * len as u64, 8 * message.aad_len as u64);
                hashed = hashed.xor(V::block_in_lane(lane, bits, aad_bits));
            }
            sum = sum.add(Sum::of(hashed, weights));
        }
        let tag = sum.reduce().sum_lanes().reverse().xor(mask);
        if SEAL {
            tag.store_block(message.tag);
        } else {
            tag.xor(V::load_block(message.received_tag)).store_block(message.tag);
        }
    }
}
