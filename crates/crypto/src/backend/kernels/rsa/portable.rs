//! Vectors without vector instructions, for tests.
//!
//! The source text of the kernel also runs where AVX-512 does not: in Miri, in Valgrind, and on
//! other processors. See `vector.rs` for what the operations do.

use core::hint::black_box;

use super::vector::{Instructions, LANES, LIMB_BITS, LIMB_MASK, Lanes, Vector, Work};
use crate::backend::memory::Word;

/// The vectors of this module need no instructions.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Instructions for Portable {
    fn run(self, work: impl Work) {
        // SAFETY: any processor has the instructions.
        unsafe { work.run::<Words>() };
    }
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Words(Lanes);

// SAFETY: the vector has only numbers, for which zeros are valid.
unsafe impl Word for Words {}

/// All ones if the lane is in this set, else zero. If the compiler knew that there are only these
/// two masks, it would make branches.
fn mask(lanes: u8, lane: usize) -> u64 {
    black_box((u64::from(lanes) >> lane & 1).wrapping_neg())
}

/// 1 if the value is zero, else 0. There is no branch.
fn is_zero(value: u64) -> u64 {
    (!value & value.wrapping_sub(1)) >> 63
}

/// The set of lanes for which `bit` is 1.
fn set(bit: impl Fn(usize) -> u64) -> u8 {
    (0..LANES).fold(0, |set, lane| set | (bit(lane) as u8) << lane)
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a & LIMB_MASK) * u128::from(b & LIMB_MASK)
}

impl Words {
    fn each(number: impl FnMut(usize) -> u64) -> Self {
        Self(core::array::from_fn(number))
    }

    /// The numbers of these lanes; zero in the others.
    fn only(self, lanes: u8) -> Self {
        Self::each(|lane| self.0[lane] & mask(lanes, lane))
    }
}

impl Vector for Words {
    unsafe fn load(words: &Lanes) -> Self {
        Self(*words)
    }

    fn store(self, words: &mut Lanes) {
        *words = self.0;
    }

    fn add(self, other: Self) -> Self {
        Self::each(|lane| self.0[lane].wrapping_add(other.0[lane]))
    }

    fn add_in(self, lanes: u8, other: Self) -> Self {
        self.add(other.only(lanes))
    }

    fn and(self, other: Self) -> Self {
        Self::each(|lane| self.0[lane] & other.0[lane])
    }

    fn shift<const BITS: u32>(self) -> Self {
        Self(self.0.map(|number| number >> BITS))
    }

    fn shift_in<const BITS: u32>(self, lanes: u8) -> Self {
        self.shift::<BITS>().only(lanes)
    }

    fn add_low_product(self, a: Self, b: Self) -> Self {
        Self::each(|lane| {
            self.0[lane].wrapping_add(product(a.0[lane], b.0[lane]) as u64 & LIMB_MASK)
        })
    }

    fn add_high_product(self, a: Self, b: Self) -> Self {
        Self::each(|lane| {
            self.0[lane].wrapping_add((product(a.0[lane], b.0[lane]) >> LIMB_BITS) as u64)
        })
    }

    fn permute(self, index: Self) -> Self {
        Self::each(|lane| self.0[index.0[lane] as usize])
    }

    fn lanes_down(self, lanes: u8) -> Self {
        Self::each(|lane| self.0[(lane + 1) % LANES]).only(lanes)
    }

    fn lanes_up(self, lanes: u8) -> Self {
        Self::each(|lane| self.0[(lane + LANES - 1) % LANES]).only(lanes)
    }

    fn replace_in(self, lanes: u8, other: Self) -> Self {
        Self::each(|lane| {
            let mask = mask(lanes, lane);
            self.0[lane] & !mask | other.0[lane] & mask
        })
    }

    fn equal(self, other: Self) -> u8 {
        set(|lane| is_zero(self.0[lane] ^ other.0[lane]))
    }

    fn greater(self, other: Self) -> u8 {
        // Numbers that are compared are less than 2^63.
        set(|lane| other.0[lane].wrapping_sub(self.0[lane]) >> 63)
    }
}
