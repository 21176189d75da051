//! HMAC keys as chaining values of the hash function.
//!
//! HMAC hashes a block with the padded key before the message, and another such block before the
//! inner digest. A key is stored as the two chaining values after those blocks. A MAC starts from
//! each of them in turn, in one context on the stack, which is then wiped. AWS-LC offers two other
//! ways. All three were timed in one run of `just bench-crypto` (Xeon with SHA extensions, a busy
//! machine: only the ratios count), for a message as long as the digest:
//!
//! | way | kept | SHA-256 | SHA-384 |
//! |---|---:|---:|---:|
//! | `HMAC_CTX`, restarted by `HMAC_Init_ex` | 1224 B | 160 ns | 558 ns |
//! | `HMAC_Init_from_precomputed_key` | 64 or 128 B | 218 ns | 642 ns |
//! | chaining values (this) | 64 or 128 B | 145 ns | 517 ns |
//!
//! A stored `HMAC_CTX` is too large for a handshake that has several keys. A precomputed key makes
//! each MAC clear and wipe a context of 1224 bytes.

use crate::algorithm::HashAlgorithm;
use crate::backend::lanes::{self, Instructions, Lane};
use crate::backend::memory::wipe_words;
use crate::backend::sha::{Context, Sha256, Sha512};
use crate::hash::Hash;
use crate::memory::wipe;

/// The hash function's states after the inner pad and after the outer pad.
pub(super) enum Pads {
    Sha256([[u32; 8]; 2]),
    Sha384([[u64; 8]; 2]),
    Sha512([[u64; 8]; 2]),
}

impl Pads {
    pub(super) fn batch<const N: usize>(algorithm: HashAlgorithm, keys: [&[u8]; N]) -> [Self; N] {
        let lanes = lanes::in_use();
        let from = match algorithm {
            _ if !lanes::is_faster(lanes, 2 * N) => None,
            HashAlgorithm::Sha256 => None,
            HashAlgorithm::Sha384 => Some(Sha512::new_384()),
            HashAlgorithm::Sha512 => Some(Sha512::new_512()),
        };
        match from {
            Some(start) => absorb_in_lanes(lanes, algorithm, &start.chaining(), keys),
            None => keys.map(|key| Self::alone(algorithm, key)),
        }
    }

    fn alone(algorithm: HashAlgorithm, key: &[u8]) -> Self {
        let mut block = [0; MAX_BLOCK_LEN];
        let block = &mut block[..algorithm.block_len()];
        write_key(algorithm, key, block);
        let pads = match algorithm {
            HashAlgorithm::Sha256 => Self::Sha256(absorb(Sha256::new, block)),
            HashAlgorithm::Sha384 => Self::Sha384(absorb(Sha512::new_384, block)),
            HashAlgorithm::Sha512 => Self::Sha512(absorb(Sha512::new_512, block)),
        };
        wipe(block);
        pads
    }

    pub(super) fn algorithm(&self) -> HashAlgorithm {
        match self {
            Self::Sha256(_) => HashAlgorithm::Sha256,
            Self::Sha384(_) => HashAlgorithm::Sha384,
            Self::Sha512(_) => HashAlgorithm::Sha512,
        }
    }

    pub(super) fn from_states(algorithm: HashAlgorithm, states: [[u64; 8]; 2]) -> Self {
        match algorithm {
            HashAlgorithm::Sha384 => Self::Sha384(states),
            _ => Self::Sha512(states),
        }
    }

    pub(super) fn sha512_states(&self) -> Option<&[[u64; 8]; 2]> {
        match self {
            Self::Sha256(_) => None,
            Self::Sha384(states) | Self::Sha512(states) => Some(states),
        }
    }

    #[inline]
    pub(super) fn mac(&self, groups: &[&[&[u8]]], out: &mut [u8]) {
        match self {
            Self::Sha256(pads) => mac_with::<Sha256>(pads, 32, groups, out),
            Self::Sha384(pads) => mac_with::<Sha512>(pads, 48, groups, out),
            Self::Sha512(pads) => mac_with::<Sha512>(pads, 64, groups, out),
        }
    }
}

impl Drop for Pads {
    fn drop(&mut self) {
        match self {
            Self::Sha256(pads) => wipe_words(pads.as_flattened_mut()),
            Self::Sha384(pads) | Self::Sha512(pads) => wipe_words(pads.as_flattened_mut()),
        }
    }
}

/// Writes the key into a block of zeros. A key longer than the block is hashed first. RFC 2104 2
fn write_key(algorithm: HashAlgorithm, key: &[u8], block: &mut [u8]) {
    if key.len() <= block.len() {
        block[..key.len()].copy_from_slice(key);
    } else {
        let mut digest = Hash::digest(algorithm, &[key]);
        block[..digest.len()].copy_from_slice(&digest);
        wipe(digest.as_mut_bytes());
    }
}

/// Compresses the pads of all keys in lanes. `start` is the initial state of the hash function.
fn absorb_in_lanes<const N: usize>(
    instructions: Instructions,
    algorithm: HashAlgorithm,
    start: &[u64; 8],
    keys: [&[u8]; N],
) -> [Pads; N] {
    let mut both = [[Lane::EMPTY; 2]; N];
    for (pads, key) in both.iter_mut().zip(keys) {
        write_pads(algorithm, start, key, pads);
    }
    lanes::compress(instructions, both.as_flattened_mut());
    let keys = both
        .each_ref()
        .map(|[inner, outer]| Pads::from_states(algorithm, [inner.state, outer.state]));
    lanes::wipe(both.as_flattened_mut());
    keys
}

/// Writes the inner and outer pad of a key into two empty lanes. `start` is the initial state of
/// the hash function. RFC 2104 2
pub(crate) fn write_pads(
    algorithm: HashAlgorithm,
    start: &[u64; 8],
    key: &[u8],
    [inner, outer]: &mut [Lane; 2],
) {
    (inner.state, outer.state) = (*start, *start);
    write_key(algorithm, key, inner.block.as_flattened_mut());
    outer.block = inner.block;
    inner.block.as_flattened_mut().iter_mut().for_each(|byte| *byte ^= INNER_PAD);
    outer.block.as_flattened_mut().iter_mut().for_each(|byte| *byte ^= OUTER_PAD);
}

fn absorb<C: Context>(new: impl Fn() -> C, block: &mut [u8]) -> [C::Chaining; 2] {
    [INNER_PAD, INNER_PAD ^ OUTER_PAD].map(|pad| {
        // The second iteration also removes the inner pad.
        block.iter_mut().for_each(|byte| *byte ^= pad);
        let mut context = new();
        context.update(block);
        let chaining = context.chaining();
        context.wipe();
        chaining
    })
}

#[inline]
fn mac_with<C: Context>(
    [inner, outer]: &[C::Chaining; 2],
    digest_len: u32,
    groups: &[&[&[u8]]],
    out: &mut [u8],
) {
    let mut context = C::after_one_block(inner, digest_len);
    for part in groups.iter().copied().flatten() {
        context.update(part);
    }
    // `out` contains the inner digest temporarily. Only the caller can read it there, and the
    // caller receives the MAC anyway.
    context.finish(out);
    // One context is used for both hashes, so that it is wiped only once.
    context.restart(outer, digest_len);
    context.update(out);
    context.finish(out);
    context.wipe();
}

const INNER_PAD: u8 = 0x36;
const OUTER_PAD: u8 = 0x5c;
const MAX_BLOCK_LEN: usize = 128;
