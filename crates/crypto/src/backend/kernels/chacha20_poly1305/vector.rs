//! The operations on 512 bits that ChaCha20 and Poly1305 need.
//!
//! See `avx512.rs` for the instructions, and `portable.rs` for an implementation without vector
//! instructions, with which Miri and Valgrind run the same algorithms.

/// 512 bits: sixteen words of 32 bits, eight words of 64 bits, or four quarters of four words.
/// All words are little-endian.
pub(super) trait Vector: Copy {
    /// Proves that the processor has the vector's instructions. A value of `Vector` is a proof too.
    type Proof: Copy;

    /// The same number in all sixteen words.
    fn splat32(proof: Self::Proof, word: u32) -> Self;

    /// The same number in all eight words.
    fn splat64(proof: Self::Proof, word: u64) -> Self;

    /// The same four words in each quarter.
    fn splat_row(proof: Self::Proof, row: &[u32; 4]) -> Self;

    /// This number in the first word, and zeros in the others.
    fn first32(proof: Self::Proof, word: u32) -> Self;

    /// Sixteen words.
    fn words32(proof: Self::Proof, words: &[u32; 16]) -> Self;

    /// Eight words.
    fn words64(proof: Self::Proof, words: &[u64; 8]) -> Self;

    /// Loads 64 bytes.
    ///
    /// # Safety
    ///
    /// They must be readable.
    unsafe fn load(proof: Self::Proof, from: *const u8) -> Self;

    /// Loads the bytes whose bits in `which` are ones. The others are zeros.
    ///
    /// # Safety
    ///
    /// These bytes must be readable; the others need not be.
    unsafe fn load_some(proof: Self::Proof, from: *const u8, which: u64) -> Self;

    /// Stores 64 bytes.
    ///
    /// # Safety
    ///
    /// They must be writable.
    unsafe fn store(self, to: *mut u8);

    /// Stores the bytes whose bits in `which` are ones.
    ///
    /// # Safety
    ///
    /// These bytes must be writable; the others need not be.
    unsafe fn store_some(self, to: *mut u8, which: u64);

    /// The sums of words of 32 bits.
    fn add32(self, other: Self) -> Self;

    /// The sums of words of 64 bits.
    fn add64(self, other: Self) -> Self;

    fn xor(self, other: Self) -> Self;

    fn and(self, other: Self) -> Self;

    /// Rotates words of 32 bits to the left.
    fn rotate32<const BY: i32>(self) -> Self;

    /// Shifts words of 64 bits to the left.
    fn shift_left<const BY: u32>(self) -> Self;

    /// Shifts words of 64 bits to the right.
    fn shift_right<const BY: u32>(self) -> Self;

    /// The low 64 bits of `2^64 * high + self`, shifted to the right.
    fn shift_right_from<const BY: i32>(self, high: Self) -> Self;

    /// Adds the low 52 bits of the product of the low 52 bits of two words.
    fn add_product_low(self, a: Self, b: Self) -> Self;

    /// Adds bits 52 to 103 of the product of the low 52 bits of two words.
    fn add_product_high(self, a: Self, b: Self) -> Self;

    /// Rotates the words of each quarter: [`ONE`], [`TWO`] or [`THREE`] places to the left.
    fn rotate_row<const PLACES: i32>(self) -> Self;

    /// Interleaves the words 0 and 1 of each quarter with those of `other`.
    fn interleave_low32(self, other: Self) -> Self;

    /// Interleaves the words 2 and 3 of each quarter with those of `other`.
    fn interleave_high32(self, other: Self) -> Self;

    /// The low half of each quarter, followed by that of `other`.
    fn interleave_low64(self, other: Self) -> Self;

    /// The high half of each quarter, followed by that of `other`.
    fn interleave_high64(self, other: Self) -> Self;

    /// Two quarters of this vector and two of `other`. Two bits of `WHICH` select each quarter,
    /// the lowest bits the first.
    fn quarters<const WHICH: i32>(self, other: Self) -> Self;

    /// The words 0, 2, 4 and 6 of this vector, then those of `other`.
    fn even64(self, other: Self) -> Self;

    /// The words 1, 3, 5 and 7 of this vector, then those of `other`.
    fn odd64(self, other: Self) -> Self;

    /// The words of `other` where `WHICH` has ones, and of this vector where it has zeros.
    fn select64<const WHICH: u8>(self, other: Self) -> Self;

    /// Word 0 of eight in all places.
    fn splat_first64(self) -> Self;

    /// The sum of the eight words.
    fn sum64(self) -> u64;
}

// For `rotate_row`: two bits for the source of each word, the lowest bits for the first word.
pub(super) const ONE: i32 = 0b00_11_10_01;
pub(super) const TWO: i32 = 0b01_00_11_10;
pub(super) const THREE: i32 = 0b10_01_00_11;
