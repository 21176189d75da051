//! Types for secret bytes, which are wiped on drop and cannot be printed, copied or compared by
//! accident.
//!
//! The bytes are stored inline, so a Rust move leaves an unwiped copy on the stack;
//! docs/security/secrets.md lists such residue. A secret that outlives a handshake belongs in a
//! box.

use core::fmt;

use super::memory::wipe;

/// A secret of up to the length of any digest.
pub type Secret = SecretBytes<64>;

/// A secret of up to SHA-384's length, for values of which many are stored for a long
/// time.
pub type ShortSecret = SecretBytes<48>;

/// A secret of up to `N` bytes, stored inline and wiped on drop.
pub struct SecretBytes<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

impl<const N: usize> SecretBytes<N> {
    /// The maximum length.
    pub const MAX_LEN: usize = N;

    /// Copies the bytes of a secret.
    ///
    /// # Panics
    ///
    /// When there are more than [`Self::MAX_LEN`] bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self::with(bytes.len(), |own| own.copy_from_slice(bytes))
    }

    /// A secret of `len` bytes, written in place by `write` into a buffer of zeros.
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

    /// Several secrets of these lengths, written in place by one call of `write` into buffers of
    /// zeros.
    ///
    /// # Panics
    ///
    /// When one of the lengths is more than [`Self::MAX_LEN`].
    #[must_use]
    pub fn batch<const M: usize>(
        lengths: [usize; M],
        write: impl FnOnce([&mut [u8]; M]),
    ) -> [Self; M] {
        let mut secrets = lengths.map(Self::zeroed);
        write(secrets.each_mut().map(Self::as_mut_bytes));
        secrets
    }

    /// As [`Self::with`], for a `write` that can fail. If it fails, the bytes written until then
    /// are wiped.
    ///
    /// # Errors
    ///
    /// The errors of `write`.
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

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A copy of the secret. The type has this method instead of `Clone`, so that every copy is
    /// explicit in the code.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self::new(self.as_bytes())
    }

    fn zeroed(len: usize) -> Self {
        assert!(len <= N, "a secret of {len} bytes does not fit in {N}");
        const { assert!(N <= u8::MAX as usize) };
        // The assertions above bound the length.
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

/// The shared secret of a key exchange, stored inline and wiped on drop.
pub struct SharedSecret(SecretBytes<{ SharedSecret::MAX_LEN }>);

impl SharedSecret {
    /// The maximum length: the secrets of P-384 and ML-KEM together.
    pub const MAX_LEN: usize = 48 + 32;

    /// The bytes, in the order that the algorithm defines.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// A secret of `len` bytes, written in place by `write`. On an error, the bytes written are
    /// wiped.
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
    fn a_duplicate_has_the_same_bytes() {
        let secret = Secret::new(&[9; Secret::MAX_LEN]);
        assert_eq!(secret.duplicate().as_bytes(), secret.as_bytes());
        assert_eq!(secret.len(), 64);
        assert!(Secret::new(b"").is_empty());
        let short = ShortSecret::new(&[9; ShortSecret::MAX_LEN]);
        assert_eq!(short.duplicate().as_bytes(), [9; 48]);
    }

    #[test]
    fn several_secrets_are_written_in_order() {
        let made = Secret::batch([3, 0, 64], |all| {
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
    fn a_secret_that_is_too_long_panics() {
        let _ = Secret::new(&[0; Secret::MAX_LEN + 1]);
    }

    #[test]
    fn a_failed_write_yields_no_secret() {
        assert_eq!(Secret::try_with(4, |_| Err("no")).unwrap_err(), "no");
    }
}
