//! Carries, products, conversions and reductions.

use super::super::convert::{read_bytes, reduce, write_bytes};
use super::super::montgomery::{Field, Modulus};
use super::super::number::{LIMBS, MODULUS_LEN, Number};
use super::super::vector::{LANES, LIMB_MASK, Vector, Work};
use super::*;

/// `a b / R`, or `a a / R` if there is no `b`.
struct Multiply<'a, const W: usize> {
    modulus: &'a Modulus,
    a: &'a Number,
    b: Option<&'a Number>,
    result: &'a mut Number,
}

impl<const W: usize> Work for Multiply<'_, W> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise.
        let field = unsafe { Field::<V, W>::load(self.modulus) };
        let a = field.load_number(self.a);
        self.result.store(&match self.b {
            Some(b) => field.multiply(&a, &field.load_number(b)),
            None => field.square(&a),
        });
    }
}

struct Carry<'a, const W: usize>(&'a mut Number);

impl<const W: usize> Work for Carry<'_, W> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise.
        let field = unsafe { Field::<V, W>::load(&Modulus::ZERO) };
        let limbs = field.load_number(self.0);
        self.0.store(&field.carry(&limbs));
    }
}

/// The limbs of each number.
fn places<const W: usize>() -> impl Iterator<Item = core::ops::Range<usize>> {
    (0..LANES / W).map(|at| 5 * W * at..5 * W * (at + 1))
}

fn check_carry<const W: usize>(run: impl Instructions, limbs: &Number) {
    let mut found = *limbs;
    run.run(Carry::<W>(&mut found));
    for places in places::<W>() {
        let mut carry = 0;
        for place in places.clone() {
            let sum = limbs.limb(place) + carry;
            assert_eq!(found.limb(place), sum & LIMB_MASK, "limb {place} of width {W}");
            carry = sum >> LIMB_BITS;
        }
        assert_eq!(carry, 0, "the test must not overflow");
    }
}

/// A carry that begins at any limb passes through any number of limbs that have only ones.
#[test]
fn carries_pass_through_limbs_with_only_ones() {
    with_all_vectors!(|run| for start in 0..LIMBS {
        for end in start + 1..LIMBS {
            for first in [1 << 52, LIMB_MASK + 2, 0xff << 52, (1 << 60) - 1] {
                let mut limbs = Number::ZERO;
                for place in start..end {
                    *limbs.limb_mut(place) = LIMB_MASK;
                }
                *limbs.limb_mut(start) = first;
                check_carry::<8>(run, &limbs);
                // The highest limb of the first number has room for the carry.
                *limbs.limb_mut(19) &= (1 << 44) - 1;
                check_carry::<4>(run, &limbs);
            }
        }
    });
}

/// Each limb is at one of the borders of a carry.
#[test]
fn carries_are_exact_for_limbs_at_the_borders() {
    let borders = [0, 1, LIMB_MASK - 1, LIMB_MASK, LIMB_MASK + 1, 2 * LIMB_MASK, (1 << 59) + 1];
    let mut random = [0; 64 * LIMBS];
    crate::fill_random(&mut random).unwrap();
    for choices in random.chunks(LIMBS) {
        // Fewer kinds of limbs in a number make longer chains of carries.
        for kinds in [2, 4, borders.len()] {
            let mut limbs = Number::ZERO;
            for (place, choice) in choices.iter().enumerate() {
                *limbs.limb_mut(place) =
                    borders[(usize::from(*choice) % kinds + 3) % borders.len()];
            }
            *limbs.limb_mut(39) &= (1 << 44) - 1;
            with_all_vectors!(|run| check_carry::<8>(run, &limbs));
            *limbs.limb_mut(19) &= (1 << 44) - 1;
            with_all_vectors!(|run| check_carry::<4>(run, &limbs));
        }
    }
}

/// Products modulo `n`, with limbs less than 2^52, and less than `3 n`.
fn check_product<const W: usize>(run: impl Instructions, n: &[u8], factors: &[Number]) {
    let (n, three) = (Big::from_bytes(n), Big::zero());
    // SAFETY: the numbers are valid.
    unsafe {
        assert_eq!(lc::BN_lshift1(three.0, n.0), 1);
        assert_eq!(lc::BN_add(three.0, three.0, n.0), 1);
    }
    let mut modulus = Modulus::ZERO;
    places::<W>().for_each(|places| n.write_limbs(&mut modulus.n, places));
    modulus.set_constants::<W>();
    let r = Big::power_of_two(260 * W);
    for (at, a) in factors.iter().enumerate() {
        let b = &factors[(at + 1) % factors.len()];
        for other in [Some(b), Some(a), None] {
            let mut result = Number::ZERO;
            run.run(Multiply::<W> { modulus: &modulus, a, b: other, result: &mut result });
            assert!(result.0.as_flattened().iter().all(|limb| *limb <= LIMB_MASK));
            for places in places::<W>() {
                let [a, b, result] =
                    [a, other.unwrap_or(a), &result].map(|n| Big::from_limbs(n, places.clone()));
                assert!(result < three);
                let expected = Big::product(&a, &b, &n);
                assert!(Big::product(&result, &r, &n) == expected, "width {W}, factor {at}");
            }
        }
    }
}

/// Factors for a modulus of `bits` bits: numbers up to `2^8 n`, of the same bits and of others in
/// the numbers of a vector.
fn factors<const W: usize>(bits: usize, n: &[u8]) -> Vec<Number> {
    let mut numbers = extreme_numbers(bits, 4);
    let mut below = n.to_vec();
    *below.last_mut().unwrap() -= 1;
    numbers.extend([n.to_vec(), below, vec![0], vec![1]]);
    let wide =
        numbers.iter().step_by(5).map(|number| [&[0x7f], &number[..]].concat()).collect::<Vec<_>>();
    numbers.extend(wide);
    let numbers: Vec<_> = numbers.iter().map(|number| Big::from_bytes(number)).collect();
    (0..numbers.len())
        .map(|at| {
            let mut number = Number::ZERO;
            for (part, places) in places::<W>().enumerate() {
                numbers[(at + 3 * part) % numbers.len()].write_limbs(&mut number, places);
            }
            number
        })
        .collect()
}

#[test]
fn products_are_right_for_extreme_numbers() {
    for n in extreme_numbers(2048, 3).into_iter().map(odd) {
        let factors = factors::<8>(2048, &n);
        with_all_vectors!(|run| check_product::<8>(run, &n, &factors));
    }
    for n in extreme_numbers(1024, 3).into_iter().map(odd) {
        let factors = factors::<4>(1024, &n);
        with_all_vectors!(|run| check_product::<4>(run, &n, &factors));
    }
}

#[test]
fn bytes_become_limbs_and_bytes_again() {
    for bytes in extreme_numbers(2048, 10) {
        let mut number = Number::ZERO;
        read_bytes(&mut number, 0, &bytes);
        assert!(Big::from_limbs(&number, 0..LIMBS) == Big::from_bytes(&bytes));
        let mut written = [0; MODULUS_LEN];
        write_bytes(&number, &mut written);
        assert_eq!(written[..], bytes);

        let mut second = Number::ZERO;
        read_bytes(&mut second, 20, &bytes[128..]);
        assert!(Big::from_limbs(&second, 20..40) == Big::from_bytes(&bytes[128..]));
        assert!(Big::from_limbs(&second, 0..20) == Big::zero());
    }
}

#[test]
fn numbers_below_three_times_the_modulus_are_reduced() {
    for n in extreme_numbers(2048, 2) {
        let mut modulus = Number::ZERO;
        read_bytes(&mut modulus, 0, &n);
        let n = Big::from_bytes(&n);
        for times in 0..3 {
            for offset in [0, 1, 0xffff_ffff] {
                let (number, expected) = (Big::zero(), Big::zero());
                // SAFETY: the numbers are valid.
                unsafe {
                    assert_eq!(lc::BN_add_word(expected.0, offset), 1);
                    assert_eq!(lc::BN_add_word(number.0, offset), 1);
                    for _ in 0..times {
                        assert_eq!(lc::BN_add(number.0, number.0, n.0), 1);
                    }
                }
                let mut found = Number::ZERO;
                number.write_limbs(&mut found, 0..LIMBS);
                reduce(&mut found, &modulus);
                assert!(Big::from_limbs(&found, 0..LIMBS) == expected);
            }
        }
    }
}
