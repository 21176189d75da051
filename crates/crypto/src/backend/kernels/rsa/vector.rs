//! The vector operations of the RSA kernel.
//!
//! See `montgomery.rs`, which is written with these operations, `avx512.rs` for the instructions,
//! and `portable.rs` for the same operations without them.

use crate::backend::memory::Word;

/// The number of lanes of a vector.
pub(super) const LANES: usize = 8;

/// The number of bits of a limb.
pub(super) const LIMB_BITS: usize = 52;

/// As [`LIMB_BITS`], for shifts of vectors.
pub(super) const LIMB_SHIFT: u32 = 52;

/// The largest limb.
pub(super) const LIMB_MASK: u64 = (1 << LIMB_BITS) - 1;

/// The numbers of the lanes of a vector in memory.
pub(super) type Lanes = [u64; LANES];

/// Eight numbers of 64 bits.
///
/// A value proves that the processor has the vector's instructions: the constructor is `unsafe`
/// for that reason, and the operations are safe.
///
/// Lane `l` is bit `l` of a set of lanes. Sets are constants, or are computed from compared numbers
/// and are as secret as these.
pub(super) trait Vector: Word {
    /// Loads numbers.
    ///
    /// # Safety
    ///
    /// The processor must have the vector's instructions.
    unsafe fn load(words: &Lanes) -> Self;

    /// Loads numbers. This value proves that the processor has the vector's instructions.
    #[inline(always)]
    fn load_more(self, words: &Lanes) -> Self {
        // SAFETY: a vector exists.
        unsafe { Self::load(words) }
    }

    /// Stores the numbers.
    fn store(self, words: &mut Lanes);

    /// The sum modulo 2^64.
    fn add(self, other: Self) -> Self;

    /// The sum modulo 2^64 in these lanes; the other lanes are unchanged.
    fn add_in(self, lanes: u8, other: Self) -> Self;

    /// Bitwise AND.
    fn and(self, other: Self) -> Self;

    /// Shifts the numbers to the right.
    fn shift<const BITS: u32>(self) -> Self;

    /// Shifts the numbers of these lanes to the right; zero in the other lanes.
    fn shift_in<const BITS: u32>(self, lanes: u8) -> Self;

    /// Adds the low 52 bits of the product of the low 52 bits of `a` and `b`.
    fn add_low_product(self, a: Self, b: Self) -> Self;

    /// Adds the high 52 bits of the product of the low 52 bits of `a` and `b`.
    fn add_high_product(self, a: Self, b: Self) -> Self;

    /// The number of lane `index[l]` in each lane `l`.
    fn permute(self, index: Self) -> Self;

    /// The number of lane `l + 1` in each lane `l` of this set; zero in the others.
    fn lanes_down(self, lanes: u8) -> Self;

    /// The number of lane `l - 1` in each lane `l` of this set; zero in the others.
    fn lanes_up(self, lanes: u8) -> Self;

    /// The numbers of `other` in these lanes, and of this vector in the others.
    fn replace_in(self, lanes: u8, other: Self) -> Self;

    /// The lanes where the numbers are equal.
    fn equal(self, other: Self) -> u8;

    /// The lanes where this number is greater.
    fn greater(self, other: Self) -> u8;
}

/// A computation on vectors of any kind.
pub(super) trait Work {
    /// Does the work.
    ///
    /// The function must be inlined, so that it is compiled with the instructions of the vector.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of `V`.
    unsafe fn run<V: Vector>(self);
}

/// A proof that the processor has the instructions of a kind of vectors.
pub(super) trait Instructions: Copy {
    /// Does the work with these instructions.
    fn run(self, work: impl Work);
}
