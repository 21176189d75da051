//! Numbers in memory: their sizes, and their layout in vectors.
//!
//! A number has limbs of 52 bits. Limb `5 l + v` is in lane `l` of vector `v`. Five vectors contain
//! either one number of 40 limbs in eight lanes, or two numbers of 20 limbs in four lanes each,
//! which are multiplied at once, each modulo its own modulus. The constant `W` is the number of
//! lanes of a number: 8 or 4.
//!
//! In this layout a number is divided by 2^52 by renaming its vectors: only vector 0 moves, by one
//! lane.

use super::vector::{LANES, Lanes, Vector};
use crate::backend::memory::Word;

/// The length of a modulus in bytes.
pub(crate) const MODULUS_LEN: usize = 256;

/// The length of a prime in bytes.
pub(super) const PRIME_LEN: usize = MODULUS_LEN / 2;

/// The number of limbs of a modulus.
pub(super) const LIMBS: usize = 40;

/// The number of limbs of a prime.
pub(super) const PRIME_LIMBS: usize = LIMBS / 2;

/// The lanes of a prime.
pub(super) const HALF: usize = LANES / 2;

/// The number of vectors of a number.
pub(super) const VECTORS: usize = 5;

/// One number of 40 limbs or two of 20, in the layout of the vectors.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Number(pub(super) [Lanes; VECTORS]);

// SAFETY: a number has only integers without padding, for which zeros are valid.
unsafe impl Word for Number {}

impl Number {
    pub(super) const ZERO: Self = Self([[0; LANES]; VECTORS]);

    /// 1 as one number, or as the first of two.
    pub(super) const ONE: Self = {
        let mut one = Self::ZERO;
        one.0[0][0] = 1;
        one
    };

    /// Two numbers, both 1.
    pub(super) const TWO_ONES: Self = {
        let mut ones = Self::ONE;
        ones.0[0][LANES / 2] = 1;
        ones
    };

    /// The limb at this place of a number of 40 limbs. The second of two numbers begins at 20.
    #[inline(always)]
    pub(super) fn limb(&self, place: usize) -> u64 {
        self.0[place % VECTORS][place / VECTORS]
    }

    #[inline(always)]
    pub(super) fn limb_mut(&mut self, place: usize) -> &mut u64 {
        &mut self.0[place % VECTORS][place / VECTORS]
    }

    /// # Safety
    ///
    /// The processor must have the instructions of `V`.
    #[inline(always)]
    pub(super) unsafe fn load<V: Vector>(&self) -> [V; VECTORS] {
        let [a, b, c, d, e] = &self.0;
        // SAFETY: the caller's promise.
        unsafe { [V::load(a), V::load(b), V::load(c), V::load(d), V::load(e)] }
    }

    #[inline(always)]
    pub(super) fn store<V: Vector>(&mut self, vectors: &[V; VECTORS]) {
        let [a, b, c, d, e] = &mut self.0;
        vectors[0].store(a);
        vectors[1].store(b);
        vectors[2].store(c);
        vectors[3].store(d);
        vectors[4].store(e);
    }
}

/// The low 64 bits.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn low_word(number: u128) -> u64 {
    number as u64
}
