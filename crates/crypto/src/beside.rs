//! A running hash that takes in its blocks beside MACs.
//!
//! What it is for: where each MAC of a chain waits for the one before, lanes (`backend/lanes`) have room. A long public message that
//! none of them waits for is hashed there, as far as the chain goes, and the rest of it afterwards. What it must not know: what is
//! hashed. Where to look next: `side_by_side.rs` for MACs that do not wait for each other.
//!
//! Which way is taken depends on lengths and on the hash function, which everybody may know, and on nothing else.

use crate::backend::lanes::{self, Instructions, Lane};
use crate::hmac::write_pads;
use crate::side_by_side::{BLOCK_LEN, END, Job, write_length};
use crate::{Hash, HashAlgorithm, HmacKey, Prk, SecretBytes};

/// Bytes that a running hash is about to take in, while MACs are made.
pub struct HashBeside<'h> {
    hash: &'h mut Hash,
    /// What is left of the bytes.
    bytes: &'h [u8],
    /// If the hash goes side by side with others.
    running: Option<Running>,
}

struct Running {
    instructions: Instructions,
    state: [u64; 8],
    blocks: u64,
}

impl<'h> HashBeside<'h> {
    /// `bytes` are for `hash`, which has them once [`Self::finish`] was called.
    #[must_use]
    pub fn new(hash: &'h mut Hash, bytes: &'h [u8]) -> Self {
        Self::by(lanes::in_use(), hash, bytes)
    }

    fn by(instructions: Instructions, hash: &'h mut Hash, bytes: &'h [u8]) -> Self {
        let mut this = Self { hash, bytes, running: None };
        // Three are the least that there ever are: a key's two pads, and this.
        if lanes::pays(instructions, 3) && bytes.len() >= 2 * BLOCK_LEN {
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

    /// HKDF-Expand of `prk`, to as many bytes as its hash has, for each info. RFC 5869 2.3
    #[must_use]
    pub fn expand<const LENGTH: usize, const N: usize>(
        &mut self,
        prk: &Prk,
        infos: [[&[u8]; 2]; N],
    ) -> [SecretBytes<LENGTH>; N] {
        let parts = infos.map(|[first, second]| [first, second, &[1]]);
        self.macs(parts.each_ref().map(|parts| (prk.hmac(), parts.as_slice())))
    }

    /// HMAC keys. Each is what [`HmacKey::new`] gives.
    #[must_use]
    pub fn keys<const N: usize>(
        &mut self,
        algorithm: HashAlgorithm,
        keys: [&[u8]; N],
    ) -> [HmacKey; N] {
        let fits = keys.iter().all(|key| key.len() <= BLOCK_LEN) && 2 * N < ROOM;
        let start = Hash::new(algorithm).at_boundary(&[]);
        let (Some(running), Some(start), true) = (&mut self.running, start, fits) else {
            return HmacKey::several(algorithm, keys);
        };
        let mut room = [Lane::EMPTY; ROOM];
        let pairs = room.chunks_exact_mut(2).filter_map(|pair| pair.first_chunk_mut());
        for (pads, key) in pairs.zip(keys) {
            write_pads(algorithm, &start, key, pads);
        }
        running.compress(&mut room[..=2 * N], &mut self.bytes);
        let made = core::array::from_fn(|index| {
            HmacKey::from_states(algorithm, [room[2 * index].state, room[2 * index + 1].state])
        });
        lanes::wipe(&mut room[..=2 * N]);
        made
    }

    /// Takes in what is left.
    pub fn finish(self) {
        if let Some(Running { state, blocks, .. }) = self.running {
            self.hash.go_on_from(&state, blocks);
        }
        self.hash.update(self.bytes);
    }

    fn macs<const LENGTH: usize, const N: usize>(
        &mut self,
        all: [(&HmacKey, &[&[u8]]); N],
    ) -> [SecretBytes<LENGTH>; N] {
        let lengths = all.map(|(key, _)| key.algorithm().output_len());
        SecretBytes::several(lengths, |outs| {
            let fits = all.iter().all(|&(key, parts)| {
                key.sha512_states().is_some() && job(key, parts).blocks() == 1
            });
            let (Some(running), true) = (&mut self.running, fits && N < ROOM) else {
                let each = outs.into_iter().zip(all);
                return each.for_each(|(out, (key, parts))| key.mac(&[parts], out));
            };
            let mut room = [Lane::EMPTY; ROOM];
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
                    end_at(key.algorithm().output_len(), block);
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
    /// Takes each lane's block into its state, but for the last one, which is ours if there is a whole block.
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

/// The MAC of `parts`, as blocks to take in.
fn job<'a>(key: &'a HmacKey, parts: &'a [&'a [u8]]) -> Job<'a> {
    Job::new(key, [&[]; 2], parts, &[], &mut [])
}

/// Pads a message that ends here in its first block, over whatever stood there.
fn end_at(len: usize, block: &mut [u8; BLOCK_LEN]) {
    block[len..].fill(0);
    block[len] = END;
    write_length(block, len);
}

/// Both pads of two keys, and the hash.
const ROOM: usize = 5;

#[cfg(test)]
mod tests;
