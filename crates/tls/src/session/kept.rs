//! A session in a store: wiped when it goes, of no use once it has expired.
//!
//! Must not know: who keeps it. Next: [`super::store`], [`super::client_store`].

use std::mem;

use pki_types::UnixTime;
use zeroize::Zeroizing;

pub(super) struct Kept {
    session: Zeroizing<Vec<u8>>,
    expires: UnixTime,
}

impl Kept {
    pub(super) fn new(session: Vec<u8>, expires: UnixTime) -> Self {
        Self { session: Zeroizing::new(session), expires }
    }

    /// Whether it may still be used; at the moment it expires it may not.
    pub(super) fn is_fresh(&self, now: UnixTime) -> bool {
        now < self.expires
    }

    pub(super) fn expires(&self) -> UnixTime {
        self.expires
    }

    pub(super) fn session(&self) -> &[u8] {
        &self.session
    }

    /// The session itself, not a copy; wiping it is the caller's business from here on.
    pub(super) fn into_session(mut self) -> Vec<u8> {
        mem::take(&mut *self.session)
    }
}
