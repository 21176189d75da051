//! Secrets as types.
//!
//! What it is for: bytes that are wiped on drop and cannot be printed, copied or compared by
//! accident. What it must not know: which secret it holds. Where to look next: `hkdf.rs` and
//! `key_exchange.rs`, which make them.
//!
//! The bytes live inline, so a Rust move leaves the old copy behind on the stack, unwiped;
//! SECURITY.md lists that residue. What outlives a handshake belongs in a box.

use core::fmt;

use crate::wipe;

/// A secret of any hash's length, or shorter.
pub type Secret = SecretBytes<64>;

/// A secret of up to SHA-384's length: for what is kept in large numbers for a long time, where each byte
/// counts.
pub type ShortSecret = SecretBytes<48>;

/// A secret of up to `N` bytes, held inline and wiped on drop.
pub struct SecretBytes<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

impl<const N: usize> SecretBytes<N> {
    /// The most bytes there can be.
    pub const MAX_LEN: usize = N;

    /// Copies a secret in.
    ///
    /// # Panics
    ///
    /// When there are more than [`Self::MAX_LEN`] bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self::with(bytes.len(), |own| own.copy_from_slice(bytes))
    }

    /// A secret of `len` bytes, written in place by `write`, which finds zeros.
    ///
    /// # Panics
    ///
    /// When `len` is more than [`Self::MAX_LEN`].
    #[must_use]
    pub fn with(len: usize, write: impl FnOnce(&mut [u8])) -> Self {
        let mut secret = Self::zeroed(len);
        write(secret.as_mut_bytes());
        secret
    }

    /// Several secrets of these lengths, written in place by one `write`, which finds zeros.
    ///
    /// # Panics
    ///
    /// When one of the lengths is more than [`Self::MAX_LEN`].
    #[must_use]
    pub fn several<const M: usize>(
        lengths: [usize; M],
        write: impl FnOnce([&mut [u8]; M]),
    ) -> [Self; M] {
        let mut secrets = lengths.map(Self::zeroed);
        write(secrets.each_mut().map(Self::as_mut_bytes));
        secrets
    }

    /// Like [`Self::with`], for a `write` that can fail; then what it has written is wiped.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    ///
    /// # Panics
    ///
    /// When `len` is more than [`Self::MAX_LEN`].
    pub fn try_with<E>(
        len: usize,
        write: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut secret = Self::zeroed(len);
        write(secret.as_mut_bytes())?;
        Ok(secret)
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// How many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A second copy, by a word that shows in review.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self::new(self.as_bytes())
    }

    fn zeroed(len: usize) -> Self {
        assert!(len <= N, "a secret of {len} bytes does not fit in {N}");
        const { assert!(N <= u8::MAX as usize) };
        // Checked above, twice.
        #[allow(clippy::cast_possible_truncation)]
        let len = len as u8;
        Self { bytes: [0; N], len }
    }

    pub(crate) fn as_mut_bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[..usize::from(self.len)]
    }
}

impl<const N: usize> Drop for SecretBytes<N> {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

impl<const N: usize> fmt::Debug for SecretBytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The outcome of a key exchange, held inline and wiped on drop.
pub struct SharedSecret(SecretBytes<{ SharedSecret::MAX_LEN }>);

impl SharedSecret {
    /// The longest outcome: a P-384 secret and an ML-KEM one.
    pub const MAX_LEN: usize = 48 + 32;

    /// The bytes, in the order the peers agreed on.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// A secret of `len` bytes, written in place; on failure what was written is wiped.
    pub(crate) fn try_with<E>(
        len: usize,
        write: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        SecretBytes::try_with(len, write).map(Self)
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        let secret = Secret::new(b"hunter2");
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        let shared = SharedSecret::try_with(3, |_| Ok::<_, ()>(())).unwrap();
        assert_eq!(format!("{shared:?}"), "SharedSecret(..)");
    }

    #[test]
    fn duplicate_holds_the_same_bytes() {
        let secret = Secret::new(&[9; Secret::MAX_LEN]);
        assert_eq!(secret.duplicate().as_bytes(), secret.as_bytes());
        assert_eq!(secret.len(), 64);
        assert!(Secret::new(b"").is_empty());
        let short = ShortSecret::new(&[9; ShortSecret::MAX_LEN]);
        assert_eq!(short.duplicate().as_bytes(), [9; 48]);
    }

    #[test]
    fn several_are_written_each_in_its_place() {
        let made = Secret::several([3, 0, 64], |all| {
            for (out, value) in all.into_iter().zip(1..) {
                assert!(out.iter().all(|byte| *byte == 0));
                out.fill(value);
            }
        });
        let made = made.each_ref().map(Secret::as_bytes);
        assert_eq!(made, [&[1; 3][..], &[], &[3; 64]]);
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn too_long_a_secret_is_a_bug_of_the_caller() {
        let _ = Secret::new(&[0; Secret::MAX_LEN + 1]);
    }

    #[test]
    fn a_failed_write_yields_no_secret() {
        assert_eq!(Secret::try_with(4, |_| Err("no")).unwrap_err(), "no");
    }
}
