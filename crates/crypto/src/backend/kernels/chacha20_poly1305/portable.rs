//! The operations without vector instructions, for tests: Miri and Valgrind do not support
//! AVX-512.
//!
//! No branch and no address depends on a value, as in `avx512.rs`.

use core::mem::MaybeUninit;

use super::chacha20::{self, Block, Start};
use super::poly1305::{Lanes, Powers};
use super::subroutines::Subroutines;
use super::vector::Vector;

/// Eight words of 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Portable([u64; 8]);

impl Portable {
    fn map(self, each: impl Fn(u64) -> u64) -> Self {
        Self(self.0.map(each))
    }

    fn zip(self, other: Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self(core::array::from_fn(|at| each(self.0[at], other.0[at])))
    }

    fn as_words32(self) -> [u32; 16] {
        core::array::from_fn(|at| (self.0[at / 2] >> (32 * (at % 2))) as u32)
    }

    fn from_words32(word: impl Fn(usize) -> u32) -> Self {
        Self(core::array::from_fn(|at| u64::from(word(2 * at + 1)) << 32 | u64::from(word(2 * at))))
    }

    /// Words of this vector and of `other`, by their place in both together.
    fn pick(self, other: Self, place: impl Fn(usize) -> usize) -> Self {
        Self(core::array::from_fn(|at| [self.0, other.0].as_flattened()[place(at)]))
    }

    /// Interleaves two words of each quarter.
    fn interleave32(self, other: Self, first: usize) -> Self {
        let (a, b) = (self.as_words32(), other.as_words32());
        Self::from_words32(|at| [a, b][at % 2][at / 4 * 4 + first + at % 4 / 2])
    }
}

fn product(a: u64, b: u64) -> u128 {
    const MASK: u64 = (1 << 52) - 1;
    u128::from(a & MASK) * u128::from(b & MASK)
}

impl Vector for Portable {
    type Proof = ();

    fn splat32((): (), word: u32) -> Self {
        Self::from_words32(|_| word)
    }

    fn splat64((): (), word: u64) -> Self {
        Self([word; 8])
    }

    fn splat_row((): (), row: &[u32; 4]) -> Self {
        Self::from_words32(|at| row[at % 4])
    }

    fn first32((): (), word: u32) -> Self {
        Self::from_words32(|at| if at == 0 { word } else { 0 })
    }

    fn words32((): (), words: &[u32; 16]) -> Self {
        Self::from_words32(|at| words[at])
    }

    fn words64((): (), words: &[u64; 8]) -> Self {
        Self(*words)
    }

    unsafe fn load((): (), from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        let bytes = unsafe { from.cast::<[[u8; 8]; 8]>().read_unaligned() };
        Self(bytes.map(u64::from_le_bytes))
    }

    unsafe fn load_some((): (), from: *const u8, which: u64) -> Self {
        let mut bytes = [[0; 8]; 8];
        for (at, byte) in bytes.as_flattened_mut().iter_mut().enumerate() {
            if which >> at & 1 == 1 {
                // SAFETY: the caller's promise.
                *byte = unsafe { from.wrapping_add(at).read() };
            }
        }
        Self(bytes.map(u64::from_le_bytes))
    }

    unsafe fn store(self, to: *mut u8) {
        let bytes = self.0.map(u64::to_le_bytes);
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[[u8; 8]; 8]>().write_unaligned(bytes) };
    }

    unsafe fn store_some(self, to: *mut u8, which: u64) {
        for (at, byte) in self.0.map(u64::to_le_bytes).as_flattened().iter().enumerate() {
            if which >> at & 1 == 1 {
                // SAFETY: the caller's promise.
                unsafe { to.wrapping_add(at).write(*byte) };
            }
        }
    }

    fn add32(self, other: Self) -> Self {
        let (a, b) = (self.as_words32(), other.as_words32());
        Self::from_words32(|at| a[at].wrapping_add(b[at]))
    }

    fn add64(self, other: Self) -> Self {
        self.zip(other, u64::wrapping_add)
    }

    fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    fn rotate32<const BY: i32>(self) -> Self {
        let words = self.as_words32();
        Self::from_words32(|at| words[at].rotate_left(BY as u32))
    }

    fn shift_left<const BY: u32>(self) -> Self {
        self.map(|word| word << BY)
    }

    fn shift_right<const BY: u32>(self) -> Self {
        self.map(|word| word >> BY)
    }

    fn shift_right_from<const BY: i32>(self, high: Self) -> Self {
        self.zip(high, |low, high| ((u128::from(high) << 64 | u128::from(low)) >> BY) as u64)
    }

    fn add_product_low(self, a: Self, b: Self) -> Self {
        let low = a.zip(b, |a, b| product(a, b) as u64 & ((1 << 52) - 1));
        self.add64(low)
    }

    fn add_product_high(self, a: Self, b: Self) -> Self {
        self.add64(a.zip(b, |a, b| (product(a, b) >> 52) as u64))
    }

    fn rotate_row<const PLACES: i32>(self) -> Self {
        let words = self.as_words32();
        Self::from_words32(|at| words[at / 4 * 4 + (PLACES >> (2 * (at % 4)) & 3) as usize])
    }

    fn interleave_low32(self, other: Self) -> Self {
        self.interleave32(other, 0)
    }

    fn interleave_high32(self, other: Self) -> Self {
        self.interleave32(other, 2)
    }

    fn interleave_low64(self, other: Self) -> Self {
        self.pick(other, |at| at / 2 * 2 + at % 2 * 8)
    }

    fn interleave_high64(self, other: Self) -> Self {
        self.pick(other, |at| at / 2 * 2 + 1 + at % 2 * 8)
    }

    fn quarters<const WHICH: i32>(self, other: Self) -> Self {
        self.pick(other, |at| {
            let quarter = (WHICH >> (at / 2 * 2) & 3) as usize;
            at / 4 * 8 + quarter * 2 + at % 2
        })
    }

    fn even64(self, other: Self) -> Self {
        self.pick(other, |at| 2 * at)
    }

    fn odd64(self, other: Self) -> Self {
        self.pick(other, |at| 2 * at + 1)
    }

    fn select64<const WHICH: u8>(self, other: Self) -> Self {
        self.pick(other, |at| at + 8 * usize::from(WHICH >> at & 1))
    }

    fn splat_first64(self) -> Self {
        Self([self.0[0]; 8])
    }

    fn sum64(self) -> u64 {
        self.0.into_iter().fold(0, u64::wrapping_add)
    }
}

impl Subroutines for Portable {
    fn rows(
        (): (),
        sets: usize,
        start: Start<'_>,
        counters: [u32; 2],
        out: &mut [MaybeUninit<Block>],
    ) {
        match sets {
            1 => chacha20::rows::<Self, 1>((), start, counters, out),
            2 => chacha20::rows::<Self, 2>((), start, counters, out),
            3 => chacha20::rows::<Self, 3>((), start, counters, out),
            4 => chacha20::rows::<Self, 4>((), start, counters, out),
            5 => chacha20::rows::<Self, 5>((), start, counters, out),
            6 => chacha20::rows::<Self, 6>((), start, counters, out),
            7 => chacha20::rows::<Self, 7>((), start, counters, out),
            _ => chacha20::rows::<Self, 8>((), start, counters, out),
        }
    }

    unsafe fn chunk((): (), start: Start<'_>, counter: u32, input: *const u8, output: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { chacha20::chunk::<Self>((), start, counter, input, output) };
    }

    fn powers(
        place: &mut MaybeUninit<Powers<Self>>,
        (): (),
        r: [u64; 2],
        groups: usize,
    ) -> &Powers<Self> {
        Powers::write(place, (), r, groups)
    }

    unsafe fn absorb(
        lanes: &mut Lanes<Self>,
        powers: &Powers<Self>,
        from: *const u8,
        groups: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe { lanes.absorb(powers, from, groups) };
    }
}
