//! Options for resumption on a server.

use core::time::Duration;
use std::sync::Arc;

use super::resumption::{SessionIds, Tickets};
use super::server::ServerConfigBuilder;
use crate::policy::Policy;
use crate::resumption::replay_guard::{AdmitEarlyData, ReplayGuardId};
use crate::resumption::session::store::{ForgetSession, ServerSessionStore};
use crate::resumption::tickets::TicketSealer;

setters! {
    for ServerConfigBuilder;

    /// Sets the keys that encrypt tickets. Default: keys of this configuration, replaced every six
    /// hours.
    pub fn tickets(tickets: Arc<dyn TicketSealer>) =>
        config.resumption.tickets = Some(Tickets::Sealer(tickets));

    /// Sets that the caller of the handshake seals sessions in tickets and opens tickets, in place
    /// of a [`TicketSealer`]: with `Question::SealTicket` and `Question::OpenTicket`. This is for
    /// keys that are outside of the process.
    ///
    /// `lifetime` is the minimum time for which a ticket that is sealed now will be opened. The
    /// client gets it in whole seconds, at most seven days. RFC 9846 4.7.1
    ///
    /// The questions for the tickets of TLS 1.3, at most ten, are asked after the client's
    /// Finished, and all tickets are sent after the last answer. The age of each begins with its
    /// question.
    pub fn ask_for_tickets(lifetime: Duration) =>
        config.resumption.tickets = Some(Tickets::Asked(lifetime));

    /// Sets the store of TLS 1.2 sessions for clients that do not support tickets (curl, Erlang,
    /// Bouncy Castle) and resume by session ID. The store is used only if the server issues tickets
    /// and has no [session store](Self::session_store), which stores all sessions. Clients that
    /// support tickets get tickets, and TLS 1.3 stores nothing here. A session whose client sent
    /// more than 8 KB of certificates is not stored. Default: a
    /// [`ServerMemoryStore`](crate::session::ServerMemoryStore) of this configuration for 4,096
    /// sessions, about 5 MB. RFC 5246 7.3, RFC 5077 3.4
    ///
    /// Configurations that share ticket keys can share a store and its capacity.
    ///
    /// With [`Policy::Ask`] the caller of the handshake is asked for sessions with
    /// `Question::FindSession`, and receives new ones in
    /// [`ConnectionInfo::take_new_sessions`](crate::ConnectionInfo::take_new_sessions).
    pub fn session_ids(store: Policy<dyn ServerSessionStore>) =>
        session_ids = SessionIds::In(store);

    /// Sets the store for sessions. Clients then get only the IDs of sessions. Each TLS 1.3 session
    /// can then be resumed only once. If the store is [`Policy::Ask`], [`Self::forget_session`] and
    /// [`Handshake::session_to_forget`](crate::Handshake::session_to_forget) report which sessions
    /// to remove.
    pub fn session_store(store: Policy<dyn ServerSessionStore>) =>
        config.resumption.store = Some(store);

    /// Sets the time for which a stored session can be resumed, in whole seconds; a fraction is cut
    /// off. Default: one day; at most seven days. RFC 9846 4.7.1
    pub fn session_lifetime(lifetime: Duration) => config.resumption.lifetime = lifetime;

    /// Sets the context of this configuration. If configurations share ticket keys or a store, a
    /// session is resumed only under a configuration whose context equals that of the configuration
    /// that issued the session. Servers for different applications need different contexts; equal
    /// contexts must mean the same server.
    ///
    /// In addition, a session is resumed only where a full handshake would have authenticated the
    /// same server. If [the application selects
    /// credentials](crate::server::ServerConfigBuilder::credentials), the configuration does not
    /// know which server that would be. Then sessions need a context, and without one no tickets
    /// are issued. The document `docs/sessions.md` of the repository has all rules.
    ///
    /// Sessions are also bound to the requirements on client certificates. If clients are not
    /// verified again ([`Self::verify_resumed`]), sessions are bound to the trusted roots, too.
    pub fn session_context(context: &[u8]) => config.resumption.session_context = context.to_vec();

    /// Sets the freshness window: the largest difference, in either direction, between the ticket
    /// age that the client sends and the ticket age that the server computes, at which early data
    /// counts as fresh. The window is a whole number of seconds from 2 to 60. Default: 60.
    /// RFC 9846 8.3
    ///
    /// The window has to cover the travel time of the flight, the drift between client's and
    /// server's clocks over a ticket's life, and the difference between the clocks of servers that
    /// share tickets; 10 seconds suffice for most servers. Outside the window, early data is
    /// rejected, but not the handshake. A guard that does not know what was admitted before it
    /// started has to refuse early data for twice the window and a second, which is the
    /// [`freshness_period`](crate::session::ReplayGuard::freshness_period): two minutes by default.
    /// Sessions that admit early data are not resumed by configurations with another window.
    pub fn freshness_window(window: Duration) => config.resumption.freshness_window = window;

    /// Sets the ID of a replay guard that is [`Policy::Ask`]; an object has
    /// [its own](AdmitEarlyData::id). Default: an ID of this configuration in this process.
    ///
    /// Early data is accepted only with tickets of configurations whose guard has the same ID. Give
    /// the same ID to configurations and processes only if they ask one guard.
    pub fn replay_guard_id(id: ReplayGuardId) => config.resumption.given_guard_id = Some(id);

    /// Sets the object that is notified when a TLS 1.2 session must be removed because a connection
    /// ended with a fatal alert. The object is for stores that are [`Policy::Ask`]; on a
    /// [`ServerSessionStore`], `remove` is called instead. Default: none; then the application
    /// removes the session of each connection that ends with a fatal alert, and that of
    /// [`Handshake::session_to_forget`](crate::Handshake::session_to_forget). RFC 5246 7.2.2
    pub fn forget_session(listener: Arc<dyn ForgetSession>) =>
        config.resumption.forget = Some(listener);

    /// Sets whether a client's stored certificate is verified again before a session is resumed,
    /// against the current roots, revocation lists and time. If the certificate is refused, a full
    /// handshake is performed. Default: on.
    ///
    /// If this is off, a client that was accepted once can resume for the lifetime of the session,
    /// up to seven days, even if its certificate expires or is revoked. Sessions are then bound to
    /// the trusted roots. With a verifier of the application, only configurations with an equal
    /// [`session_context`](Self::session_context) share sessions; give an equal context only to
    /// configurations that accept the same clients.
    pub fn verify_resumed(on: bool) => config.resumption.verify_resumed = on;

    /// Sets whether sessions contain only the SHA-256 digest of a client's certificate, which makes
    /// tickets and stores small. Default: off.
    ///
    /// After a resumption the chain is unknown, and only
    /// [`peer_certificate_digest`](crate::ConnectionInfo::peer_certificate_digest) identifies the
    /// client. Such a client cannot be verified again, so [`Self::verify_resumed`] has to be off. A
    /// configuration with this option does not resume sessions that contain a chain, and a
    /// configuration without this option does not resume sessions that contain a digest. Raw public
    /// keys are small and are stored unchanged.
    pub fn store_only_certificate_digests(on: bool) =>
        config.resumption.store_only_certificate_digests = on;

    /// Sets whether TLS 1.3 clients may resume under every name for which the server's certificate
    /// is valid. The server announces this to clients. Default: off; then a session can be resumed
    /// only under the name with which it was created. draft-ietf-tls-cross-sni-resumption
    ///
    /// Under another name, a renewed certificate has to be valid for both names. A client that
    /// sends no name can resume only with the same certificate. Sessions of external pre-shared
    /// keys can be resumed only under their own name.
    pub fn resumption_across_names(on: bool) => config.resumption.resumption_across_names = on;
}

impl ServerConfigBuilder {
    /// Disables tickets. Without a session store, no session can then be resumed.
    #[must_use]
    pub fn without_tickets(mut self) -> Self {
        self.default_tickets = false;
        self.config.resumption.tickets = None;
        self
    }

    /// Disables resumption for TLS 1.2 clients that do not support tickets. No session is stored
    /// for them.
    #[must_use]
    pub fn without_session_ids(mut self) -> Self {
        self.session_ids = SessionIds::None;
        self
    }

    /// Sets the number of tickets after a full and after a resumed TLS 1.3 handshake, 0 to 10.
    /// Default: two and one. A client can request other numbers. It then gets up to 10 tickets or,
    /// with a [session store](Self::session_store), at most the numbers set here. RFC 9149
    #[must_use]
    pub fn ticket_counts(mut self, after_full: u8, after_resumed: u8) -> Self {
        self.config.resumption.new_tickets = after_full.min(10);
        self.config.resumption.renewed_tickets = after_resumed.min(10);
        self
    }

    /// Sets the maximum number of bytes of early data, and the guard that admits it. Default: no
    /// early data.
    ///
    /// Early data can be replayed: an attacker who recorded it can send it again, to another server
    /// or after the guard has removed its entry. Process only early data that is safe to process
    /// twice. RFC 9846 8, F.5
    ///
    /// A ticket allows early data only under the guard under which it was issued: see
    /// [`AdmitEarlyData::id`] and [`Self::replay_guard_id`].
    #[must_use]
    pub fn early_data(mut self, bytes: u32, guard: Policy<dyn AdmitEarlyData>) -> Self {
        self.config.resumption.max_early_data = bytes;
        self.config.resumption.replay_guard = Some(guard);
        self
    }
}
