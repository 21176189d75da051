//! Conversion between bytes and limbs, and the reduction that makes a result unique.
//!
//! The time of these functions does not depend on the numbers.

use core::hint::black_box;
use core::ops::Range;

use super::number::{LIMBS, MODULUS_LEN, Number};
use super::vector::{LIMB_BITS, LIMB_MASK};
use crate::backend::memory::wipe;

/// Reads a big-endian number into limbs, starting at this place. The number of bytes must be that
/// of a modulus or of a prime.
pub(super) fn read_bytes(number: &mut Number, start: usize, bytes: &[u8]) {
    // Room for reading eight bytes at the highest limb.
    let mut little = [0; MODULUS_LEN + 8];
    for (to, from) in little.iter_mut().zip(bytes.iter().rev()) {
        *to = *from;
    }
    for place in 0..bytes.len() * LIMBS / MODULUS_LEN {
        // A limb begins at a byte or in the middle of one.
        let bit = place * LIMB_BITS;
        let mut word = [0; 8];
        word.copy_from_slice(&little[bit / 8..bit / 8 + 8]);
        *number.limb_mut(start + place) = u64::from_le_bytes(word) >> (bit % 8) & LIMB_MASK;
    }
    wipe(&mut little);
}

/// Writes a number of 40 limbs, which must be less than 2^2048.
pub(super) fn write_bytes(number: &Number, bytes: &mut [u8; MODULUS_LEN]) {
    // Two limbs have 13 bytes.
    let mut little = [0; LIMBS / 2 * 13 + 3];
    for pair in 0..LIMBS / 2 {
        let low = u128::from(number.limb(2 * pair));
        let both = low | u128::from(number.limb(2 * pair + 1)) << LIMB_BITS;
        little[13 * pair..13 * pair + 16].copy_from_slice(&both.to_le_bytes());
    }
    for (to, from) in bytes.iter_mut().rev().zip(little) {
        *to = from;
    }
    wipe(&mut little);
}

/// Reduces a number of 40 limbs that is less than `3 n` modulo `n`.
pub(super) fn reduce(number: &mut Number, n: &Number) {
    subtract_unless_less(number, n, 0..LIMBS);
    subtract_unless_less(number, n, 0..LIMBS);
}

/// Subtracts `n` from the number at these places, unless the number is less.
pub(super) fn subtract_unless_less(number: &mut Number, n: &Number, places: Range<usize>) {
    // Zero if the number is less, else all ones. If the compiler knew that there are only these two
    // masks, it would make a branch for each.
    let mask = black_box(borrow(number, n, places.clone()).wrapping_sub(1));
    let mut borrow = 0;
    for place in places {
        let taken = n.limb(place) & mask;
        let difference = number.limb(place).wrapping_sub(taken).wrapping_sub(borrow);
        borrow = difference >> 63;
        *number.limb_mut(place) = difference & LIMB_MASK;
    }
}

/// Whether a number of 40 limbs is less than another.
pub(super) fn is_less(number: &Number, other: &Number) -> bool {
    borrow(number, other, 0..LIMBS) == 1
}

/// 1 if the number is less than the other, else 0.
fn borrow(number: &Number, other: &Number, places: Range<usize>) -> u64 {
    places.fold(0, |borrow, place| {
        number.limb(place).wrapping_sub(other.limb(place)).wrapping_sub(borrow) >> 63
    })
}
