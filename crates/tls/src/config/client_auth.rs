//! Whether a server requests client certificates.

/// Whether a server requests a certificate from its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ClientAuth {
    /// Not in the handshake; [`crate::Connection::request_certificate`] may request one later.
    #[default]
    None,
    /// Requests one; the client may decline.
    Optional,
    /// Requests one; a client that declines is refused.
    Required,
}
