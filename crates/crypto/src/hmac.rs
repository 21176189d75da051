//! HMAC, RFC 2104, with keys that are prepared once and used often.
//!
//! See `hmac/pads.rs` for the form of a key, `hkdf.rs` and `prf.rs`, which compute many MACs with
//! one key, and `hmac/module_key.rs` for AWS-LC's FIPS module.

#[cfg(feature = "fips")]
mod module_key;
#[cfg(not(feature = "fips"))]
mod pads;

use core::fmt;

use crate::algorithm::HashAlgorithm;
use crate::backend::secret::Secret;
use crate::hash::Digest;
use crate::memory::constant_time_eq;

#[cfg(feature = "fips")]
use module_key::ModuleKey as Stored;
#[cfg(not(feature = "fips"))]
use pads::Pads as Stored;
#[cfg(not(feature = "fips"))]
pub(crate) use pads::write_pads;

/// An HMAC key, prepared for use, wiped on drop.
pub struct HmacKey(Stored);

impl HmacKey {
    /// Prepares a key of any length.
    #[must_use]
    pub fn new(algorithm: HashAlgorithm, key: &[u8]) -> Self {
        let [key] = Self::batch(algorithm, [key]);
        key
    }

    /// Prepares several keys together.
    #[must_use]
    pub fn batch<const N: usize>(algorithm: HashAlgorithm, keys: [&[u8]; N]) -> [Self; N] {
        Stored::batch(algorithm, keys).map(Self)
    }

    /// The hash function.
    #[must_use]
    pub fn algorithm(&self) -> HashAlgorithm {
        self.0.algorithm()
    }

    /// The MAC of the concatenated parts, as a public value.
    #[must_use]
    #[inline]
    pub fn sign(&self, parts: &[&[u8]]) -> Digest {
        Digest::with(self.algorithm(), |out| self.mac(&[parts], out))
    }

    /// The MAC of the concatenated parts, as a secret value.
    #[must_use]
    #[inline]
    pub fn secret_mac(&self, parts: &[&[u8]]) -> Secret {
        Secret::with(self.algorithm().output_len(), |out| self.mac(&[parts], out))
    }

    /// Whether `tag` is the MAC of the concatenated parts. Compares the whole tag in constant
    /// time.
    #[must_use]
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        let expected = self.secret_mac(parts);
        constant_time_eq(expected.as_bytes(), tag)
    }

    /// [`Self::mac`] truncated to the length of `out`.
    #[inline]
    pub(crate) fn shortened(&self, groups: &[&[&[u8]]], out: &mut [u8]) {
        let mac_len = self.algorithm().output_len();
        if out.len() == mac_len {
            self.mac(groups, out);
        } else {
            let mac = Secret::with(mac_len, |mac| self.mac(groups, mac));
            out.copy_from_slice(&mac.as_bytes()[..out.len()]);
        }
    }

    /// A SHA-384 or SHA-512 key from the states after the inner pad and after the outer pad.
    #[cfg(not(feature = "fips"))]
    pub(crate) fn from_states(algorithm: HashAlgorithm, states: [[u64; 8]; 2]) -> Self {
        Self(Stored::from_states(algorithm, states))
    }

    /// The states after the inner pad and after the outer pad, for SHA-384 and SHA-512. `None` in
    /// the FIPS module, which does not use lanes.
    pub(crate) fn sha512_states(&self) -> Option<&[[u64; 8]; 2]> {
        self.0.sha512_states()
    }

    /// The key as the FIPS module uses it.
    #[cfg(feature = "fips")]
    pub(crate) fn stored(&self) -> &Stored {
        &self.0
    }

    /// Writes the MAC of all parts of all groups; `out` must have the digest's length.
    ///
    /// With groups, a function can add parts before and after the parts that its caller passed.
    #[inline]
    pub(crate) fn mac(&self, groups: &[&[&[u8]]], out: &mut [u8]) {
        self.0.mac(groups, out);
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HmacKey({:?}, ..)", self.algorithm())
    }
}
