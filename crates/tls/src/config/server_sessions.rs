//! How a server lets clients come back: where sessions are, what they keep of clients, and for whom they are good.
//!
//! Must not know: how sessions are kept. Next: [`super::resumption`], and `handshake/resumption.rs`, which decides.

use std::sync::Arc;

use super::policy::{AdmitEarlyData, Policy};
use super::resumption::ServerResumption;
use super::server::ServerConfigBuilder;
use crate::record::limits;
use crate::session::store::{ForgetSession, MemoryStore, SessionStore};
use crate::ticket::TicketSealer;

/// Where sessions of TLS 1.2 are kept for clients that take no tickets.
#[derive(Default)]
pub(super) enum SessionIds {
    /// In a store of the configuration's own.
    #[default]
    Own,
    In(Arc<dyn SessionStore>),
    None,
}

impl SessionIds {
    /// Gives the store to a configuration that has tickets and no store of another kind.
    pub(super) fn put_into(self, resumption: &mut ServerResumption) {
        if resumption.tickets.is_none() || resumption.store.is_some() {
            return;
        }
        let store: Arc<dyn SessionStore> = match self {
            Self::Own => Arc::new(MemoryStore::new(limits::DEFAULT_SESSION_IDS)),
            Self::In(store) => store,
            Self::None => return,
        };
        resumption.store = Some(Policy::Here(store));
        resumption.only_session_ids = true;
    }
}

impl ServerConfigBuilder {
    /// Seals sessions into tickets with these keys. Default: keys of this configuration's own, changed
    /// every six hours.
    #[must_use]
    pub fn tickets(mut self, tickets: Arc<dyn TicketSealer>) -> Self {
        self.resumption.tickets = Some(tickets);
        self
    }

    /// No session can be resumed, unless a store is set.
    #[must_use]
    pub fn without_tickets(mut self) -> Self {
        self.default_tickets = false;
        self.resumption.tickets = None;
        self
    }

    /// Keeps sessions of TLS 1.2 in this store for clients that take no tickets (curl, Erlang,
    /// Bouncy Castle), which resume them by their session id. Clients that take tickets get
    /// tickets, and TLS 1.3 leaves nothing here. A session whose client showed more than 8 KB of
    /// certificates is not kept. Default: a [`MemoryStore`] of this configuration's own with room
    /// for 4,096 sessions, some 5 MB. RFC 5246 7.3, RFC 5077 3.4
    ///
    /// Configurations that share ticket keys can share a store, and then share its room. It is
    /// used beside tickets only: not [without them](Self::without_tickets), nor with a
    /// [session store](Self::session_store), which has all sessions.
    #[must_use]
    pub fn session_ids(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.session_ids = SessionIds::In(store);
        self
    }

    /// Clients of TLS 1.2 that take no tickets are not resumed, and no session is kept here.
    #[must_use]
    pub fn without_session_ids(mut self) -> Self {
        self.session_ids = SessionIds::None;
        self
    }

    /// Keeps sessions in a store, and gives clients names for them: each session of TLS 1.3 can then be
    /// resumed once only. An application that is asked for them is told what to forget by
    /// [`Self::forget_session`].
    #[must_use]
    pub fn session_store(mut self, store: Policy<dyn SessionStore>) -> Self {
        self.resumption.store = Some(store);
        self
    }

    /// Seconds for which a stored session can be resumed. Default: one day, at most seven. RFC 9846 4.7.1
    #[must_use]
    pub fn session_lifetime(mut self, seconds: u32) -> Self {
        self.resumption.lifetime = seconds;
        self
    }

    /// How many tickets follow a full and a resumed handshake of TLS 1.3, 0 to 10. Default: two and one.
    /// A client that asks for another number gets that, up to 10; with a [session store](Self::session_store) no more than
    /// these. RFC 9149
    #[must_use]
    pub fn ticket_counts(mut self, after_full: u8, after_resumed: u8) -> Self {
        self.resumption.new_tickets = after_full.min(10);
        self.resumption.renewed_tickets = after_resumed.min(10);
        self
    }

    /// A label for this configuration: its sessions are resumed only under configurations with an equal label, among those that share
    /// its ticket keys or store. Give different labels to servers behind which there are different applications.
    ///
    /// In any case a session is resumed only where a full handshake would have authenticated the same server: the credential
    /// that the configuration would show now has the leaf that was shown when the session was made, or is valid for the name that
    /// the client asked for then (a renewed certificate); if the client sent no name, it has the same set of names.
    /// This cannot be told where credentials are [asked for, or chosen by an object](crate::ServerConfigBuilder::credentials) of the
    /// application's, and where one raw public key took the place of another. Such sessions are resumed only under an equal label,
    /// and without a label not at all: no tickets are then handed out. Equal labels have to mean the same server.
    ///
    /// What is demanded of clients is part of the context too; what is trusted is where clients are not judged
    /// again, see [`Self::verify_resumed`].
    #[must_use]
    pub fn session_context(mut self, label: &[u8]) -> Self {
        self.resumption.label = label.to_vec();
        self
    }

    /// Accepts early data of up to so many bytes, as far as `guard` admits it. Default: none.
    ///
    /// Early data can be replayed: whoever recorded it can send it again, to another server or after the
    /// guard has forgotten. Act on it only if doing so twice does no harm. RFC 9846 8, F.5
    #[must_use]
    pub fn early_data(mut self, bytes: u32, guard: Policy<dyn AdmitEarlyData>) -> Self {
        self.resumption.max_early_data = bytes;
        self.resumption.guard = Some(guard);
        self
    }

    /// Seconds by which the age that a client tells of its ticket may be off, either way, for its early data to
    /// count as fresh: 2 to 60, which is the default. RFC 9846 8.3
    ///
    /// It has to cover what the flight takes on its way, by how much client's and server's clocks run apart over a
    /// ticket's life, and among servers that share tickets by how much theirs differ; 10 seconds do for most. Beyond it
    /// early data is rejected, never the handshake. A guard that knows nothing of what was admitted before it began has to be blind for
    /// [twice as long](crate::ReplayGuard::fresh_for). Sessions for which early data is admitted are not resumed
    /// under another window.
    #[must_use]
    pub fn freshness_window(mut self, seconds: u32) -> Self {
        self.resumption.freshness_window = seconds;
        self
    }

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
    /// Under another name than the session's own, a renewed certificate has to be valid for both names. A client that sends no
    /// name resumes only with the same leaf. Sessions of external pre-shared keys are for their own name.
    #[must_use]
    pub fn resumption_across_names(mut self, on: bool) -> Self {
        self.resumption.across_names = on;
        self
    }
}
