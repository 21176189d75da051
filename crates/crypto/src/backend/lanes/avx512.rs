//! Four and eight lanes with AVX-512, which has single instructions for rotations and for any
//! function of three bits.
//!
//! See `rounds.rs` for the algorithm, and `avx2.rs` for the vector of four lanes.

use core::arch::{asm, x86_64 as x86};

use super::avx2;
use super::rounds::{self, Vector};
use super::{Lane, Outer};
use crate::backend::memory::Word;

/// Whether the processor has AVX-512 and does not lower its clock for vectors of 512 bits.
/// Processors before Ice Lake do so; they lack VBMI.
pub(super) fn is_available() -> bool {
    std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512vl")
        && std::is_x86_feature_detected!("avx512vbmi")
        && std::is_x86_feature_detected!("avx2")
}

/// [`rounds::compress`] for one to four lanes.
///
/// # Safety
///
/// [`is_available`] must have returned true.
#[target_feature(enable = "avx2,avx512f,avx512vl")]
pub(super) unsafe fn four(lanes: &mut [Lane], outer: Option<Outer<'_>>) {
    // SAFETY: the caller's promise.
    unsafe { rounds::compress::<Four, 4>(lanes, outer) };
}

/// [`rounds::compress`] for one to eight lanes.
///
/// # Safety
///
/// [`is_available`] must have returned true.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn eight(lanes: &mut [Lane], outer: Option<Outer<'_>>) {
    // SAFETY: the caller's promise.
    unsafe { rounds::compress::<Eight, 8>(lanes, outer) };
}

/// Runs `rounds::hash` on four lanes. This function is not inlined, because a MAC calls it twice
/// and it is large.
///
/// # Safety
///
/// [`is_available`] must have returned true.
#[inline(never)]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
unsafe fn hash_four(state: &mut [Four; 8], schedule: &mut [Four; 16]) {
    rounds::hash(state, schedule);
}

/// Runs `rounds::hash` on eight lanes. This function is not inlined, because a MAC calls it twice
/// and it is large.
///
/// # Safety
///
/// [`is_available`] must have returned true.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn hash_eight(state: &mut [Eight; 8], schedule: &mut [Eight; 16]) {
    rounds::hash(state, schedule);
}

// Truth tables of three-bit functions. Bit `4 * first + 2 * second + third` of a table is the
// result for these three bits.
const XOR: i32 = 0b1001_0110;
const CHOOSE: i32 = 0b1100_1010;
const MAJORITY: i32 = 0b1110_1000;

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Four(avx2::Four);

// SAFETY: the vector has only numbers, for which zeros are valid.
unsafe impl Word for Four {}

// SAFETY of the blocks below, except in `load`s: a value exists only if the caller of its
// constructor has ensured that the processor has AVX-512 with VL.
impl Vector<4> for Four {
    const FEW_REGISTERS: bool = false;

    #[inline(always)]
    unsafe fn load(words: &[u64; 4]) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { avx2::Four::load(words) })
    }

    #[inline(always)]
    unsafe fn load_big_endian(words: &[[u8; 8]; 4]) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { avx2::Four::load_big_endian(words) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u64; 4]) {
        self.0.store(words);
    }

    #[inline(always)]
    fn store_big_endian(self, words: &mut [[u8; 8]; 4]) {
        self.0.store_big_endian(words);
    }

    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let [a, b, c, d] = avx2::Four::transpose([a.0, b.0, c.0, d.0]);
        [Self(a), Self(b), Self(c), Self(d)]
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.add(other.0))
    }

    #[inline(always)]
    fn opaque(self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(avx2::Four(unsafe { opaque_four(self.0.0) }))
    }

    #[inline(always)]
    fn add_constant(self, constant: u64) -> Self {
        Self(self.0.add_constant(constant))
    }

    #[inline(always)]
    fn rotate<const RIGHT: i32, const LEFT: i32>(self) -> Self {
        const { assert!(RIGHT + LEFT == 64) };
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(avx2::Four(unsafe { x86::_mm256_ror_epi64::<RIGHT>(self.0.0) }))
    }

    #[inline(always)]
    fn shift<const RIGHT: i32>(self) -> Self {
        Self(self.0.shift::<RIGHT>())
    }

    #[inline(always)]
    fn xor(self, second: Self, third: Self) -> Self {
        self.function::<XOR>(second, third)
    }

    #[inline(always)]
    fn choose(self, yes: Self, no: Self) -> Self {
        self.function::<CHOOSE>(yes, no)
    }

    #[inline(always)]
    fn majority(self, second: Self, third: Self) -> Self {
        self.function::<MAJORITY>(second, third)
    }

    #[inline(always)]
    fn hash(state: &mut [Self; 8], schedule: &mut [Self; 16]) {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        unsafe { hash_four(state, schedule) }
    }
}

impl Four {
    #[inline(always)]
    fn function<const TABLE: i32>(self, second: Self, third: Self) -> Self {
        let (first, second, third) = (self.0.0, second.0.0, third.0.0);
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(avx2::Four(unsafe { x86::_mm256_ternarylogic_epi64::<TABLE>(first, second, third) }))
    }
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Eight(x86::__m512i);

// SAFETY: the vector has only numbers, for which zeros are valid.
unsafe impl Word for Eight {}

// SAFETY of the blocks below, except in `load`s: a value exists only if the caller of its
// constructor has ensured that the processor has AVX-512 with BW.
impl Vector<8> for Eight {
    const FEW_REGISTERS: bool = false;

    #[inline(always)]
    unsafe fn load(words: &[u64; 8]) -> Self {
        // SAFETY: the caller's promise; it reads the 64 bytes of the array at any alignment.
        Self(unsafe { x86::_mm512_loadu_si512(words.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn load_big_endian(words: &[[u8; 8]; 8]) -> Self {
        // SAFETY: the caller's promise; it reads the 64 bytes of the array at any alignment.
        Self(unsafe { x86::_mm512_loadu_si512(words.as_ptr().cast()) }).reversed()
    }

    #[inline(always)]
    fn store(self, words: &mut [u64; 8]) {
        // SAFETY: the processor has this instruction, since `self` exists. It writes the 64 bytes
        // of the array at any alignment.
        unsafe { x86::_mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) };
    }

    #[inline(always)]
    fn store_big_endian(self, words: &mut [[u8; 8]; 8]) {
        // SAFETY: the processor has this instruction, since `self` exists. It writes the 64 bytes
        // of the array at any alignment.
        unsafe { x86::_mm512_storeu_si512(words.as_mut_ptr().cast(), self.reversed().0) };
    }

    #[inline(always)]
    fn transpose([a, b, c, d, e, f, g, h]: [Self; 8]) -> [Self; 8] {
        // The numbers at even places of two rows, then those at odd places; each has four pairs.
        let ([p, q, r, s], [t, u, v, w]) = (
            [a.pairs::<false>(b), c.pairs::<false>(d), e.pairs::<false>(f), g.pairs::<false>(h)],
            [a.pairs::<true>(b), c.pairs::<true>(d), e.pairs::<true>(f), g.pairs::<true>(h)],
        );
        // Pairs 0 and 2 of two vectors, then pairs 1 and 3; then the same selection of the results.
        let (pq_even, pq_odd, rs_even, rs_odd) = (
            p.quarters::<EVEN>(q),
            p.quarters::<ODD>(q),
            r.quarters::<EVEN>(s),
            r.quarters::<ODD>(s),
        );
        let (tu_even, tu_odd, vw_even, vw_odd) = (
            t.quarters::<EVEN>(u),
            t.quarters::<ODD>(u),
            v.quarters::<EVEN>(w),
            v.quarters::<ODD>(w),
        );
        [
            pq_even.quarters::<EVEN>(rs_even),
            tu_even.quarters::<EVEN>(vw_even),
            pq_odd.quarters::<EVEN>(rs_odd),
            tu_odd.quarters::<EVEN>(vw_odd),
            pq_even.quarters::<ODD>(rs_even),
            tu_even.quarters::<ODD>(vw_even),
            pq_odd.quarters::<ODD>(rs_odd),
            tu_odd.quarters::<ODD>(vw_odd),
        ]
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn opaque(self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { opaque_eight(self.0) })
    }

    #[inline(always)]
    fn add_constant(self, constant: u64) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm512_add_epi64(self.0, x86::_mm512_set1_epi64(constant as i64)) })
    }

    #[inline(always)]
    fn rotate<const RIGHT: i32, const LEFT: i32>(self) -> Self {
        const { assert!(RIGHT + LEFT == 64) };
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm512_ror_epi64::<RIGHT>(self.0) })
    }

    #[inline(always)]
    fn shift<const RIGHT: i32>(self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions. The shift
        // count is a vector, because the immediate form requires an unsigned number.
        Self(unsafe { x86::_mm512_srlv_epi64(self.0, x86::_mm512_set1_epi64(RIGHT as i64)) })
    }

    #[inline(always)]
    fn xor(self, second: Self, third: Self) -> Self {
        self.function::<XOR>(second, third)
    }

    #[inline(always)]
    fn choose(self, yes: Self, no: Self) -> Self {
        self.function::<CHOOSE>(yes, no)
    }

    #[inline(always)]
    fn majority(self, second: Self, third: Self) -> Self {
        self.function::<MAJORITY>(second, third)
    }

    #[inline(always)]
    fn hash(state: &mut [Self; 8], schedule: &mut [Self; 16]) {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        unsafe { hash_eight(state, schedule) }
    }
}

/// Selects two of the four quarters of the first vector, and the same two of the second.
const EVEN: i32 = 0b10_00_10_00;
const ODD: i32 = 0b11_01_11_01;

impl Eight {
    #[inline(always)]
    fn function<const TABLE: i32>(self, second: Self, third: Self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm512_ternarylogic_epi64::<TABLE>(self.0, second.0, third.0) })
    }

    /// Reverses the bytes of each number.
    #[inline(always)]
    fn reversed(self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe {
            let order = x86::_mm512_set4_epi64(
                0x0809_0a0b_0c0d_0e0f,
                0x0001_0203_0405_0607,
                0x0809_0a0b_0c0d_0e0f,
                0x0001_0203_0405_0607,
            );
            x86::_mm512_shuffle_epi8(self.0, order)
        })
    }

    /// Interleaves the numbers at even places of this vector and of `other`, or the numbers at odd
    /// places.
    #[inline(always)]
    fn pairs<const IS_ODD: bool>(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe {
            if IS_ODD {
                x86::_mm512_unpackhi_epi64(self.0, other.0)
            } else {
                x86::_mm512_unpacklo_epi64(self.0, other.0)
            }
        })
    }

    #[inline(always)]
    fn quarters<const WHICH: i32>(self, other: Self) -> Self {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        Self(unsafe { x86::_mm512_shuffle_i64x2::<WHICH>(self.0, other.0) })
    }
}

/// # Safety
///
/// The processor must have AVX-512 with VL.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
unsafe fn opaque_four(mut vector: x86::__m256i) -> x86::__m256i {
    // SAFETY: there is no instruction, only a comment (an operand must be named). The compiler
    // treats the result as a new value.
    unsafe {
        asm!("/* {0} */", inout(ymm_reg) vector, options(pure, nomem, nostack, preserves_flags));
    }
    vector
}

/// # Safety
///
/// The processor must have AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn opaque_eight(mut vector: x86::__m512i) -> x86::__m512i {
    // SAFETY: there is no instruction, only a comment (an operand must be named). The compiler
    // treats the result as a new value.
    unsafe {
        asm!("/* {0} */", inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags));
    }
    vector
}
