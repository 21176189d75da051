//! The public-key operation: `x^65537` modulo a number of 2048 bits.
//!
//! Nothing here is secret, except that `private.rs` also uses it on a signature before that is
//! known to be right. See `montgomery.rs` for the arithmetic.

use super::convert::{is_less, read_bytes, reduce, write_bytes};
use super::montgomery::{Field, Modulus};
use super::number::{LIMBS, MODULUS_LEN, Number, low_word};
use super::operations::Square;
use super::vector::{Instructions, LANES, LIMB_BITS, LIMB_MASK, Vector, Work};

/// A modulus with the constants of its multiplications.
pub(crate) struct PublicKey {
    pub(super) modulus: Modulus,
    /// `R^2` modulo `n`, where R is 2^2080.
    pub(super) r_squared: Number,
}

impl PublicKey {
    /// Computes the constants of a modulus, if it has exactly 2048 bits and is odd.
    pub(super) fn new(run: impl Instructions, n: &[u8; MODULUS_LEN]) -> Option<Self> {
        if n[0] < 0x80 || n[MODULUS_LEN - 1] % 2 == 0 {
            return None;
        }
        let mut key = Self { modulus: Modulus::ZERO, r_squared: Number::ZERO };
        read_bytes(&mut key.modulus.n, 0, n);
        key.modulus.set_constants::<LANES>();
        key.r_squared = power_of_two(n);
        let (modulus, number) = (&key.modulus, &mut key.r_squared);
        run.run(Square::<LANES> { modulus, times: SQUARINGS, number });
        Some(key)
    }

    /// `signature^65537` modulo `n`, or nothing if the signature is not less than `n`.
    pub(super) fn recover(
        &self,
        run: impl Instructions,
        signature: &[u8; MODULUS_LEN],
    ) -> Option<[u8; MODULUS_LEN]> {
        let mut number = Number::ZERO;
        read_bytes(&mut number, 0, signature);
        if !is_less(&number, &self.modulus.n) {
            return None;
        }
        run.run(Power { key: self, number: &mut number });
        let mut block = [0; MODULUS_LEN];
        write_bytes(&number, &mut block);
        Some(block)
    }
}

/// Computes `number^65537` modulo `n`.
pub(super) struct Power<'a> {
    pub(super) key: &'a PublicKey,
    /// The base, which is less than `n`, and afterwards the result.
    pub(super) number: &'a mut Number,
}

impl Work for Power<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise.
        let field = unsafe { Field::<V, LANES>::load(&self.key.modulus) };
        let base = field.load_number(self.number);
        let mut power = field.multiply(&base, &field.load_number(&self.key.r_squared));
        for _ in 0..16 {
            power = field.square(&power);
        }
        // The base is not multiplied by R, so that this also divides by R.
        self.number.store(&field.multiply(&power, &base));
        reduce(self.number, &self.key.modulus.n);
    }
}

/// After this number of squarings, `R 2^260` is `R 2^2080`, which is `R^2`.
const SQUARINGS: u32 = 3;

/// `R 2^260`, that is 2^2340, modulo `n`, which has exactly 2048 bits.
///
/// Two more squarings would replace most of the division, but take as long.
fn power_of_two(n: &[u8; MODULUS_LEN]) -> Number {
    let mut modulus = [0; WORDS];
    for (word, bytes) in modulus.iter_mut().zip(n.rchunks_exact(8)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    // 2^2048 - n is less than n.
    let mut rest = [0; WORDS];
    let mut borrow = false;
    for (rest, n) in rest.iter_mut().zip(modulus) {
        (*rest, borrow) = sub(0, n, borrow);
    }
    for bits in [60, 60, 60, 60, 52] {
        shift_modulo(&mut rest, bits, &modulus);
    }
    let mut number = Number::ZERO;
    for place in 0..LIMBS {
        let (word, bit) = (place * LIMB_BITS / 64, place * LIMB_BITS % 64);
        let above = rest.get(word + 1).copied().unwrap_or_default();
        let both = u128::from(rest[word]) | u128::from(above) << 64;
        *number.limb_mut(place) = low_word(both >> bit) & LIMB_MASK;
    }
    number
}

const WORDS: usize = MODULUS_LEN / 8;

/// `rest 2^bits` modulo `n`, by one step of long division. `rest` is less than `n`, the highest bit
/// of `n` is 1, and `bits` is between 1 and 63.
fn shift_modulo(rest: &mut [u64; WORDS], bits: u32, n: &[u64; WORDS]) {
    let mut top = rest[WORDS - 1] >> (64 - bits);
    for word in (1..WORDS).rev() {
        rest[word] = rest[word] << bits | rest[word - 1] >> (64 - bits);
    }
    rest[0] <<= bits;

    // The estimate is at most 2 more than the quotient, because it ignores the lower words of n.
    let highest = u128::from(top) << 64 | u128::from(rest[WORDS - 1]);
    let quotient = low_word(highest / u128::from(n[WORDS - 1]));
    let (mut carry, mut borrow) = (0, false);
    for (rest, n) in rest.iter_mut().zip(n) {
        let product = u128::from(*n) * u128::from(quotient) + u128::from(carry);
        carry = low_word(product >> 64);
        (*rest, borrow) = sub(*rest, low_word(product), borrow);
    }
    top = top.wrapping_sub(carry).wrapping_sub(u64::from(borrow));
    while top != 0 {
        let mut carry = false;
        for (rest, n) in rest.iter_mut().zip(n) {
            (*rest, carry) = add(*rest, *n, carry);
        }
        top = top.wrapping_add(u64::from(carry));
    }
}

fn sub(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(u64::from(borrow));
    (difference, first | second)
}

fn add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u64::from(carry));
    (sum, first | second)
}
