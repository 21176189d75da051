//! A self-test that compares the kernel with AWS-LC at run time, and the timing of both.
//!
//! See `kernels/mod.rs`, which runs both before the kernel is used.

use core::hint::black_box;

use super::super::trial::Trial;
use super::avx512::Avx512;
use super::convert::MODULUS_LEN;
use super::public::PublicKey;
use crate::backend::memory::fill_random;
use crate::backend::rsa::RawPublicKey;

/// Whether the kernel gives AWS-LC's results, on fixed and on random numbers.
pub(in super::super) fn self_test() -> bool {
    let Some(instructions) = Avx512::detect() else { return false };
    passes(|n, base| PublicKey::new(instructions, n)?.recover(instructions, base))
}

/// Whether `power`, which returns `base^65537` modulo `n`, gives AWS-LC's results. Tests pass a
/// function with a fault.
pub(super) fn passes(power: impl Fn(&Bytes, &Bytes) -> Option<Bytes>) -> bool {
    let (mut n, mut base) = ([0; MODULUS_LEN], [0; MODULUS_LEN]);
    if fill_random(&mut n).is_err() || fill_random(&mut base).is_err() {
        return false;
    }
    // The modulus is odd and has 2048 bits, and the base is less than any such modulus.
    n[0] |= 0x80;
    n[MODULUS_LEN - 1] |= 1;
    base[0] &= 0x7f;
    [ONES, ONE_AND_ZEROS, RUNS, n].iter().all(|n| {
        let Ok(aws_lc) = RawPublicKey::new(n) else { return false };
        let mut highest = *n;
        highest[MODULUS_LEN - 1] -= 1;
        let is_same = |base| power(n, base).is_some_and(|found| aws_lc.recover(base) == Ok(found));
        // A number that is not less than the modulus is refused.
        [&highest, &base, &RUNS_BELOW].into_iter().all(is_same) && power(n, n).is_none()
    })
}

/// The work by which the kernel is compared with AWS-LC.
pub(in super::super) fn trials() -> Vec<Trial> {
    let Some(instructions) = Avx512::detect() else { return vec![] };
    let (key, aws_lc) = (PublicKey::new(instructions, &RUNS), RawPublicKey::new(&RUNS));
    let (Some(key), Ok(aws_lc)) = (key, aws_lc) else { return vec![] };
    vec![Trial::new(
        move || _ = black_box(key.recover(instructions, black_box(&RUNS_BELOW))),
        move || _ = black_box(aws_lc.recover(black_box(&RUNS_BELOW))),
    )]
}

pub(super) type Bytes = [u8; MODULUS_LEN];

/// 2^2048 - 1.
const ONES: Bytes = [0xff; MODULUS_LEN];

/// 2^2047 + 1.
const ONE_AND_ZEROS: Bytes = {
    let mut n = [0; MODULUS_LEN];
    n[0] = 0x80;
    n[MODULUS_LEN - 1] = 1;
    n
};

/// Runs of ones and zeros, 56 bits each, which begin at different bits of limbs.
const RUNS: Bytes = runs(0xff);

/// The same with the opposite bits, and less than any modulus.
const RUNS_BELOW: Bytes = runs(0);

const fn runs(first: u8) -> Bytes {
    let mut n = [first; MODULUS_LEN];
    let mut at = 0;
    while at < MODULUS_LEN {
        if at / 7 % 2 == 1 {
            n[at] = !first;
        }
        at += 1;
    }
    // Byte 255 is in an even run.
    n
}
