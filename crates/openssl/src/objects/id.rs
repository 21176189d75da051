//! The IDs of sessions and of their contexts.

use core::ops::Deref;

/// An ID of at most 32 bytes, in the object itself. As in OpenSSL, a pointer to it remains valid,
/// and a shorter ID leaves the other bytes: HAProxy sets the length to 0 before it encodes a
/// session, and afterwards to what it was.
#[derive(Clone, Default)]
pub(crate) struct Id {
    bytes: [u8; Id::LONGEST],
    length: usize,
}

impl Id {
    /// `SSL_MAX_SSL_SESSION_ID_LENGTH`, `SSL_MAX_SID_CTX_LENGTH`.
    pub(crate) const LONGEST: usize = 32;

    /// `None` for more than 32 bytes.
    pub(crate) fn new(id: &[u8]) -> Option<Self> {
        let mut new = Self::default();
        new.set(id).then_some(new)
    }

    /// Changes the ID. Returns whether it is not too long.
    pub(crate) fn set(&mut self, id: &[u8]) -> bool {
        let Some(bytes) = self.bytes.get_mut(..id.len()) else { return false };
        bytes.copy_from_slice(id);
        self.length = id.len();
        true
    }

    /// The bytes, of which the ID is the beginning.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }
}

impl From<[u8; Id::LONGEST]> for Id {
    fn from(bytes: [u8; Id::LONGEST]) -> Self {
        Self { bytes, length: Self::LONGEST }
    }
}

/// The bytes behind the ID do not count.
impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Id {}

impl Deref for Id {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_keeps_the_bytes_that_a_shorter_one_leaves() {
        let mut id = Id::new(b"session").unwrap();
        let place = id.as_ptr();
        assert!(id.set(b""));
        assert_eq!((&id[..], id.as_ptr()), (&b""[..], place));
        let rest = id.bytes;
        assert!(id.set(&rest[..7]));
        assert_eq!(&id[..], b"session");
        assert!(!id.set(&[0; 33]) && Id::new(&[0; 33]).is_none());
        assert_eq!(&id[..], b"session");
        assert!(Id::new(&[7; 32]).is_some_and(|id| id[..] == [7; 32]));
    }
}
