//! The pseudorandom function of TLS 1.2, RFC 5246 5: `P_hash`.
//!
//! What it is for: key material from a secret that is absorbed once. What it must not know: the
//! labels. Where to look next: `hmac.rs`.

use core::fmt;

use crate::side_by_side::{self, AT_ONCE};
use crate::{Digest, HashAlgorithm, HmacKey, PrfRun, Secret, wipe};

/// `P_hash` keyed with one secret.
pub struct Tls12Prf(HmacKey);

impl Tls12Prf {
    /// Absorbs a secret of any length.
    #[must_use]
    pub fn new(algorithm: HashAlgorithm, secret: &[u8]) -> Self {
        Self(HmacKey::new(algorithm, secret))
    }

    /// Fills `out` with `PRF(secret, label, seed)`, the seed given in parts.
    pub fn fill(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        // Only the blocks of one output can go side by side.
        if out.len() > self.0.algorithm().output_len() && side_by_side::pays(2) && self.has_lanes()
        {
            self.begin(label, seed, out).finish();
        } else {
            self.fill_alone(label, seed, out);
        }
    }

    /// [`Self::fill`] as a run, beside which others can be made. Nothing is filled before it is finished.
    #[must_use]
    pub fn begin<'a>(
        &'a self,
        label: &'a [u8],
        seed: &'a [&'a [u8]],
        out: &'a mut [u8],
    ) -> PrfRun<'a> {
        PrfRun::new(self, label, seed, out)
    }

    /// Whether steps of several outputs can go side by side.
    pub(crate) fn has_lanes(&self) -> bool {
        side_by_side::pays(AT_ONCE) && self.0.sha512_states().is_some()
    }

    pub(crate) fn hmac(&self) -> &HmacKey {
        &self.0
    }

    /// One block of output after the other.
    pub(crate) fn fill_alone(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        let hash_len = self.0.algorithm().output_len();
        // Label and seed lie together behind A(i): what is hashed in one piece costs one call.
        let mut room = [0; MAX_HASH_LEN + TOGETHER];
        let (mut end, parts) = (hash_len, || [label].into_iter().chain(seed.iter().copied()));
        for part in parts() {
            let Some(place) = room.get_mut(end..end.saturating_add(part.len())) else {
                return self.fill_apart(label, seed, out);
            };
            place.copy_from_slice(part);
            end += part.len();
        }
        let room = &mut room[..end];
        // A(1) is over label and seed, A(i) over A(i-1).
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

    /// The same for a seed that is long, as an exporter's may be.
    fn fill_apart(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        let hash_len = self.0.algorithm().output_len();
        let mut a = self.block(&[], label, seed);
        let mut chunks = out.chunks_mut(hash_len).peekable();
        while let Some(chunk) = chunks.next() {
            let block = self.block(a.as_bytes(), label, seed);
            chunk.copy_from_slice(&block.as_bytes()[..chunk.len()]);
            if chunks.peek().is_some() {
                a = self.0.secret_tag(&[a.as_bytes()]);
            }
        }
    }

    fn block(&self, a: &[u8], label: &[u8], seed: &[&[u8]]) -> Secret {
        Secret::with(self.0.algorithm().output_len(), |out| {
            self.0.mac(&[&[a, label], seed], out);
        })
    }
}

impl fmt::Debug for Tls12Prf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls12Prf({:?}, ..)", self.0.algorithm())
    }
}

const MAX_HASH_LEN: usize = Digest::MAX_LEN;

/// The longest label and seed of a handshake: "key expansion" or "master secret" and two randoms, "extended master
/// secret" and a hash.
const TOGETHER: usize = 22 + 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn together_or_apart_the_output_is_the_same() {
        for algorithm in [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512] {
            let prf = Tls12Prf::new(algorithm, b"secret");
            for seed in [0, 1, 32, TOGETHER - 5, TOGETHER - 4, MAX_HASH_LEN + TOGETHER] {
                let seed = vec![7; seed];
                for length in [0, 12, 32, 48, 64, 72, 200] {
                    let (mut out, mut apart) = (vec![0; length], vec![0; length]);
                    prf.fill(b"label", &[&seed, b"more"], &mut out);
                    prf.fill_apart(b"label", &[&seed, b"more"], &mut apart);
                    assert_eq!(out, apart, "{algorithm:?}, {} bytes of seed", seed.len());
                }
            }
        }
    }
}
