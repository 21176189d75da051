//! Vectors with AVX-512: IFMA has multiplications of 52-bit limbs.
//!
//! See `vector.rs` for what the operations do.

use core::arch::x86_64 as x86;

use super::vector::{Instructions, Lanes, Vector, Work};
use crate::backend::memory::Word;

/// A proof that the processor has the instructions of this module.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// The proof, if the processor has AVX-512 with IFMA and does not lower its clock for vectors
    /// of 512 bits. Processors before Ice Lake do so; they lack VBMI.
    pub(crate) fn detect() -> Option<Self> {
        let is_available = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512ifma")
            && std::is_x86_feature_detected!("avx512vbmi");
        is_available.then_some(Self(()))
    }
}

impl Instructions for Avx512 {
    fn run(self, work: impl Work) {
        // SAFETY: `self` exists, so `detect` has found the instructions.
        unsafe { run(work) };
    }
}

/// # Safety
///
/// The processor must have these instructions.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn run(work: impl Work) {
    // SAFETY: the caller's promise.
    unsafe { work.run::<Zmm>() };
}

#[derive(Clone, Copy)]
#[repr(transparent)]
struct Zmm(x86::__m512i);

// SAFETY: the vector has only numbers, for which zeros are valid.
unsafe impl Word for Zmm {}

/// Calls an intrinsic.
macro_rules! zmm {
    ($call:expr) => {
        // SAFETY: a vector exists, which proves that the processor has the instructions.
        Zmm(unsafe { $call })
    };
}

impl Vector for Zmm {
    #[inline(always)]
    unsafe fn load(words: &Lanes) -> Self {
        // SAFETY: the caller's promise; the numbers are a vector's size, at any alignment.
        Self(unsafe { x86::_mm512_loadu_epi64(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut Lanes) {
        // SAFETY: as for `zmm`; the numbers are a vector's size, at any alignment.
        unsafe { x86::_mm512_storeu_epi64(words.as_mut_ptr().cast(), self.0) };
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        zmm!(x86::_mm512_add_epi64(self.0, other.0))
    }

    #[inline(always)]
    fn add_in(self, lanes: u8, other: Self) -> Self {
        zmm!(x86::_mm512_mask_add_epi64(self.0, lanes, self.0, other.0))
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        zmm!(x86::_mm512_and_si512(self.0, other.0))
    }

    #[inline(always)]
    fn shift<const BITS: u32>(self) -> Self {
        zmm!(x86::_mm512_srli_epi64::<BITS>(self.0))
    }

    #[inline(always)]
    fn shift_in<const BITS: u32>(self, lanes: u8) -> Self {
        zmm!(x86::_mm512_maskz_srli_epi64::<BITS>(lanes, self.0))
    }

    #[inline(always)]
    fn add_low_product(self, a: Self, b: Self) -> Self {
        zmm!(x86::_mm512_madd52lo_epu64(self.0, a.0, b.0))
    }

    #[inline(always)]
    fn add_high_product(self, a: Self, b: Self) -> Self {
        zmm!(x86::_mm512_madd52hi_epu64(self.0, a.0, b.0))
    }

    #[inline(always)]
    fn permute(self, index: Self) -> Self {
        zmm!(x86::_mm512_permutexvar_epi64(index.0, self.0))
    }

    #[inline(always)]
    fn lanes_down(self, lanes: u8) -> Self {
        zmm!(x86::_mm512_maskz_alignr_epi64::<1>(lanes, self.0, self.0))
    }

    #[inline(always)]
    fn lanes_up(self, lanes: u8) -> Self {
        zmm!(x86::_mm512_maskz_alignr_epi64::<7>(lanes, self.0, self.0))
    }

    #[inline(always)]
    fn replace_in(self, lanes: u8, other: Self) -> Self {
        zmm!(x86::_mm512_mask_mov_epi64(self.0, lanes, other.0))
    }

    #[inline(always)]
    fn equal(self, other: Self) -> u8 {
        // SAFETY: as for `zmm`.
        unsafe { x86::_mm512_cmpeq_epu64_mask(self.0, other.0) }
    }

    #[inline(always)]
    fn greater(self, other: Self) -> u8 {
        // SAFETY: as for `zmm`.
        unsafe { x86::_mm512_cmpgt_epu64_mask(self.0, other.0) }
    }
}
