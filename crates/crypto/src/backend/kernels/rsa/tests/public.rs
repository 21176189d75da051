//! The public-key operation and its constants.

use super::super::number::MODULUS_LEN;
use super::super::public::PublicKey;
use super::super::self_test::{self, Bytes};
use super::*;

fn bytes(number: &[u8]) -> Bytes {
    number.try_into().unwrap()
}

#[test]
fn powers_are_aws_lcs_for_extreme_moduli_and_bases() {
    let e = Big::from_bytes(&[1, 0, 1]);
    for n in extreme_numbers(2048, 20).into_iter().map(odd) {
        let modulus = Big::from_bytes(&n);
        let mut below = n.clone();
        below[MODULUS_LEN - 1] -= 1;
        let mut bases = extreme_numbers(2048, 3);
        bases.iter_mut().skip(1).step_by(2).for_each(|base| base[0] &= 0x7f);
        bases.extend([vec![0; MODULUS_LEN], below, n.clone()]);
        bases.push([vec![0; MODULUS_LEN - 1], vec![1]].concat());
        with_all_vectors!(|run| {
            let key = PublicKey::new(run, &bytes(&n)).unwrap();
            // All bases would take long.
            for base in bases.iter().rev().take(4).chain(bases.iter().step_by(9)) {
                let number = Big::from_bytes(base);
                let expected = (number < modulus)
                    .then(|| Big::power(&number, &e, &modulus).to_bytes::<MODULUS_LEN>());
                assert_eq!(key.recover(run, &bytes(base)), expected);
            }
        });
    }
}

#[test]
fn constants_of_a_modulus_are_right() {
    for n in extreme_numbers(2048, 50).into_iter().map(odd) {
        let expected =
            Big::product(&Big::power_of_two(2080), &Big::power_of_two(2080), &Big::from_bytes(&n));
        with_all_vectors!(|run| {
            let key = PublicKey::new(run, &bytes(&n)).unwrap();
            let found = Big::from_limbs(&key.r_squared, 0..40);
            // The constant is not completely reduced.
            let one = Big::power_of_two(0);
            assert!(Big::product(&found, &one, &Big::from_bytes(&n)) == expected);
        });
    }
}

#[test]
fn other_moduli_are_not_supported() {
    let mut n = [0xaa; MODULUS_LEN];
    assert!(PublicKey::new(Portable, &n).is_none(), "even");
    n[MODULUS_LEN - 1] = 1;
    assert!(PublicKey::new(Portable, &n).is_some());
    n[0] = 0x7f;
    assert!(PublicKey::new(Portable, &n).is_none(), "2047 bits");
}

#[test]
fn the_self_test_finds_each_fault() {
    let right = |n: &Bytes, base: &Bytes| PublicKey::new(Portable, n)?.recover(Portable, base);
    assert!(self_test::public_passes(right));
    // One bit of one result, and a number that is not refused.
    for call in 0..16 {
        let calls = core::cell::Cell::new(0);
        let wrong = |n: &Bytes, base: &Bytes| {
            let is_at = calls.replace(calls.get() + 1) == call;
            match right(n, base) {
                Some(mut result) => {
                    result[17 * call % MODULUS_LEN] ^= u8::from(is_at) << (call % 8);
                    Some(result)
                }
                None => is_at.then_some(*base),
            }
        };
        assert!(!self_test::public_passes(wrong), "call {call}");
        assert_eq!(calls.get(), call + 1);
    }
}
