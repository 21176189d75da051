//! The vector in plain numbers, from the definitions of AES and of carry-less multiplication.
//!
//! There is no table, and no branch or address depends on the numbers, so that Valgrind can check
//! the text that runs with AVX-512 in production. It is far too slow for other uses.

use core::mem::MaybeUninit;

use super::key::Key;
use super::message;
use super::parameters::Message;
use super::vector::Vector;
use super::{Data, Entries, TAG_LEN, expand_in, seal};

/// Word 2i is the low half of lane i, and word 2i + 1 the high half, least significant byte first.
#[derive(Clone, Copy)]
pub(super) struct Portable([u64; 8]);

/// Seals with this vector.
pub(crate) fn seal_portably(
    secret: &[u8],
    nonce: &[u8; 12],
    aad: &[u8],
    data: &[u8],
    extra: &[u8],
) -> Vec<u8> {
    let total = data.len() + extra.len();
    let mut sealed = vec![0; total + TAG_LEN];
    let (body, tag) = sealed.split_at_mut(total);
    let text = Data { input: data.as_ptr(), out: body.as_mut_ptr(), len: data.len() };
    let mut place = MaybeUninit::uninit();
    // SAFETY: the vector needs no instructions; the output is longer than the input by the extra
    // bytes and a tag.
    unsafe {
        let key = expand_in::<PortableEntries>(&mut place, secret);
        let tag = tag.as_mut_ptr();
        seal::<PortableEntries>(key, (nonce, aad), text, extra, tag)
            .expect("a length below the limit");
    }
    sealed
}

/// The entries for the portable vector.
pub(super) enum PortableEntries {}

impl Entries for PortableEntries {
    unsafe fn expand(place: &mut Key, key: &[u8]) {
        // SAFETY: the vector needs no instructions.
        unsafe { place.expand::<Portable>(key) };
    }

    unsafe fn absorb(key: &Key, aad: &[u8], last: &mut [u8; 16]) {
        // SAFETY: as above.
        unsafe { message::absorb::<Portable>(key, aad, last) };
    }

    unsafe fn short<const SEAL: bool>(key: &Key, message: &Message<'_>) {
        // SAFETY: the caller's promise.
        unsafe { message::short::<Portable, SEAL>(key, message) };
    }

    unsafe fn long<const SEAL: bool>(key: &Key, message: &Message<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            if key.rounds == 10 {
                message::long::<Portable, 10, SEAL>(key, message);
            } else {
                message::long::<Portable, 14, SEAL>(key, message);
            }
        }
    }

    unsafe fn wiping_after(work: &mut dyn FnMut()) {
        work();
    }
}

/// A bit in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Eight bytes multiplied by x in the field of AES, x^8 + x^4 + x^3 + x + 1. FIPS 197 4.2
fn times_x(bytes: u64) -> u64 {
    ((bytes << 1) & !ONES) ^ (((bytes >> 7) & ONES) * 0x1b)
}

/// The products of eight pairs of bytes in the field of AES.
fn times(bytes: u64, others: u64) -> u64 {
    let (mut multiple, mut sum) = (bytes, 0);
    for bit in 0..8 {
        sum ^= multiple & (((others >> bit) & ONES) * 0xff);
        multiple = times_x(multiple);
    }
    sum
}

/// SubBytes of eight bytes. Miri, which is some thousand times slower, looks them up in a table.
fn sub_bytes(bytes: u64) -> u64 {
    #[cfg(miri)]
    {
        use std::sync::LazyLock;
        static TABLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let eight = |at| u64::from_le_bytes(std::array::from_fn(|byte| at + byte as u8));
            (0..=u8::MAX).step_by(8).flat_map(|at| computed(eight(at)).to_le_bytes()).collect()
        });
        let table = &*TABLE;
        u64::from_le_bytes(bytes.to_le_bytes().map(|byte| table[usize::from(byte)]))
    }
    #[cfg(not(miri))]
    computed(bytes)
}

/// SubBytes of eight bytes: the inverse, which is the power 254, then the affine transformation.
/// FIPS 197 5.1.1
fn computed(bytes: u64) -> u64 {
    // 254 = 2 + 4 + 8 + 16 + 32 + 64 + 128
    let (mut power, mut inverse) = (times(bytes, bytes), ONES);
    for _ in 1..8 {
        inverse = times(inverse, power);
        power = times(power, power);
    }
    let rotated = |left: u32| {
        let (low, high) = (ONES * (0xff >> left), inverse);
        ((high & low) << left) | ((high >> (8 - left)) & (ONES * ((1 << left) - 1)))
    };
    inverse ^ rotated(1) ^ rotated(2) ^ rotated(3) ^ rotated(4) ^ (ONES * 0x63)
}

/// The carry-less product: its low and high half.
fn carry_less_product(a: u64, b: u64) -> (u64, u64) {
    let mut product = 0_u128;
    for bit in 0..64 {
        let mask = 0_u128.wrapping_sub(u128::from(b >> bit & 1));
        product ^= u128::from(a) << bit & mask;
    }
    (product as u64, (product >> 64) as u64)
}

impl Portable {
    fn bytes(self) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: [u8; 64]) -> Self {
        let word = |at: usize| core::array::from_fn(|i| bytes[8 * at + i]);
        Self(core::array::from_fn(|at| u64::from_le_bytes(word(at))))
    }

    fn blocks(self) -> [[u64; 2]; 4] {
        core::array::from_fn(|lane| [self.0[2 * lane], self.0[2 * lane + 1]])
    }

    fn from_halves(blocks: [[u64; 2]; 4]) -> Self {
        Self(core::array::from_fn(|at| blocks[at / 2][at % 2]))
    }

    fn zip(self, other: Self, function: impl Fn([u64; 2], [u64; 2]) -> [u64; 2]) -> Self {
        let (a, b) = (self.blocks(), other.blocks());
        Self::from_halves(core::array::from_fn(|lane| function(a[lane], b[lane])))
    }

    /// ShiftRows and SubBytes. FIPS 197 5.1.1, 5.1.2
    fn substitute(self) -> Self {
        let bytes = Self(self.0.map(sub_bytes)).bytes();
        Self::from_bytes(core::array::from_fn(|at| {
            let (lane, column, row) = (at / 16, at / 4 % 4, at % 4);
            bytes[16 * lane + 4 * ((column + row) % 4) + row]
        }))
    }

    /// MixColumns. FIPS 197 5.1.3
    fn mix_columns(self) -> Self {
        // The next byte of the same column, in each byte.
        let next =
            |word: u64| word >> 8 & 0x00ff_ffff_00ff_ffff | word << 24 & 0xff00_0000_ff00_0000;
        Self(self.0.map(|word| {
            let (second, third) = (next(word), next(next(word)));
            times_x(word ^ second) ^ second ^ third ^ next(third)
        }))
    }
}

impl Vector for Portable {
    unsafe fn zero() -> Self {
        Self([0; 8])
    }

    unsafe fn splat(number: u64) -> Self {
        Self([number; 8])
    }

    unsafe fn splat_word(word: u32) -> Self {
        Self([u64::from(word) << 32 | u64::from(word); 8])
    }

    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        Self::from_bytes(unsafe { from.cast::<[u8; 64]>().read_unaligned() })
    }

    unsafe fn load_first(from: *const u8, len: usize) -> Self {
        let mut bytes = [0; 64];
        // SAFETY: the caller's promise.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), len) };
        Self::from_bytes(bytes)
    }

    unsafe fn load_block(from: *const u8) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::load_short_block(from, 16) }
    }

    unsafe fn load_short_block(from: *const u8, len: usize) -> Self {
        assert!(len <= 16);
        // SAFETY: the caller's promise.
        unsafe { Self::load_first(from, len) }.repeat_lane::<0>()
    }

    unsafe fn from_blocks(blocks: [*const u8; 4]) -> Self {
        let blocks = blocks.map(|from| {
            // SAFETY: the caller's promise.
            let halves = unsafe { from.cast::<[[u8; 8]; 2]>().read_unaligned() };
            halves.map(u64::from_le_bytes)
        });
        Self::from_halves(blocks)
    }

    unsafe fn from_nonce(nonce: &[u8; 12]) -> Self {
        // SAFETY: the slice has this length.
        unsafe { Self::load_short_block(nonce.as_ptr(), nonce.len()) }
    }

    unsafe fn block_in_lane(lane: usize, low: u64, high: u64) -> Self {
        let mut blocks = [[0; 2]; 4];
        blocks[lane] = [low, high];
        Self::from_halves(blocks)
    }

    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.store_first(to, 64) };
    }

    unsafe fn store_first(self, to: *mut u8, len: usize) {
        assert!(len <= 64);
        let bytes = self.bytes();
        // SAFETY: the caller's promise.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(to, len) };
    }

    unsafe fn store_block(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.store_first(to, 16) };
    }

    fn first_word(self) -> u32 {
        self.0[0] as u32
    }

    fn round(self, key: Self) -> Self {
        self.substitute().mix_columns().xor(key)
    }

    fn last_round(self, key: Self) -> Self {
        self.substitute().xor(key)
    }

    fn xor(self, other: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at] ^ other.0[at]))
    }

    fn xor3(self, second: Self, third: Self) -> Self {
        self.xor(second).xor(third)
    }

    fn xor_counter(self, counter: u32) -> Self {
        self.xor_counters([counter; 4])
    }

    fn xor_counters(self, counters: [u32; 4]) -> Self {
        let change = counters.map(|counter| [0, u64::from(counter.swap_bytes()) << 32]);
        self.xor(Self::from_halves(change))
    }

    fn product<const HALVES: i32>(self, other: Self) -> Self {
        let (half, other_half) = (HALVES & 1, HALVES >> 4 & 1);
        self.zip(other, |a, b| {
            let (low, high) = carry_less_product(a[half as usize], b[other_half as usize]);
            [low, high]
        })
    }

    fn reverse(self) -> Self {
        self.zip(self, |[low, high], _| [high.swap_bytes(), low.swap_bytes()])
    }

    fn swap_halves(self) -> Self {
        self.zip(self, |[low, high], _| [high, low])
    }

    fn swap_lanes(self) -> Self {
        let [a, b, c, d] = self.blocks();
        Self::from_halves([c, d, a, b])
    }

    fn low_halves(self, other: Self) -> Self {
        self.zip(other, |a, b| [a[0], b[0]])
    }

    fn high_halves(self, other: Self) -> Self {
        self.zip(other, |a, b| [a[1], b[1]])
    }

    fn with_last_lanes(self, other: Self) -> Self {
        let ([a, b, ..], [.., c, d]) = (self.blocks(), other.blocks());
        Self::from_halves([a, b, c, d])
    }

    fn only_lane_3(self) -> Self {
        let [.., d] = self.blocks();
        Self::from_halves([[0; 2], [0; 2], [0; 2], d])
    }

    fn repeat_lane<const LANE: i32>(self) -> Self {
        Self::from_halves([self.blocks()[LANE as usize]; 4])
    }

    fn sum_lanes(self) -> Self {
        let sum = |half| self.blocks().iter().fold(0, |sum, block| sum ^ block[half]);
        Self::from_halves([[sum(0), sum(1)]; 4])
    }

    fn keep_first(self, len: usize) -> Self {
        let bytes = self.bytes();
        Self::from_bytes(core::array::from_fn(|at| if at < len { bytes[at] } else { 0 }))
    }

    fn with_byte(self, at: usize, byte: u8) -> Self {
        let mut bytes = self.bytes();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        Self::from_bytes(bytes)
    }

    fn keep_order(_: [&mut Self; 4], _: [&mut Self; 5]) {}
}
