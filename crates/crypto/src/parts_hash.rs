//! A hash of several values, for digests that identify configurations.

use crate::algorithm::HashAlgorithm;
use crate::hash::Hash;

/// The SHA-256 digest of a list of parts. Each part is hashed after its length, so that other parts
/// have another digest, also if they are the same bytes in a row.
#[derive(Clone)]
pub struct PartsHash(Hash);

impl Default for PartsHash {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for PartsHash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("PartsHash(..)")
    }
}

impl PartsHash {
    /// Starts with an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self(Hash::new(HashAlgorithm::Sha256))
    }

    /// Appends a part.
    pub fn add(&mut self, part: &[u8]) {
        // The digest is the same on platforms whose lengths have 32 bits.
        self.0.update(&(part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// The digest of the list.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        self.0.finish().first_chunk().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_depends_on_where_parts_end() {
        let digest = |parts: &[&str]| {
            let mut hash = PartsHash::new();
            parts.iter().for_each(|part| hash.add(part.as_bytes()));
            hash.finish()
        };
        assert_eq!(digest(&["a", "bc"]), digest(&["a", "bc"]));
        let others = [&["ab", "c"][..], &["abc"], &["a", "bc", ""], &["", "a", "bc"], &["bc", "a"]];
        for other in others {
            assert_ne!(digest(&["a", "bc"]), digest(other), "{other:?}");
        }
    }
}
