//! The transcript hash. RFC 9846 4.1, RFC 5246 7.4.9
//!
//! A transcript is created once the hash function is known. Until then, a client keeps the
//! ClientHello itself.

use tercel_crypto::{Digest, Hash, HashAlgorithm, InterleavedHash};
use tercel_wire::message_hash_header;

/// The transcript hash. In TLS 1.2, it also keeps the messages while a client may have to sign
/// them.
#[derive(Clone)]
pub(crate) struct Transcript {
    hash: Hash,
    /// The last result of [`Self::digest`], until the next message is added. Successive secrets are
    /// often derived from the same hash.
    digest: Option<Digest>,
    messages: Option<Vec<u8>>,
}

impl Transcript {
    #[inline]
    pub(crate) fn new(algorithm: HashAlgorithm) -> Self {
        Self { hash: Hash::new(algorithm), digest: None, messages: None }
    }

    /// Creates a transcript that also keeps the messages, which a TLS 1.2 client signs.
    /// RFC 5246 7.4.8
    pub(crate) fn keeping_messages(algorithm: HashAlgorithm) -> Self {
        Self { messages: Some(Vec::new()), ..Self::new(algorithm) }
    }

    /// Creates a transcript that starts with the synthetic message_hash message in place of the
    /// first ClientHello. RFC 9846 4.1
    pub(crate) fn after_retry(algorithm: HashAlgorithm, first_hello: &[u8]) -> Self {
        let mut transcript = Self::new(algorithm);
        let digest = Hash::digest(algorithm, &[first_hello]);
        let [.., length] = digest.len().to_be_bytes();
        transcript.add(&message_hash_header(length));
        transcript.add(&digest);
        transcript
    }

    pub(crate) fn algorithm(&self) -> HashAlgorithm {
        self.hash.algorithm()
    }

    #[inline]
    pub(crate) fn add(&mut self, message: &[u8]) {
        self.hash.update(message);
        self.note(message);
    }

    /// Adds a message like [`Self::add`], interleaved with hash computations that do not depend on
    /// the message.
    pub(crate) fn add_interleaved<T>(
        &mut self,
        message: &[u8],
        work: impl FnOnce(&mut InterleavedHash<'_>) -> T,
    ) -> T {
        let mut interleaved = InterleavedHash::new(&mut self.hash, message);
        let made = work(&mut interleaved);
        interleaved.finish();
        self.note(message);
        made
    }

    fn note(&mut self, message: &[u8]) {
        self.digest = None;
        if let Some(messages) = &mut self.messages {
            messages.extend_from_slice(message);
        }
    }

    /// Returns the running hash.
    pub(crate) fn hash(&self) -> &Hash {
        &self.hash
    }

    /// Returns the hash of all messages so far.
    pub(crate) fn digest(&mut self) -> Digest {
        *self.digest.get_or_insert_with(|| self.hash.current_digest())
    }

    /// Returns the hash of all messages so far followed by `bytes`, which are not added.
    pub(crate) fn digest_with(&self, bytes: &[u8]) -> Digest {
        let mut hash = self.hash.clone();
        hash.update(bytes);
        hash.finish()
    }

    /// Takes the messages. From here on, only their hash is kept.
    pub(crate) fn take_messages(&mut self) -> Vec<u8> {
        self.messages.take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_covers_all_messages_also_after_an_earlier_one() {
        let algorithm = HashAlgorithm::Sha384;
        let mut transcript = Transcript::new(algorithm);
        for messages in [&[&b"one"[..]][..], &[b"one", b"two"], &[b"one", b"two", b"three"]] {
            transcript.add(messages.last().unwrap());
            let expected = Hash::digest(algorithm, messages);
            assert_eq!(transcript.digest(), expected);
            assert_eq!(transcript.digest(), expected);
            assert_eq!(transcript.clone().digest(), expected);
        }
    }
}
