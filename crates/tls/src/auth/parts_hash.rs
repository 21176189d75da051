//! A hash of several values, for digests that identify configurations.

use tercel_crypto::{Hash, HashAlgorithm};

/// A hash of parts, each after its length, so that other parts give another digest.
pub(crate) struct PartsHash(Hash);

impl PartsHash {
    pub(crate) fn new() -> Self {
        Self(Hash::new(HashAlgorithm::Sha256))
    }

    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.update(&part.len().to_be_bytes());
        self.0.update(part);
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finish().first_chunk().copied().unwrap_or_default()
    }
}
