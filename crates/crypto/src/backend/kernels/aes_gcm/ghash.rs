//! GHASH, NIST SP 800-38D 6.3 and 6.4, on vectors.
//!
//! # Representation
//!
//! GCM numbers the bits of a block from its first byte's most significant bit: bit i is the
//! coefficient of x^i. With the bytes reversed, a block is an integer whose bit 127-i is that
//! coefficient, which is the order that carry-less multiplication needs. Read as a polynomial in
//! y = 1/x, this integer A represents a = A * y^-127, and the field's polynomial becomes
//! P = y^128 + y^127 + y^126 + y^121 + 1.
//!
//! The product a * b is then represented by A * B * y^-127 modulo P. [`reduce`] divides by y^128
//! (a Montgomery reduction), so one factor is stored multiplied by y: `weights` below are powers of
//! the hash key H in that form.
//!
//! No branch and no address depends on a block.

use super::vector::Vector;

/// The coefficients y^127, y^126 and y^121 of P, relative to y^64.
const POLYNOMIAL: u64 = 0xc200_0000_0000_0000;

/// P without y^128.
const POLYNOMIAL_128: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;

/// A sum of products that are not yet reduced: `low` + `middle` * y^64 + `high` * y^128.
#[derive(Clone, Copy)]
pub(super) struct Sum<V> {
    pub(super) low: V,
    pub(super) middle: V,
    pub(super) high: V,
}

impl<V: Vector> Sum<V> {
    /// The products of the lanes with the lanes of `weights`.
    #[inline(always)]
    pub(super) fn of(blocks: V, weights: V) -> Self {
        Self {
            low: blocks.product::<0x00>(weights),
            middle: blocks.product::<0x01>(weights).xor(blocks.product::<0x10>(weights)),
            high: blocks.product::<0x11>(weights),
        }
    }

    #[inline(always)]
    pub(super) fn add(self, other: Self) -> Self {
        Self {
            low: self.low.xor(other.low),
            middle: self.middle.xor(other.middle),
            high: self.high.xor(other.high),
        }
    }

    /// The sum divided by y^128, modulo P.
    ///
    /// A multiple of P cancels the lowest 64 bits, which adds their product with [`POLYNOMIAL`] to
    /// `middle`, and the bits themselves to the high half of `middle`. Then the same for `middle`.
    #[inline(always)]
    pub(super) fn reduce(self) -> V {
        self.reduce_low().reduce_middle()
    }

    /// Clears `low`.
    #[inline(always)]
    pub(super) fn reduce_low(self) -> Self {
        Self { middle: fold(self.low, self.middle), ..self }
    }

    /// Clears `middle`, and returns what remains. `low` must have been cleared before.
    #[inline(always)]
    pub(super) fn reduce_middle(self) -> V {
        fold(self.middle, self.high)
    }
}

/// Cancels the low half of `part`, and adds the rest of it to the part that is higher by y^64.
#[inline(always)]
fn fold<V: Vector>(part: V, next: V) -> V {
    // SAFETY: a vector exists.
    let polynomial = unsafe { V::splat(POLYNOMIAL) };
    next.xor3(part.swap_halves(), part.product::<0x00>(polynomial))
}

/// The product of each lane with the weight in that lane.
#[inline(always)]
pub(super) fn multiply<V: Vector>(blocks: V, weights: V) -> V {
    Sum::of(blocks, weights).reduce()
}

/// H as a weight: its representation times y.
pub(super) fn first_weight(h: [u8; 16]) -> [u8; 16] {
    let integer = u128::from_be_bytes(h);
    let carry = 0_u128.wrapping_sub(integer >> 127);
    (integer << 1 ^ carry & POLYNOMIAL_128).to_le_bytes()
}
