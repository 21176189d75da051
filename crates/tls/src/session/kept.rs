//! A session in a store: of no use once it has expired.
//!
//! Must not know: who keeps it, and in which form: each wipes itself when it goes. Next: [`super::store`],
//! [`super::client_store`].

use pki_types::UnixTime;

pub(super) struct Kept<S> {
    session: S,
    expires: UnixTime,
}

impl<S> Kept<S> {
    pub(super) fn new(session: S, expires: UnixTime) -> Self {
        Self { session, expires }
    }

    /// Whether it may still be used; at the moment it expires it may not.
    pub(super) fn is_fresh(&self, now: UnixTime) -> bool {
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
