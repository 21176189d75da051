//! A hash whose blocks are compressed in the same lanes as a chain of MACs.
//!
//! In a chain in which each MAC depends on the previous one, most lanes (`backend/lanes`) would be
//! unused. Here, the other lanes hash a long public message that none of the MACs depends on, until
//! the chain ends; the rest is hashed afterwards. See `batch.rs` for independent MACs.
//!
//! The choice of code path depends only on the lengths and the hash function, which are public.

use crate::algorithm::HashAlgorithm;
use crate::backend::lanes::{self, Instructions, Lane};
use crate::backend::secret::SecretBytes;
use crate::batch::{BLOCK_LEN, END, Job, write_length};
use crate::hash::Hash;
use crate::hkdf::Prk;
use crate::hmac::HmacKey;
#[cfg(not(feature = "fips"))]
use crate::hmac::write_pads;

/// A hash in progress, and the message that is hashed into it while MACs are computed.
pub struct InterleavedHash<'h> {
    hash: &'h mut Hash,
    /// The bytes that are not yet hashed.
    bytes: &'h [u8],
    /// The state in lanes; `None` if the hash is not computed in lanes.
    running: Option<Running>,
}

struct Running {
    instructions: Instructions,
    state: [u64; 8],
    blocks: u64,
}

impl<'h> InterleavedHash<'h> {
    /// Prepares to hash `bytes` into `hash`. All bytes are hashed after [`Self::finish`].
    #[must_use]
    pub fn new(hash: &'h mut Hash, bytes: &'h [u8]) -> Self {
        Self::with_instructions(lanes::in_use(), hash, bytes)
    }

    fn with_instructions(instructions: Instructions, hash: &'h mut Hash, bytes: &'h [u8]) -> Self {
        let mut this = Self { hash, bytes, running: None };
        // Lanes must be faster for three blocks: the two pads of a key, and a block of this hash.
        if lanes::is_faster(instructions, 3) && bytes.len() >= 2 * BLOCK_LEN {
            let (lead, rest) = bytes.split_at(this.hash.to_boundary().unwrap_or_default());
            if let Some(state) = this.hash.at_boundary(lead) {
                (this.bytes, this.running) =
                    (rest, Some(Running { instructions, state, blocks: 0 }));
            }
        }
        this
    }

    /// The MAC of `parts`.
    #[must_use]
    pub fn mac<const LENGTH: usize>(
        &mut self,
        key: &HmacKey,
        parts: &[&[u8]],
    ) -> SecretBytes<LENGTH> {
        let [mac] = self.macs([(key, parts)]);
        mac
    }

    /// One output of HKDF-Expand for each info, as long as the digest of the hash function of
    /// `prk`. RFC 5869 2.3
    #[must_use]
    pub fn expand<const LENGTH: usize, const N: usize>(
        &mut self,
        prk: &Prk,
        infos: [[&[u8]; 2]; N],
    ) -> [SecretBytes<LENGTH>; N] {
        if cfg!(feature = "fips") {
            let len = prk.hmac().algorithm().output_len();
            return infos.map(|info| SecretBytes::with(len, |out| prk.expand(&info, out)));
        }
        let parts = infos.map(|[first, second]| [first, second, &[1]]);
        self.macs(parts.each_ref().map(|parts| (prk.hmac(), parts.as_slice())))
    }

    /// HMAC keys, each equal to the result of [`HmacKey::new`].
    #[must_use]
    pub fn keys<const N: usize>(
        &mut self,
        algorithm: HashAlgorithm,
        keys: [&[u8]; N],
    ) -> [HmacKey; N] {
        #[cfg(not(feature = "fips"))]
        if let Some(made) = self.keys_in_lanes(algorithm, keys) {
            return made;
        }
        HmacKey::batch(algorithm, keys)
    }

    #[cfg(not(feature = "fips"))]
    fn keys_in_lanes<const N: usize>(
        &mut self,
        algorithm: HashAlgorithm,
        keys: [&[u8]; N],
    ) -> Option<[HmacKey; N]> {
        let fits = keys.iter().all(|key| key.len() <= BLOCK_LEN) && 2 * N < MAX_LANES;
        let (start, true) = (Hash::new(algorithm).at_boundary(&[])?, fits) else { return None };
        let running = self.running.as_mut()?;
        let mut room = [Lane::EMPTY; MAX_LANES];
        let pairs = room.chunks_exact_mut(2).filter_map(|pair| pair.first_chunk_mut());
        for (pads, key) in pairs.zip(keys) {
            write_pads(algorithm, &start, key, pads);
        }
        running.compress(&mut room[..=2 * N], &mut self.bytes);
        let made = core::array::from_fn(|index| {
            HmacKey::from_states(algorithm, [room[2 * index].state, room[2 * index + 1].state])
        });
        lanes::wipe(&mut room[..=2 * N]);
        Some(made)
    }

    /// Hashes the remaining bytes.
    pub fn finish(self) {
        if let Some(Running { state, blocks, .. }) = self.running {
            self.hash.resume_from(&state, blocks);
        }
        self.hash.update(self.bytes);
    }

    fn macs<const LENGTH: usize, const N: usize>(
        &mut self,
        all: [(&HmacKey, &[&[u8]]); N],
    ) -> [SecretBytes<LENGTH>; N] {
        let lengths = all.map(|(key, _)| key.algorithm().output_len());
        SecretBytes::batch(lengths, |outs| {
            let fits = all.iter().all(|&(key, parts)| {
                key.sha512_states().is_some() && job(key, parts).blocks() == 1
            });
            let (Some(running), true) = (&mut self.running, fits && N < MAX_LANES) else {
                let each = outs.into_iter().zip(all);
                return each.for_each(|(out, (key, parts))| key.mac(&[parts], out));
            };
            let mut room = [Lane::EMPTY; MAX_LANES];
            let lanes = &mut room[..=N];
            for (lane, (key, parts)) in lanes.iter_mut().zip(all) {
                let Some([inner, _]) = key.sha512_states() else { continue };
                lane.state = *inner;
                if let Some(block) = lane.block.as_flattened_mut().first_chunk_mut() {
                    job(key, parts).write_block(0, block);
                }
            }
            running.compress(lanes, &mut self.bytes);
            for (lane, (key, _)) in lanes.iter_mut().zip(all) {
                let Some([_, outer]) = key.sha512_states() else { continue };
                for (word, bytes) in lane.state.iter().zip(&mut lane.block) {
                    *bytes = word.to_be_bytes();
                }
                if let Some(block) = lane.block.as_flattened_mut().first_chunk_mut() {
                    pad_after(key.algorithm().output_len(), block);
                }
                lane.state = *outer;
            }
            running.compress(lanes, &mut self.bytes);
            for (lane, out) in lanes.iter().zip(outs) {
                let words = lane.state.iter().flat_map(|word| word.to_be_bytes());
                out.iter_mut().zip(words).for_each(|(place, byte)| *place = byte);
            }
            lanes::wipe(lanes);
        })
    }
}

impl Running {
    /// Compresses the block of each lane. The last lane has the next block of this hash, if a
    /// whole block is left.
    fn compress(&mut self, lanes: &mut [Lane], bytes: &mut &[u8]) {
        let Some((last, others)) = lanes.split_last_mut() else { return };
        let Some((block, rest)) = bytes.split_first_chunk::<BLOCK_LEN>() else {
            return lanes::compress(self.instructions, others);
        };
        last.state = self.state;
        last.block.as_flattened_mut().copy_from_slice(block);
        lanes::compress(self.instructions, lanes);
        if let Some(last) = lanes.last() {
            self.state = last.state;
        }
        (*bytes, self.blocks) = (rest, self.blocks + 1);
    }
}

/// The MAC of `parts` as a source of blocks.
fn job<'a>(key: &'a HmacKey, parts: &'a [&'a [u8]]) -> Job<'a> {
    Job::new(key, [&[]; 2], parts, &[], &mut [])
}

/// Pads a message of one block, which has `len` bytes in it, by overwriting the rest of the
/// block.
fn pad_after(len: usize, block: &mut [u8; BLOCK_LEN]) {
    block[len..].fill(0);
    block[len] = END;
    write_length(block, len);
}

/// The maximum number of lanes: both pads of two keys, and the hash.
const MAX_LANES: usize = 5;

#[cfg(test)]
mod tests;
