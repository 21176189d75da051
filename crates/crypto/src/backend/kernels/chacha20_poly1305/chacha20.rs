//! ChaCha20, RFC 8439 2.3 and 2.4, on vectors.
//!
//! A block is sixteen words in four rows. A few blocks are computed in *rows*: a vector has the
//! same row of four blocks. Many blocks are computed in *columns*: a vector has the same word of
//! sixteen blocks, which saves the rotations of rows in each round.
//!
//! No branch and no address depends on a word.

use core::mem::MaybeUninit;

use super::vector::{ONE, THREE, TWO, Vector};

/// A block of key stream or of text.
pub(super) type Block = [u8; 64];

/// The blocks of a chunk.
pub(super) const CHUNK: usize = 32;

/// What the state before the rounds is made of. RFC 8439 2.3
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) key: &'a [u8; 32],
    pub(super) nonce: &'a [u8; 12],
}

impl Start<'_> {
    /// The rows of the state, with a counter of zero.
    #[inline(always)]
    fn rows(self) -> [[u32; 4]; 4] {
        let word = |bytes: &[u8], at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (key, nonce) = (self.key, self.nonce);
        [
            [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574],
            [word(key, 0), word(key, 4), word(key, 8), word(key, 12)],
            [word(key, 16), word(key, 20), word(key, 24), word(key, 28)],
            [0, word(nonce, 0), word(nonce, 4), word(nonce, 8)],
        ]
    }
}

/// Writes `4 * SETS` blocks of key stream. The first block has the first counter; the second block
/// has the second counter, and the following blocks the following counters.
#[inline(always)]
pub(super) fn rows<V: Vector, const SETS: usize>(
    proof: V::Proof,
    start: Start<'_>,
    [first, second]: [u32; 2],
    out: &mut [MaybeUninit<Block>],
) {
    let rows = start.rows();
    let [a, b, c, d] = [
        V::splat_row(proof, &rows[0]),
        V::splat_row(proof, &rows[1]),
        V::splat_row(proof, &rows[2]),
        V::splat_row(proof, &rows[3]),
    ];
    // Counters from `second - 1` on, the first of which is replaced.
    let before = second.wrapping_sub(1);
    let in_set = V::words32(proof, &[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    let counted = d.add32(in_set).add32(V::splat_row(proof, &[before, 0, 0, 0]));
    let mut counters = [counted; SETS];
    for set in 1..SETS {
        counters[set] = counters[set - 1].add32(V::splat_row(proof, &[4, 0, 0, 0]));
    }
    counters[0] = counted.add32(V::first32(proof, first.wrapping_sub(before)));

    let (mut p, mut q, mut r, mut s) = ([a; SETS], [b; SETS], [c; SETS], counters);
    for _ in 0..10 {
        quarter_rounds(&mut p, &mut q, &mut r, &mut s);
        for set in 0..SETS {
            q[set] = q[set].rotate_row::<ONE>();
            r[set] = r[set].rotate_row::<TWO>();
            s[set] = s[set].rotate_row::<THREE>();
        }
        quarter_rounds(&mut p, &mut q, &mut r, &mut s);
        for set in 0..SETS {
            q[set] = q[set].rotate_row::<THREE>();
            r[set] = r[set].rotate_row::<TWO>();
            s[set] = s[set].rotate_row::<ONE>();
        }
    }
    for (set, out) in out.chunks_exact_mut(4).take(SETS).enumerate() {
        let done = blocks([
            p[set].add32(a),
            q[set].add32(b),
            r[set].add32(c),
            s[set].add32(counters[set]),
        ]);
        for (block, out) in done.into_iter().zip(out) {
            // SAFETY: the array has 64 bytes.
            unsafe { block.store(out.as_mut_ptr().cast()) };
        }
    }
}

/// A quarter round in each word. RFC 8439 2.1
#[inline(always)]
fn quarter_rounds<V: Vector, const N: usize>(
    a: &mut [V; N],
    b: &mut [V; N],
    c: &mut [V; N],
    d: &mut [V; N],
) {
    half_quarter_rounds::<V, N, 16, 12>(a, b, c, d);
    half_quarter_rounds::<V, N, 8, 7>(a, b, c, d);
}

#[inline(always)]
fn half_quarter_rounds<V: Vector, const N: usize, const FIRST: i32, const SECOND: i32>(
    a: &mut [V; N],
    b: &mut [V; N],
    c: &mut [V; N],
    d: &mut [V; N],
) {
    for at in 0..N {
        a[at] = a[at].add32(b[at]);
        d[at] = d[at].xor(a[at]).rotate32::<FIRST>();
    }
    for at in 0..N {
        c[at] = c[at].add32(d[at]);
        b[at] = b[at].xor(c[at]).rotate32::<SECOND>();
    }
}

/// The blocks of four rows.
#[inline(always)]
fn blocks<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
    const LOW: i32 = 0b01_00_01_00;
    const HIGH: i32 = 0b11_10_11_10;
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let (ab_low, cd_low) = (a.quarters::<LOW>(b), c.quarters::<LOW>(d));
    let (ab_high, cd_high) = (a.quarters::<HIGH>(b), c.quarters::<HIGH>(d));
    [
        ab_low.quarters::<EVEN>(cd_low),
        ab_low.quarters::<ODD>(cd_low),
        ab_high.quarters::<EVEN>(cd_high),
        ab_high.quarters::<ODD>(cd_high),
    ]
}

/// Encrypts or decrypts [`CHUNK`] blocks, the first of which has this counter.
///
/// There are two sets of sixteen vectors, as many as the processor has registers.
///
/// # Safety
///
/// The bytes of these blocks must be readable at `input` and writable at `output`. The two must be
/// at the same address or not overlap.
#[inline(always)]
pub(super) unsafe fn chunk<V: Vector>(
    proof: V::Proof,
    start: Start<'_>,
    counter: u32,
    input: *const u8,
    output: *mut u8,
) {
    let start = start.rows();
    let in_order = V::words32(proof, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    let counters = [counter, counter.wrapping_add(16)]
        .map(|counter| in_order.add32(V::splat32(proof, counter)));
    let [mut a, mut b, mut c, mut d] = [
        twice(proof, &start[0]),
        twice(proof, &start[1]),
        twice(proof, &start[2]),
        twice(proof, &start[3]),
    ];
    (d[0], d[4]) = (counters[0], counters[1]);
    for _ in 0..10 {
        quarter_rounds(&mut a, &mut b, &mut c, &mut d);
        // The diagonals become columns.
        (b, c, d) = (next(b), next(next(c)), next(next(next(d))));
        quarter_rounds(&mut a, &mut b, &mut c, &mut d);
        (b, c, d) = (next(next(next(b))), next(next(c)), next(d));
    }
    let half = |row: [V; 8]| {
        let [p, q, r, s, t, u, v, w] = row;
        ([p, q, r, s], [t, u, v, w])
    };
    let ((a, e), (b, f), (c, g), (d, h)) = (half(a), half(b), half(c), half(d));
    // SAFETY: the caller's promise, for the blocks of each set.
    unsafe {
        write_columns(proof, &start, counters[0], [a, b, c, d], input, output);
        let (input, output) = (input.add(16 * 64), output.add(16 * 64));
        write_columns(proof, &start, counters[1], [e, f, g, h], input, output);
    }
}

/// Adds the start to the columns of sixteen blocks, and encrypts or decrypts these.
///
/// # Safety
///
/// As for [`chunk`], for these blocks.
#[inline(always)]
unsafe fn write_columns<V: Vector>(
    proof: V::Proof,
    start: &[[u32; 4]; 4],
    counters: V,
    [a, b, c, d]: [[V; 4]; 4],
    input: *const u8,
    output: *mut u8,
) {
    let [a, b, c] = [
        quarters(plus(proof, a, &start[0])),
        quarters(plus(proof, b, &start[1])),
        quarters(plus(proof, c, &start[2])),
    ];
    let mut d = plus(proof, d, &start[3]);
    // The counter of the start is zero.
    d[0] = d[0].add32(counters);
    let d = quarters(d);
    for at in 0..4 {
        let [p, q, r, s] = blocks([a[at], b[at], c[at], d[at]]);
        // SAFETY: the caller's promise, for four of the blocks.
        unsafe {
            let write = |block: V, at: usize| {
                V::load(proof, input.add(64 * at)).xor(block).store(output.add(64 * at));
            };
            write(p, at);
            write(q, at + 4);
            write(r, at + 8);
            write(s, at + 12);
        }
    }
}

/// Adds a word of a row to each column.
#[inline(always)]
fn plus<V: Vector>(proof: V::Proof, [a, b, c, d]: [V; 4], row: &[u32; 4]) -> [V; 4] {
    [
        a.add32(V::splat32(proof, row[0])),
        b.add32(V::splat32(proof, row[1])),
        c.add32(V::splat32(proof, row[2])),
        d.add32(V::splat32(proof, row[3])),
    ]
}

/// The words of a row, each in two vectors: one of each set.
#[inline(always)]
fn twice<V: Vector>(proof: V::Proof, row: &[u32; 4]) -> [V; 8] {
    let [p, q, r, s] = [
        V::splat32(proof, row[0]),
        V::splat32(proof, row[1]),
        V::splat32(proof, row[2]),
        V::splat32(proof, row[3]),
    ];
    [p, q, r, s, p, q, r, s]
}

/// Rotates the words of a row by one place, in each of two sets.
#[inline(always)]
fn next<V: Vector>([a, b, c, d, e, f, g, h]: [V; 8]) -> [V; 8] {
    [b, c, d, a, f, g, h, e]
}

/// Transposes four columns. Quarter `q` of `result[i]` has these four words of block `4 * q + i`.
#[inline(always)]
fn quarters<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (ab_low, cd_low) = (a.interleave_low32(b), c.interleave_low32(d));
    let (ab_high, cd_high) = (a.interleave_high32(b), c.interleave_high32(d));
    [
        ab_low.interleave_low64(cd_low),
        ab_low.interleave_high64(cd_low),
        ab_high.interleave_low64(cd_high),
        ab_high.interleave_high64(cd_high),
    ]
}
