//! The operations of a vector of four blocks, of which the kernel is composed.

/// A block of AES and of GHASH.
pub(super) type Block = [u8; 16];

/// Four blocks of 16 bytes, called lanes 0 to 3, in the order of memory.
///
/// Bytes and halves of a block are counted in the order of memory, too: byte 0 and the low half
/// come first.
///
/// A value proves that the processor has the vector's instructions: all constructors are `unsafe`
/// for that reason, and the operations are safe.
///
/// # Safety of the constructors
///
/// The processor must have the vector's instructions. What is loaded must be readable.
pub(super) trait Vector: Copy {
    /// Zeros.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn zero() -> Self;

    /// Eight times the same number.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn splat(number: u64) -> Self;

    /// Sixteen times the same word.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn splat_word(word: u32) -> Self;

    /// Loads 64 bytes.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn load(from: *const u8) -> Self;

    /// Loads the first `len` bytes, at most 64; the others are zero. Reads nothing beyond `len`.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn load_first(from: *const u8, len: usize) -> Self;

    /// Loads the same block into each lane.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn load_block(from: *const u8) -> Self;

    /// Loads `len` bytes, at most 16, into each lane; the others are zero.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn load_short_block(from: *const u8, len: usize) -> Self;

    /// Loads a block into each lane.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn from_blocks(blocks: [*const u8; 4]) -> Self;

    /// The nonce, followed by four zero bytes, in each lane.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn from_nonce(nonce: &[u8; 12]) -> Self;

    /// Two numbers as the halves of one lane; the other lanes are zero.
    #[allow(clippy::missing_safety_doc, reason = "see the trait")]
    unsafe fn block_in_lane(lane: usize, low: u64, high: u64) -> Self;

    /// Stores 64 bytes.
    ///
    /// # Safety
    ///
    /// They must be writable.
    unsafe fn store(self, to: *mut u8);

    /// Stores the first `len` bytes, at most 64, and writes nothing beyond them.
    ///
    /// # Safety
    ///
    /// They must be writable.
    unsafe fn store_first(self, to: *mut u8, len: usize);

    /// Stores lane 0.
    ///
    /// # Safety
    ///
    /// Its 16 bytes must be writable.
    unsafe fn store_block(self, to: *mut u8);

    /// The first four bytes as a number, least significant byte first.
    fn first_word(self) -> u32;

    /// One round of AES: ShiftRows, SubBytes, MixColumns, AddRoundKey. FIPS 197 5.1
    fn round(self, key: Self) -> Self;

    /// The last round of AES, without MixColumns.
    fn last_round(self, key: Self) -> Self;

    /// Exclusive or.
    fn xor(self, other: Self) -> Self;

    /// Exclusive or of three.
    fn xor3(self, second: Self, third: Self) -> Self;

    /// Changes the counters (the last four bytes, big-endian) of all lanes by exclusive or.
    fn xor_counter(self, counter: u32) -> Self;

    /// Changes the counter of each lane by exclusive or.
    fn xor_counters(self, counters: [u32; 4]) -> Self;

    /// The carry-less product of one half of each block with one half of the other vector's block.
    /// Bit 0 of `HALVES` selects the high half of `self`, bit 4 that of `other`.
    fn product<const HALVES: i32>(self, other: Self) -> Self;

    /// Reverses the bytes of each block.
    fn reverse(self) -> Self;

    /// Swaps the halves of each block.
    fn swap_halves(self) -> Self;

    /// Swaps lanes 0 and 1 with lanes 2 and 3.
    fn swap_lanes(self) -> Self;

    /// The low half of each block, followed by the low half of the other vector's block.
    fn low_halves(self, other: Self) -> Self;

    /// The high half of each block, followed by the high half of the other vector's block.
    fn high_halves(self, other: Self) -> Self;

    /// Lanes 0 and 1, followed by lanes 2 and 3 of the other vector.
    fn with_last_lanes(self, other: Self) -> Self;

    /// Lane 3; the others are zero.
    fn only_lane_3(self) -> Self;

    /// Lane `LANE` in each lane.
    fn repeat_lane<const LANE: i32>(self) -> Self;

    /// The exclusive or of all lanes, in each lane.
    fn sum_lanes(self) -> Self;

    /// The first `len` bytes; the others are zero.
    fn keep_first(self, len: usize) -> Self;

    /// Replaces a byte if its position is less than 64.
    fn with_byte(self, at: usize, byte: u8) -> Self;

    /// Makes the compiler compute these vectors before it continues, and in this place.
    ///
    /// The compiler would group the rounds of AES and the products of GHASH. They use different
    /// units of the processor, which work in parallel only if their instructions alternate.
    fn keep_order(first: [&mut Self; 4], second: [&mut Self; 5]);
}
