//! The running hash of a handshake's messages. RFC 9846 4.1, RFC 5246 7.4.9
//!
//! Must not know: what the messages mean. The hash is known when a transcript is made: until then the
//! one message there is, the ClientHello, is simply kept. Next: `super::tls13::server`.

use tercel_crypto::{Digest, Hash, HashAlgorithm, HashBeside};
use tercel_wire::message_hash_header;

/// The running hash, and in TLS 1.2 the messages themselves as long as a client may sign them.
#[derive(Clone)]
pub(crate) struct Transcript {
    hash: Hash,
    /// What [`Self::digest`] gave, until the next message: two secrets in a row are often over the same.
    digest: Option<Digest>,
    messages: Option<Vec<u8>>,
}

impl Transcript {
    pub(crate) fn new(algorithm: HashAlgorithm) -> Self {
        Self { hash: Hash::new(algorithm), digest: None, messages: None }
    }

    /// Also keeps the messages, which a TLS 1.2 client signs whole. RFC 5246 7.4.8
    pub(crate) fn keeping_messages(algorithm: HashAlgorithm) -> Self {
        Self { messages: Some(Vec::new()), ..Self::new(algorithm) }
    }

    /// Starts with the synthetic message that stands for a first ClientHello. RFC 9846 4.1
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

    pub(crate) fn add(&mut self, message: &[u8]) {
        self.hash.update(message);
        self.note(message);
    }

    /// [`Self::add`], with work beside it that does not depend on the message.
    pub(crate) fn add_beside<T>(
        &mut self,
        message: &[u8],
        work: impl FnOnce(&mut HashBeside<'_>) -> T,
    ) -> T {
        let mut beside = HashBeside::new(&mut self.hash, message);
        let made = work(&mut beside);
        beside.finish();
        self.note(message);
        made
    }

    fn note(&mut self, message: &[u8]) {
        self.digest = None;
        if let Some(messages) = &mut self.messages {
            messages.extend_from_slice(message);
        }
    }

    /// The running hash itself.
    pub(crate) fn hash(&self) -> &Hash {
        &self.hash
    }

    /// The hash of all messages so far.
    pub(crate) fn digest(&mut self) -> Digest {
        *self.digest.get_or_insert_with(|| self.hash.fork_finish())
    }

    /// The hash of all messages so far and these bytes, which stay outside.
    pub(crate) fn digest_with(&self, bytes: &[u8]) -> Digest {
        let mut hash = self.hash.clone();
        hash.update(bytes);
        hash.finish()
    }

    /// The messages so far; from here on only their hash is kept.
    pub(crate) fn take_messages(&mut self) -> Vec<u8> {
        self.messages.take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_over_all_messages_also_after_an_earlier_one() {
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
