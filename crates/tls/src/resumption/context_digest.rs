//! The context digest, which binds a session to the configurations that may resume it.

use core::ops::Deref;

/// A context digest of up to [`Self::MAX_LENGTH`] bytes, stored inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextDigest {
    /// The digest, zero-padded, so that digests can be compared together with their padding.
    bytes: [u8; Self::MAX_LENGTH],
    length: u8,
}

impl ContextDigest {
    pub(crate) const MAX_LENGTH: usize = 48;

    pub(crate) const NONE: Self = Self { bytes: [0; Self::MAX_LENGTH], length: 0 };

    /// Concatenates the configuration's digest and, optionally, a second digest for sessions that
    /// fewer configurations may resume.
    pub(crate) fn new(digest: &[u8; 16], restriction: Option<&[u8; 32]>) -> Self {
        let restriction = restriction.map_or(&[][..], <[u8; 32]>::as_slice);
        Self::filled(digest, restriction)
    }

    /// Concatenates the digest of what decides which servers a client trusts and the server's port,
    /// if the client knows it.
    pub(crate) fn of_client(trust_digest: &[u8; 32], port: Option<u16>) -> Self {
        let port = port.map(u16::to_be_bytes);
        let port = port.as_ref().map_or(&[][..], <[u8; 2]>::as_slice);
        Self::filled(trust_digest, port)
    }

    /// Returns the context digest with these bytes, or `None` if there are too many bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= Self::MAX_LENGTH).then(|| Self::filled(bytes, &[]))
    }

    /// Concatenates two parts of at most [`Self::MAX_LENGTH`] bytes together.
    fn filled(first: &[u8], second: &[u8]) -> Self {
        let mut bytes = [0; Self::MAX_LENGTH];
        if let Some((start, rest)) = bytes.split_at_mut_checked(first.len()) {
            start.copy_from_slice(first);
            if let Some(rest) = rest.get_mut(..second.len()) {
                rest.copy_from_slice(second);
            }
        }
        let length = first.len().saturating_add(second.len());
        Self { bytes, length: u8::try_from(length).unwrap_or_default() }
    }
}

impl Deref for ContextDigest {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_equal_if_their_bytes_are() {
        let context = |length| ContextDigest::read(&vec![0; length]);
        for length in 0..=ContextDigest::MAX_LENGTH {
            let whole = context(length).unwrap();
            assert_eq!(*whole, *vec![0; length]);
            assert_eq!(ContextDigest::read(&whole), Some(whole));
            assert_eq!(whole == ContextDigest::NONE, length == 0, "zeros are no padding");
        }
        assert_eq!(context(ContextDigest::MAX_LENGTH + 1), None);
        let narrow = ContextDigest::new(&[1; 16], Some(&[2; 32]));
        assert_eq!(*narrow, *[&[1; 16][..], &[2; 32]].concat());
        assert_eq!(*ContextDigest::new(&[1; 16], None), [1; 16]);
    }
}
