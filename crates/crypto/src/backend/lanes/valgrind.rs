//! Checks by Valgrind that no branch and no address depends on the hashed data.
//!
//! `tools/constant-time.sh` runs it. Keys and messages are marked as undefined, and Valgrind's
//! memcheck counts the uses of undefined values in branches and addresses. Valgrind supports AVX2
//! but not AVX-512; both use the same `rounds.rs`. `tests.rs` checks the results.

use core::arch::asm;
use core::hint::black_box;

use super::{Lane, Outer, available, kernels, run};
use crate::{
    Expansion, Hash, HashAlgorithm, HmacKey, InterleavedHash, Mac, Prk, Tls12Prf, expand_batch,
    mac_batch,
};

pub(in crate::backend) const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
pub(in crate::backend) const MAKE_UNDEFINED: usize = 0x4d43_0001;
pub(in crate::backend) const MAKE_DEFINED: usize = 0x4d43_0002;

/// Makes a client request to Valgrind as its manual defines it: rotations that restore `rdi`, and
/// an exchange without effect. Without Valgrind the result is 0.
pub(in crate::backend) fn ask(request: usize, first: usize, second: usize) -> usize {
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

/// Marks these values as undefined or as defined, by `request`.
pub(in crate::backend) fn mark<T>(request: usize, values: &mut [T]) {
    // Hides the values from the compiler.
    let values = black_box(values);
    ask(request, values.as_mut_ptr().expose_provenance(), size_of_val(values));
}

pub(in crate::backend) fn errors() -> usize {
    ask(COUNT_ERRORS, 0, 0)
}

#[test]
#[ignore = "for tools/constant-time.sh, which runs it under Valgrind"]
fn nothing_depends_on_what_is_hashed() {
    assert_ne!(ask(RUNNING_ON_VALGRIND, 0, 0), 0, "this runs under Valgrind");
    assert_eq!(errors(), 0);
    let mut kernels_seen = 0;
    for kernel in available().flat_map(kernels) {
        for count in 1..=kernel.max_lanes {
            let mut lanes = vec![Lane::EMPTY; count];
            mark(MAKE_UNDEFINED, &mut lanes);
            run(kernel, &mut lanes, None);
            let mut outer = [[1; 8]; 8];
            mark(MAKE_UNDEFINED, &mut outer);
            let states = outer.each_ref();
            run(kernel, &mut lanes, Some(Outer { states: &states[..count], words: 6 }));
            mark(MAKE_DEFINED, &mut lanes);
        }
        kernels_seen += 1;
    }
    assert_ne!(kernels_seen, 0, "no vector instructions here");
    assert_eq!(errors(), 0, "in a kernel");

    for algorithm in [HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
        let (mut secret, mut message, mut out) = ([1_u8; 48], [2_u8; 150], [[0_u8; 72]; 4]);
        mark(MAKE_UNDEFINED, &mut secret);
        mark(MAKE_UNDEFINED, &mut message);
        let keys = HmacKey::batch(algorithm, [&secret; 4]);
        let (digest, parts) = (algorithm.output_len(), [&message[..]]);
        let mut all: Vec<_> = keys
            .iter()
            .zip(&mut out)
            .map(|(key, out)| Mac { key, parts: &parts, out: &mut out[..digest] })
            .collect();
        mac_batch(&mut all);
        let prk = Prk::from_bytes(algorithm, &secret);
        let mut all = out.each_mut().map(|out| Expansion { prk: &prk, info: &parts, out });
        expand_batch(&mut all, &mut []);
        let (mut long, mut running) = ([3_u8; 1500], Hash::new(algorithm));
        mark(MAKE_UNDEFINED, &mut long);
        let mut interleaved = InterleavedHash::new(&mut running, &long);
        let mut made = interleaved.mac::<64>(&keys[0], &[&message[..48]]);
        for _ in 0..2 {
            let keys = interleaved.keys(algorithm, [made.as_bytes(), &secret]);
            made = interleaved.mac::<64>(&keys[0], &[&message[..20]]);
            let [expanded] = interleaved.expand::<64, 1>(&prk, [[made.as_bytes(), b"info"]]);
            made = expanded;
        }
        interleaved.finish();
        drop(black_box((running.finish(), made)));
        let prf = Tls12Prf::new(algorithm, &secret);
        let [first, second, ..] = &mut out;
        let mut other_run = prf.begin(b"label", &parts, second);
        prf.begin(b"label", &parts, first).finish_with(&mut other_run);
        other_run.finish();
        assert_eq!(errors(), 0, "in what uses lanes");
        mark(MAKE_DEFINED, &mut secret);
        mark(MAKE_DEFINED, &mut message);
        mark(MAKE_DEFINED, &mut out);
    }

    // Checks that a leak would have been detected.
    let mut secret = [black_box(1_u64)];
    mark(MAKE_UNDEFINED, &mut secret);
    if black_box(&secret)[0] == 1 {
        black_box(());
    }
    assert_ne!(errors(), 0, "Valgrind has not seen a branch that depends on a secret");
}
