//! The pseudorandom function of TLS 1.2 by single MACs.
//!
//! See `run.rs` for MACs in lanes, and `hmac/module_key.rs` for AWS-LC's FIPS module.

use crate::backend::secret::Secret;
use crate::hash::Digest;
use crate::memory::wipe;
use crate::prf::Tls12Prf;

impl Tls12Prf {
    /// Computes the blocks of the output one after the other.
    pub(crate) fn fill_singly(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        let hash_len = self.0.algorithm().output_len();
        // Label and seed are stored contiguously after A(i): hashing a single slice takes one call.
        let mut room = [0; MAX_HASH_LEN + MAX_CONTIGUOUS_INPUT];
        let (mut end, parts) = (hash_len, || [label].into_iter().chain(seed.iter().copied()));
        for part in parts() {
            let Some(place) = room.get_mut(end..end.saturating_add(part.len())) else {
                return self.fill_long(label, seed, out);
            };
            place.copy_from_slice(part);
            end += part.len();
        }
        let room = &mut room[..end];
        // A(1) is the MAC of label and seed, A(i) the MAC of A(i-1).
        let (a, text) = room.split_at_mut(hash_len);
        self.0.mac(&[&[text]], a);
        let mut block = [0; MAX_HASH_LEN];
        let block = &mut block[..hash_len];
        let mut chunks = out.chunks_mut(hash_len).peekable();
        while let Some(chunk) = chunks.next() {
            self.0.mac(&[&[room]], block);
            chunk.copy_from_slice(&block[..chunk.len()]);
            if chunks.peek().is_some() {
                self.0.mac(&[&[&room[..hash_len]]], block);
                room[..hash_len].copy_from_slice(block);
            }
        }
        wipe(&mut room[..hash_len]);
        wipe(block);
    }

    /// Computes the blocks one after the other for a seed of any length, such as an exporter's.
    fn fill_long(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        let hash_len = self.0.algorithm().output_len();
        let mut a = self.block(&[], label, seed);
        let mut chunks = out.chunks_mut(hash_len).peekable();
        while let Some(chunk) = chunks.next() {
            let block = self.block(a.as_bytes(), label, seed);
            chunk.copy_from_slice(&block.as_bytes()[..chunk.len()]);
            if chunks.peek().is_some() {
                a = self.0.secret_mac(&[a.as_bytes()]);
            }
        }
    }

    fn block(&self, a: &[u8], label: &[u8], seed: &[&[u8]]) -> Secret {
        Secret::with(self.0.algorithm().output_len(), |out| {
            self.0.mac(&[&[a, label], seed], out);
        })
    }
}

const MAX_HASH_LEN: usize = Digest::MAX_LEN;

/// The longest label and seed of a handshake: "key expansion" or "master secret" with two randoms,
/// or "extended master secret" with a hash.
const MAX_CONTIGUOUS_INPUT: usize = 22 + 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::HashAlgorithm;

    #[test]
    fn short_and_long_seeds_use_the_same_function() {
        for algorithm in [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
            let prf = Tls12Prf::new(algorithm, b"secret");
            for seed in [
                0,
                1,
                32,
                MAX_CONTIGUOUS_INPUT - 5,
                MAX_CONTIGUOUS_INPUT - 4,
                MAX_HASH_LEN + MAX_CONTIGUOUS_INPUT,
            ] {
                let seed = vec![7; seed];
                for length in [0, 12, 32, 48, 64, 72, 200] {
                    let (mut out, mut apart) = (vec![0; length], vec![0; length]);
                    prf.fill(b"label", &[&seed, b"more"], &mut out);
                    prf.fill_long(b"label", &[&seed, b"more"], &mut apart);
                    assert_eq!(out, apart, "{algorithm:?}, {} bytes of seed", seed.len());
                }
            }
        }
    }
}
