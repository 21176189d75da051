//! The pseudorandom function of TLS 1.2, RFC 5246 5: `P_hash`.
//!
//! The secret is prepared once, as an HMAC key; the labels come from the caller. See `hmac.rs`.

#[cfg(not(feature = "fips"))]
mod blocks;
mod run;

use core::fmt;

use crate::algorithm::HashAlgorithm;
use crate::batch::{self, MAX_BATCH};
use crate::hmac::HmacKey;

pub use run::PrfRun;

/// `P_hash` with one secret.
pub struct Tls12Prf(HmacKey);

impl Tls12Prf {
    /// Prepares a secret of any length.
    #[must_use]
    pub fn new(algorithm: HashAlgorithm, secret: &[u8]) -> Self {
        Self(HmacKey::new(algorithm, secret))
    }

    /// Fills `out` with `PRF(secret, label, seed)`, the seed given in parts.
    pub fn fill(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        // Only the blocks of this output can share lanes here, because there is no second output.
        if out.len() > self.0.algorithm().output_len() && batch::is_faster(2) && self.has_lanes() {
            self.begin(label, seed, out).finish();
        } else {
            self.fill_singly(label, seed, out);
        }
    }

    /// Begins a computation of [`Self::fill`] that can share lanes with a second one. `out` is
    /// written only when the returned [`PrfRun`] is finished.
    #[must_use]
    pub fn begin<'a>(
        &'a self,
        label: &'a [u8],
        seed: &'a [&'a [u8]],
        out: &'a mut [u8],
    ) -> PrfRun<'a> {
        PrfRun::new(self, label, seed, out)
    }

    /// Whether the steps of several outputs can be computed in lanes.
    pub(crate) fn has_lanes(&self) -> bool {
        batch::is_faster(MAX_BATCH) && self.0.sha512_states().is_some()
    }

    pub(crate) fn hmac(&self) -> &HmacKey {
        &self.0
    }

    /// Computes the output without lanes.
    #[cfg(feature = "fips")]
    pub(crate) fn fill_singly(&self, label: &[u8], seed: &[&[u8]], out: &mut [u8]) {
        self.0.stored().tls12_prf(label, seed, out);
    }
}

impl fmt::Debug for Tls12Prf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls12Prf({:?}, ..)", self.0.algorithm())
    }
}
