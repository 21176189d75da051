//! HMAC keys for AWS-LC's FIPS module.
//!
//! The module's MACs and key derivations are approved services only as a whole: a key derivation
//! that this crate composes of MACs is not. Those services take the key itself, so the key is
//! stored and not prepared. See `backend/approved_mac.rs` for the calls.

use crate::algorithm::HashAlgorithm;
use crate::backend::approved_mac;
use crate::backend::secret::SecretBytes;
use crate::hash::Hash;
use crate::memory::wipe;

/// A key of HMAC, HKDF-Expand and the PRF of TLS 1.2.
pub(crate) struct ModuleKey {
    key: SecretBytes<MAX_LEN>,
    algorithm: HashAlgorithm,
}

impl ModuleKey {
    pub(super) fn batch<const N: usize>(algorithm: HashAlgorithm, keys: [&[u8]; N]) -> [Self; N] {
        keys.map(|key| Self::new(algorithm, key))
    }

    fn new(algorithm: HashAlgorithm, key: &[u8]) -> Self {
        if key.len() <= MAX_LEN {
            return Self { key: SecretBytes::new(key), algorithm };
        }
        // HMAC hashes keys longer than a block. RFC 2104 2
        let mut digest = Hash::digest(algorithm, &[key]);
        let key = SecretBytes::new(&digest);
        wipe(digest.as_mut_bytes());
        Self { key, algorithm }
    }

    pub(super) fn algorithm(&self) -> HashAlgorithm {
        self.algorithm
    }

    /// The module has no lanes.
    #[allow(clippy::unused_self)]
    pub(super) fn sha512_states(&self) -> Option<&[[u64; 8]; 2]> {
        None
    }

    pub(super) fn mac(&self, groups: &[&[&[u8]]], out: &mut [u8]) {
        approved_mac::hmac(self.algorithm, self.key.as_bytes(), groups, out);
    }

    /// HKDF-Expand. RFC 5869 2.3
    pub(crate) fn expand(&self, info: &[&[u8]], out: &mut [u8]) {
        let key = self.key.as_bytes();
        with_contiguous(info, |info| approved_mac::expand(self.algorithm, key, info, out));
    }

    /// The PRF of TLS 1.2. RFC 5246 5
    pub(crate) fn tls12_prf(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        let (algorithm, key) = (self.algorithm, self.key.as_bytes());
        let mut prf = |seeds| approved_mac::tls12_prf(algorithm, key, label, seeds, out);
        match seed {
            [] => prf([&[]; 2]),
            [first] => prf([first, &[]]),
            [first, second] => prf([first, second]),
            [first, rest @ ..] => prf([first, &rest.concat()]),
        }
    }
}

/// Calls `use_bytes` with the concatenated parts, which are public.
fn with_contiguous(parts: &[&[u8]], use_bytes: impl FnOnce(&[u8])) {
    let mut room = [0; MAX_ON_STACK];
    let mut end = 0;
    for part in parts {
        let Some(place) = room.get_mut(end..end + part.len()) else {
            return use_bytes(&parts.concat());
        };
        place.copy_from_slice(part);
        end += part.len();
    }
    use_bytes(&room[..end]);
}

/// The length of the longest block of a hash function: a longer key is hashed by any of them.
const MAX_LEN: usize = 128;

/// The longest info of a handshake: a label of TLS 1.3 and a digest.
const MAX_ON_STACK: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    const HASHES: [HashAlgorithm; 3] =
        [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512];

    #[test]
    fn the_parts_of_infos_and_seeds_are_concatenated() {
        for algorithm in HASHES {
            let [key] = ModuleKey::batch(algorithm, [b"key"]);
            for length in [0, 1, MAX_ON_STACK - 4, MAX_ON_STACK - 3, 300] {
                let text = vec![7; length];
                let whole = [&text[..], b"abc"].concat();
                let mut outs = [[0; 100]; 2];
                let [one, other] = &mut outs;
                key.expand(&[&text, b"a", b"bc"], one);
                key.expand(&[&whole], other);
                assert_eq!(one, other);
                key.tls12_prf(b"label", &[&text, b"a", b"bc"], one);
                key.tls12_prf(b"label", &[&whole], other);
                assert_eq!(one, other);
                key.tls12_prf(b"label", &[&text, b"abc"], one);
                assert_eq!(one, other);
                key.tls12_prf(b"", &[b"label", &whole], one);
                assert_eq!(one, other);
            }
        }
    }

    #[test]
    fn an_expansion_is_made_of_macs() {
        for algorithm in HASHES {
            for key_len in [0, 1, 64, 65, MAX_LEN, MAX_LEN + 1, 300] {
                let [key] = ModuleKey::batch(algorithm, [&vec![3; key_len]]);
                let len = algorithm.output_len();
                let (mut out, mut expected) = (vec![0; 2 * len], vec![0; 2 * len]);
                let (first, second) = expected.split_at_mut(len);
                key.mac(&[&[b"info", &[1]]], first);
                key.mac(&[&[first, b"info", &[2]]], second);
                key.expand(&[b"info"], &mut out);
                assert_eq!(out, expected);
            }
        }
    }
}
