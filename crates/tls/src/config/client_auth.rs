//! Whether a server requests client certificates.

/// Whether a server requests a certificate from its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ClientAuth {
    /// No certificate is requested in the handshake; [`crate::Connection::request_certificate`] may
    /// request one later.
    #[default]
    None,
    /// A certificate is requested; the client may decline.
    Optional,
    /// A certificate is requested; if the client declines, the application is asked with
    /// [`Question::AdmitAnonymous`](crate::Question::AdmitAnonymous) before the server sends
    /// anything after it. As with `Optional`, a session without a certificate is resumed.
    ///
    /// After the handshake this is the same as `Optional`, because the application gets the answer
    /// of each client.
    Ask,
    /// A certificate is requested; a client that declines is refused.
    Required,
}

impl ClientAuth {
    /// Returns the stronger of two demands.
    pub(super) fn stronger(self, other: Self) -> Self {
        match (self, other) {
            (Self::Required, _) | (_, Self::Required) => Self::Required,
            (Self::Ask, _) | (_, Self::Ask) => Self::Ask,
            (Self::Optional, _) | (_, Self::Optional) => Self::Optional,
            (Self::None, Self::None) => Self::None,
        }
    }
}
