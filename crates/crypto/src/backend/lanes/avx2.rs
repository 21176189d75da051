//! Four lanes with AVX2, for processors without AVX-512.
//!
//! See `rounds.rs` for the algorithm.

use core::arch::{asm, x86_64 as x86};

use super::rounds::{self, Vector};
use super::{Lane, Outer};
use crate::backend::memory::Word;

/// [`rounds::compress`] for one to four lanes.
///
/// # Safety
///
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn four(lanes: &mut [Lane], outer: Option<Outer<'_>>) {
    // SAFETY: the caller's promise.
    unsafe { rounds::compress::<Four, 4>(lanes, outer) };
}

/// Runs `rounds::hash` on four lanes. This function is not inlined, because a MAC calls it twice
/// and it is large.
///
/// # Safety
///
/// The processor must have AVX2.
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn hash(state: &mut [Four; 8], schedule: &mut [Four; 16]) {
    rounds::hash(state, schedule);
}

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Four(pub(super) x86::__m256i);

// SAFETY: the vector has only numbers, for which zeros are valid.
unsafe impl Word for Four {}

// SAFETY of the blocks below, except in `load`s: a value exists only if the caller of its
// constructor has ensured that the processor has AVX2.
impl Vector<4> for Four {
    const FEW_REGISTERS: bool = true;

    #[inline(always)]
    unsafe fn load(words: &[u64; 4]) -> Self {
        // SAFETY: the caller's promise; it reads the 32 bytes of the array at any alignment.
        Self(unsafe { x86::_mm256_loadu_si256(words.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn load_big_endian(words: &[[u8; 8]; 4]) -> Self {
        // SAFETY: the caller's promise; it reads the 32 bytes of the array at any alignment.
        Self(unsafe { x86::_mm256_loadu_si256(words.as_ptr().cast()) }).reversed()
    }

    #[inline(always)]
    fn store(self, words: &mut [u64; 4]) {
        // SAFETY: the processor has this instruction, since `self` exists. It writes the 32 bytes
        // of the array at any alignment.
        unsafe { x86::_mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) };
    }

    #[inline(always)]
    fn store_big_endian(self, words: &mut [[u8; 8]; 4]) {
        // SAFETY: the processor has this instruction, since `self` exists. It writes the 32 bytes
        // of the array at any alignment.
        unsafe { x86::_mm256_storeu_si256(words.as_mut_ptr().cast(), self.reversed().0) };
    }

    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        unsafe {
            // The first vector has numbers 0 and 2 of two rows, alternating between the rows; the
            // second has numbers 1 and 3.
            let (ab_even, ab_odd) =
                (x86::_mm256_unpacklo_epi64(a.0, b.0), x86::_mm256_unpackhi_epi64(a.0, b.0));
            let (cd_even, cd_odd) =
                (x86::_mm256_unpacklo_epi64(c.0, d.0), x86::_mm256_unpackhi_epi64(c.0, d.0));
            [
                Self(x86::_mm256_permute2x128_si256::<0x20>(ab_even, cd_even)),
                Self(x86::_mm256_permute2x128_si256::<0x20>(ab_odd, cd_odd)),
                Self(x86::_mm256_permute2x128_si256::<0x31>(ab_even, cd_even)),
                Self(x86::_mm256_permute2x128_si256::<0x31>(ab_odd, cd_odd)),
            ]
        }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm256_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn opaque(self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { opaque(self.0) })
    }

    #[inline(always)]
    fn add_constant(self, constant: u64) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm256_add_epi64(self.0, x86::_mm256_set1_epi64x(constant as i64)) })
    }

    #[inline(always)]
    fn rotate<const RIGHT: i32, const LEFT: i32>(self) -> Self {
        const { assert!(RIGHT + LEFT == 64) };
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe {
            x86::_mm256_or_si256(
                x86::_mm256_srli_epi64::<RIGHT>(self.0),
                x86::_mm256_slli_epi64::<LEFT>(self.0),
            )
        })
    }

    #[inline(always)]
    fn shift<const RIGHT: i32>(self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm256_srli_epi64::<RIGHT>(self.0) })
    }

    #[inline(always)]
    fn xor(self, second: Self, third: Self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm256_xor_si256(self.0, x86::_mm256_xor_si256(second.0, third.0)) })
    }

    #[inline(always)]
    fn choose(self, yes: Self, no: Self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe {
            let differing = x86::_mm256_xor_si256(yes.0, no.0);
            x86::_mm256_xor_si256(no.0, x86::_mm256_and_si256(self.0, differing))
        })
    }

    #[inline(always)]
    fn majority(self, second: Self, third: Self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe {
            let either = x86::_mm256_or_si256(self.0, second.0);
            let both = x86::_mm256_and_si256(self.0, second.0);
            x86::_mm256_or_si256(both, x86::_mm256_and_si256(third.0, either))
        })
    }

    #[inline(always)]
    fn hash(state: &mut [Self; 8], schedule: &mut [Self; 16]) {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        unsafe { hash(state, schedule) }
    }
}

impl Four {
    /// Reverses the bytes of each number.
    #[inline(always)]
    fn reversed(self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe {
            let order = x86::_mm256_set_epi64x(
                0x0809_0a0b_0c0d_0e0f,
                0x0001_0203_0405_0607,
                0x0809_0a0b_0c0d_0e0f,
                0x0001_0203_0405_0607,
            );
            x86::_mm256_shuffle_epi8(self.0, order)
        })
    }
}

/// # Safety
///
/// The processor must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn opaque(mut vector: x86::__m256i) -> x86::__m256i {
    // SAFETY: there is no instruction, only a comment (an operand must be named). The compiler
    // treats the result as a new value.
    unsafe {
        asm!("/* {0} */", inout(ymm_reg) vector, options(pure, nomem, nostack, preserves_flags));
    }
    vector
}
