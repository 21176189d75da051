//! Blinding factors, which make the base of an exponentiation independent of the signed block.
//!
//! A pair is `r^65537` and `1 / r` for a random `r`. A block is multiplied by the first number
//! before the exponentiation, and the result by the second one after it. As in AWS-LC, a pair is
//! squared after each use, and a new pair is drawn after 32 uses and in a forked process.

use core::slice::from_mut;

use super::convert::{is_less, read_bytes};
use super::montgomery::Modulus;
use super::number::{MODULUS_LEN, Number};
use super::operations::{Product, Square};
use super::private_numbers::PrivateNumbers;
use super::public::PublicKey;
use super::scratch::Scratch;
use super::vector::{Instructions, LANES};
use crate::backend::memory::{fill_random, wipe, wipe_words};

/// A pair of factors, multiplied by R. It is always in a box, and wiped on drop.
pub(super) struct Blinding {
    /// `r^65537`.
    pub(super) factor: Number,
    /// `1 / r`.
    pub(super) inverse: Number,
    uses: u32,
    /// The process that has drawn the pair.
    process: u32,
}

impl Blinding {
    /// A pair of zeros, for [`Self::compute`].
    pub(super) fn zeros() -> Box<Self> {
        Box::new(Self { factor: Number::ZERO, inverse: Number::ZERO, uses: 0, process: 0 })
    }

    /// Computes the pair of the random number `scratch.base`, which is less than `n`.
    #[inline(never)]
    pub(super) fn compute(
        &mut self,
        run: impl Instructions,
        public: &PublicKey,
        secret: &PrivateNumbers,
        scratch: &mut Scratch,
    ) {
        let (r, r_squared) = (&scratch.base, &public.r_squared);
        run.run(Product::<LANES>::new(&public.modulus, r, r_squared, &mut self.inverse));
        self.factor = self.inverse;
        let number = &mut self.factor;
        run.run(Square::<LANES> { modulus: &public.modulus, times: 16, number });
        let (power, other) = (&self.factor, &mut scratch.other);
        run.run(Product::<LANES>::new(&public.modulus, power, &self.inverse, other));
        self.factor = scratch.other;

        // By Fermat's little theorem. A number that is a multiple of a prime has no inverse, but
        // such a number would factor the modulus. Its signature would be rejected.
        secret.power_by_primes(run, public, &secret.inverse_exponents, scratch);
        let (inverse, result) = (&scratch.other, &mut self.inverse);
        run.run(Product::<LANES>::new(&public.modulus, inverse, r_squared, result));
        (self.uses, self.process) = (0, std::process::id());
    }

    /// Whether the pair may be used once more, after squaring it.
    pub(super) fn is_usable(&self) -> bool {
        self.uses < MAX_USES && self.process == std::process::id()
    }

    /// Counts a use.
    pub(super) fn was_used(&mut self) {
        self.uses += 1;
    }

    /// Replaces the random number by its square.
    #[inline(never)]
    pub(super) fn square(&mut self, run: impl Instructions, modulus: &Modulus) {
        for number in [&mut self.factor, &mut self.inverse] {
            run.run(Square::<LANES> { modulus, times: 1, number });
        }
    }
}

impl Drop for Blinding {
    fn drop(&mut self) {
        wipe_words(from_mut(&mut self.factor));
        wipe_words(from_mut(&mut self.inverse));
    }
}

/// The number of signatures for which a pair is used.
const MAX_USES: u32 = 32;

/// Draws a number less than `n`, each with the same probability. Returns false without randomness.
pub(super) fn draw_below(n: &Number, number: &mut Number) -> bool {
    let mut bytes = [0; MODULUS_LEN];
    // At least half of the numbers of 2048 bits are less than `n`. Rejected numbers reveal nothing
    // about the accepted one.
    let is_drawn = (0..MAX_DRAWS).any(|_| {
        if fill_random(&mut bytes).is_err() {
            return false;
        }
        read_bytes(number, 0, &bytes);
        is_less(number, n)
    });
    wipe(&mut bytes);
    is_drawn
}

/// With this number of draws, none is less than `n` with a probability of 2^-100.
const MAX_DRAWS: usize = 100;
