//! Montgomery multiplication on vectors.
//!
//! See `number.rs` for the layout of numbers and for `W`.
//!
//! # Reduction
//!
//! A step of the multiplication divides the sum by 2^52 modulo `n`. It removes the lowest limb and
//! adds this limb times `shift`, which is 2^-52 modulo `n`. So the quotient is the lowest limb
//! itself, and no multiplication delays the next step. Sums then have up to 52 bits more than `n`.
//! The last step is Montgomery's: it adds the multiple of `n` that makes the lowest limb zero.
//!
//! # Bounds
//!
//! R is 2^(260 W), and moduli are less than R / 2^16. The result of a multiplication is `a b / R`
//! modulo `n`, and at most `2 n + a b / R`. So it is less than `3 n` if `a` and `b` are less than
//! `2^8 n`, or if one is less than R and the other less than `n`. Limbs of factors and results are
//! less than 2^52. A sum of limbs has at most 4 times 40 products and carries, and is less than
//! 2^60.
//!
//! No branch and no address depends on a limb.

use super::number::{Number, VECTORS, low_word};
use super::vector::{LANES, LIMB_BITS, LIMB_MASK, LIMB_SHIFT, Lanes, Vector};
use crate::backend::memory::Word;

/// The modulus of multiplications, or the two moduli, with constants.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Modulus {
    pub(super) n: Number,
    /// 2^-52 modulo `n`.
    shift: Number,
    /// `-1 / n` modulo 2^52, in each lane of the number.
    inverse: Lanes,
}

// SAFETY: a modulus has only integers without padding, for which zeros are valid.
unsafe impl Word for Modulus {}

impl Modulus {
    pub(super) const ZERO: Self =
        Self { n: Number::ZERO, shift: Number::ZERO, inverse: [0; LANES] };

    /// Computes the constants of moduli of `W` lanes. The moduli must be odd.
    pub(super) fn set_constants<const W: usize>(&mut self) {
        for first in (0..LANES).step_by(W) {
            // Newton's iteration doubles the number of correct bits, which is 3 at first.
            let n = self.n.0[0][first];
            let mut inverse = n;
            for _ in 0..5 {
                inverse = inverse.wrapping_mul(2_u64.wrapping_sub(n.wrapping_mul(inverse)));
            }
            inverse = inverse.wrapping_neg() & LIMB_MASK;
            self.inverse[first..first + W].fill(inverse);

            // `n` times the inverse is -1 modulo 2^52. One more is a multiple of 2^52, and
            // divided by 2^52 it is less than `n`.
            let place = VECTORS * first;
            let mut sum = 1;
            for limb in 0..VECTORS * W {
                sum += u128::from(self.n.limb(place + limb)) * u128::from(inverse);
                if limb > 0 {
                    *self.shift.limb_mut(place + limb - 1) = low_word(sum) & LIMB_MASK;
                }
                sum >>= LIMB_BITS;
            }
            *self.shift.limb_mut(place + VECTORS * W - 1) = low_word(sum);
        }
    }
}

/// Sets of lanes for numbers of `W` lanes.
struct Width<const W: usize>;

impl<const W: usize> Width<W> {
    /// The lowest lane of each number.
    const FIRST: u8 = if W == LANES { 0b0000_0001 } else { 0b0001_0001 };
    /// All lanes except the lowest of each number.
    const NOT_FIRST: u8 = !Self::FIRST;
    /// All lanes except the highest of each number.
    const NOT_LAST: u8 = !(Self::FIRST << (W - 1));
    /// For each lane of a number, the index that copies it to all lanes of the number.
    const COPY: [Lanes; LANES] = {
        let mut index = [[0; LANES]; LANES];
        let mut from = 0;
        while from < W {
            let mut lane = 0;
            while lane < LANES {
                index[from][lane] = (lane / W * W + from) as u64;
                lane += 1;
            }
            from += 1;
        }
        index
    };
}

/// The constants of multiplications with numbers of `W` lanes.
#[derive(Clone, Copy)]
pub(super) struct Field<V, const W: usize> {
    n: [V; VECTORS],
    shift: [V; VECTORS],
    inverse: V,
    zero: V,
    limb_mask: V,
    /// The index that copies the first lane.
    copy_first: V,
}

impl<V: Vector, const W: usize> Field<V, W> {
    /// # Safety
    ///
    /// The processor must have the instructions of `V`.
    #[inline(always)]
    pub(super) unsafe fn load(modulus: &Modulus) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                n: modulus.n.load(),
                shift: modulus.shift.load(),
                inverse: V::load(&modulus.inverse),
                zero: V::load(&[0; LANES]),
                limb_mask: V::load(&[LIMB_MASK; LANES]),
                copy_first: V::load(&Width::<W>::COPY[0]),
            }
        }
    }

    /// A vector of zeros.
    #[inline(always)]
    pub(super) fn zero(&self) -> V {
        self.zero
    }

    /// Five vectors of zeros.
    #[inline(always)]
    pub(super) fn zeros(&self) -> [V; VECTORS] {
        [self.zero; VECTORS]
    }

    /// The vectors of a number.
    #[inline(always)]
    pub(super) fn load_number(&self, number: &Number) -> [V; VECTORS] {
        // SAFETY: a vector exists.
        unsafe { number.load() }
    }

    /// `a b / R` modulo `n`. See the bounds in the module's documentation.
    #[inline(always)]
    pub(super) fn multiply(&self, a: &[V; VECTORS], b: &[V; VECTORS]) -> [V; VECTORS] {
        let mut sums = Sums::new(self);
        for copy in &Width::<W>::COPY[..W] {
            let copy = self.zero.load_more(copy);
            sums.multiply_step::<W, 0>(self, a, b[0].permute(copy));
            sums.multiply_step::<W, 1>(self, a, b[1].permute(copy));
            sums.multiply_step::<W, 2>(self, a, b[2].permute(copy));
            sums.multiply_step::<W, 3>(self, a, b[3].permute(copy));
            sums.multiply_step::<W, 4>(self, a, b[4].permute(copy));
        }
        self.carry(&sums.reduce(self))
    }

    /// `a a / R` modulo `n`.
    ///
    /// The product of two limbs in different vectors occurs twice. It is added once, with one limb
    /// doubled: the limb in the vector with the smaller number is the one that is copied to all
    /// lanes.
    #[inline(always)]
    pub(super) fn square(&self, a: &[V; VECTORS]) -> [V; VECTORS] {
        let doubled = Doubled::new(a, self.limb_mask);
        let mut sums = Sums::new(self);
        for copy in &Width::<W>::COPY[..W] {
            let copy = self.zero.load_more(copy);
            sums.square_step::<W, 0>(self, a, &doubled, a[0].permute(copy));
            sums.square_step::<W, 1>(self, a, &doubled, a[1].permute(copy));
            sums.square_step::<W, 2>(self, a, &doubled, a[2].permute(copy));
            sums.square_step::<W, 3>(self, a, &doubled, a[3].permute(copy));
            sums.square_step::<W, 4>(self, a, &doubled, a[4].permute(copy));
        }
        self.carry(&sums.reduce(self))
    }

    /// The same number with limbs less than 2^52, from limbs less than 2^63. The highest limb of a
    /// number must have room for its carry.
    #[inline(always)]
    pub(super) fn carry(&self, limbs: &[V; VECTORS]) -> [V; VECTORS] {
        let mask = self.limb_mask;
        let [mut a, mut b, mut c, mut d, mut e] = *limbs;
        // Carries in each lane, then from each lane to the next. Only vector 0 can exceed 52 bits
        // after this, and its carry is 0 or 1.
        b = b.add(a.shift::<LIMB_SHIFT>());
        c = c.add(b.shift::<LIMB_SHIFT>());
        d = d.add(c.shift::<LIMB_SHIFT>());
        e = e.add(d.shift::<LIMB_SHIFT>());
        a = a.and(mask).add(e.shift::<LIMB_SHIFT>().lanes_up(Width::<W>::NOT_FIRST));
        [b, c, d, e] = [b.and(mask), c.and(mask), d.and(mask), e.and(mask)];

        // A carry of 1 passes through limbs with only ones. Bit `l` of these sets is lane `l`.
        let is_full = [a.equal(mask), b.equal(mask), c.equal(mask), d.equal(mask), e.equal(mask)];
        let rest_is_full = is_full[1] & is_full[2] & is_full[3] & is_full[4];
        let exceeds = a.greater(mask);
        let makes = exceeds & rest_is_full & Width::<W>::NOT_LAST;
        let passes = is_full[0] & rest_is_full & Width::<W>::NOT_LAST;
        // An addition moves carries through any number of lanes.
        let to_a = (makes << 1).wrapping_add(passes) ^ passes;
        let to_b = exceeds | is_full[0] & to_a;
        let to_c = is_full[1] & to_b;
        let to_d = is_full[2] & to_c;
        let to_e = is_full[3] & to_d;

        let one = mask.shift::<{ LIMB_SHIFT - 1 }>();
        [
            a.add_in(to_a, one).and(mask),
            b.add_in(to_b, one).and(mask),
            c.add_in(to_c, one).and(mask),
            d.add_in(to_d, one).and(mask),
            e.add_in(to_e, one).and(mask),
        ]
    }
}

/// Twice a number's limbs, for squaring. A doubled limb can have 53 bits.
struct Doubled<V> {
    /// The low 52 bits of each doubled limb.
    low: [V; VECTORS],
    /// As `low`, plus the bit that exceeds the limb below.
    with_carry: [V; VECTORS],
    /// The bits that exceed the highest limb.
    top: V,
}

impl<V: Vector> Doubled<V> {
    #[inline(always)]
    fn new(a: &[V; VECTORS], mask: V) -> Self {
        const TOP: u32 = LIMB_SHIFT - 1;
        let low = [
            a[0].add(a[0]).and(mask),
            a[1].add(a[1]).and(mask),
            a[2].add(a[2]).and(mask),
            a[3].add(a[3]).and(mask),
            a[4].add(a[4]).and(mask),
        ];
        let with_carry = [
            low[0],
            low[1].add(a[0].shift::<TOP>()),
            low[2].add(a[1].shift::<TOP>()),
            low[3].add(a[2].shift::<TOP>()),
            low[4].add(a[3].shift::<TOP>()),
        ];
        Self { low, with_carry, top: a[4].shift::<TOP>() }
    }

    /// The doubled limbs of vector `v`, if the sum begins with vector `first`.
    #[inline(always)]
    fn from(&self, first: usize, v: usize) -> V {
        if v == first { self.low[v] } else { self.with_carry[v] }
    }
}

/// The sums of a multiplication.
///
/// A step divides by 2^52, then adds products at six places, numbered from 0. Low products are
/// added to one vector of each place and high products to another one, which halves the length of
/// the chain of additions. The sum at place 0 is complete at the end of a step and is in `low`.
///
/// At step `i`, place `k` has the index `(i + k) % 5`, so that nothing moves from step to step.
/// Place 5 is place 0 of the next lane, and exists in `high` only.
struct Sums<V> {
    low: [V; VECTORS],
    high: [V; VECTORS],
}

/// The number of the step before the first, and of the last step.
const LAST_STEP: usize = VECTORS - 1;

impl<V: Vector> Sums<V> {
    #[inline(always)]
    fn new<const W: usize>(field: &Field<V, W>) -> Self {
        Self { low: field.zeros(), high: field.zeros() }
    }

    /// Divides by 2^52, and adds `a` times one limb.
    #[inline(always)]
    fn multiply_step<const W: usize, const STEP: usize>(
        &mut self,
        field: &Field<V, W>,
        a: &[V; VECTORS],
        limb: V,
    ) {
        let (quotient, carry) = self.shift::<W, STEP>(field);
        self.add_product::<STEP, 0>(a[0], limb);
        self.add_product::<STEP, 1>(a[1], limb);
        self.add_product::<STEP, 2>(a[2], limb);
        self.add_product::<STEP, 3>(a[3], limb);
        self.add_product::<STEP, 4>(a[4], limb);
        self.add_quotient::<W, STEP>(field, quotient, carry);
    }

    /// Divides by 2^52, and adds the products with one limb that a square needs.
    #[inline(always)]
    fn square_step<const W: usize, const STEP: usize>(
        &mut self,
        field: &Field<V, W>,
        a: &[V; VECTORS],
        doubled: &Doubled<V>,
        limb: V,
    ) {
        let (quotient, carry) = self.shift::<W, STEP>(field);
        self.add_product::<STEP, STEP>(a[STEP], limb);
        if STEP < 1 {
            self.add_product::<STEP, 1>(doubled.from(STEP + 1, 1), limb);
        }
        if STEP < 2 {
            self.add_product::<STEP, 2>(doubled.from(STEP + 1, 2), limb);
        }
        if STEP < 3 {
            self.add_product::<STEP, 3>(doubled.from(STEP + 1, 3), limb);
        }
        if STEP < 4 {
            self.add_product::<STEP, 4>(doubled.from(STEP + 1, 4), limb);
            self.high[STEP] = self.high[STEP].add_low_product(doubled.top, limb);
        }
        self.add_quotient::<W, STEP>(field, quotient, carry);
    }

    /// Begins a step: removes the limb at place 0 of the step before, and moves what remains. The
    /// results are this limb, in all lanes of the number, and the rest of the sum at place 0.
    #[inline(always)]
    fn shift<const W: usize, const STEP: usize>(&mut self, field: &Field<V, W>) -> (V, V) {
        let before = (STEP + LAST_STEP) % VECTORS;
        let lowest = self.low[before];
        let carry = lowest.shift_in::<LIMB_SHIFT>(Width::<W>::FIRST);
        self.low[before] = lowest.lanes_down(Width::<W>::NOT_LAST);
        let carry = carry.add(self.high[STEP]);
        self.high[STEP] = field.zero;
        (lowest.permute(field.copy_first), carry)
    }

    /// Ends a step: adds the multiple of `shift`, and completes the sum at place 0.
    #[inline(always)]
    fn add_quotient<const W: usize, const STEP: usize>(
        &mut self,
        field: &Field<V, W>,
        quotient: V,
        carry: V,
    ) {
        self.add_product::<STEP, 0>(field.shift[0], quotient);
        self.low[STEP] = self.low[STEP].add(carry);
        self.add_product::<STEP, 1>(field.shift[1], quotient);
        self.add_product::<STEP, 2>(field.shift[2], quotient);
        self.add_product::<STEP, 3>(field.shift[3], quotient);
        self.add_product::<STEP, 4>(field.shift[4], quotient);
    }

    /// Adds the product of two limbs, which is at place `PLACE` and the next.
    #[inline(always)]
    fn add_product<const STEP: usize, const PLACE: usize>(&mut self, a: V, limb: V) {
        let low = (STEP + PLACE) % VECTORS;
        self.low[low] = self.low[low].add_low_product(a, limb);
        let high = (STEP + PLACE + 1) % VECTORS;
        self.high[high] = self.high[high].add_high_product(a, limb);
    }

    /// Adds the multiple of the modulus that makes the lowest limb zero, and divides by 2^52.
    #[inline(always)]
    fn reduce<const W: usize>(mut self, field: &Field<V, W>) -> [V; VECTORS] {
        let quotient = field.zero.add_low_product(self.low[LAST_STEP], field.inverse);
        let quotient = quotient.permute(field.copy_first);
        self.add_product::<LAST_STEP, 0>(field.n[0], quotient);
        self.add_product::<LAST_STEP, 1>(field.n[1], quotient);
        self.add_product::<LAST_STEP, 2>(field.n[2], quotient);
        self.add_product::<LAST_STEP, 3>(field.n[3], quotient);
        self.add_product::<LAST_STEP, 4>(field.n[4], quotient);
        let (_, carry) = self.shift::<W, 0>(field);
        [
            self.low[0].add(carry),
            self.low[1].add(self.high[1]),
            self.low[2].add(self.high[2]),
            self.low[3].add(self.high[3]),
            self.low[4].add(self.high[4]),
        ]
    }
}
