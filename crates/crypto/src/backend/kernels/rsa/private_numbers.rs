//! The numbers of a private key that the kernel uses, and powers by its primes.
//!
//! The time of these functions does not depend on the numbers.

use super::convert::{read_bytes, subtract_unless_less};
use super::exponentiation::{Exponentiate, Exponents, FillTable};
use super::key_parts::KeyParts;
use super::montgomery::Modulus;
use super::number::{HALF, LIMBS, Number, PRIME_LIMBS};
use super::operations::{Product, Square};
use super::public::PublicKey;
use super::scratch::Scratch;
use super::seams::{Place, TABLE_ENTRY, fault_at};
use super::vector::{Instructions, LANES, LIMB_BITS, LIMB_MASK};
use crate::backend::memory::Word;

/// Numbers from which the primes can be computed. R is 2^1040 with the primes, 2^2080 with `n`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct PrivateNumbers {
    /// `p` and `q`.
    pub(super) primes: Modulus,
    /// `R^2` modulo both primes.
    pub(super) r_squared: Number,
    /// `R^3` modulo both primes.
    pub(super) r_cubed: Number,
    /// `d` modulo `p - 1` and `q - 1`.
    pub(super) exponents: Exponents,
    /// `p - 2` and `q - 2`: the exponents of inverses.
    pub(super) inverse_exponents: Exponents,
    /// `R / q` modulo `p`, and zero.
    pub(super) q_inverse: Number,
    /// `q R` modulo `n`.
    pub(super) q: Number,
    /// A multiple of `p` with limbs greater than those of any number below `3 q`, and zeros.
    pub(super) multiple_of_p: Number,
}

// SAFETY: these are only integers without padding, for which zeros are valid.
unsafe impl Word for PrivateNumbers {}

impl PrivateNumbers {
    pub(super) const ZERO: Self = Self {
        primes: Modulus::ZERO,
        r_squared: Number::ZERO,
        r_cubed: Number::ZERO,
        exponents: Exponents::ZERO,
        inverse_exponents: Exponents::ZERO,
        q_inverse: Number::ZERO,
        q: Number::ZERO,
        multiple_of_p: Number::ZERO,
    };
}

impl PrivateNumbers {
    #[inline(never)]
    pub(super) fn fill(&mut self, run: impl Instructions, public: &PublicKey, parts: &KeyParts) {
        for (prime, start) in [(&parts.p, 0), (&parts.q, PRIME_LIMBS)] {
            read_bytes(&mut self.primes.n, start, prime);
        }
        self.primes.set_constants::<HALF>();
        self.exponents.read([&parts.d_p, &parts.d_q]);
        self.inverse_exponents.read([&parts.p, &parts.q]);
        self.inverse_exponents.subtract(2);

        // 2^1023 is less than the primes. It is doubled to `R 2^65`, and four squarings make it
        // `R 2^1040`.
        for start in [0, PRIME_LIMBS] {
            *self.r_squared.limb_mut(start + 1023 / LIMB_BITS) = 1 << (1023 % LIMB_BITS);
            for _ in 1023..1040 + 65 {
                double(&mut self.r_squared, start, &self.primes.n);
            }
        }
        let primes = &self.primes;
        run.run(Square::<HALF> { modulus: primes, times: 4, number: &mut self.r_squared });
        let r_squared = &self.r_squared;
        run.run(Product::<HALF>::new(primes, r_squared, r_squared, &mut self.r_cubed));

        // `multiple_of_p` is used for intermediate values before it is computed.
        let number = &mut self.multiple_of_p;
        read_bytes(number, 0, &parts.q_inverse);
        run.run(Product::<HALF>::new(primes, number, r_squared, &mut self.q_inverse));
        read_bytes(number, 0, &parts.q);
        run.run(Product::<LANES>::new(&public.modulus, number, &public.r_squared, &mut self.q));

        // 8 p, where each limb borrows 2 from the next.
        let mut carry = 0;
        for place in 0..PRIME_LIMBS {
            let sum = (primes.n.limb(place) << 3) + carry;
            carry = sum >> LIMB_BITS;
            let limb =
                if place + 1 < PRIME_LIMBS { (sum & LIMB_MASK) + (2 << LIMB_BITS) } else { sum };
            *number.limb_mut(place) = if place > 0 { limb - 2 } else { limb };
        }
    }

    /// `scratch.base`, less than `3 n`, to the power of `d` or of another exponent for each prime,
    /// modulo `n`. The result is `scratch.other`, and less than `3 n`.
    pub(super) fn power_by_primes(
        &self,
        run: impl Instructions,
        public: &PublicKey,
        exponents: &Exponents,
        scratch: &mut Scratch,
    ) {
        // The base is `low + high R`. Modulo a prime, multiplied by R, it is the sum of the
        // products of `low` and `R^2` and of `high` and `R^3`.
        let Scratch { table, low, high, base, result, other } = scratch;
        for place in 0..PRIME_LIMBS {
            for start in [0, PRIME_LIMBS] {
                *low.limb_mut(start + place) = base.limb(place);
                *high.limb_mut(start + place) = base.limb(PRIME_LIMBS + place);
            }
        }
        run.run(Product::<HALF>::new(&self.primes, low, &self.r_squared, result));
        run.run(Product::<HALF>::new(&self.primes, high, &self.r_cubed, base));
        for start in [0, PRIME_LIMBS] {
            add(base, start, result);
        }
        fault_at(Place::Base, base);

        let (primes, r_squared) = (&self.primes, &self.r_squared);
        run.run(FillTable { primes, r_squared, base, table });
        fault_at(Place::Table, &mut table[TABLE_ENTRY]);
        run.run(Exponentiate { primes, exponents, table, result });
        fault_at(Place::Power, result);
        // Multiplying by 1 divides by R.
        run.run(Product::<HALF>::new(primes, result, &Number::TWO_ONES, base));

        // The results are `a` modulo `p` and `b` modulo `q`. The result modulo `n` is
        // `b + q h`, where `h` is `(a - b) / q` modulo `p`.
        self.subtract(base, low);
        run.run(Product::<HALF>::new(primes, low, &self.q_inverse, high));
        fault_at(Place::Quotient, high);
        run.run(Product::<LANES>::new(&public.modulus, high, &self.q, other));
        let mut carry = 0;
        for place in 0..LIMBS {
            let b = if place < PRIME_LIMBS { base.limb(PRIME_LIMBS + place) } else { 0 };
            let sum = other.limb(place) + b + carry;
            *other.limb_mut(place) = sum & LIMB_MASK;
            carry = sum >> LIMB_BITS;
        }
        fault_at(Place::Recombined, other);
    }

    /// The difference of the two numbers in `pair`, modulo `p`, and zero.
    fn subtract(&self, pair: &Number, difference: &mut Number) {
        let mut carry = 0;
        for place in 0..PRIME_LIMBS {
            let sum = pair.limb(place) + self.multiple_of_p.limb(place) + carry
                - pair.limb(PRIME_LIMBS + place);
            *difference.limb_mut(place) = sum & LIMB_MASK;
            *difference.limb_mut(PRIME_LIMBS + place) = 0;
            carry = sum >> LIMB_BITS;
        }
    }
}

/// Adds a number of a pair, at `start`, to the same number of another pair.
fn add(pair: &mut Number, start: usize, other: &Number) {
    let mut carry = 0;
    for place in start..start + PRIME_LIMBS {
        let sum = pair.limb(place) + other.limb(place) + carry;
        *pair.limb_mut(place) = sum & LIMB_MASK;
        carry = sum >> LIMB_BITS;
    }
}

/// Doubles a number of a pair, at `start`, modulo the prime at the same places.
fn double(pair: &mut Number, start: usize, primes: &Number) {
    let mut carry = 0;
    for place in start..start + PRIME_LIMBS {
        let sum = (pair.limb(place) << 1) + carry;
        *pair.limb_mut(place) = sum & LIMB_MASK;
        carry = sum >> LIMB_BITS;
    }
    subtract_unless_less(pair, primes, start..start + PRIME_LIMBS);
}
