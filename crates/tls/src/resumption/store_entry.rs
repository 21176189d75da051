//! An entry of a session store.

use pki_types::UnixTime;

/// A session and the time at which it expires.
pub(super) struct StoreEntry<S> {
    session: S,
    expires: UnixTime,
}

impl<S> StoreEntry<S> {
    pub(super) fn new(session: S, expires: UnixTime) -> Self {
        Self { session, expires }
    }

    /// Whether the session may still be used. At `expires`, it may no longer be used.
    pub(super) fn is_unexpired(&self, now: UnixTime) -> bool {
        now < self.expires
    }

    pub(super) fn expires(&self) -> UnixTime {
        self.expires
    }

    pub(super) fn session(&self) -> &S {
        &self.session
    }

    pub(super) fn into_session(self) -> S {
        self.session
    }
}
