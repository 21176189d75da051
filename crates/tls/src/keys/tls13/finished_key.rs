//! The finished key of TLS 1.3. RFC 9846 4.5.3

use tercel_crypto::{Digest, HmacKey};
use tercel_wire::{Finished, HandshakeMessage};

use crate::error::{Error, PeerError};

/// The HMAC key of one side's Finished. RFC 9846 4.5.3
pub(crate) struct FinishedKey(pub(super) HmacKey);

impl FinishedKey {
    /// Computes the `verify_data` for this transcript hash.
    pub(crate) fn verify_data(&self, transcript_hash: &Digest) -> Digest {
        self.0.sign(&[transcript_hash])
    }

    /// Checks a peer's Finished with this body and transcript hash. The comparison takes constant
    /// time. RFC 9846 4.5.3
    pub(crate) fn check(&self, body: &[u8], transcript_hash: &Digest) -> Result<(), Error> {
        let Finished { verify_data } = Finished::parse(body)?;
        if !self.0.verify(&[transcript_hash], verify_data) {
            let (length, expected) = (verify_data.len(), transcript_hash.len());
            return Err(PeerError::wrong_finished(length, expected).into());
        }
        Ok(())
    }
}
