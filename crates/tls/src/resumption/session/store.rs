//! The interface of a server's session store: for session IDs in TLS 1.2, and for tickets that
//! contain only an ID in TLS 1.3.

use pki_types::UnixTime;

use super::server_session::ServerSession;

/// A server's session store.
pub trait ServerSessionStore: Send + Sync {
    /// Stores `session` with this ID until `expires`. A session that is stored with the same ID is
    /// replaced.
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime);

    /// Removes and returns the session. If several threads call this at once, only one gets the
    /// session. This method is used for single-use tickets.
    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Returns the session without removing it. This method is used for session IDs of TLS 1.2.
    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>>;

    /// Removes the session. This method is called after a fatal alert on a TLS 1.2 connection.
    /// RFC 5246 7.2.2
    fn remove(&self, id: &[u8]);

    /// Stores a session like [`Self::put`], for a store that keeps values. By default, the session
    /// is encoded and passed to [`Self::put`].
    fn put_session(&self, id: &[u8], session: ServerSession, expires: UnixTime) {
        if let Some(bytes) = session.to_bytes() {
            self.put(id, bytes, expires);
        }
    }

    /// Returns a session like [`Self::get`], for a store that keeps values. By default,
    /// [`Self::get`] returns bytes, which are decoded and then zeroized.
    fn get_session(&self, id: &[u8], now: UnixTime) -> Option<ServerSession> {
        let mut bytes = self.get(id, now)?;
        let session = ServerSession::from_bytes(&bytes);
        tercel_crypto::wipe(&mut bytes);
        session
    }

    /// Removes a session like [`Self::take`], for a caller that has the session already. Returns
    /// whether this call removed it, so that no other caller can use it. By default, the result of
    /// [`Self::take`] is zeroized.
    fn claim(&self, id: &[u8], now: UnixTime) -> bool {
        let taken = self.take(id, now);
        taken.map(|mut bytes| tercel_crypto::wipe(&mut bytes)).is_some()
    }
}

/// The invalidation of sessions that the application stores itself. The application stores them if
/// the store of its configuration is [`Policy::Ask`](crate::Policy::Ask). RFC 5246 7.2.2
pub trait ForgetSession: Send + Sync {
    /// Removes the session with this ID. The session must not be resumed any more, because one of
    /// its TLS 1.2 connections ended with a fatal alert.
    ///
    /// The sender or the receiver of a connection calls this when it sends or receives the alert.
    /// The method should not block; to reach a remote store, notify a task through a channel.
    fn forget_session(&self, id: &[u8; 32]);
}

impl<F: Fn(&[u8; 32]) + Send + Sync> ForgetSession for F {
    fn forget_session(&self, id: &[u8; 32]) {
        self(id);
    }
}
