//! Poly1305, RFC 8439 2.5, one block after the other, on words of 64 bits.
//!
//! No branch and no address depends on a key or a message: the multiplication of the processor
//! takes the same time for all values.

/// The one-time key. RFC 8439 2.5
#[derive(Clone, Copy)]
pub(super) struct OneTimeKey {
    pub(super) r: [u64; 2],
    pub(super) s: [u64; 2],
}

impl OneTimeKey {
    /// Clamps `r`.
    #[inline(always)]
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let [r0, r1, s0, s1] = [word(key, 0), word(key, 8), word(key, 16), word(key, 24)];
        Self { r: [r0 & 0x0fff_fffc_0fff_ffff, r1 & 0x0fff_fffc_0fff_fffc], s: [s0, s1] }
    }

    /// Multiplies by `r` modulo 2^130 - 5, except for a few bits. The number must be less than
    /// 7 * 2^128, and the result is less than 5 * 2^128.
    #[inline(always)]
    pub(super) fn multiply(&self, [h0, h1, h2]: [u64; 3]) -> [u64; 3] {
        let [r0, r1] = self.r;
        // 2^128 * r1 is congruent to this, because 2^130 is congruent to 5, and r1 is a multiple
        // of 4.
        let r1_over = r1 + (r1 >> 2);
        let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let (low, carry) = halves(wide(h0, r0) + wide(h1, r1_over));
        let middle = wide(h0, r1) + wide(h1, r0) + wide(h2, r1_over);
        let (middle, carry) = halves(middle + u128::from(carry));
        let high = h2 * r0 + carry;
        // Bit 130 and those above it return multiplied by 5.
        let over = (high >> 2) + (high & !3);
        add([low, middle, high & 3], [over, 0, 0])
    }

    /// The tag of a sum of less than 7 * 2^128.
    #[inline(always)]
    pub(super) fn tag(&self, [h0, h1, h2]: [u64; 3]) -> [u8; 16] {
        let over = h2 >> 2;
        let [h0, h1, h2] = add([h0, h1, h2 & 3], [over * 5, 0, 0]);
        // The sum minus 2^130 - 5, where that is not negative.
        let [g0, g1, g2] = add([h0, h1, h2], [5, 0, 0]);
        let is_over = (g2 >> 2).wrapping_neg();
        let number = |[low, high]: [u64; 2]| u128::from(high) << 64 | u128::from(low);
        let sum = [h0 ^ (is_over & (h0 ^ g0)), h1 ^ (is_over & (h1 ^ g1))];
        number(sum).wrapping_add(number(self.s)).to_le_bytes()
    }
}

/// Adds numbers of three words.
#[inline(always)]
pub(super) fn add(a: [u64; 3], b: [u64; 3]) -> [u64; 3] {
    let (low, carry) = halves(u128::from(a[0]) + u128::from(b[0]));
    let (middle, carry) = halves(u128::from(a[1]) + u128::from(b[1]) + u128::from(carry));
    [low, middle, a[2] + b[2] + carry]
}

/// The low and the high half.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "a half is what is wanted")]
fn halves(wide: u128) -> (u64, u64) {
    (wide as u64, (wide >> 64) as u64)
}

/// A block of sixteen bytes and the bit after its last.
#[inline(always)]
pub(super) fn with_end(block: &[u8]) -> [u64; 3] {
    [word(block, 0), word(block, 8), 1]
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("a word has eight bytes"))
}

/// Splits a number into limbs of 44, 44 and 42 bits. The last one has any further bits.
#[inline(always)]
pub(super) fn limbs([low, middle, high]: [u64; 3]) -> [u64; 3] {
    const MASK: u64 = (1 << 44) - 1;
    [low & MASK, (low >> 44 | middle << 20) & MASK, middle >> 24 | high << 40]
}

/// The number of these limbs, each of which is less than 2^60, reduced to less than 5 * 2^128.
#[inline(always)]
pub(super) fn from_limbs([a, b, c]: [u64; 3]) -> [u64; 3] {
    const MASK: u64 = (1 << 44) - 1;
    let b = b + (a >> 44);
    let c = c + (b >> 44);
    let a = (a & MASK) + 5 * (c >> 42);
    let (low, carry) = halves(u128::from(a) + (u128::from(b & MASK) << 44));
    let (middle, high) = halves(u128::from(carry) + (u128::from(c & ((1 << 42) - 1)) << 24));
    [low, middle, high]
}
