//! Checks by Valgrind and by a clock that time does not depend on a private key or on a block.
//!
//! `tools/constant-time.sh` runs the first check. Valgrind does not support AVX-512, so the
//! portable vectors run; both share the source text of the arithmetic. The second check runs with
//! AVX-512, by `just kernel-timing`.

use core::hint::black_box;
use std::time::Instant;

use super::super::exponentiation::{Exponentiate, Exponents, TABLE_LEN};
use super::super::montgomery::Modulus;
use super::super::number::{HALF, MODULUS_LEN, PRIME_LEN};
use super::super::operations::{Product, Square};
use super::super::private::PrivateKey;
use super::super::seams::PUBLISH;
use super::keys::TestKey;
use super::*;
use crate::backend::client_requests::{
    MAKE_DEFINED, MAKE_UNDEFINED, assert_that_leaks_are_detected, errors, mark, runs_under_valgrind,
};

#[test]
#[ignore = "for tools/constant-time.sh, which runs it under Valgrind"]
fn nothing_depends_on_a_private_key() {
    assert!(runs_under_valgrind(), "this runs under Valgrind");
    assert_eq!(errors(), 0);
    let raw = TestKey::generate().raw();
    let before = errors();
    let (n, mut parts) = raw.parts().unwrap();
    let block = [0x17; MODULUS_LEN];
    let signature = raw.sign(&block).unwrap();
    // The size of the primes is public, and that they are odd.
    for prime in [&mut parts.p, &mut parts.q] {
        mark(MAKE_UNDEFINED, &mut prime[1..PRIME_LEN - 1]);
    }
    for part in [&mut parts.d_p, &mut parts.d_q, &mut parts.q_inverse] {
        mark(MAKE_UNDEFINED, part);
    }
    PUBLISH.set(Some(|bytes| mark(MAKE_DEFINED, bytes)));
    let key = PrivateKey::new(Portable, &n, &parts).unwrap();
    for _ in 0..3 {
        let mut found = key.sign(Portable, &block);
        mark(MAKE_DEFINED, found.as_mut_slice());
        assert!(found == Some(signature));
    }
    assert_eq!(errors(), before, "the time depends on secrets");
    PUBLISH.set(None);
    assert_that_leaks_are_detected();
}

/// An exponentiation that skips windows of zero and reads only the entries it needs.
fn exponentiate_with_leak(
    run: Avx512,
    primes: &Modulus,
    windows: &[usize],
    table: &[Number; TABLE_LEN],
    [result, other]: [&mut Number; 2],
) {
    *result = table[1];
    for window in windows {
        run.run(Square::<HALF> { modulus: primes, times: 5, number: result });
        if *window != 0 {
            run.run(Product::<HALF>::new(primes, result, &table[*window], other));
            *result = *other;
        }
    }
}

/// Welch's t for the times of `call` with inputs of two classes, in random order. `input` returns
/// the input of a class and a number; it is copied to the same place for both classes, so that both
/// are equally cached. The slowest tenth is ignored, which contains the interruptions.
fn t_value<T: Copy>(
    calls: usize,
    input: impl Fn(bool, usize) -> T,
    mut call: impl FnMut(&T),
) -> f64 {
    let mut place = Box::new(input(false, 0));
    let mut choices = vec![0; calls];
    crate::fill_random(&mut choices).unwrap();
    let mut times: Vec<(f64, bool)> = Vec::with_capacity(calls);
    for (number, choice) in choices.iter().enumerate() {
        let class = choice & 1 == 1;
        *place = input(class, number);
        let start = Instant::now();
        call(black_box(&place));
        times.push((start.elapsed().as_secs_f64() * 1e9, class));
    }
    times.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    times.truncate(calls / 10 * 9);
    let moments = |class| {
        let times: Vec<_> =
            times.iter().filter(|time| time.1 == class).map(|time| time.0).collect();
        let count = times.len() as f64;
        let mean = times.iter().sum::<f64>() / count;
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        (mean, squares / (count - 1.0) / count)
    };
    let (a, b) = (moments(false), moments(true));
    (a.0 - b.0) / (a.1 + b.1).sqrt()
}

#[test]
#[ignore = "takes three minutes, for `just kernel-timing`"]
fn time_does_not_depend_on_keys_or_blocks() {
    let Some(run) = Avx512::detect() else { return };
    let (n, parts) = TestKey::generate().raw().parts().unwrap();
    let key = PrivateKey::new(run, &n, &parts).unwrap();
    let primes = key.primes();
    let mut scratch = key.drawn();
    let (mut sparse, mut random) = ([0; PRIME_LEN], [[0; PRIME_LEN]; 64]);
    // Each window is zero, except the highest.
    sparse[0] = 0x80;
    random.iter_mut().for_each(|bytes| crate::fill_random(bytes).unwrap());
    let exponents = |bytes: &[u8; PRIME_LEN]| {
        let mut both = Exponents::ZERO;
        both.read([bytes, bytes]);
        both
    };
    let (sparse, random) = (exponents(&sparse), random.each_ref().map(exponents));
    scratch.fill_table(run, primes);

    let mut result = Number::ZERO;
    let input = |class, number: usize| if class { sparse } else { random[number % random.len()] };
    let by_exponents = t_value(CALLS, input, |exponents| {
        let (table, result) = (&scratch.table, &mut result);
        run.run(Exponentiate { primes, exponents, table, result });
    });

    let mut blocks = [[0x17; MODULUS_LEN]; 64];
    for block in &mut blocks[1..] {
        crate::fill_random(block).unwrap();
        block[0] &= 0x7f;
    }
    // The factors are squared in each call, as in a signature.
    let mut blinding = key.blinding_for_test(run);
    let mut signature = [0; MODULUS_LEN];
    let input = |class, number: usize| blocks[if class { 0 } else { 1 + number % 63 }];
    let by_blocks = t_value(CALLS, input, |block| {
        assert!(key.sign_with(run, &blinding, block, &mut scratch, &mut signature));
        blinding.square(run, &key.public.modulus);
    });

    // The same test must find a leak.
    let windows = [core::array::from_fn(|at| at * 7 % 32), [0; 204]];
    let mut other = Number::ZERO;
    let input = |class, _| windows[usize::from(class)];
    let with_leak = t_value(CALLS / 10, input, |windows| {
        let numbers = [&mut result, &mut other];
        exponentiate_with_leak(run, primes, windows, &scratch.table, numbers);
    });
    println!(
        "t of exponents {by_exponents:.2}, of blocks {by_blocks:.2}, of a leak {with_leak:.0}"
    );
    assert!(with_leak.abs() > 100.0, "the test does not find leaks");
    assert!(by_exponents.abs() < 4.5 && by_blocks.abs() < 4.5);
}

/// The number of timed calls of each class of secrets, about 150 µs each.
const CALLS: usize = 150_000;
