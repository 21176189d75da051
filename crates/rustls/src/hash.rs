//! Hash functions of transcripts.

use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use tercel_crypto as crypto;

/// A hash function: rustls' name of it, and the algorithm.
pub(crate) struct HashFunction(HashAlgorithm, crypto::HashAlgorithm);

pub(crate) static SHA256: HashFunction =
    HashFunction(HashAlgorithm::SHA256, crypto::HashAlgorithm::Sha256);
pub(crate) static SHA384: HashFunction =
    HashFunction(HashAlgorithm::SHA384, crypto::HashAlgorithm::Sha384);

impl Hash for HashFunction {
    fn start(&self) -> Box<dyn Context> {
        Box::new(Running(crypto::Hash::new(self.1)))
    }

    fn hash(&self, message: &[u8]) -> Output {
        Output::new(&crypto::Hash::digest(self.1, &[message]))
    }

    fn output_len(&self) -> usize {
        self.1.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0
    }
}

/// A hash in progress.
struct Running(crypto::Hash);

impl Context for Running {
    fn fork_finish(&self) -> Output {
        Output::new(&self.0.current_digest())
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        let Self(hash) = *self;
        Output::new(&hash.finish())
    }

    fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}
