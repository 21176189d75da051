//! The resumption secret and the pre-shared keys of its tickets. RFC 9846 7.1, 4.7.1
//!
//! Must not know: tickets, but for their nonces. Next: `handshake/tls13/resumption.rs`.

use tercel_crypto::{HashAlgorithm, Prk, Secret, ShortSecret};

use super::label::{Label, derive, derive_secrets};
use crate::keys::suite::Suite;

/// The secret behind the pre-shared keys of new tickets. RFC 9846 7.1
pub(crate) struct ResumptionSecret {
    secret: ShortSecret,
    hash: HashAlgorithm,
}

impl ResumptionSecret {
    pub(super) fn new(hash: HashAlgorithm, secret: ShortSecret) -> Self {
        Self { secret, hash }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    /// Out of what [`Self::as_bytes`] gave, if that is as long as this suite's secrets are.
    pub(crate) fn from_bytes(suite: &'static Suite, bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() == suite.hash.output_len();
        fits.then(|| Self { secret: ShortSecret::new(bytes), hash: suite.hash })
    }

    /// The key that goes with the ticket of this nonce. RFC 9846 4.7.1
    pub(crate) fn psk(&self, nonce: &[u8]) -> Secret {
        self.keyed().psk(nonce)
    }

    /// Absorbed once, for several tickets.
    pub(crate) fn keyed(&self) -> KeyedResumptionSecret {
        KeyedResumptionSecret(Prk::from_bytes(self.hash, self.secret.as_bytes()))
    }
}

/// A [`ResumptionSecret`] that is about to give several keys.
pub(crate) struct KeyedResumptionSecret(Prk);

impl KeyedResumptionSecret {
    /// As [`ResumptionSecret::psk`].
    pub(crate) fn psk(&self, nonce: &[u8]) -> Secret {
        derive(&self.0, Label::TICKET, nonce)
    }

    /// The same for several nonces at once.
    pub(crate) fn psks<const N: usize>(&self, nonces: [&[u8]; N]) -> [Secret; N] {
        derive_secrets(&self.0, nonces.map(|nonce| (Label::TICKET, nonce)))
    }
}
