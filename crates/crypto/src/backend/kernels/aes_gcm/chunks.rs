//! The inner loop for long messages: eight vectors are encrypted while eight are hashed.
//!
//! AES and carry-less multiplication use different units of the processor. Rounds of AES alternate
//! with [`Hasher::step`]s, so that both are busy. `keep_order` makes the compiler keep that order;
//! `just kernel-ratios` fails if the loop becomes slower.

use core::hint::black_box;

use super::ghash::{Sum, multiply};
use super::key::Key;
use super::parameters::{Message, Progress};
use super::vector::Vector;

/// The number of vectors in a chunk.
const VECTORS: usize = 8;

/// The number of blocks in a chunk.
pub(super) const BLOCKS: usize = 4 * VECTORS;

/// The number of bytes in a chunk.
const BYTES: usize = 64 * VECTORS;

/// Processes `count` chunks of data.
///
/// If the message is sealed, the ciphertext of a chunk is hashed while the next chunk is
/// encrypted. If it is opened, a chunk is hashed while it is decrypted.
///
/// # Safety
///
/// As for `message::long`; input and output must have these chunks, of which there is at least one.
#[inline(always)]
pub(super) unsafe fn run<V: Vector, const ROUNDS: usize, const SEAL: bool>(
    key: &Key,
    message: &Message<'_>,
    progress: Progress<V>,
    count: usize,
) -> Progress<V> {
    let Progress { start, hash, offset, counter } = progress;
    debug_assert!(counter == 4 && count > 0 && key.rounds == ROUNDS);
    // SAFETY: the caller's promise.
    unsafe {
        let mut weights = Weights::new(key);
        // The address is hidden, so that weights are stored here and loaded where they are needed.
        let place = black_box(&raw mut weights);
        let mut hasher = Hasher::new(hash, place.cast_const());
        let (input, out) = (message.input.add(offset), message.out.add(offset));
        let mut first = 0;
        if SEAL {
            let mut states = first_states(start, 0);
            let last_key = key.all_but_last_round(&mut states);
            finish(states, last_key, input, out);
            first = 1;
        }
        for chunk in first..count {
            let at = BYTES * chunk;
            let hashed = if SEAL { out.add(at - BYTES).cast_const() } else { input.add(at) };
            let mut states = first_states(start, chunk as u32);
            // Round keys are loaded again for each chunk. The compiler would load all of them
            // before the loop, and move vectors to the stack, where they would be left.
            let key = &*black_box(&raw const *key);
            let last_key = interleaved::<V, ROUNDS>(key, &mut states, &mut hasher, hashed);
            finish(states, last_key, input.add(at), out.add(at));
        }
        if SEAL {
            hasher.all_steps(out.add(BYTES * (count - 1)));
        }
        for at in 0..3 {
            place.cast::<V>().add(at).write_volatile(V::zero());
        }
        let (bytes, counters) = (BYTES * count, (BLOCKS * count) as u32);
        Progress { start, hash: hasher.hash, offset: offset + bytes, counter: counter + counters }
    }
}

/// The first states of a chunk, whose counters begin at 4 + 32 * `chunk`.
///
/// Counters of all vectors but the last one differ from 32 * `chunk` in fixed bits.
#[inline(always)]
fn first_states<V: Vector>(start: V, chunk: u32) -> [V; VECTORS] {
    let base = start.xor_counter(32 * chunk);
    [
        base.xor_counter(4),
        base.xor_counter(8),
        base.xor_counter(12),
        base.xor_counter(16),
        base.xor_counter(20),
        base.xor_counter(24),
        base.xor_counter(28),
        start.xor_counter(32 * (chunk + 1)),
    ]
}

/// The last round, and the exclusive or with the data.
///
/// # Safety
///
/// Input and output must have a chunk.
#[inline(always)]
unsafe fn finish<V: Vector>(states: [V; VECTORS], last_key: V, input: *const u8, out: *mut u8) {
    for (at, state) in states.into_iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            let data = V::load(input.add(64 * at));
            state.last_round(last_key.xor(data)).store(out.add(64 * at));
        }
    }
}

/// The weights of pairs of vectors: for pair i, lane i has the halves of two powers, H^(32-8i) and
/// H^(28-8i). The first vector has their low halves, the second one the high halves, and the third
/// one the sums of both.
#[repr(transparent)]
struct Weights<V>([V; 3]);

impl<V: Vector> Weights<V> {
    /// # Safety
    ///
    /// The processor must have the instructions of `V`.
    #[inline(always)]
    unsafe fn new(key: &Key) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let sixteen = V::load_block(key.power(16));
            let first = V::from_blocks([16, 8, 16, 8].map(|power| key.power(power)));
            let second = V::from_blocks([12, 4, 12, 4].map(|power| key.power(power)));
            let first = multiply(first, sixteen).with_last_lanes(first);
            let second = multiply(second, sixteen).with_last_lanes(second);
            let (low, high) = (first.low_halves(second), first.high_halves(second));
            Self([low, high, low.xor(high)])
        }
    }
}

/// The hash of a chunk, in steps that fit between rounds of AES.
///
/// The low halves of the blocks of two vectors form one vector, and so do the high halves, so that
/// each product needs three multiplications instead of four (Karatsuba and Ofman).
struct Hasher<V> {
    hash: V,
    weights: *const Weights<V>,
    sum: Sum<V>,
    /// The halves of the current pair of vectors.
    low: V,
    high: V,
}

impl<V: Vector> Hasher<V> {
    /// # Safety
    ///
    /// The processor must have the instructions of `V`. The weights must be valid while the value
    /// is used.
    #[inline(always)]
    unsafe fn new(hash: V, weights: *const Weights<V>) -> Self {
        // SAFETY: the caller's promise.
        let zero = unsafe { V::zero() };
        let sum = Sum { low: zero, middle: zero, high: zero };
        Self { hash, weights, sum, low: zero, high: zero }
    }

    /// One of 19 steps. Further steps do nothing.
    ///
    /// The first pair of vectors, to which the hash is added, is processed last, so that the hash
    /// of the previous chunk is not waited for.
    ///
    /// # Safety
    ///
    /// `chunk` must have 512 bytes.
    #[inline(always)]
    unsafe fn step<const STEP: usize>(&mut self, chunk: *const u8) {
        let (pair, sum) = ([1, 2, 3, 0, 0, 0, 0, 0][STEP / 4 % 8], self.sum);
        match (STEP, STEP % 4) {
            // SAFETY: the caller's promise.
            (..16, 0) => unsafe {
                let chunk = chunk.add(128 * pair);
                let (mut even, odd) = (V::load(chunk).reverse(), V::load(chunk.add(64)).reverse());
                if pair == 0 {
                    even = even.xor(self.hash);
                }
                (self.low, self.high) = (even.low_halves(odd), even.high_halves(odd));
            },
            (..16, 1) => self.sum.low = self.add::<STEP>(sum.low, self.low, pair),
            (..16, 2) => self.sum.high = self.add::<STEP>(sum.high, self.high, pair),
            (..16, _) => {
                self.sum.middle = self.add::<STEP>(sum.middle, self.low.xor(self.high), pair);
            }
            (16, _) => self.sum.middle = sum.middle.xor3(sum.low, sum.high),
            (17, _) => self.sum = sum.reduce_low(),
            (18, _) => self.hash = sum.reduce_middle(),
            _ => {}
        }
    }

    /// Adds the products of these halves with the weights of a pair to a sum. The first step begins
    /// the sum.
    #[inline(always)]
    fn add<const STEP: usize>(&self, sum: V, halves: V, pair: usize) -> V {
        // SAFETY: a vector exists, and the weights are valid.
        let weight = unsafe {
            V::load_block(self.weights.cast::<u8>().add(64 * (STEP % 4 - 1) + 16 * pair))
        };
        let (first, second) = (halves.product::<0x00>(weight), halves.product::<0x11>(weight));
        if STEP < 4 { first.xor(second) } else { sum.xor3(first, second) }
    }

    /// All steps, without AES.
    ///
    /// # Safety
    ///
    /// As for [`Self::step`].
    #[inline(always)]
    #[rustfmt::skip]
    unsafe fn all_steps(&mut self, chunk: *const u8) {
        // SAFETY: the caller's promise.
        unsafe {
            self.step::<0>(chunk); self.step::<1>(chunk); self.step::<2>(chunk);
            self.step::<3>(chunk); self.step::<4>(chunk); self.step::<5>(chunk);
            self.step::<6>(chunk); self.step::<7>(chunk); self.step::<8>(chunk);
            self.step::<9>(chunk); self.step::<10>(chunk); self.step::<11>(chunk);
            self.step::<12>(chunk); self.step::<13>(chunk); self.step::<14>(chunk);
            self.step::<15>(chunk); self.step::<16>(chunk); self.step::<17>(chunk);
            self.step::<18>(chunk);
        }
    }
}

/// All rounds of AES except the last one, with the steps of the hash between them. Returns the last
/// round key.
///
/// # Safety
///
/// As for [`run`]; `chunk` must have 512 bytes.
#[inline(always)]
unsafe fn interleaved<V: Vector, const ROUNDS: usize>(
    key: &Key,
    states: &mut [V; VECTORS],
    hasher: &mut Hasher<V>,
    chunk: *const u8,
) -> V {
    // Each line is a round, with the steps in its first and in its second half.
    macro_rules! rounds {
        ($($round:literal: $first:literal, $second:literal;)*) => {
            $(
                let round_key = V::load_block(key.round_key($round));
                round::<V, $first, $second>(states, round_key, hasher, chunk);
            )*
        };
    }
    const { assert!(ROUNDS == 10 || ROUNDS == 14) };
    // SAFETY: the caller's promise.
    unsafe {
        if ROUNDS == 10 {
            rounds! {
                1: 0, 1; 2: 2, 3; 3: 4, 5; 4: 6, 7; 5: 8, 9; 6: 10, 11; 7: 12, 13; 8: 14, 15;
                9: 16, 17;
            }
            hasher.step::<18>(chunk);
        } else {
            rounds! {
                1: 0, 1; 2: 2, 3; 3: 19, 4; 4: 5, 6; 5: 7, 19; 6: 8, 9; 7: 10, 11; 8: 19, 12;
                9: 13, 14; 10: 15, 19; 11: 16, 19; 12: 17, 19; 13: 18, 19;
            }
        }
        V::load_block(key.round_key(ROUNDS))
    }
}

/// A round of AES on all states, with two steps of the hash.
///
/// # Safety
///
/// `chunk` must have 512 bytes.
#[inline(always)]
unsafe fn round<V: Vector, const FIRST: usize, const SECOND: usize>(
    [a, b, c, d, e, f, g, h]: &mut [V; VECTORS],
    key: V,
    hasher: &mut Hasher<V>,
    chunk: *const u8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for state in [&mut *a, &mut *b, &mut *c, &mut *d] {
            *state = state.round(key);
        }
        hasher.step::<FIRST>(chunk);
        let Hasher { sum, low, high, .. } = hasher;
        V::keep_order([a, b, c, d], [low, high, &mut sum.low, &mut sum.middle, &mut sum.high]);
        for state in [&mut *e, &mut *f, &mut *g, &mut *h] {
            *state = state.round(key);
        }
        hasher.step::<SECOND>(chunk);
        let Hasher { sum, low, high, .. } = hasher;
        V::keep_order([e, f, g, h], [low, high, &mut sum.low, &mut sum.middle, &mut sum.high]);
    }
}
