//! Self-tests that compare the kernel with AWS-LC at run time.
//!
//! See `kernels/mod.rs`, which runs the one of the public-key operation before the kernel is used.
//! The other takes milliseconds with what it makes for it, so that only processes with a private
//! key run it.

use std::panic::catch_unwind;
use std::sync::OnceLock;

use super::avx512::Avx512;
use super::number::{MODULUS_LEN, PRIME_LEN};
use super::private::PrivateKey;
use super::public::PublicKey;
use super::raw_key::RawKey;
use crate::backend::memory::fill_random;
use crate::backend::self_tests::{Tested, note_failure};

pub(super) type Bytes = [u8; MODULUS_LEN];

/// Whether the public-key operation gives AWS-LC's results, on fixed and on random numbers.
pub(in super::super) fn self_test() -> bool {
    let Some(instructions) = Avx512::detect() else { return false };
    let power =
        |n: &Bytes, base: &Bytes| PublicKey::new(instructions, n)?.recover(instructions, base);
    public_passes(power)
}

/// Whether the private-key operation gives AWS-LC's result, too. The first call tests it.
pub(super) fn private_self_test(instructions: Avx512) -> bool {
    let passes = || private_passes(|key, block| key.sign(instructions, block), instructions);
    *PRIVATE_PASSES.get_or_init(|| {
        let passes = catch_unwind(passes).unwrap_or(false);
        if !passes {
            note_failure(Tested::Rsa2048);
        }
        passes
    })
}

/// Whether the private-key operation was tested, and failed.
pub(in super::super) fn private_self_test_failed() -> bool {
    PRIVATE_PASSES.get() == Some(&false)
}

static PRIVATE_PASSES: OnceLock<bool> = OnceLock::new();

/// Whether `power`, which returns `base^65537` modulo `n`, gives AWS-LC's results. Tests pass a
/// function with a fault.
pub(super) fn public_passes(power: impl Fn(&Bytes, &Bytes) -> Option<Bytes>) -> bool {
    let (mut n, mut base) = ([0; MODULUS_LEN], [0; MODULUS_LEN]);
    if fill_random(&mut n).is_err() || fill_random(&mut base).is_err() {
        return false;
    }
    // The modulus is odd and has 2048 bits, and the base is less than any such modulus.
    n[0] |= 0x80;
    n[MODULUS_LEN - 1] |= 1;
    base[0] &= 0x7f;
    [ONES, ONE_AND_ZEROS, RUNS, n].iter().all(|n| {
        let Ok(aws_lc) = RawKey::public(n) else { return false };
        let mut highest = *n;
        highest[MODULUS_LEN - 1] -= 1;
        let is_same = |base| power(n, base).is_some_and(|found| aws_lc.recover(base) == Ok(found));
        // A number that is not less than the modulus is refused.
        [&highest, &base, &RUNS_BELOW].into_iter().all(is_same) && power(n, n).is_none()
    })
}

/// Whether `sign` gives AWS-LC's result for a fixed key and a random block.
pub(super) fn private_passes<I: super::vector::Instructions>(
    sign: impl Fn(&PrivateKey, &Bytes) -> Option<Bytes>,
    instructions: I,
) -> bool {
    let Some((key, aws_lc)) = fixed_key(instructions) else { return false };
    let mut block = [0; MODULUS_LEN];
    let is_drawn = fill_random(&mut block).is_ok();
    block[0] &= 0x7f;
    is_drawn && sign(&key, &block).is_some_and(|found| aws_lc.sign(&block) == Ok(found))
}

/// A fixed private key, for the kernel and for AWS-LC.
pub(super) fn fixed_key(
    instructions: impl super::vector::Instructions,
) -> Option<(Box<PrivateKey>, RawKey)> {
    let aws_lc = RawKey::private(&P, &Q).ok()?;
    let (n, parts) = aws_lc.parts()?;
    Some((PrivateKey::new(instructions, &n, &parts)?, aws_lc))
}

/// 2^2048 - 1.
const ONES: Bytes = [0xff; MODULUS_LEN];

/// 2^2047 + 1.
const ONE_AND_ZEROS: Bytes = {
    let mut n = [0; MODULUS_LEN];
    n[0] = 0x80;
    n[MODULUS_LEN - 1] = 1;
    n
};

/// Runs of ones and zeros, 56 bits each, which begin at different bits of limbs. It is odd.
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
    n
}

/// The primes of a key that was made for this test only.
pub(super) const P: [u8; PRIME_LEN] =
    hex(b"e22b1bacb89b4d4132a6b5d9fba2609fa40b918e10eee557c4116e44720a05d3\
      894f697606b8f930115601b17bf7c833da35edfde1e7e01c544b1d868d406a82\
      9d7008da39967d40826ee5750f38cdd336eec89922c9fab46d90ad142cf44d22\
      a6549cd535ea45f8bc784d2e877486aab0fb8572591b68efc34a046789623345");

pub(super) const Q: [u8; PRIME_LEN] =
    hex(b"c53fd1a080db886cef9beeedb7989d160b8b91da3baa151649119dffc13f373b\
      e8bdf2709103677d7689585a1c5ccc8c0f43f5c90cc0edcbf923ba9786d2af3b\
      22082acbd7345a74c1bbd58ce21a06b5901049815a88ae4e3ccbb2749104fc77\
      14c33b988dfb1d35b39a0ca9f4289c8eb967ba1a8fbcb7cdaa899e2a120744fb");

pub(super) const fn hex<const LEN: usize>(digits: &[u8]) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    let mut at = 0;
    while at < 2 * LEN {
        let digit = digits[at];
        let value = if digit >= b'a' { digit - b'a' + 10 } else { digit - b'0' };
        bytes[at / 2] = bytes[at / 2] << 4 | value;
        at += 1;
    }
    bytes
}
