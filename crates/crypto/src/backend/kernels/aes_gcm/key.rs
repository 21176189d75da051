//! The expanded key: round keys of AES, and powers of the hash key.

use super::ghash::{first_weight, multiply};
use super::vector::{Block, Vector};

/// The number of powers of the hash key. A message of at most that many blocks, with the block of
/// additional data and the block of lengths, is hashed without an intermediate reduction.
pub(super) const POWERS: usize = 16;

/// An expanded key.
#[repr(C)]
pub(crate) struct Key {
    /// H^16, H^15, ... H^1 as weights: see `ghash.rs`.
    pub(super) powers: [Block; POWERS],
    /// The key schedule. FIPS 197 5.2. It must follow the powers: a load of four powers can
    /// extend beyond them, where blocks are zero and have no weight.
    pub(super) round_keys: [[u32; 4]; 15],
    /// The number of rounds: 10 or 14.
    pub(super) rounds: usize,
}

impl Key {
    /// The key before its expansion.
    pub(super) const EMPTY: Self =
        Self { powers: [[0; 16]; POWERS], round_keys: [[0; 4]; 15], rounds: 0 };

    /// Expands a key of 16 or 32 bytes.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of `V`.
    #[inline(always)]
    pub(super) unsafe fn expand<V: Vector>(&mut self, key: &[u8]) {
        let words = self.round_keys.as_flattened_mut();
        // SAFETY: the caller's promise, here and below.
        unsafe {
            if key.len() == 16 {
                schedule::<V, 4>(words, key);
                self.rounds = 10;
            } else {
                debug_assert!(key.len() == 32, "callers check the length");
                schedule::<V, 8>(words, key);
                self.rounds = 14;
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.make_powers::<V>() };
    }

    /// Computes the hash key, which is the encryption of zeros, and its powers.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of `V`.
    #[inline(always)]
    unsafe fn make_powers<V: Vector>(&mut self) {
        // SAFETY: the caller's promise; each access is to some of the sixteen powers. Up to four
        // powers are accessed at once, so addresses are taken from the whole array, and after the
        // last use of other references.
        unsafe {
            let mut states = [V::load_block(self.round_key(0))];
            let last = self.all_but_last_round(&mut states);
            let last_power = &mut self.powers[POWERS - 1];
            states[0].last_round(last).store_block(last_power.as_mut_ptr());
            *last_power = first_weight(*last_power);
            let place = self.powers.as_mut_ptr().cast::<u8>();
            // In descending order: 1; 2, 1; 4, 3, 2, 1; 8 to 5; then 12 to 9 and 16 to 13.
            let one = V::load_block(place.add(16 * 15));
            let two = multiply(one, one);
            two.store_block(place.add(16 * 14));
            let four_and_three = multiply(V::load_first(place.add(16 * 14), 32), two);
            four_and_three.store_first(place.add(16 * 12), 32);
            let lowest = V::load(place.add(16 * 12));
            let second = multiply(lowest, lowest.repeat_lane::<0>());
            second.store(place.add(16 * 8));
            let eight = second.repeat_lane::<0>();
            multiply(lowest, eight).store(place.add(16 * 4));
            multiply(second, eight).store(place);
        }
    }

    /// The address of a round key.
    ///
    /// # Safety
    ///
    /// There are `rounds + 1` round keys.
    #[inline(always)]
    pub(super) unsafe fn round_key(&self, round: usize) -> *const u8 {
        debug_assert!(round <= self.rounds);
        // SAFETY: the caller's promise, and there are at most 14 rounds.
        unsafe { self.round_keys.as_ptr().add(round).cast() }
    }

    /// The address of H^`power`, followed by lower powers. The address may be beyond H^1 by up to
    /// three blocks, and the four blocks there can be read.
    ///
    /// # Safety
    ///
    /// `power` must be from -3 to 16.
    #[inline(always)]
    pub(super) unsafe fn power(&self, power: isize) -> *const u8 {
        debug_assert!((-3..=16).contains(&power));
        let start = (&raw const *self).cast::<u8>();
        // SAFETY: the structure begins with the powers, and 240 more bytes follow them.
        unsafe { start.offset(16 * (16 - power)) }
    }

    /// All rounds of AES except the last one, after the first round key has been added. Returns the
    /// last round key.
    ///
    /// The number of rounds is public. It is 4k + 2 for both key lengths.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of `V`.
    #[inline(always)]
    pub(super) unsafe fn all_but_last_round<V: Vector, const N: usize>(
        &self,
        states: &mut [V; N],
    ) -> V {
        // SAFETY: the caller's promise; the loop ends before the last round key.
        unsafe {
            let mut key = self.round_key(1);
            for _ in 0..self.rounds / 4 {
                for _ in 0..4 {
                    add_round(states, key);
                    key = key.add(16);
                }
            }
            add_round(states, key);
            key = key.add(16);
            V::load_block(key)
        }
    }
}

/// One round of AES on each state.
///
/// # Safety
///
/// The processor must have the instructions of `V`; `key` must be the address of a round key.
#[inline(always)]
unsafe fn add_round<V: Vector, const N: usize>(states: &mut [V; N], key: *const u8) {
    // SAFETY: the caller's promise.
    let key = unsafe { V::load_block(key) };
    for state in states {
        *state = state.round(key);
    }
}

/// The key schedule, FIPS 197 5.2, for a key of `NK` words. Words have their first byte in the
/// least significant place, so that a rotation of bytes to the left is one of bits to the right.
///
/// # Safety
///
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn schedule<V: Vector, const NK: usize>(words: &mut [u32], key: &[u8]) {
    for (word, bytes) in words.iter_mut().zip(key.chunks_exact(4)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    let mut round_constant = 1;
    for at in NK..4 * (NK + 7) {
        let mut word = words[at - 1];
        if at % NK == 0 {
            // SAFETY: the caller's promise.
            word = unsafe { sub_word::<V>(word.rotate_right(8)) } ^ round_constant;
            // Multiplied by x in the field of AES.
            round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x11b);
        } else if NK > 6 && at % NK == 4 {
            // SAFETY: the caller's promise.
            word = unsafe { sub_word::<V>(word) };
        }
        words[at] = words[at - NK] ^ word;
    }
}

/// SubWord: the S-box on each byte. In a block of equal columns, ShiftRows changes nothing, so the
/// last round with a key of zeros is SubBytes.
///
/// # Safety
///
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn sub_word<V: Vector>(word: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { V::splat_word(word).last_round(V::zero()).first_word() }
}
