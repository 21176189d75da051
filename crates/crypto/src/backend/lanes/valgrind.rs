//! Checks by Valgrind that no branch and no address depends on the hashed data.
//!
//! `tools/constant-time.sh` runs it. Keys and messages are marked as undefined, and Valgrind's
//! memcheck counts the uses of undefined values in branches and addresses. Valgrind supports AVX2
//! but not AVX-512; both use the same `rounds.rs`. `tests.rs` checks the results.

use core::hint::black_box;

use super::{Lane, Outer, available, kernels, run};
use crate::backend::client_requests::{
    MAKE_DEFINED, MAKE_UNDEFINED, assert_that_leaks_are_detected, errors, mark, runs_under_valgrind,
};
use crate::{
    Expansion, Hash, HashAlgorithm, HmacKey, InterleavedHash, Mac, Prk, Tls12Prf, expand_batch,
    mac_batch,
};

#[test]
#[ignore = "for tools/constant-time.sh, which runs it under Valgrind"]
fn nothing_depends_on_what_is_hashed() {
    assert!(runs_under_valgrind(), "this runs under Valgrind");
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

    assert_that_leaks_are_detected();
}
