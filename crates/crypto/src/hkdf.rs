//! HKDF, RFC 5869.
//!
//! A key is extracted once and expanded often, so it is stored as an HMAC key. Labels and contexts
//! are passed as parts of `info`. See `hmac.rs`.

use core::fmt;

use crate::algorithm::HashAlgorithm;
use crate::backend::secret::Secret;
use crate::batch::{self, Job, Jobs, Mac, mac_batch};
use crate::hmac::HmacKey;

/// A pseudorandom key, ready for HKDF-Expand.
pub struct Prk(HmacKey);

impl Prk {
    /// HKDF-Extract (RFC 5869 2.2). An empty salt means a salt of zeros.
    #[must_use]
    pub fn extract(algorithm: HashAlgorithm, salt: &[u8], ikm: &[u8]) -> Self {
        Self::from_bytes(algorithm, hkdf_extract(algorithm, salt, ikm).as_bytes())
    }

    /// HKDF-Extract with a salt in the form of an HMAC key.
    #[must_use]
    pub fn extract_with(salt: &HmacKey, ikm: &[u8]) -> Self {
        Self::from_bytes(salt.algorithm(), salt.secret_mac(&[ikm]).as_bytes())
    }

    /// A pseudorandom key from its bytes.
    #[must_use]
    pub fn from_bytes(algorithm: HashAlgorithm, bytes: &[u8]) -> Self {
        Self(HmacKey::new(algorithm, bytes))
    }

    /// Several pseudorandom keys from their bytes, prepared together.
    #[must_use]
    pub fn batch<const N: usize>(algorithm: HashAlgorithm, bytes: [&[u8]; N]) -> [Self; N] {
        HmacKey::batch(algorithm, bytes).map(Self)
    }

    /// A pseudorandom key from an HMAC key, which may have been computed in lanes.
    #[must_use]
    pub fn from_key(key: HmacKey) -> Self {
        Self(key)
    }

    /// HKDF-Expand (RFC 5869 2.3): fills `out` with key material bound to the parts of `info`.
    ///
    /// # Panics
    ///
    /// When `out` is longer than [`Self::max_output_len`].
    #[inline]
    pub fn expand(&self, info: &[&[u8]], out: &mut [u8]) {
        assert!(out.len() <= self.max_output_len(), "HKDF-Expand of {} bytes", out.len());
        #[cfg(feature = "fips")]
        self.0.stored().expand(info, out);
        #[cfg(not(feature = "fips"))]
        self.expand_by_macs(info, out);
    }

    #[cfg(not(feature = "fips"))]
    #[inline]
    fn expand_by_macs(&self, info: &[&[u8]], out: &mut [u8]) {
        let hash_len = self.0.algorithm().output_len();
        let (mut done, mut index) = (0, 1_u8);
        while done < out.len() {
            // T(i) is the MAC of T(i-1), which is already in `out`, of the info and of the index.
            let (ready, rest) = out.split_at_mut(done);
            let previous = &ready[done.saturating_sub(hash_len)..];
            let groups = [&[previous][..], info, &[&[index]]];
            let len = rest.len().min(hash_len);
            self.0.shortened(&groups, &mut rest[..len]);
            done += len;
            // The index wraps only after the 255th block, when it is not used again.
            index = index.wrapping_add(1);
        }
    }

    /// [`Self::expand`] into a secret of `len` bytes.
    ///
    /// # Panics
    ///
    /// When `len` is more than [`Secret::MAX_LEN`].
    #[must_use]
    #[inline]
    pub fn expand_secret(&self, info: &[&[u8]], len: usize) -> Secret {
        Secret::with(len, |out| self.expand(info, out))
    }

    /// The maximum length of one expansion: 255 digests.
    #[must_use]
    pub fn max_output_len(&self) -> usize {
        255 * self.0.algorithm().output_len()
    }

    /// The key as an HMAC key.
    #[must_use]
    pub fn hmac(&self) -> &HmacKey {
        &self.0
    }
}

impl fmt::Debug for Prk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prk({:?}, ..)", self.0.algorithm())
    }
}

/// An HKDF-Expand operation for [`expand_batch`].
pub struct Expansion<'a> {
    /// The pseudorandom key.
    pub prk: &'a Prk,
    /// The info, in parts.
    pub info: &'a [&'a [u8]],
    /// The output key material.
    pub out: &'a mut [u8],
}

/// Computes several outputs of [`Prk::expand`] together, and other MACs in the same lanes as
/// [`mac_batch`] does. Keys and lengths may differ.
///
/// # Panics
///
/// When an expansion's `out` is longer than [`Prk::max_output_len`], or a MAC's `out` does not
/// have the length of the digest.
pub fn expand_batch(all: &mut [Expansion<'_>], other_macs: &mut [Mac<'_>]) {
    let count = all.len() + other_macs.len();
    if !batch::is_faster(count) || all.iter().any(|each| each.prk.0.sha512_states().is_none()) {
        all.iter_mut().for_each(|Expansion { prk, info, out }| prk.expand(info, out));
        return mac_batch(other_macs);
    }
    // All first blocks are computed together, then all second blocks, and so on.
    for (turn, index) in (1..=255_u8).enumerate() {
        let (index, mut is_last) = ([index], true);
        let mut jobs = Jobs::new();
        for Expansion { prk, info, out } in &mut *all {
            assert!(out.len() <= prk.max_output_len(), "HKDF-Expand of {} bytes", out.len());
            let hash_len = prk.0.algorithm().output_len();
            let Some((ready, rest)) = out.split_at_mut_checked(turn * hash_len) else { continue };
            let previous = &ready[ready.len().saturating_sub(hash_len)..];
            let len = rest.len().min(hash_len);
            is_last &= len == rest.len();
            if len > 0 {
                jobs.push(Job::new(&prk.0, [previous, &[]], info, &index, &mut rest[..len]));
            }
        }
        if turn == 0 {
            other_macs.iter_mut().for_each(|mac| jobs.push(mac.job()));
        }
        jobs.run();
        if is_last {
            break;
        }
    }
}

/// HKDF-Extract. The result is a [`Secret`], not a [`Prk`].
#[must_use]
pub fn hkdf_extract(algorithm: HashAlgorithm, salt: &[u8], ikm: &[u8]) -> Secret {
    // HMAC pads its key with zeros, so an empty salt needs no special case.
    HmacKey::new(algorithm, salt).secret_mac(&[ikm])
}
