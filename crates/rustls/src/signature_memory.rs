//! A memory of verified certificate signatures, so that a known chain costs hashes instead of
//! signature operations.

use std::sync::Arc;

use rustls::Error;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};
use tercel_crypto::SignatureCache;

/// The provider with a memory of certificate signatures that were verified, for clients that often
/// meet the same servers. A signature that is found is not verified again.
///
/// `entries` is the number of signatures that fit, of which each takes 32 bytes. It is rounded up
/// to a multiple of 4; one million is the maximum. A chain has two or three. If the memory is full,
/// new signatures replace older ones.
///
/// The memory has digests only of signatures that were valid. Whether a signature is valid depends
/// on nothing but the algorithm, the key, the message and the signature, which the digest contains.
/// Everything else about a certificate is checked each time: dates, names, usages, constraints,
/// revocation. Signatures of handshakes are verified each time.
///
/// # What its timing shows
///
/// A handshake with a known chain is faster. Thus a server, or an observer of the connection's
/// packets, can find out whether the process has met this chain before. Where one process acts for
/// users that must not learn of each other, use one memory for each of them, or none.
///
/// # Memory
///
/// rustls needs algorithms that live as long as the process. So the memory is never freed: call
/// this function once for a purpose, not for each connection.
///
/// ```
/// use tercel_rustls::{default_provider, with_signature_memory};
///
/// let provider = with_signature_memory(default_provider(), 1024)?;
/// provider.install_default().expect("no other provider is installed");
/// # Ok::<(), tercel_rustls::rustls::Error>(())
/// ```
///
/// # Errors
/// [`Error::FailedToGetRandomBytes`] if the random generator fails. The digests contain random
/// bytes, so that a peer cannot find out which signatures replace each other.
pub fn with_signature_memory(
    provider: CryptoProvider,
    entries: usize,
) -> Result<CryptoProvider, Error> {
    let memory = SignatureCache::new(entries.min(MAX_ENTRIES));
    let memory = Arc::new(memory.map_err(|_| Error::FailedToGetRandomBytes)?);
    let WebPkiSupportedAlgorithms { all, mapping } = provider.signature_verification_algorithms;
    let all: Vec<&'static dyn SignatureVerificationAlgorithm> = all
        .iter()
        .enumerate()
        .map(|(place, algorithm)| {
            let memory = Arc::clone(&memory);
            let remembering: &'static Remembering =
                Box::leak(Box::new(Remembering { algorithm: *algorithm, place, memory }));
            remembering as &dyn SignatureVerificationAlgorithm
        })
        .collect();
    let signature_verification_algorithms =
        WebPkiSupportedAlgorithms { all: Box::leak(all.into_boxed_slice()), mapping };
    Ok(CryptoProvider { signature_verification_algorithms, ..provider })
}

/// An algorithm with the memory that it shares with others.
#[derive(Debug)]
struct Remembering {
    algorithm: &'static dyn SignatureVerificationAlgorithm,
    /// Its place in the list. Algorithms with the same identifiers may accept other keys.
    place: usize,
    memory: Arc<SignatureCache>,
}

impl SignatureVerificationAlgorithm for Remembering {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let (key_id, signature_id) = (self.public_key_alg_id(), self.signature_alg_id());
        let place = self.place.to_be_bytes();
        let parts = [&place[..], &key_id, public_key, &signature_id, message, signature];
        let digest = self.memory.digest(parts);
        if self.memory.contains(&digest) {
            return Ok(());
        }
        self.algorithm.verify_signature(public_key, message, signature)?;
        self.memory.insert(&digest);
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }

    fn fips(&self) -> bool {
        false
    }
}

/// One million signatures take 32 MiB.
const MAX_ENTRIES: usize = 1 << 20;

#[cfg(test)]
mod tests;
