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
#[inline(never)]
pub(crate) fn wipe_after(work: &mut dyn FnMut()) {
    // `black_box` hides which function this is, so the compiler calls it instead of inlining it,
    // and its frame begins below this one.
    black_box(work)();
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

const PAGE: usize = 4096;

/// One and a half times the measured stack use of kernels: see `lanes/tests.rs`.
pub(crate) const DEPTH: usize = if cfg!(lanes_large_frames) { 3 * PAGE } else { PAGE };
