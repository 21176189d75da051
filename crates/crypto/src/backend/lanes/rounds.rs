//! The compression function of SHA-512, FIPS 180-4 6.4.2, on vectors.
//!
//! The function is written as in the standard, with each word a vector of one word of every lane.
//! See `avx2.rs` and `avx512.rs` for the instructions.
//!
//! No branch and no address depends on a word.

use core::hint::black_box;

use super::{Lane, Outer};
use crate::backend::memory::{Word, wipe_words};

/// `N` numbers of 64 bits, one for each lane.
///
/// A value proves that the processor has the vector's instructions: both constructors are `unsafe`
/// for that reason, and the operations are safe.
pub(super) trait Vector<const N: usize>: Word {
    /// Whether the processor has too few registers for a schedule, so that the compiler would keep
    /// copies of the schedule on the stack.
    const FEW_REGISTERS: bool;

    /// Loads numbers.
    ///
    /// # Safety
    ///
    /// The processor must have the vector's instructions.
    unsafe fn load(words: &[u64; N]) -> Self;

    /// Loads big-endian numbers.
    ///
    /// # Safety
    ///
    /// As for [`Self::load`].
    unsafe fn load_big_endian(words: &[[u8; 8]; N]) -> Self;

    /// Stores the numbers.
    fn store(self, words: &mut [u64; N]);

    /// Stores the numbers in big-endian order.
    fn store_big_endian(self, words: &mut [[u8; 8]; N]);

    /// Transposes a square of numbers: `result[i]` has number `i` of each row.
    fn transpose(rows: [Self; N]) -> [Self; N];

    /// The sum modulo 2^64.
    fn add(self, other: Self) -> Self;

    /// This value, unchanged but hidden from the optimiser, so that sums are computed in the order
    /// of the source.
    fn opaque(self) -> Self;

    /// Adds the same number to each lane, modulo 2^64.
    fn add_constant(self, constant: u64) -> Self;

    /// ROTR by `RIGHT`. `LEFT` must be 64 - `RIGHT`.
    fn rotate<const RIGHT: i32, const LEFT: i32>(self) -> Self;

    /// SHR by `RIGHT`.
    fn shift<const RIGHT: i32>(self) -> Self;

    /// Exclusive or of three numbers.
    fn xor(self, second: Self, third: Self) -> Self;

    /// Ch: the bits of `yes` where `self` has ones, and the bits of `no` where it has zeros.
    fn choose(self, yes: Self, no: Self) -> Self;

    /// Maj: the majority of the three numbers in each bit.
    fn majority(self, second: Self, third: Self) -> Self;

    /// Calls [`hash`] in a function of its own, which is compiled with the instructions of the
    /// vector type.
    fn hash(state: &mut [Self; 8], schedule: &mut [Self; 16]);
}

/// Compresses the block of each lane into its state, and continues with the outer hash, if any.
///
/// With an outer hash, the digest of the inner hash stays in the vectors and becomes the beginning
/// of the outer hash's block. The resulting MACs overwrite the lanes' blocks.
///
/// Everything except the rounds is inlined here, so that it is compiled with the instructions of
/// the calling function.
///
/// # Safety
///
/// The processor must have the instructions of `V`.
///
/// # Panics
///
/// When there are no lanes or more than `N`, or a different number of outer states.
#[inline(always)]
pub(super) unsafe fn compress<V: Vector<N>, const N: usize>(
    lanes: &mut [Lane],
    outer: Option<Outer<'_>>,
) {
    assert!(!lanes.is_empty() && lanes.len() <= N);
    // If there are fewer lanes than `N`, the last one is loaded more than once and stored once.
    let last = lanes.len() - 1;
    // SAFETY: the caller's promise.
    let zero = unsafe { V::load(&[0; N]) };
    // SAFETY: the caller's promise.
    let load = |words| unsafe { V::load(words) };
    // SAFETY: the caller's promise.
    let load_big_endian = |words| unsafe { V::load_big_endian(words) };

    let (mut state, mut schedule) = ([zero; 8], [zero; 16]);
    fill(&mut state, zero, |at, group| load(part(&lanes[at.min(last)].state, group)));
    fill(&mut schedule, zero, |at, group| load_big_endian(part(&lanes[at.min(last)].block, group)));
    V::hash(&mut state, &mut schedule);
    if let Some(outer) = outer {
        let (Outer { states, words }, [end, bits]) = (outer, outer.padding());
        assert!(states.len() == lanes.len());
        schedule[..words].copy_from_slice(&state[..words]);
        schedule[words..].fill(zero);
        schedule[words] = zero.add_constant(end);
        schedule[15] = zero.add_constant(bits);
        fill(&mut state, zero, |at, group| load(part(states[at.min(last)], group)));
        V::hash(&mut state, &mut schedule);
        for (group, rows) in state.chunks_exact(N).enumerate() {
            for (lane, row) in lanes.iter_mut().zip(V::transpose(whole(rows, zero))) {
                row.store_big_endian(part_mut(&mut lane.block, group));
            }
        }
    } else {
        for (group, rows) in state.chunks_exact(N).enumerate() {
            for (lane, row) in lanes.iter_mut().zip(V::transpose(whole(rows, zero))) {
                row.store(part_mut(&mut lane.state, group));
            }
        }
    }
    wipe_words(&mut schedule);
    wipe_words(&mut state);
}

/// Fills `words`. Each vector receives one word of every lane. `row(lane, group)` returns `N` words
/// of one lane.
#[inline(always)]
fn fill<V: Vector<N>, const N: usize>(words: &mut [V], zero: V, row: impl Fn(usize, usize) -> V) {
    for (group, columns) in words.chunks_exact_mut(N).enumerate() {
        let mut rows = [zero; N];
        rows.iter_mut().enumerate().for_each(|(at, place)| *place = row(at, group));
        columns.copy_from_slice(&V::transpose(rows));
    }
}

/// A group of vectors as an array.
#[inline(always)]
fn whole<V: Vector<N>, const N: usize>(group: &[V], zero: V) -> [V; N] {
    let mut rows = [zero; N];
    rows.copy_from_slice(group);
    rows
}

/// The `N` words of group number `group`.
#[inline(always)]
fn part<T, const N: usize>(words: &[T], group: usize) -> &[T; N] {
    words[group * N..].first_chunk().expect("a lane is a whole number of groups")
}

#[inline(always)]
fn part_mut<T, const N: usize>(words: &mut [T], group: usize) -> &mut [T; N] {
    words[group * N..].first_chunk_mut().expect("a lane is a whole number of groups")
}

/// The compression function, FIPS 180-4 6.4.2. `schedule` has the words of the next sixteen rounds.
#[inline(always)]
pub(super) fn hash<V: Vector<N>, const N: usize>(state: &mut [V; 8], schedule: &mut [V; 16]) {
    let ([first @ .., last], mut after) = (&K, *state);
    // `black_box` makes the compiler load the schedule again from memory, where it is wiped: any
    // sixteen consecutive words of it reveal the block, and keeping them in registers over more
    // rounds would leave copies on the stack.
    for k in first {
        after = sixteen_rounds::<V, N, true>(after, black_box(schedule), k);
    }
    after = sixteen_rounds::<V, N, false>(after, black_box(schedule), last);
    // The initial state is loaded again from memory too, so that no copy of it stays on the stack.
    for (sum, word) in black_box(state).iter_mut().zip(after) {
        *sum = sum.add(word);
    }
}

/// Runs sixteen rounds. If `MORE` rounds follow, replaces the schedule by the words for them.
///
/// The values are not moved from variable to variable in each round. Instead, each round uses the
/// variables in other roles. After eight rounds, each variable has its original role again.
#[inline(always)]
#[rustfmt::skip]
fn sixteen_rounds<V: Vector<N>, const N: usize, const MORE: bool>(
    [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h]: [V; 8],
    w: &mut [V; 16],
    k: &[u64; 16],
) -> [V; 8] {
    round::<V, N, 0, MORE>(a, b, c, &mut d, e, f, g, &mut h, w, k);
    round::<V, N, 1, MORE>(h, a, b, &mut c, d, e, f, &mut g, w, k);
    round::<V, N, 2, MORE>(g, h, a, &mut b, c, d, e, &mut f, w, k);
    round::<V, N, 3, MORE>(f, g, h, &mut a, b, c, d, &mut e, w, k);
    round::<V, N, 4, MORE>(e, f, g, &mut h, a, b, c, &mut d, w, k);
    round::<V, N, 5, MORE>(d, e, f, &mut g, h, a, b, &mut c, w, k);
    round::<V, N, 6, MORE>(c, d, e, &mut f, g, h, a, &mut b, w, k);
    round::<V, N, 7, MORE>(b, c, d, &mut e, f, g, h, &mut a, w, k);
    round::<V, N, 8, MORE>(a, b, c, &mut d, e, f, g, &mut h, w, k);
    round::<V, N, 9, MORE>(h, a, b, &mut c, d, e, f, &mut g, w, k);
    round::<V, N, 10, MORE>(g, h, a, &mut b, c, d, e, &mut f, w, k);
    round::<V, N, 11, MORE>(f, g, h, &mut a, b, c, d, &mut e, w, k);
    round::<V, N, 12, MORE>(e, f, g, &mut h, a, b, c, &mut d, w, k);
    round::<V, N, 13, MORE>(d, e, f, &mut g, h, a, b, &mut c, w, k);
    round::<V, N, 14, MORE>(c, d, e, &mut f, g, h, a, &mut b, w, k);
    round::<V, N, 15, MORE>(b, c, d, &mut e, f, g, h, &mut a, w, k);
    [a, b, c, d, e, f, g, h]
}

/// Runs round `T` of sixteen: `d` becomes the e of the next round, and `h` becomes its a.
#[inline(always)]
#[allow(clippy::too_many_arguments, clippy::many_single_char_names)]
fn round<V: Vector<N>, const N: usize, const T: usize, const MORE: bool>(
    a: V,
    b: V,
    c: V,
    d: &mut V,
    e: V,
    f: V,
    g: V,
    h: &mut V,
    w: &mut [V; 16],
    k: &[u64; 16],
) {
    let sum_e = e.rotate::<14, 50>().xor(e.rotate::<18, 46>(), e.rotate::<41, 23>());
    let sum_a = a.rotate::<28, 36>().xor(a.rotate::<34, 30>(), a.rotate::<39, 25>());
    // The next round waits for d and h, so the operands that are ready last are added last: one
    // addition after the rotations of e, and one after the rotations of a. The compiler would
    // share sums and add the constant at the end: fewer additions in longer dependency chains.
    let early = h.add(w[T].add_constant(k[T])).opaque();
    let choice = e.choose(f, g);
    *d = d.add(early).opaque().add(choice).opaque().add(sum_e);
    *h = early.add(choice).opaque().add(sum_e).opaque().add(a.majority(b, c)).opaque().add(sum_a);
    if MORE {
        let (near, far) = (w[(T + 1) % 16], w[(T + 14) % 16]);
        let near = near.rotate::<1, 63>().xor(near.rotate::<8, 56>(), near.shift::<7>());
        let far = far.rotate::<19, 45>().xor(far.rotate::<61, 3>(), far.shift::<6>());
        w[T] = w[T].add(near).add(w[(T + 9) % 16]).add(far);
        if V::FEW_REGISTERS {
            // The schedule is loaded again from memory, as in `hash`.
            black_box(&mut *w);
        }
    }
}

/// The constants of FIPS 180-4 4.2.3, in rows of sixteen.
#[rustfmt::skip]
const K: [[u64; 16]; 5] = [
    [
        0x428a_2f98_d728_ae22, 0x7137_4491_23ef_65cd, 0xb5c0_fbcf_ec4d_3b2f, 0xe9b5_dba5_8189_dbbc,
        0x3956_c25b_f348_b538, 0x59f1_11f1_b605_d019, 0x923f_82a4_af19_4f9b, 0xab1c_5ed5_da6d_8118,
        0xd807_aa98_a303_0242, 0x1283_5b01_4570_6fbe, 0x2431_85be_4ee4_b28c, 0x550c_7dc3_d5ff_b4e2,
        0x72be_5d74_f27b_896f, 0x80de_b1fe_3b16_96b1, 0x9bdc_06a7_25c7_1235, 0xc19b_f174_cf69_2694,
    ],
    [
        0xe49b_69c1_9ef1_4ad2, 0xefbe_4786_384f_25e3, 0x0fc1_9dc6_8b8c_d5b5, 0x240c_a1cc_77ac_9c65,
        0x2de9_2c6f_592b_0275, 0x4a74_84aa_6ea6_e483, 0x5cb0_a9dc_bd41_fbd4, 0x76f9_88da_8311_53b5,
        0x983e_5152_ee66_dfab, 0xa831_c66d_2db4_3210, 0xb003_27c8_98fb_213f, 0xbf59_7fc7_beef_0ee4,
        0xc6e0_0bf3_3da8_8fc2, 0xd5a7_9147_930a_a725, 0x06ca_6351_e003_826f, 0x1429_2967_0a0e_6e70,
    ],
    [
        0x27b7_0a85_46d2_2ffc, 0x2e1b_2138_5c26_c926, 0x4d2c_6dfc_5ac4_2aed, 0x5338_0d13_9d95_b3df,
        0x650a_7354_8baf_63de, 0x766a_0abb_3c77_b2a8, 0x81c2_c92e_47ed_aee6, 0x9272_2c85_1482_353b,
        0xa2bf_e8a1_4cf1_0364, 0xa81a_664b_bc42_3001, 0xc24b_8b70_d0f8_9791, 0xc76c_51a3_0654_be30,
        0xd192_e819_d6ef_5218, 0xd699_0624_5565_a910, 0xf40e_3585_5771_202a, 0x106a_a070_32bb_d1b8,
    ],
    [
        0x19a4_c116_b8d2_d0c8, 0x1e37_6c08_5141_ab53, 0x2748_774c_df8e_eb99, 0x34b0_bcb5_e19b_48a8,
        0x391c_0cb3_c5c9_5a63, 0x4ed8_aa4a_e341_8acb, 0x5b9c_ca4f_7763_e373, 0x682e_6ff3_d6b2_b8a3,
        0x748f_82ee_5def_b2fc, 0x78a5_636f_4317_2f60, 0x84c8_7814_a1f0_ab72, 0x8cc7_0208_1a64_39ec,
        0x90be_fffa_2363_1e28, 0xa450_6ceb_de82_bde9, 0xbef9_a3f7_b2c6_7915, 0xc671_78f2_e372_532b,
    ],
    [
        0xca27_3ece_ea26_619c, 0xd186_b8c7_21c0_c207, 0xeada_7dd6_cde0_eb1e, 0xf57d_4f7f_ee6e_d178,
        0x06f0_67aa_7217_6fba, 0x0a63_7dc5_a2c8_98a6, 0x113f_9804_bef9_0dae, 0x1b71_0b35_131c_471b,
        0x28db_77f5_2304_7d84, 0x32ca_ab7b_40c7_2493, 0x3c9e_be0a_15c9_bebc, 0x431d_67c4_9c10_0d4c,
        0x4cc5_d4be_cb3e_42b6, 0x597f_299c_fc65_7e2a, 0x5fcb_6fab_3ad6_faec, 0x6c44_198c_4a47_5817,
    ],
];

#[cfg(test)]
mod tests {
    use super::K;

    /// FIPS 180-4 4.2.3: the first 64 bits of the fractional parts of the cube roots of the first
    /// eighty primes.
    #[test]
    fn the_constants_are_cube_roots_of_primes() {
        let is_prime = |n: &u64| (2..*n).all(|divisor| n % divisor != 0);
        let primes = (2..).filter(is_prime);
        for (k, prime) in K.as_flattened().iter().zip(primes) {
            let whole = (1..).take_while(|root| root * root * root <= prime).last().unwrap();
            // The root times 2^64, rounded down: its cube is at most the prime times 2^192, and
            // the cube of the next number is larger.
            let root = u128::from(whole) << 64 | u128::from(*k);
            let scaled = [prime, 0, 0, 0];
            assert!(cube(root) <= scaled && scaled < cube(root + 1), "{k:#x} for {prime}");
        }
        assert_eq!(K.as_flattened().len(), 80);
    }

    /// The cube as digits of 64 bits, the most significant first; the number must be less than
    /// 2^80.
    #[allow(clippy::cast_possible_truncation)]
    fn cube(number: u128) -> [u64; 4] {
        let digits = |number: u128| [number as u64, (number >> 64) as u64];
        let mut product = vec![1_u64];
        for _ in 0..3 {
            let mut next = vec![0_u64; product.len() + 3];
            for (i, a) in product.iter().enumerate() {
                let mut carry = 0_u128;
                for (j, b) in digits(number).into_iter().chain([0]).enumerate() {
                    let sum = u128::from(next[i + j]) + u128::from(*a) * u128::from(b) + carry;
                    next[i + j] = sum as u64;
                    carry = sum >> 64;
                }
            }
            product = next;
        }
        assert!(product[4..].iter().all(|digit| *digit == 0));
        [product[3], product[2], product[1], product[0]]
    }
}
