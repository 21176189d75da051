//! Exponentiation modulo two primes, in constant time.
//!
//! The exponents are read in windows of five bits. A table has the powers of the base from 0 to 31.
//! Each access reads the whole table, and each lane keeps the entry that it needs. So neither
//! branches nor addresses depend on the exponents.

use super::montgomery::{Field, Modulus};
use super::number::{HALF, Number, PRIME_LEN, VECTORS};
use super::vector::{LANES, Lanes, Vector, Work};
use crate::backend::memory::Word;

/// The number of bits of a window.
const WINDOW: usize = 5;

/// The number of powers in a table.
pub(super) const TABLE_LEN: usize = 1 << WINDOW;

/// The number of windows of an exponent of 1024 bits.
const WINDOWS: usize = (8 * PRIME_LEN).div_ceil(WINDOW);

/// The words of an exponent, and one of zero, so that all windows can be read in the same way.
const WORDS: usize = PRIME_LEN / 8 + 1;

/// Two exponents of 1024 bits, least significant word first.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Exponents([[u64; WORDS]; 2]);

// SAFETY: these are only integers without padding, for which zeros are valid.
unsafe impl Word for Exponents {}

impl Exponents {
    pub(super) const ZERO: Self = Self([[0; WORDS]; 2]);

    /// Reads big-endian numbers.
    pub(super) fn read(&mut self, exponents: [&[u8; PRIME_LEN]; 2]) {
        for (words, bytes) in self.0.iter_mut().zip(exponents) {
            for (word, bytes) in words.iter_mut().zip(bytes.rchunks_exact(8)) {
                *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            }
        }
    }

    /// Subtracts a number, which is not greater, from both exponents.
    pub(super) fn subtract(&mut self, number: u64) {
        for words in &mut self.0 {
            let mut borrow = number;
            for word in words {
                let (difference, is_negative) = word.overflowing_sub(borrow);
                *word = difference;
                borrow = u64::from(is_negative);
            }
        }
    }

    /// The window at this place, counted from the lowest, in the lanes of each prime.
    #[inline(always)]
    fn window(&self, place: usize) -> Lanes {
        let (word, bit) = (place * WINDOW / 64, place * WINDOW % 64);
        let window = |words: &[u64; WORDS]| {
            // If the window ends in the same word, the bits of the next word are shifted out.
            let next = words[word + 1] << 1 << (63 - bit);
            (words[word] >> bit | next) & (TABLE_LEN as u64 - 1)
        };
        let (p, q) = (window(&self.0[0]), window(&self.0[1]));
        [p, p, p, p, q, q, q, q]
    }
}

/// Computes the powers of the base.
pub(super) struct FillTable<'a> {
    pub(super) primes: &'a Modulus,
    pub(super) r_squared: &'a Number,
    /// The base, multiplied by R.
    pub(super) base: &'a Number,
    /// The powers, multiplied by R.
    pub(super) table: &'a mut [Number; TABLE_LEN],
}

impl Work for FillTable<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise.
        let field = unsafe { Field::<V, HALF>::load(self.primes) };
        let base = field.load_number(self.base);
        let (first, rest) = self.table.split_at_mut(1);
        let one = field.load_number(&Number::TWO_ONES);
        first[0].store(&field.multiply(&field.load_number(self.r_squared), &one));
        let mut power = base;
        let (last, rest) = rest.split_last_mut().expect("the table is longer");
        for entry in rest {
            entry.store(&power);
            power = field.multiply(&power, &base);
        }
        last.store(&power);
    }
}

/// Computes the power by the table.
pub(super) struct Exponentiate<'a> {
    pub(super) primes: &'a Modulus,
    pub(super) exponents: &'a Exponents,
    pub(super) table: &'a [Number; TABLE_LEN],
    /// The power, multiplied by R.
    pub(super) result: &'a mut Number,
}

impl Work for Exponentiate<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise.
        let field = unsafe { Field::<V, HALF>::load(self.primes) };
        let mut power = field.select(self.table, &self.exponents.window(WINDOWS - 1));
        for place in (0..WINDOWS - 1).rev() {
            for _ in 0..WINDOW {
                power = field.square(&power);
            }
            let factor = field.select(self.table, &self.exponents.window(place));
            power = field.multiply(&power, &factor);
        }
        self.result.store(&power);
    }
}

impl<V: Vector, const W: usize> Field<V, W> {
    /// The entry of this index in each lane. All entries are read.
    #[inline(always)]
    fn select(&self, table: &[Number; TABLE_LEN], index: &Lanes) -> [V; VECTORS] {
        let index = self.zero().load_more(index);
        let one = self.zero().load_more(&[1; LANES]);
        let mut at = self.zero();
        let mut found = self.zeros();
        for entry in table {
            let lanes = index.equal(at);
            let entry = self.load_number(entry);
            found = [
                found[0].replace_in(lanes, entry[0]),
                found[1].replace_in(lanes, entry[1]),
                found[2].replace_in(lanes, entry[2]),
                found[3].replace_in(lanes, entry[3]),
                found[4].replace_in(lanes, entry[4]),
            ];
            at = at.add(one);
        }
        found
    }
}
