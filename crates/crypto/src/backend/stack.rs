//! Wiping of the stack below a frame.
//!
//! The compiler spills or moves vectors into the frames of called functions. Which vectors it moves
//! depends on how the crate is compiled, so the whole area is overwritten. See `lanes/mod.rs`,
//! which runs its kernels this way.

use core::arch::asm;
use core::hint::black_box;

/// Runs `work`, then overwrites with zeros [`DEPTH`] bytes of the stack, starting at the top of
/// the frame of `work`.
///
/// `work` writes its results to memory that it borrows. It must not use more than `DEPTH` bytes
/// of stack; a test measures how many it uses.
#[cfg_attr(not(lanes_avx2), allow(dead_code, reason = "not every kernel uses it"))]
#[inline(never)]
pub(crate) fn wipe_after(work: &mut dyn FnMut()) {
    // `black_box` hides which function this is, so the compiler calls it instead of inlining it,
    // and its frame begins below this one.
    black_box(work)();
    // Miri has no assembly.
    #[cfg(not(miri))]
    // SAFETY: the area below the stack pointer is unused while this function runs; without
    // `nostack` the compiler keeps nothing there either. Each page is written completely before
    // the one below it, so that the end of the stack is met at its guard page, as by any function
    // with a large frame. The stack pointer is restored.
    unsafe {
        asm!(
            "mov {top}, rsp",
            "2:",
            "sub rsp, {PAGE}",
            "mov rdi, rsp",
            "mov ecx, {PAGE} / 8",
            "rep stosq",
            "dec {pages:e}",
            "jnz 2b",
            "mov rsp, {top}",
            PAGE = const PAGE,
            top = out(reg) _,
            pages = inout(reg) DEPTH / PAGE => _,
            inout("rax") 0_u64 => _,
            out("rdi") _,
            out("rcx") _,
        );
    }
}

/// Runs `work` as [`wipe_after`] does, then overwrites [`STEP`] bytes of the stack `steps` times,
/// with vectors. For work of a few hundred nanoseconds, `rep stosq` takes too long to start.
///
/// # Safety
///
/// The processor must have AVX-512.
#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
#[inline(never)]
#[allow(clippy::incompatible_msrv, reason = "build.rs checks the version of the compiler")]
#[target_feature(enable = "avx512f")]
pub(crate) unsafe fn wipe_steps_after(steps: usize, work: &mut dyn FnMut()) {
    black_box(work)();
    // SAFETY: as in `wipe_after`; a step is a part of a page. Registers from 16 on need no
    // `vzeroupper`.
    unsafe {
        asm!(
            "mov {top}, rsp",
            "vpxord zmm16, zmm16, zmm16",
            // Stores that cross a cache line take twice as long, so all others are aligned.
            "vmovdqu64 [rsp - 64], zmm16",
            "and rsp, -64",
            "2:",
            "sub rsp, {STEP}",
            "vmovdqa64 [rsp], zmm16",
            "vmovdqa64 [rsp + 64], zmm16",
            "vmovdqa64 [rsp + 128], zmm16",
            "vmovdqa64 [rsp + 192], zmm16",
            "vmovdqa64 [rsp + 256], zmm16",
            "vmovdqa64 [rsp + 320], zmm16",
            "vmovdqa64 [rsp + 384], zmm16",
            "vmovdqa64 [rsp + 448], zmm16",
            "dec {steps:e}",
            "jnz 2b",
            "mov rsp, {top}",
            STEP = const STEP,
            out("zmm16") _,
            top = out(reg) _,
            steps = inout(reg) steps => _,
        );
    }
}

/// The bytes that a step of [`wipe_steps_after`] overwrites.
#[cfg(any(kernel_aes_gcm, kernel_chacha20_poly1305))]
pub(crate) const STEP: usize = 512;

#[cfg_attr(not(lanes_avx2), allow(dead_code, reason = "not every kernel uses it"))]
const PAGE: usize = 4096;

/// One and a half times the measured stack use of kernels: see `lanes/tests.rs`.
#[cfg_attr(not(lanes_avx2), allow(dead_code, reason = "not every kernel uses it"))]
pub(crate) const DEPTH: usize = if cfg!(lanes_large_frames) { 3 * PAGE } else { PAGE };
