//! Wiping the stack that functions have left.
//!
//! What it is for: vectors that the compiler spills or moves lie in frames below, and which ones depends on how the crate is
//! compiled. So whatever lies there is overwritten. What it must not know: what was on the stack. Where to look next:
//! `lanes/mod.rs`, which has its kernels run this way.

use core::arch::asm;
use core::hint::black_box;

/// Runs `work`, then overwrites with zeros [`DEPTH`] bytes of the stack from the top of the frame that `work` had.
///
/// What `work` is to leave, it writes to memory that it borrows. It must not go deeper: a test measures that.
#[inline(never)]
pub(crate) fn wipe_after(work: &mut dyn FnMut()) {
    // The compiler does not know which function this is, so it is called, and its frame begins below this one.
    black_box(work)();
    // SAFETY: what lies below the stack pointer is nobody's while this function runs; without `nostack` the compiler has
    // nothing there either. A page is written whole before the one below it, so that the end of the stack is met at its guard
    // page, as by any function with a large frame. The stack pointer is put back.
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

/// More than kernels have been seen to use, and by a half more: `lanes/tests.rs`.
pub(crate) const DEPTH: usize = if cfg!(lanes_large_frames) { 3 * PAGE } else { PAGE };
