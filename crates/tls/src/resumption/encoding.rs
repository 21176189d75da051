//! The representation of a session in a memory store: the bytes or the value that was stored.

use zeroize::Zeroizing;

/// A session as a value, which zeroizes its secret on drop.
pub(super) trait Value: Sized {
    /// Returns an upper bound for the length of [`Self::to_bytes`].
    fn max_encoded_length(&self) -> usize;

    /// Encodes the session. Returns `None` if a field is too long to be encoded.
    fn to_bytes(&self) -> Option<Vec<u8>>;

    /// Decodes a session. Returns `None` if the bytes are not a session.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// A session as bytes or as a value.
#[derive(Clone)]
pub(super) enum Encoding<V> {
    Bytes(Zeroizing<Vec<u8>>),
    Value(V),
}

impl<V: Value> Encoding<V> {
    pub(super) fn bytes(session: Vec<u8>) -> Self {
        Self::Bytes(Zeroizing::new(session))
    }

    /// Returns an upper bound for the length of the bytes.
    pub(super) fn max_encoded_length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Value(session) => session.max_encoded_length(),
        }
    }

    /// Returns a copy of the session as bytes.
    pub(super) fn to_bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        match self {
            Self::Bytes(bytes) => Some(bytes.clone()),
            Self::Value(session) => session.to_bytes().map(Zeroizing::new),
        }
    }

    /// Returns the session as bytes, which the caller has to zeroize.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(mut bytes) => Some(core::mem::take(&mut *bytes)),
            Self::Value(session) => session.to_bytes(),
        }
    }

    pub(super) fn into_value(self) -> Option<V> {
        match self {
            Self::Bytes(bytes) => V::from_bytes(&bytes),
            Self::Value(session) => Some(session),
        }
    }
}
