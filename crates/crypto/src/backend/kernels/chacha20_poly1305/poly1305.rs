//! Poly1305, RFC 8439 2.5, on vectors, with eight blocks at a time.
//!
//! A number has three limbs of 44, 44 and 42 bits, with room for carries, because the processor
//! multiplies numbers of 52 bits. Lane `i` absorbs the blocks `8 * k + i`. The sum of the lanes,
//! each multiplied by its own power of `r`, is the sum that the standard computes block by block.
//!
//! No branch and no address depends on a key or a message. See `scalar.rs` for short messages.

use core::mem::MaybeUninit;

use super::scalar;
use super::vector::Vector;

pub(super) const BLOCK: usize = 16;

/// The blocks of a group, one for each lane.
pub(super) const GROUP: usize = 8;

/// The groups that [`Lanes::absorb`] takes between two carries.
const MOST: usize = 4;

/// Numbers in lanes. After a carry the limbs are less than 2^44, 2^45 and 2^43.
type Limbs<V> = [V; 3];

/// A factor: its limbs, then 20 times the second and the third limb. These replace products above
/// 2^132, which is congruent to 20 modulo 2^130 - 5.
type Factor<V> = [V; 5];

/// Powers of `r`, and the lanes' final factors.
pub(super) struct Powers<V> {
    /// `r^8`, `r^16`, `r^24` and `r^32`, each in all lanes. The last two are zeros where the
    /// message is too short to need them.
    all: [Factor<V>; MOST],
    /// The factors' limbs for the powers 16 to 1.
    each: [[[u64; 8]; 2]; 5],
}

impl<V: Vector> Powers<V> {
    /// Writes the powers that a message of this many groups needs. They are written in their place,
    /// because a copy would have to be wiped too.
    #[inline(always)]
    pub(super) fn write(
        place: &mut MaybeUninit<Self>,
        proof: V::Proof,
        r: [u64; 2],
        groups: usize,
    ) -> &Self {
        let zero = V::splat64(proof, 0);
        let r = splat(proof, scalar::limbs([r[0], r[1], 0]));
        let square = product(proof, r, factor(r));
        let pair = select::<V, 0b1010_1010>(square, r);
        let fourth_and_third = product(proof, pair, factor(square));
        let four = select::<V, 0b1100_1100>(fourth_and_third, pair);
        let high = product(proof, four, factor(splat_first(fourth_and_third)));
        let low = select::<V, 0b1111_0000>(high, four);
        let by_eight = factor(splat_first(low));
        let high = product(proof, low, by_eight);
        let by_sixteen = factor(splat_first(high));
        let (mut by_24, mut by_32) = ([zero; 5], [zero; 5]);
        if groups > 2 {
            by_24 = factor(splat_first(product(proof, low, by_sixteen)));
            by_32 = factor(splat_first(product(proof, high, by_sixteen)));
        }
        let ([a, b, c, d, e], [f, g, h, i, j]) = (factor(high), factor(low));
        let [a, b, c, d, e] = [[a, f], [b, g], [c, h], [d, i], [e, j]];
        let to = place.as_mut_ptr();
        // SAFETY: all fields of the place are written, through pointers into it.
        unsafe {
            (&raw mut (*to).all).write([by_eight, by_sixteen, by_24, by_32]);
            (&raw mut (*to).each).cast::<[[V; 2]; 5]>().write_unaligned([a, b, c, d, e]);
            place.assume_init_ref()
        }
    }

    /// The factors of eight lanes: the powers from this one downwards. Below the first power they
    /// are zeros.
    #[inline(always)]
    fn downwards(&self, proof: V::Proof, from: usize) -> Factor<V> {
        let at = |limb: usize| {
            let words = &self.each[limb].as_flattened()[16 - from..];
            let bytes = u64::MAX >> (64 - 8 * from.min(8));
            // SAFETY: the selected bytes are those of the powers from this one down to the first.
            unsafe { V::load_some(proof, words.as_ptr().cast(), bytes) }
        };
        [at(0), at(1), at(2), at(3), at(4)]
    }
}

/// Lanes, each of which has the sum of its blocks so far. The blocks of the last group are not yet
/// multiplied by a power.
pub(super) struct Lanes<V: Vector> {
    sums: Limbs<V>,
    proof: V::Proof,
}

impl<V: Vector> Lanes<V> {
    /// Starts with one number, as if it were the last block of the last group.
    #[inline(always)]
    pub(super) fn new(proof: V::Proof, number: [u64; 3]) -> Self {
        let [a, b, c] = scalar::limbs(number);
        let last = |limb| V::words64(proof, &[0, 0, 0, 0, 0, 0, 0, limb]);
        Self { sums: [last(a), last(b), last(c)], proof }
    }

    /// Absorbs groups of eight blocks.
    ///
    /// # Safety
    ///
    /// The bytes of these blocks must be readable at `from`.
    #[inline(always)]
    pub(super) unsafe fn absorb(
        &mut self,
        powers: &Powers<V>,
        mut from: *const u8,
        mut groups: usize,
    ) {
        // SAFETY: the caller's promise; each step takes the groups that come next.
        unsafe {
            while groups >= MOST {
                self.step::<MOST>(powers, from);
                from = from.add(MOST * GROUP * BLOCK);
                groups -= MOST;
            }
            match groups {
                3 => self.step::<3>(powers, from),
                2 => self.step::<2>(powers, from),
                1 => self.step::<1>(powers, from),
                _ => {}
            }
        }
    }

    /// Absorbs `N` groups, with one carry.
    ///
    /// # Safety
    ///
    /// As for [`Self::absorb`].
    #[inline(always)]
    unsafe fn step<const N: usize>(&mut self, powers: &Powers<V>, from: *const u8) {
        // SAFETY: the caller's promise.
        let group = |at| unsafe { message(self.proof, from.add(at * GROUP * BLOCK)) };
        let mut sum = Sum::new(self.proof, group(N - 1));
        for at in 0..N - 1 {
            sum.add_product(group(at), &powers.all[N - 2 - at]);
        }
        // This product is last, because it has to wait for the previous carry.
        sum.add_product(self.sums, &powers.all[N - 1]);
        self.sums = sum.carry(self.proof);
    }

    /// Absorbs the last blocks, at most a group, and adds the lanes.
    ///
    /// # Safety
    ///
    /// The bytes of a whole group must be readable at `from`. Those after `blocks` blocks do not
    /// change the result.
    #[inline(always)]
    pub(super) unsafe fn finish(
        self,
        powers: &Powers<V>,
        from: *const u8,
        blocks: usize,
    ) -> [u64; 3] {
        let mut sum = Sum::new(self.proof, [V::splat64(self.proof, 0); 3]);
        // SAFETY: the caller's promise.
        let last = unsafe { message(self.proof, from) };
        sum.add_product(last, &powers.downwards(self.proof, blocks));
        sum.add_product(self.sums, &powers.downwards(self.proof, blocks + GROUP));
        sum.of_lanes()
    }
}

/// Sums of products before the carry: their low 52 bits, and their high bits.
struct Sum<V> {
    low: [V; 3],
    high: [V; 3],
}

impl<V: Vector> Sum<V> {
    #[inline(always)]
    fn new(proof: V::Proof, begin: Limbs<V>) -> Self {
        Self { low: begin, high: [V::splat64(proof, 0); 3] }
    }

    /// Adds a product. With limbs of less than 2^46, and factors of carried limbs, each of twelve
    /// low parts is less than 2^52 and each of twelve high parts less than 2^43.
    #[inline(always)]
    fn add_product(&mut self, [a, b, c]: Limbs<V>, factor: &Factor<V>) {
        let [f, g, h, g20, h20] = *factor;
        self.add(0, a, f);
        self.add(1, a, g);
        self.add(2, a, h);
        self.add(0, b, h20);
        self.add(1, b, f);
        self.add(2, b, g);
        self.add(0, c, g20);
        self.add(1, c, h20);
        self.add(2, c, f);
    }

    /// The products of a limb with three factors.
    #[inline(always)]
    fn of_limb(proof: V::Proof, a: V, factors: &[V; 3]) -> Self {
        let mut sum = Self::new(proof, [V::splat64(proof, 0); 3]);
        sum.add(0, a, factors[0]);
        sum.add(1, a, factors[1]);
        sum.add(2, a, factors[2]);
        sum
    }

    #[inline(always)]
    fn plus(&self, other: &Self) -> Self {
        let ([a, b, c], [d, e, f]) = (self.low, other.low);
        let low = [a.add64(d), b.add64(e), c.add64(f)];
        let ([a, b, c], [d, e, f]) = (self.high, other.high);
        Self { low, high: [a.add64(d), b.add64(e), c.add64(f)] }
    }

    #[inline(always)]
    fn add(&mut self, limb: usize, a: V, b: V) {
        self.low[limb] = self.low[limb].add_product_low(a, b);
        self.high[limb] = self.high[limb].add_product_high(a, b);
    }

    /// The limbs after the carries, which are reduced modulo 2^130 - 5 except for a few bits. Bit 0
    /// of a high part is bit 52 of its product, which is bit 8 of the next limb.
    #[inline(always)]
    fn carry(self, proof: V::Proof) -> Limbs<V> {
        let ([a, b, c], [p, q, r]) = (self.low, self.high);
        let (mask_44, mask_42) =
            (V::splat64(proof, (1 << 44) - 1), V::splat64(proof, (1 << 42) - 1));
        let (b, c) = (b.add64(p.shift_left::<8>()), c.add64(q.shift_left::<8>()));
        // The carry from bit 130 is less than 2^53, and returns multiplied by 5.
        let over = r.shift_left::<10>().add64(c.shift_right::<42>());
        let c = c.and(mask_42).add64(b.shift_right::<44>());
        let b = b.and(mask_44).add64(a.shift_right::<44>());
        let a = a.and(mask_44).add64(over).add64(over.shift_left::<2>());
        [a.and(mask_44), b.add64(a.shift_right::<44>()), c]
    }

    /// The sum of the lanes.
    #[inline(always)]
    fn of_lanes(self) -> [u64; 3] {
        let ([a, b, c], [p, q, r]) = (self.low, self.high);
        // 2^140, the weight of `r`, is congruent to 20 * 2^8.
        let a = a.add64(r.shift_left::<12>()).add64(r.shift_left::<10>());
        let b = b.add64(p.shift_left::<8>());
        let c = c.add64(q.shift_left::<8>());
        scalar::from_limbs([a.sum64(), b.sum64(), c.sum64()])
    }
}

/// The limbs of the blocks of a group, each with the bit after its last.
///
/// # Safety
///
/// The bytes of these blocks must be readable.
#[inline(always)]
unsafe fn message<V: Vector>(proof: V::Proof, from: *const u8) -> Limbs<V> {
    // SAFETY: the caller's promise.
    let (first, second) = unsafe { (V::load(proof, from), V::load(proof, from.add(64))) };
    let (low, high) = (first.even64(second), first.odd64(second));
    let mask = V::splat64(proof, (1 << 44) - 1);
    [
        low.and(mask),
        low.shift_right_from::<44>(high).and(mask),
        high.shift_right::<24>().add64(V::splat64(proof, 1 << (128 - 88))),
    ]
}

#[inline(always)]
fn product<V: Vector>(proof: V::Proof, a: Limbs<V>, [f, g, h, g20, h20]: Factor<V>) -> Limbs<V> {
    // Three sums take less time than one sum with three additions in a row.
    let [a, b, c] = [
        Sum::of_limb(proof, a[0], &[f, g, h]),
        Sum::of_limb(proof, a[1], &[h20, f, g]),
        Sum::of_limb(proof, a[2], &[g20, h20, f]),
    ];
    a.plus(&b).plus(&c).carry(proof)
}

#[inline(always)]
fn factor<V: Vector>([a, b, c]: Limbs<V>) -> Factor<V> {
    let by_20 = |x: V| x.shift_left::<4>().add64(x.shift_left::<2>());
    [a, b, c, by_20(b), by_20(c)]
}

#[inline(always)]
fn splat<V: Vector>(proof: V::Proof, [a, b, c]: [u64; 3]) -> Limbs<V> {
    [V::splat64(proof, a), V::splat64(proof, b), V::splat64(proof, c)]
}

#[inline(always)]
fn splat_first<V: Vector>([a, b, c]: Limbs<V>) -> Limbs<V> {
    [a.splat_first64(), b.splat_first64(), c.splat_first64()]
}

/// The lanes of `ones` where `WHICH` has ones, and of `zeros` where it has zeros.
#[inline(always)]
fn select<V: Vector, const WHICH: u8>(zeros: Limbs<V>, ones: Limbs<V>) -> Limbs<V> {
    let ([a, b, c], [d, e, f]) = (zeros, ones);
    [a.select64::<WHICH>(d), b.select64::<WHICH>(e), c.select64::<WHICH>(f)]
}
