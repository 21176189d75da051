//! The parts of ChaCha20 and Poly1305 that `message.rs` calls as functions of their own.
//!
//! See `avx512.rs` for these functions with vector instructions, and `portable.rs` for those
//! without.

use core::mem::MaybeUninit;

use super::chacha20::{Block, Start};
use super::poly1305::{Lanes, Powers};
use super::vector::Vector;

/// The parts of ChaCha20 and Poly1305 that are compiled as functions of their own, with the
/// vector's instructions.
pub(super) trait Subroutines: Vector {
    /// [`chacha20::rows`](super::chacha20::rows) for one to eight sets.
    fn rows(
        proof: Self::Proof,
        sets: usize,
        start: Start<'_>,
        counters: [u32; 2],
        out: &mut [MaybeUninit<Block>],
    );

    /// [`chacha20::chunk`](super::chacha20::chunk).
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn chunk(
        proof: Self::Proof,
        start: Start<'_>,
        counter: u32,
        input: *const u8,
        output: *mut u8,
    );

    /// [`Powers::write`].
    fn powers(
        place: &mut MaybeUninit<Powers<Self>>,
        proof: Self::Proof,
        r: [u64; 2],
        groups: usize,
    ) -> &Powers<Self>;

    /// [`Lanes::absorb`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn absorb(
        lanes: &mut Lanes<Self>,
        powers: &Powers<Self>,
        from: *const u8,
        groups: usize,
    );
}
