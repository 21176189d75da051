//! The resumption secret and the pre-shared keys of tickets. RFC 9846 7.1, 4.7.1

use tercel_crypto::{HashAlgorithm, Prk, Secret, ShortSecret};

use crate::keys::label::{Label, derive, derive_secrets};
use crate::keys::suite::Suite;

/// The resumption secret, from which the pre-shared keys of tickets are derived. RFC 9846 7.1
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

    /// Restores a secret from the bytes of [`Self::as_bytes`]. Returns `None` if the length is
    /// wrong for this suite.
    pub(crate) fn from_bytes(suite: &'static Suite, bytes: &[u8]) -> Option<Self> {
        let fits = bytes.len() == suite.hash.output_len();
        fits.then(|| Self { secret: ShortSecret::new(bytes), hash: suite.hash })
    }

    /// Derives the pre-shared key of the ticket with this nonce. RFC 9846 4.7.1
    pub(crate) fn psk(&self, nonce: &[u8]) -> Secret {
        self.keyed().psk(nonce)
    }

    /// Prepares the secret for deriving the keys of several tickets.
    pub(crate) fn keyed(&self) -> KeyedResumptionSecret {
        KeyedResumptionSecret(Prk::from_bytes(self.hash, self.secret.as_bytes()))
    }
}

/// A [`ResumptionSecret`] whose HMAC key state has been computed.
pub(crate) struct KeyedResumptionSecret(Prk);

impl KeyedResumptionSecret {
    /// Derives the pre-shared key of one ticket. See [`ResumptionSecret::psk`].
    pub(crate) fn psk(&self, nonce: &[u8]) -> Secret {
        derive(&self.0, Label::TICKET, nonce)
    }

    /// Derives the pre-shared keys for several nonces at once.
    pub(crate) fn psks<const N: usize>(&self, nonces: [&[u8]; N]) -> [Secret; N] {
        derive_secrets(&self.0, nonces.map(|nonce| (Label::TICKET, nonce)))
    }
}
