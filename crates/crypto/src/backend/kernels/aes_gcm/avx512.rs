//! The vector in a register of 512 bits, with VAES and VPCLMULQDQ, and the entries of the kernel,
//! which are compiled with these instructions.

use core::arch::{asm, x86_64 as x86};

use super::key::Key;
use super::message;
use super::parameters::Message;
use super::vector::Vector;

/// Whether the processor has the instructions, and does not lower its clock for vectors of 512
/// bits. Processors before Ice Lake do so; they lack VBMI.
pub(in crate::backend) fn is_available() -> bool {
    std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512vl")
        && std::is_x86_feature_detected!("avx512vbmi")
        && std::is_x86_feature_detected!("vaes")
        && std::is_x86_feature_detected!("vpclmulqdq")
        && std::is_x86_feature_detected!("bmi2")
}

/// Defines functions that are compiled with the kernel's instructions. They are not inlined, so
/// that each has one place in the program, which `tools/kernel-code.sh` inspects.
macro_rules! entries {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) = $body:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// [`is_available`] must have returned true; further as for the called function.
            #[inline(never)]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,vpclmulqdq,bmi2")]
            pub(super) unsafe fn $name($($argument: $type),*) {
                // SAFETY: the caller's promise.
                unsafe { $body };
            }
        )*
    };
}

entries! {
    /// [`Key::expand`].
    aes_gcm_expand(place: &mut Key, key: &[u8]) = place.expand::<Lanes>(key);
    /// [`message::absorb`].
    aes_gcm_absorb(key: &Key, aad: &[u8], last: &mut [u8; 16]) =
        message::absorb::<Lanes>(key, aad, last);
    /// [`message::short`], to seal.
    aes_gcm_seal_short(key: &Key, message: &Message<'_>) = message::short::<Lanes, true>(key, message);
    /// [`message::short`], to open.
    aes_gcm_open_short(key: &Key, message: &Message<'_>) = message::short::<Lanes, false>(key, message);
    /// [`message::long`], to seal with AES-128.
    aes_gcm_seal_long_128(key: &Key, message: &Message<'_>) =
        message::long::<Lanes, 10, true>(key, message);
    /// [`message::long`], to seal with AES-256.
    aes_gcm_seal_long_256(key: &Key, message: &Message<'_>) =
        message::long::<Lanes, 14, true>(key, message);
    /// [`message::long`], to open with AES-128.
    aes_gcm_open_long_128(key: &Key, message: &Message<'_>) =
        message::long::<Lanes, 10, false>(key, message);
    /// [`message::long`], to open with AES-256.
    aes_gcm_open_long_256(key: &Key, message: &Message<'_>) =
        message::long::<Lanes, 14, false>(key, message);
}

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Lanes(x86::__m512i);

// SAFETY of the blocks below, except in constructors: a value exists only if the caller of its
// constructor has ensured that the processor has these instructions. In constructors and stores:
// the caller's promise; masks cover the promised bytes, and masked instructions access no others.
#[allow(clippy::undocumented_unsafe_blocks, reason = "see the line above")]
impl Vector for Lanes {
    #[inline(always)]
    unsafe fn zero() -> Self {
        Self(unsafe { x86::_mm512_setzero_si512() })
    }

    #[inline(always)]
    unsafe fn splat(number: u64) -> Self {
        Self(unsafe { x86::_mm512_set1_epi64(number as i64) })
    }

    #[inline(always)]
    unsafe fn splat_word(word: u32) -> Self {
        Self(unsafe { x86::_mm512_set1_epi32(word as i32) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        Self(unsafe { x86::_mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_first(from: *const u8, len: usize) -> Self {
        Self(unsafe { x86::_mm512_maskz_loadu_epi8(first(len), from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_block(from: *const u8) -> Self {
        Self(unsafe { x86::_mm512_broadcast_i32x4(x86::_mm_loadu_si128(from.cast())) })
    }

    #[inline(always)]
    unsafe fn load_short_block(from: *const u8, len: usize) -> Self {
        Self(unsafe {
            let block = x86::_mm_maskz_loadu_epi8(first(len) as u16, from.cast());
            x86::_mm512_broadcast_i32x4(block)
        })
    }

    #[inline(always)]
    unsafe fn from_blocks([a, b, c, d]: [*const u8; 4]) -> Self {
        Self(unsafe {
            let load = |from: *const u8| x86::_mm_loadu_si128(from.cast());
            let all = x86::_mm512_broadcast_i32x4(load(a));
            let all = x86::_mm512_mask_broadcast_i32x4(all, 0x00f0, load(b));
            let all = x86::_mm512_mask_broadcast_i32x4(all, 0x0f00, load(c));
            x86::_mm512_mask_broadcast_i32x4(all, 0xf000, load(d))
        })
    }

    #[inline(always)]
    unsafe fn from_nonce(nonce: &[u8; 12]) -> Self {
        // Callers have usually just computed the nonce, and stored its first four and last eight
        // bytes separately. Loads of the same size get their data from the store buffer, while a
        // load of all twelve bytes would have to wait.
        let (first, rest) = nonce.split_at(4);
        Self(unsafe {
            let first = x86::_mm_loadu_si32(first.as_ptr());
            let rest = x86::_mm_loadu_si64(rest.as_ptr());
            let block = x86::_mm_or_si128(first, x86::_mm_slli_si128::<4>(rest));
            x86::_mm512_broadcast_i32x4(block)
        })
    }

    #[inline(always)]
    unsafe fn block_in_lane(lane: usize, low: u64, high: u64) -> Self {
        Self(unsafe {
            let lower = x86::_mm512_maskz_set1_epi64(1 << (2 * lane), low as i64);
            x86::_mm512_mask_set1_epi64(lower, 2 << (2 * lane), high as i64)
        })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { x86::_mm512_storeu_si512(to.cast(), self.0) };
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut u8, len: usize) {
        unsafe { x86::_mm512_mask_storeu_epi8(to.cast(), first(len), self.0) };
    }

    #[inline(always)]
    unsafe fn store_block(self, to: *mut u8) {
        unsafe { x86::_mm_storeu_si128(to.cast(), x86::_mm512_castsi512_si128(self.0)) };
    }

    #[inline(always)]
    fn first_word(self) -> u32 {
        unsafe { x86::_mm_cvtsi128_si32(x86::_mm512_castsi512_si128(self.0)) as u32 }
    }

    #[inline(always)]
    fn round(self, key: Self) -> Self {
        Self(unsafe { x86::_mm512_aesenc_epi128(self.0, key.0) })
    }

    #[inline(always)]
    fn last_round(self, key: Self) -> Self {
        Self(unsafe { x86::_mm512_aesenclast_epi128(self.0, key.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(unsafe { x86::_mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn xor3(self, second: Self, third: Self) -> Self {
        Self(unsafe { x86::_mm512_ternarylogic_epi64::<0x96>(self.0, second.0, third.0) })
    }

    #[inline(always)]
    fn xor_counter(self, counter: u32) -> Self {
        Self(unsafe {
            let change = x86::_mm512_maskz_set1_epi32(0x8888, counter.swap_bytes() as i32);
            x86::_mm512_xor_si512(self.0, change)
        })
    }

    #[inline(always)]
    fn xor_counters(self, counters: [u32; 4]) -> Self {
        let [a, b, c, d] = counters.map(|counter| i64::from(counter.swap_bytes()) << 32);
        Self(unsafe {
            x86::_mm512_xor_si512(self.0, x86::_mm512_set_epi64(d, 0, c, 0, b, 0, a, 0))
        })
    }

    #[inline(always)]
    fn product<const HALVES: i32>(self, other: Self) -> Self {
        Self(unsafe { x86::_mm512_clmulepi64_epi128::<HALVES>(self.0, other.0) })
    }

    #[inline(always)]
    fn reverse(self) -> Self {
        Self(unsafe {
            let (high, low) = (0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
            let order = x86::_mm512_set4_epi64(high, low, high, low);
            x86::_mm512_shuffle_epi8(self.0, order)
        })
    }

    #[inline(always)]
    fn swap_halves(self) -> Self {
        Self(unsafe { x86::_mm512_shuffle_epi32::<0b01_00_11_10>(self.0) })
    }

    #[inline(always)]
    fn swap_lanes(self) -> Self {
        Self(unsafe { x86::_mm512_shuffle_i64x2::<0b01_00_11_10>(self.0, self.0) })
    }

    #[inline(always)]
    fn low_halves(self, other: Self) -> Self {
        Self(unsafe { x86::_mm512_unpacklo_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn high_halves(self, other: Self) -> Self {
        Self(unsafe { x86::_mm512_unpackhi_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn with_last_lanes(self, other: Self) -> Self {
        Self(unsafe { x86::_mm512_mask_blend_epi64(0xf0, self.0, other.0) })
    }

    #[inline(always)]
    fn only_lane_3(self) -> Self {
        Self(unsafe { x86::_mm512_maskz_mov_epi64(0xc0, self.0) })
    }

    #[inline(always)]
    fn repeat_lane<const LANE: i32>(self) -> Self {
        Self(unsafe {
            match LANE {
                0 => x86::_mm512_shuffle_i64x2::<0x00>(self.0, self.0),
                1 => x86::_mm512_shuffle_i64x2::<0x55>(self.0, self.0),
                2 => x86::_mm512_shuffle_i64x2::<0xaa>(self.0, self.0),
                _ => x86::_mm512_shuffle_i64x2::<0xff>(self.0, self.0),
            }
        })
    }

    #[inline(always)]
    fn sum_lanes(self) -> Self {
        let pairs = self.xor(self.swap_lanes());
        let swapped = unsafe { x86::_mm512_shuffle_i64x2::<0b10_11_00_01>(pairs.0, pairs.0) };
        pairs.xor(Self(swapped))
    }

    #[inline(always)]
    fn keep_first(self, len: usize) -> Self {
        Self(unsafe { x86::_mm512_maskz_mov_epi8(first(len), self.0) })
    }

    #[inline(always)]
    fn with_byte(self, at: usize, byte: u8) -> Self {
        // The mask has one bit, or none if the position is 64 or more.
        let mask = unsafe { first(at + 1) ^ first(at) };
        Self(unsafe { x86::_mm512_mask_set1_epi8(self.0, mask, byte as i8) })
    }

    #[inline(always)]
    fn keep_order(first: [&mut Self; 4], second: [&mut Self; 5]) {
        unsafe { keep_order(first, second) };
    }
}

/// A mask of the first `len` bytes; all if there are more than 63. `len` must be less than 256.
///
/// # Safety
///
/// The processor must have BMI2.
#[inline]
#[target_feature(enable = "bmi2")]
unsafe fn first(len: usize) -> u64 {
    x86::_bzhi_u64(u64::MAX, len as u32)
}

/// # Safety
///
/// The processor must have AVX-512.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn keep_order([a, b, c, d]: [&mut Lanes; 4], [e, f, g, h, i]: [&mut Lanes; 5]) {
    // SAFETY: there is no instruction, only a comment (each operand must be named). The compiler
    // treats the results as new values, and keeps the order of these blocks.
    unsafe {
        asm!(
            "/* {0} {1} {2} {3} {4} {5} {6} {7} {8} */",
            inout(zmm_reg) a.0,
            inout(zmm_reg) b.0,
            inout(zmm_reg) c.0,
            inout(zmm_reg) d.0,
            inout(zmm_reg) e.0,
            inout(zmm_reg) f.0,
            inout(zmm_reg) g.0,
            inout(zmm_reg) h.0,
            inout(zmm_reg) i.0,
            options(nomem, nostack, preserves_flags),
        );
    }
}
