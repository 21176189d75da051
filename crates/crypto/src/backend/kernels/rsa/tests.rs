//! Tests of the kernel against AWS-LC's big integers, on all vectors of this machine.

mod arithmetic;
mod constant_time;
mod keys;
mod miri;
mod private;
mod public;
#[cfg(all(target_os = "linux", lanes_avx2))]
mod residue;
mod verification;

use core::ptr;

use super::avx512::Avx512;
use super::number::Number;
use super::portable::Portable;
use super::vector::{Instructions, LIMB_BITS};
use crate::backend::lc;

/// Runs a test with portable vectors, and with AVX-512 if the processor has it.
macro_rules! with_all_vectors {
    (|$run:ident| $body:expr) => {{
        {
            let $run = Portable;
            $body
        }
        if let Some($run) = Avx512::detect() {
            $body
        }
    }};
}
use with_all_vectors;

/// A number of AWS-LC.
struct Big(*mut lc::BIGNUM);

impl Big {
    fn zero() -> Self {
        // SAFETY: the result is owned and freed on drop.
        Self(unsafe { lc::BN_new() })
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        // SAFETY: the bytes are passed with their length.
        Self(unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()) })
    }

    /// The number of these limbs of `number`.
    fn from_limbs(number: &Number, places: core::ops::Range<usize>) -> Self {
        let sum = Self::zero();
        for place in places.rev() {
            // SAFETY: numbers are valid; the result may be an operand.
            unsafe {
                assert_eq!(lc::BN_lshift(sum.0, sum.0, LIMB_BITS as i32), 1);
                assert_eq!(lc::BN_add_word(sum.0, number.limb(place)), 1);
            }
        }
        sum
    }

    fn power_of_two(bits: usize) -> Self {
        let one = Self::zero();
        // SAFETY: the number is valid.
        unsafe { assert_eq!(lc::BN_set_bit(one.0, bits as i32), 1) };
        one
    }

    /// An operation with a modulus.
    fn modulo(
        operation: unsafe extern "C" fn(
            *mut lc::BIGNUM,
            *const lc::BIGNUM,
            *const lc::BIGNUM,
            *const lc::BIGNUM,
            *mut lc::BN_CTX,
        ) -> i32,
        [a, b, n]: [&Self; 3],
    ) -> Self {
        let result = Self::zero();
        // SAFETY: numbers and the context are valid.
        unsafe {
            let context = lc::BN_CTX_new();
            assert_eq!(operation(result.0, a.0, b.0, n.0, context), 1);
            lc::BN_CTX_free(context);
        }
        result
    }

    fn power(base: &Self, exponent: &Self, n: &Self) -> Self {
        Self::modulo(lc::BN_mod_exp, [base, exponent, n])
    }

    fn product(a: &Self, b: &Self, n: &Self) -> Self {
        Self::modulo(lc::BN_mod_mul, [a, b, n])
    }

    fn to_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        // SAFETY: the number is valid; the bytes are passed with their length.
        unsafe { assert_eq!(lc::BN_bn2bin_padded(bytes.as_mut_ptr(), N, self.0), 1) };
        bytes
    }

    fn write_limbs(&self, number: &mut Number, places: core::ops::Range<usize>) {
        let mut bytes = self.to_bytes::<264>();
        bytes.reverse();
        for (at, place) in places.enumerate() {
            let bit = at * LIMB_BITS;
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[bit / 8..bit / 8 + 8]);
            *number.limb_mut(place) = u64::from_le_bytes(word) >> (bit % 8) & ((1 << 52) - 1);
        }
    }
}

impl Drop for Big {
    fn drop(&mut self) {
        // SAFETY: the number is owned.
        unsafe { lc::BN_free(self.0) };
    }
}

impl PartialEq for Big {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(core::cmp::Ordering::Equal)
    }
}

impl PartialOrd for Big {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        // SAFETY: numbers are valid.
        Some(unsafe { lc::BN_cmp(self.0, other.0) }.cmp(&0))
    }
}

/// Numbers of `bits` bits, of which the highest is 1, in big-endian order: runs of ones and zeros,
/// powers of two plus and minus small numbers, and random numbers.
fn extreme_numbers(bits: usize, random: usize) -> Vec<Vec<u8>> {
    let len = bits / 8;
    let mut numbers = vec![vec![0xff; len], vec![0; len]];
    for small in [2, 3, 5, 0x7f, 0xff] {
        let mut below = vec![0xff; len];
        below[len - 1] = 0xff - small;
        let mut above = vec![0; len];
        above[len - 1] = small;
        numbers.extend([below, above]);
    }
    // Runs that begin and end at limbs and lanes, and elsewhere.
    for run in [1, 51, 52, 53, 64, 104, 260, 261, 520, 1024] {
        for start in [0, 7, 52, 260] {
            let bit = |at: usize| ((at + start) / run % 2) as u8;
            let byte = |index: usize| (0..8).fold(0, |byte, at| byte | bit(8 * index + at) << at);
            let mut number: Vec<u8> = (0..len).map(byte).collect();
            number.reverse();
            numbers.push(number.iter().map(|byte| !byte).collect());
            numbers.push(number);
        }
    }
    for _ in 0..random {
        let mut number = vec![0; len];
        crate::fill_random(&mut number).unwrap();
        numbers.push(number);
    }
    numbers.iter_mut().for_each(|number| number[0] |= 0x80);
    numbers
}

fn odd(mut number: Vec<u8>) -> Vec<u8> {
    *number.last_mut().unwrap() |= 1;
    number
}
