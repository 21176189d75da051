//! Requests to Valgrind, for tests that search for branches and addresses that depend on secrets.
//!
//! Secrets are marked as undefined, and Valgrind's memcheck counts the uses of undefined values in
//! branches and addresses. `tools/constant-time.sh` runs these tests.

use core::arch::asm;
use core::hint::black_box;

pub(crate) const MAKE_UNDEFINED: usize = 0x4d43_0001;
pub(crate) const MAKE_DEFINED: usize = 0x4d43_0002;

const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;

/// Makes a client request to Valgrind as its manual defines it: rotations that restore `rdi`, and
/// an exchange without effect. Without Valgrind the result is 0.
fn ask(request: usize, first: usize, second: usize) -> usize {
    let arguments = [request, first, second, 0, 0, 0];
    let mut answer = 0;
    // SAFETY: `rdi` and `rbx` keep their values; Valgrind reads six words and writes the answer.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
        );
    }
    answer
}

/// Whether the program runs under Valgrind.
pub(crate) fn runs_under_valgrind() -> bool {
    ask(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// Marks these values as undefined or as defined, by `request`.
pub(crate) fn mark<T>(request: usize, values: &mut [T]) {
    // Hides the values from the compiler.
    let values = black_box(values);
    ask(request, values.as_mut_ptr().expose_provenance(), size_of_val(values));
}

/// The number of errors that Valgrind has found.
pub(crate) fn errors() -> usize {
    ask(COUNT_ERRORS, 0, 0)
}

/// Checks that a leak would have been detected.
pub(crate) fn assert_that_leaks_are_detected() {
    let before = errors();
    let mut secret = [black_box(1_u64)];
    mark(MAKE_UNDEFINED, &mut secret);
    if black_box(&secret)[0] == 1 {
        black_box(());
    }
    assert_ne!(errors(), before, "Valgrind has not seen a branch that depends on a secret");
    mark(MAKE_DEFINED, &mut secret);
}
