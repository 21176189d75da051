//! A client's new session that is returned to the caller.

use pki_types::UnixTime;

use super::client_session::ClientSession;
use super::client_store::ClientSessionKey;

/// A new session of a client whose configuration
/// [returns new sessions](crate::client::ClientConfigBuilder::return_new_sessions).
#[derive(Debug)]
#[non_exhaustive]
pub struct NewClientSession {
    /// The key under which a store keeps the session. `Question::FindClientSession` asks for it.
    pub key: ClientSessionKey,
    /// The session.
    pub session: ClientSession,
    /// The time at which the session expires.
    pub expires: UnixTime,
    /// Whether the server allows the session to be resumed under every name in its certificate. A
    /// store has [`put_across_names`](crate::session::ClientSessionStore::put_across_names) for it.
    pub across_names: bool,
}
