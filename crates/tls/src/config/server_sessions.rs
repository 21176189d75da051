//! What a server's sessions keep of clients, and for whom they are good.
//!
//! Must not know: how sessions are kept. Next: [`super::resumption`], and `handshake/resumption.rs`, which decides.

use std::sync::Arc;

use super::server::ServerConfigBuilder;
use crate::session::store::ForgetSession;

impl ServerConfigBuilder {
    /// Has this object told which sessions of TLS 1.2 are to be forgotten, because a connection of theirs ended with a fatal
    /// alert, if the application is [asked](crate::Policy::Ask) for sessions. A [`SessionStore`](crate::SessionStore) is
    /// told by its own `remove`. Default: nobody is, and such a session can be resumed for as long as it is found.
    /// RFC 5246 7.2.2
    #[must_use]
    pub fn forget_session(mut self, told: Arc<dyn ForgetSession>) -> Self {
        self.resumption.forget = Some(told);
        self
    }

    /// Judges a client's stored certificate again before its session is resumed, by today's roots, lists
    /// and time; if it is refused, the handshake is a full one. Default: on.
    ///
    /// Switched off, who was accepted once can come back for as long as the session lasts, up to seven
    /// days, also if the certificate expires or is revoked in the meantime. Sessions are then only for
    /// configurations that trust the same roots. With a verifier of another kind, only those with one
    /// [label](Self::session_context) share them, and equal labels must mean equal decisions.
    #[must_use]
    pub fn verify_resumed(mut self, on: bool) -> Self {
        self.resumption.verify_again = on;
        self
    }

    /// Sessions keep no more of a client's certificates than the SHA-256 digest of the first one, which
    /// makes tickets and stores small. Default: off.
    ///
    /// After a resumption there is no chain to look at, only
    /// [`peer_certificate_digest`](crate::Facts::peer_certificate_digest). Nor can such a client be judged
    /// again: [`Self::verify_resumed`] has to be off. Sessions with and without chains are not resumed by a
    /// configuration of the other kind. Raw public keys, which are small, are kept as they are.
    #[must_use]
    pub fn keep_only_certificate_digests(mut self, on: bool) -> Self {
        self.resumption.digests_only = on;
        self
    }

    /// Tells clients of TLS 1.3 that they may resume under every name for which this server's certificate is
    /// good, and lets them. Default: off, a session is for the name it was made with.
    /// draft-ietf-tls-cross-sni-resumption
    ///
    /// All servers that share ticket keys, or the store, must then serve all those names.
    #[must_use]
    pub fn resumption_across_names(mut self, on: bool) -> Self {
        self.resumption.across_names = on;
        self
    }
}
