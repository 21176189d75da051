//! The finished key of TLS 1.3. RFC 9846 4.5.3

use tercel_crypto::{Digest, HmacKey};

/// The HMAC key of one side's Finished. RFC 9846 4.5.3
pub(crate) struct FinishedKey(pub(super) HmacKey);

impl FinishedKey {
    /// Computes the `verify_data` for this transcript hash.
    pub(crate) fn verify_data(&self, transcript_hash: &Digest) -> Digest {
        self.0.sign(&[transcript_hash])
    }

    /// Whether `verify_data` is correct for this transcript hash. The comparison takes constant
    /// time.
    pub(crate) fn verifies(&self, transcript_hash: &Digest, verify_data: &[u8]) -> bool {
        self.0.verify(&[transcript_hash], verify_data)
    }
}
