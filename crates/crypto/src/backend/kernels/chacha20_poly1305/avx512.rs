//! The operations as instructions of AVX-512.

use core::arch::x86_64 as x86;
use core::mem::MaybeUninit;

use super::TAG_LEN;
use super::chacha20::{self, Block, Start};
use super::message::{self, Stream, Text};
use super::poly1305::{Lanes, Powers};
use super::subroutines::Subroutines;
use super::vector::Vector;

/// Whether the processor has the instructions, and VBMI: processors without it lower their clock
/// for vectors of 512 bits.
pub(super) fn is_available() -> bool {
    std::is_x86_feature_detected!("avx512vbmi")
        && std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512vl")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512ifma")
        && std::is_x86_feature_detected!("avx512vbmi2")
        && std::is_x86_feature_detected!("bmi2")
}

/// Proves that [`is_available`] has returned true.
#[derive(Clone, Copy)]
pub(super) struct Available(());

impl Available {
    /// # Safety
    ///
    /// [`is_available`] must have returned true.
    pub(super) unsafe fn new() -> Self {
        Self(())
    }
}

/// Declares functions that are compiled with the vector's instructions. An argument of each proves
/// that the processor has them; `unsafe` stands for any further promise of the caller.
macro_rules! compiled_with_instructions {
    ($($(#[$attribute:meta])* fn $name:ident$(<$(const $number:ident: $type:ty),+>)?
       ($($argument:ident: $of:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$attribute])*
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512ifma,avx512vbmi2,bmi2")]
        unsafe fn $name$(<$(const $number: $type),+>)?($($argument: $of),*) $(-> $result)? $body
    )*};
}

/// [`message::short`] or [`message::long`], by the length of the text.
///
/// # Safety
///
/// As there.
pub(super) unsafe fn run<const SEAL: bool>(
    proof: Available,
    (key, nonce): (&[u8; 32], &[u8; 12]),
    aad: &[u8],
    text: &Text<'_>,
    stream: &mut Stream,
) -> [u8; TAG_LEN] {
    let start = Start { key, nonce };
    // SAFETY: the caller's promise; the processor has the instructions.
    unsafe {
        if text.total() <= message::SHORT {
            short::<SEAL>(proof, start, aad, text)
        } else {
            long::<SEAL>(proof, start, aad, text, stream)
        }
    }
}

compiled_with_instructions! {
    #[inline(never)]
    fn short<const SEAL: bool>(
        proof: Available,
        start: Start<'_>,
        aad: &[u8],
        text: &Text<'_>,
    ) -> [u8; TAG_LEN] {
        // SAFETY: the caller's promise.
        unsafe { message::short::<Zmm, SEAL>(proof, start, aad, text) }
    }

    #[inline(never)]
    fn long<const SEAL: bool>(
        proof: Available,
        start: Start<'_>,
        aad: &[u8],
        text: &Text<'_>,
        stream: &mut Stream,
    ) -> [u8; TAG_LEN] {
        // SAFETY: the caller's promise.
        unsafe { message::long::<Zmm, SEAL>(proof, start, aad, text, stream) }
    }

    #[inline(never)]
    fn rows<const SETS: usize>(
        proof: Available,
        start: Start<'_>,
        counters: [u32; 2],
        out: &mut [MaybeUninit<Block>],
    ) {
        chacha20::rows::<Zmm, SETS>(proof, start, counters, out);
    }

    #[inline(never)]
    fn chunk(
        proof: Available,
        start: Start<'_>,
        counter: u32,
        input: *const u8,
        output: *mut u8,
    ) {
        // SAFETY: the caller's promise.
        unsafe { chacha20::chunk::<Zmm>(proof, start, counter, input, output) };
    }

    #[inline(never)]
    fn powers(
        place: &mut MaybeUninit<Powers<Zmm>>,
        proof: Available,
        r: [u64; 2],
        groups: usize,
    ) {
        Powers::write(place, proof, r, groups);
    }

    #[inline(never)]
    fn absorb(lanes: &mut Lanes<Zmm>, powers: &Powers<Zmm>, from: *const u8, groups: usize) {
        // SAFETY: the caller's promise.
        unsafe { lanes.absorb(powers, from, groups) };
    }
}

/// A register of 512 bits. It exists only where the processor has the instructions, because each
/// constructor takes a proof.
#[derive(Clone, Copy)]
pub(super) struct Zmm(x86::__m512i);

// SAFETY of the blocks below: a proof or a vector exists, so the processor has the instructions.
// Blocks with pointers also depend on the caller's promise or on the lengths of arrays.
impl Vector for Zmm {
    type Proof = Available;

    #[inline(always)]
    fn splat32(_: Available, word: u32) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_set1_epi32(word.cast_signed()) })
    }

    #[inline(always)]
    fn splat64(_: Available, word: u64) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_set1_epi64(word.cast_signed()) })
    }

    #[inline(always)]
    fn splat_row(_: Available, row: &[u32; 4]) -> Self {
        // SAFETY: see above; the array has the sixteen bytes that are read.
        Self(unsafe { x86::_mm512_broadcast_i32x4(x86::_mm_loadu_si128(row.as_ptr().cast())) })
    }

    #[inline(always)]
    fn first32(_: Available, word: u32) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_zextsi128_si512(x86::_mm_cvtsi32_si128(word.cast_signed())) })
    }

    #[inline(always)]
    fn words32(_: Available, words: &[u32; 16]) -> Self {
        // SAFETY: see above; the array has 64 bytes.
        Self(unsafe { x86::_mm512_loadu_si512(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn words64(_: Available, words: &[u64; 8]) -> Self {
        // SAFETY: see above; the array has 64 bytes.
        Self(unsafe { x86::_mm512_loadu_si512(words.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn load(_: Available, from: *const u8) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_some(_: Available, from: *const u8, which: u64) -> Self {
        // SAFETY: see above. The instruction does not access bytes that are not selected.
        Self(unsafe { x86::_mm512_maskz_loadu_epi8(which, from.cast()) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: see above.
        unsafe { x86::_mm512_storeu_si512(to.cast(), self.0) };
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut u8, which: u64) {
        // SAFETY: see above. The instruction does not access bytes that are not selected.
        unsafe { x86::_mm512_mask_storeu_epi8(to.cast(), which, self.0) };
    }

    #[inline(always)]
    fn add32(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn add64(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_and_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn rotate32<const BY: i32>(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_rol_epi32::<BY>(self.0) })
    }

    #[inline(always)]
    fn shift_left<const BY: u32>(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_slli_epi64::<BY>(self.0) })
    }

    #[inline(always)]
    fn shift_right<const BY: u32>(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_srli_epi64::<BY>(self.0) })
    }

    #[inline(always)]
    fn shift_right_from<const BY: i32>(self, high: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_shrdi_epi64::<BY>(self.0, high.0) })
    }

    #[inline(always)]
    fn add_product_low(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_madd52lo_epu64(self.0, a.0, b.0) })
    }

    #[inline(always)]
    fn add_product_high(self, a: Self, b: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_madd52hi_epu64(self.0, a.0, b.0) })
    }

    #[inline(always)]
    fn rotate_row<const PLACES: i32>(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_shuffle_epi32::<PLACES>(self.0) })
    }

    #[inline(always)]
    fn interleave_low32(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_unpacklo_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn interleave_high32(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_unpackhi_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn interleave_low64(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_unpacklo_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn interleave_high64(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_unpackhi_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn quarters<const WHICH: i32>(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_shuffle_i64x2::<WHICH>(self.0, other.0) })
    }

    #[inline(always)]
    fn even64(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe {
            let places = x86::_mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            x86::_mm512_permutex2var_epi64(self.0, places, other.0)
        })
    }

    #[inline(always)]
    fn odd64(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe {
            let places = x86::_mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
            x86::_mm512_permutex2var_epi64(self.0, places, other.0)
        })
    }

    #[inline(always)]
    fn select64<const WHICH: u8>(self, other: Self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_mask_blend_epi64(WHICH, self.0, other.0) })
    }

    #[inline(always)]
    fn splat_first64(self) -> Self {
        // SAFETY: see above.
        Self(unsafe { x86::_mm512_broadcastq_epi64(x86::_mm512_castsi512_si128(self.0)) })
    }

    #[inline(always)]
    fn sum64(self) -> u64 {
        // SAFETY: see above.
        unsafe { x86::_mm512_reduce_add_epi64(self.0) }.cast_unsigned()
    }
}

impl Subroutines for Zmm {
    #[inline(always)]
    fn rows(
        proof: Available,
        sets: usize,
        start: Start<'_>,
        counters: [u32; 2],
        out: &mut [MaybeUninit<Block>],
    ) {
        // SAFETY: see above.
        unsafe {
            match sets {
                1 => rows::<1>(proof, start, counters, out),
                2 => rows::<2>(proof, start, counters, out),
                3 => rows::<3>(proof, start, counters, out),
                4 => rows::<4>(proof, start, counters, out),
                5 => rows::<5>(proof, start, counters, out),
                6 => rows::<6>(proof, start, counters, out),
                7 => rows::<7>(proof, start, counters, out),
                _ => rows::<8>(proof, start, counters, out),
            }
        }
    }

    #[inline(always)]
    unsafe fn chunk(
        proof: Available,
        start: Start<'_>,
        counter: u32,
        input: *const u8,
        output: *mut u8,
    ) {
        // SAFETY: see above.
        unsafe { chunk(proof, start, counter, input, output) };
    }

    #[inline(always)]
    fn powers(
        place: &mut MaybeUninit<Powers<Self>>,
        proof: Available,
        r: [u64; 2],
        groups: usize,
    ) -> &Powers<Self> {
        // SAFETY: see above; the call initialises the powers.
        unsafe {
            powers(place, proof, r, groups);
            place.assume_init_ref()
        }
    }

    #[inline(always)]
    unsafe fn absorb(
        lanes: &mut Lanes<Self>,
        powers: &Powers<Self>,
        from: *const u8,
        groups: usize,
    ) {
        // SAFETY: see above.
        unsafe { absorb(lanes, powers, from, groups) };
    }
}
