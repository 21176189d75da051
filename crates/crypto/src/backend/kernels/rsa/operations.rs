//! Multiplications of numbers in memory.
//!
//! Each is compiled once. Loading and storing numbers takes little time compared with a product, so
//! only exponentiations keep numbers in vectors.

use super::montgomery::{Field, Modulus};
use super::number::Number;
use super::vector::{Vector, Work};

/// Computes `a b / R` modulo `n`, or two such products modulo two moduli.
pub(super) struct Product<'a, const W: usize> {
    modulus: &'a Modulus,
    a: &'a Number,
    b: &'a Number,
    result: &'a mut Number,
}

impl<'a, const W: usize> Product<'a, W> {
    pub(super) fn new(
        modulus: &'a Modulus,
        a: &'a Number,
        b: &'a Number,
        result: &'a mut Number,
    ) -> Self {
        Self { modulus, a, b, result }
    }
}

impl<const W: usize> Work for Product<'_, W> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise.
        let field = unsafe { Field::<V, W>::load(self.modulus) };
        let (a, b) = (field.load_number(self.a), field.load_number(self.b));
        self.result.store(&field.multiply(&a, &b));
    }
}

/// Squares a number, or two numbers, several times: `R x` becomes `R x^2`.
pub(super) struct Square<'a, const W: usize> {
    pub(super) modulus: &'a Modulus,
    pub(super) times: u32,
    pub(super) number: &'a mut Number,
}

impl<const W: usize> Work for Square<'_, W> {
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise.
        let field = unsafe { Field::<V, W>::load(self.modulus) };
        let mut number = field.load_number(self.number);
        for _ in 0..self.times {
            number = field.square(&number);
        }
        self.number.store(&number);
    }
}
