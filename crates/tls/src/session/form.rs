//! A session in a store in memory, in the form in which it came: bytes, or a value that needs no reading.
//!
//! Must not know: which side's it is. Next: [`super::store`], [`super::client_store`].

use zeroize::Zeroizing;

/// A session as a value. It wipes itself when it goes.
pub(super) trait Value: Sized {
    /// At least as many bytes as [`Self::to_bytes`] gives.
    fn room(&self) -> usize;

    /// `None` if a part is longer than they have room for.
    fn to_bytes(&self) -> Option<Vec<u8>>;

    /// `None` if these bytes are no session.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

#[derive(Clone)]
pub(super) enum Form<V> {
    Bytes(Zeroizing<Vec<u8>>),
    Value(V),
}

impl<V: Value> Form<V> {
    pub(super) fn bytes(session: Vec<u8>) -> Self {
        Self::Bytes(Zeroizing::new(session))
    }

    /// The bytes, or at least as many as there are.
    pub(super) fn room(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Value(session) => session.room(),
        }
    }

    /// A copy as bytes.
    pub(super) fn to_bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        match self {
            Self::Bytes(bytes) => Some(bytes.clone()),
            Self::Value(session) => session.to_bytes().map(Zeroizing::new),
        }
    }

    /// The bytes themselves. Wiping them is the caller's business from here on.
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
