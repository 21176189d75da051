//! Interface of a server's session store: for session IDs in TLS 1.2, and for tickets that contain
//! only an ID in TLS 1.3.

use pki_types::UnixTime;

use super::server_session::ServerSession;

/// A server's session store.
pub trait ServerSessionStore: Send + Sync {
    /// Stores `session` under `id` until `expires`, and replaces any session with that ID.
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime);

    /// Removes and returns the session: of several concurrent callers, only one gets it. Used for
    /// single-use tickets.
    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Returns the session without removing it. Used for session IDs of TLS 1.2.
    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Removes the session. Called after a fatal alert on a TLS 1.2 connection. RFC 5246 7.2.2
    fn remove(&self, id: &[u8]);

    /// Like [`Self::put`], for a store that keeps values. By default the session is encoded and
    /// put.
    fn put_session(&self, id: &[u8], session: ServerSession, expires: UnixTime) {
        if let Some(bytes) = session.to_bytes() {
            self.put(id, bytes, expires);
        }
    }

    /// Like [`Self::get`], for a store that keeps values. By default bytes are read, decoded, and
    /// zeroized.
    fn get_session(&self, id: &[u8], now: UnixTime) -> Option<ServerSession> {
        let mut bytes = self.get(id, now)?;
        let session = ServerSession::from_bytes(&bytes);
        tercel_crypto::wipe(&mut bytes);
        session
    }

    /// Like [`Self::take`], for a caller that has the session already. Returns whether this call
    /// removed it, so that no other caller can use it. By default it is taken and zeroized.
    fn claim(&self, id: &[u8], now: UnixTime) -> bool {
        let taken = self.take(id, now);
        taken.map(|mut bytes| tercel_crypto::wipe(&mut bytes)).is_some()
    }
}

/// Invalidates sessions that an application stores itself, because the configuration asks it for
/// sessions ([`Policy::Ask`](crate::Policy::Ask)). RFC 5246 7.2.2
pub trait ForgetSession: Send + Sync {
    /// Removes the session with this ID, which must not be resumed any more: a TLS 1.2 connection
    /// of it ended with a fatal alert.
    ///
    /// Called by either half of a connection when it sends or receives the alert. It should not
    /// block; to reach a remote store, notify a task through a channel.
    fn forget_session(&self, id: &[u8; 32]);
}

impl<F: Fn(&[u8; 32]) + Send + Sync> ForgetSession for F {
    fn forget_session(&self, id: &[u8; 32]) {
        self(id);
    }
}
