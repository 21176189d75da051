//! An entry of a session store in memory: the bytes or the value that was stored.

use pki_types::UnixTime;
use zeroize::Zeroizing;

use super::session::{Session, SessionValue};

/// A session and the time at which it expires.
pub(super) struct StoreEntry<S> {
    pub(super) session: S,
    pub(super) expires: UnixTime,
}

impl<S> StoreEntry<S> {
    /// Whether the session may still be used. At `expires`, it may no longer be used.
    pub(super) fn is_unexpired(&self, now: UnixTime) -> bool {
        now < self.expires
    }
}

/// The number of bytes that one session of a store may have on average. Most have fewer: a chain of
/// three certificates, a ticket and a staple.
const BYTES_EACH: usize = 8 << 10;

/// The least limit of a store's bytes, which suffices for any one session.
const MIN_BYTES: usize = 256 << 10;

/// Returns the limit of the bytes of a store for this number of sessions. Peers decide about the
/// length of their certificates and tickets.
pub(super) fn max_bytes(sessions: usize) -> usize {
    sessions.saturating_mul(BYTES_EACH).max(MIN_BYTES)
}

/// A session as bytes or as a value.
#[derive(Clone)]
pub(super) enum Encoding<V> {
    Bytes(Zeroizing<Vec<u8>>),
    Value(V),
}

impl<V: SessionValue> Encoding<V> {
    pub(super) fn bytes(session: Vec<u8>) -> Self {
        Self::Bytes(Zeroizing::new(session))
    }

    /// Returns an upper bound for the length of the bytes.
    pub(super) fn max_encoded_length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Value(value) => value.session().max_encoded_length(),
        }
    }

    /// Returns a copy of the session as bytes.
    pub(super) fn to_bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        match self {
            Self::Bytes(bytes) => Some(bytes.clone()),
            Self::Value(value) => value.session().to_stored_bytes().map(Zeroizing::new),
        }
    }

    /// Returns the session as bytes, which the caller has to zeroize.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(mut bytes) => Some(core::mem::take(&mut *bytes)),
            Self::Value(value) => value.session().to_stored_bytes(),
        }
    }

    pub(super) fn into_value(self) -> Option<V> {
        match self {
            Self::Bytes(bytes) => Session::from_stored_bytes(&bytes).map(V::from_session),
            Self::Value(value) => Some(value),
        }
    }
}
