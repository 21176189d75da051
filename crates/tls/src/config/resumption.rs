//! The resumption options of both sides.

use core::time::Duration;
use std::sync::Arc;

use tercel_crypto::PartsHash;

use super::client_auth::ClientAuth;
use super::common::Common;
use crate::auth::verify_peer::VerifyPeer;
use crate::error::config::ConfigError;
use crate::policy::Policy;
use crate::psk::request::FindPreSharedKey;
use crate::record::limits;
use crate::resumption::context_digest::ContextDigest;
use crate::resumption::replay_guard::{self, AdmitEarlyData, ReplayGuardId};
use crate::resumption::server_memory_store::ServerMemoryStore;
use crate::resumption::session::Session;
use crate::resumption::session::client_store::ClientSessionStore;
use crate::resumption::session::invalidation::StoredSession;
use crate::resumption::session::store::{ForgetSession, ServerSessionStore};
use crate::resumption::tickets::TicketSealer;

/// The means by which sessions are sealed in tickets, and tickets opened.
#[derive(Clone)]
pub(crate) enum Tickets {
    Sealer(Arc<dyn TicketSealer>),
    /// The caller of the handshake, who accepts a ticket for this time.
    Asked(Duration),
}

impl Tickets {
    /// Returns the minimum time for which a ticket that is sealed now will be accepted.
    pub(crate) fn lifetime(&self) -> Duration {
        match self {
            Self::Sealer(sealer) => sealer.lifetime(),
            Self::Asked(lifetime) => *lifetime,
        }
    }

    /// See [`TicketSealer::is_fips_approved`]. Nothing is known of the caller.
    pub(super) fn is_fips_approved(&self) -> bool {
        match self {
            Self::Sealer(sealer) => sealer.is_fips_approved(),
            Self::Asked(_) => false,
        }
    }
}

/// The resumption options of a server.
#[derive(Clone)]
pub(crate) struct ServerResumption {
    /// Stateless resumption: tickets contain the encrypted sessions. `None` if it is disabled.
    pub(crate) tickets: Option<Tickets>,
    /// Stateful resumption: the server stores sessions, and clients receive their IDs. For new
    /// sessions it has precedence over tickets, unless `only_session_ids` is set.
    pub(crate) store: Option<Policy<dyn ServerSessionStore>>,
    /// Whether the store is only for TLS 1.2 clients that do not support tickets.
    pub(crate) only_session_ids: bool,
    /// The object that is notified of the sessions that the application stores and has to remove.
    pub(crate) forget: Option<Arc<dyn ForgetSession>>,
    /// The number of tickets sent after a full TLS 1.3 handshake.
    pub(crate) new_tickets: u8,
    /// The number of tickets sent after a TLS 1.3 resumption.
    pub(crate) renewed_tickets: u8,
    /// The lifetime of a stored session.
    pub(crate) lifetime: Duration,
    /// The early data limit of new tickets in bytes; 0 disables early data.
    pub(crate) max_early_data: u32,
    pub(crate) replay_guard: Option<Policy<dyn AdmitEarlyData>>,
    /// The ID of the replay guard that the application has set.
    pub(crate) given_guard_id: Option<ReplayGuardId>,
    /// The random ID of a guard that has none.
    own_guard_id: ReplayGuardId,
    /// The freshness window: the largest error of a ticket's age with which early data counts as
    /// fresh.
    pub(crate) freshness_window: Duration,
    /// Whether a client's stored chain is verified again before its session is resumed.
    pub(crate) verify_resumed: bool,
    /// Whether sessions contain a digest instead of a client's chain.
    pub(crate) store_only_certificate_digests: bool,
    /// Whether TLS 1.3 tickets are valid for every name of the certificate.
    pub(crate) resumption_across_names: bool,
    /// The application's bytes that distinguish this configuration from others.
    pub(crate) session_context: Vec<u8>,
    /// The digest that sessions of this configuration are bound to, see [`context_digest`].
    pub(crate) context_digest: ContextDigest,
    /// The digest that sessions of external pre-shared keys are bound to, see
    /// [`digest_for_psk`].
    pub(crate) psk_context_digest: ContextDigest,
}

impl ServerResumption {
    /// Returns a reference to the stored session with this ID, for its removal after a fatal alert.
    /// `None` if there is no store.
    pub(crate) fn stored_session(&self, id: [u8; 32]) -> Option<Arc<StoredSession>> {
        match self.store.as_ref()? {
            Policy::Here(store) => Some(StoredSession::in_store(store, id)),
            Policy::Ask => Some(StoredSession::in_application(self.forget.clone(), id)),
        }
    }

    pub(crate) fn new() -> Self {
        Self {
            tickets: None,
            store: None,
            only_session_ids: false,
            forget: None,
            new_tickets: 2,
            renewed_tickets: 1,
            lifetime: Duration::from_secs(86_400),
            max_early_data: 0,
            replay_guard: None,
            given_guard_id: None,
            own_guard_id: [0; 16],
            freshness_window: limits::MAX_FRESHNESS_WINDOW,
            verify_resumed: true,
            store_only_certificate_digests: false,
            resumption_across_names: false,
            session_context: Vec::new(),
            context_digest: ContextDigest::NONE,
            psk_context_digest: ContextDigest::NONE,
        }
    }

    /// The digest that this session has to be bound to.
    pub(crate) fn context_digest_for(&self, session: &Session) -> ContextDigest {
        if session.pre_shared_key.is_some() { self.psk_context_digest } else { self.context_digest }
    }

    /// Whether the application set a session context.
    pub(crate) fn has_session_context(&self) -> bool {
        !self.session_context.is_empty()
    }

    /// Whether TLS 1.3 tickets are IDs of sessions in the store.
    pub(crate) fn stores_tickets(&self) -> bool {
        self.store.is_some() && !self.only_session_ids
    }

    /// Returns the object that seals and opens tickets. `None` if the caller is asked, or if there
    /// are no tickets.
    pub(crate) fn sealer(&self) -> Option<&dyn TicketSealer> {
        match &self.tickets {
            Some(Tickets::Sealer(sealer)) => Some(&**sealer),
            Some(Tickets::Asked(_)) | None => None,
        }
    }

    /// Whether the caller is asked to seal sessions in tickets.
    pub(crate) fn asks_to_seal(&self) -> bool {
        matches!(self.tickets, Some(Tickets::Asked(_)))
    }

    /// Whether the caller is asked to seal the sessions of TLS 1.3 in tickets.
    pub(crate) fn asks_for_tickets(&self) -> bool {
        self.asks_to_seal() && !self.stores_tickets()
    }

    /// Draws an ID for a guard that has none.
    pub(super) fn draw_guard_id(&mut self) -> Result<(), ConfigError> {
        tercel_crypto::fill_random(&mut self.own_guard_id).map_err(|_| ConfigError::Random)
    }

    /// Returns the ID of the replay guard. `None` without a guard.
    pub(crate) fn replay_guard_id(&self) -> Option<ReplayGuardId> {
        // An ID that was set for an application's guard must not stand for another one.
        let id = match self.replay_guard.as_ref()? {
            Policy::Here(guard) => guard.id(),
            Policy::Ask => self.given_guard_id,
        };
        Some(id.unwrap_or_else(|| replay_guard::id_in_process(self.own_guard_id)))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.tickets.is_some() || self.store.is_some()
    }

    /// Refuses a freshness window that is outside the limits, or longer than the time for which the
    /// guard remembers early data. RFC 9846 8.3
    pub(crate) fn check_window(&self) -> Result<(), ConfigError> {
        let window = self.freshness_window;
        if !(limits::MIN_FRESHNESS_WINDOW..=limits::MAX_FRESHNESS_WINDOW).contains(&window)
            || window.subsec_nanos() != 0
        {
            return Err(ConfigError::BadFreshnessWindow);
        }
        match &self.replay_guard {
            Some(Policy::Here(guard)) if guard.freshness_window() < window => {
                Err(ConfigError::ReplayGuardTooShort)
            }
            _ => Ok(()),
        }
    }
}

/// Computes a server's context digest: of the session context, the requirements on client
/// certificates, the listed authorities, and whether sessions contain only digests of certificates.
/// If clients are not verified again, the digest also covers the verifier's fingerprint and whether
/// staples and timestamps are requested. With the options `legacy_peer_keys` and `fips`, the digest
/// differs from that of all configurations without them. A session that was created under one
/// policy is not resumed under another.
pub(crate) fn context_digest(
    resumption: &ServerResumption,
    demand: ClientAuth,
    verifier: Option<&Policy<dyn VerifyPeer>>,
    common: &Common,
) -> Result<ContextDigest, ConfigError> {
    let mut hash = PartsHash::new();
    let mut add = |part: &[u8]| hash.add(part);
    add(&resumption.session_context);
    add(match demand {
        ClientAuth::None => b"none",
        ClientAuth::Optional => b"optional",
        ClientAuth::Ask => b"asked",
        ClientAuth::Required => b"required",
    });
    if resumption.store_only_certificate_digests {
        add(b"digests only");
    }
    if common.fips {
        add(b"fips");
    }
    if common.legacy_peer_keys {
        add(b"legacy peer keys");
    }
    // All servers must judge the early data of a ticket by the same freshness window, so the window
    // is part of the context. A guard that has just started refuses early data for the time of its
    // own window. It could admit a replay afterwards if another server had a longer window.
    if resumption.max_early_data > 0 && resumption.freshness_window != limits::MAX_FRESHNESS_WINDOW
    {
        add(b"freshness window");
        add(&limits::whole_seconds(resumption.freshness_window).to_be_bytes());
    }
    if let Some(Policy::Here(verifier)) = verifier {
        verifier.authorities().iter().for_each(|name| add(name));
    }
    // Also without a request in the handshake: a client may be authenticated after it.
    if let Some(verifier) = verifier.filter(|_| !resumption.verify_resumed) {
        add(b"not verified again");
        // Whether a must-staple certificate is accepted depends on the request. RFC 7633 4.2.3
        add(&[u8::from(common.request_ocsp), u8::from(common.request_timestamps)]);
        // A verifier without a fingerprint is the verifier of this configuration only: see
        // `verifies_resumed`.
        add(&match fingerprint(verifier) {
            Some(trusted) => trusted,
            None => replacement_fingerprint(&[])?,
        });
    }
    Ok(ContextDigest::new(&hash.finish().first_chunk().copied().unwrap_or_default(), None))
}

/// Computes the context digest for sessions of external pre-shared keys. Before a resumption, an
/// object of the application decides whether the key is still accepted. With [`Policy::Ask`] there
/// is no such check, so the sessions are bound to this configuration: a session context is added to
/// what decides about clients, and does not replace it.
pub(crate) fn digest_for_psk(
    resumption: &ServerResumption,
    keys: Option<&Policy<dyn FindPreSharedKey>>,
) -> Result<ContextDigest, ConfigError> {
    let Some(Policy::Ask) = keys else { return Ok(resumption.context_digest) };
    let digest = resumption.context_digest.first_chunk().copied().unwrap_or_default();
    Ok(ContextDigest::new(&digest, Some(&replacement_fingerprint(&[])?)))
}

/// Returns the fingerprint of a verifier, if it has one.
pub(super) fn fingerprint(verifier: &Policy<dyn VerifyPeer>) -> Option<[u8; 32]> {
    match verifier {
        Policy::Here(verifier) => verifier.fingerprint(),
        Policy::Ask => None,
    }
}

/// Whether the peers of resumed sessions are verified again: if that is configured, or if the
/// session context allows other configurations to share sessions although nothing states whether
/// their verifiers trust the same peers. A session context is added to the identity of trust and
/// never replaces it.
pub(super) fn verifies_resumed(
    configured: bool,
    verifier: &Policy<dyn VerifyPeer>,
    session_context: &[u8],
) -> bool {
    configured || (!session_context.is_empty() && fingerprint(verifier).is_none())
}

/// Returns a replacement for an unknown part of the identity of a configuration. With a session
/// context the replacement is constant, since contexts distinguish configurations. Without a
/// session context it is random, so that no other configuration shares sessions.
pub(super) fn replacement_fingerprint(session_context: &[u8]) -> Result<[u8; 32], ConfigError> {
    let mut replacement = [0_u8; 32];
    if session_context.is_empty() {
        tercel_crypto::fill_random(&mut replacement).map_err(|_| ConfigError::Random)?;
    }
    Ok(replacement)
}

/// The resumption options of a client.
#[derive(Clone)]
pub(crate) struct ClientResumption {
    pub(crate) store: Option<Arc<dyn ClientSessionStore>>,
    /// Whether the application is asked for sessions, which are not taken from the store.
    pub(crate) ask_for_session: bool,
    /// Whether new sessions are returned to the caller, and not stored.
    pub(crate) return_new_sessions: bool,
    /// Whether TLS 1.2 uses tickets.
    pub(crate) tickets_tls12: bool,
    pub(crate) early_data: bool,
    /// Whether a server's stored chain is verified again before its session is offered.
    pub(crate) verify_resumed: bool,
    /// Whether a session is offered after the server's certificate has expired.
    pub(crate) resume_after_certificate: bool,
    /// Whether all connections authenticate as the same client: with the only credential, or as the
    /// session context states.
    pub(crate) has_one_identity: bool,
    /// The application's bytes that distinguish this configuration from others.
    pub(crate) session_context: Vec<u8>,
    /// The part of the key of stored sessions that identifies the configuration.
    pub(crate) context_digest: [u8; 32],
    /// The digest of what decides which servers are trusted, which sessions contain.
    pub(crate) trust_digest: [u8; 32],
}

impl ClientResumption {
    pub(crate) fn new() -> Self {
        Self {
            store: None,
            ask_for_session: false,
            return_new_sessions: false,
            tickets_tls12: true,
            early_data: false,
            verify_resumed: false,
            resume_after_certificate: false,
            has_one_identity: false,
            session_context: Vec::new(),
            context_digest: [0; 32],
            trust_digest: [0; 32],
        }
    }
}

/// The store of TLS 1.2 sessions for clients without tickets.
#[derive(Default)]
pub(super) enum SessionIds {
    /// A store that only this configuration uses.
    #[default]
    Own,
    In(Policy<dyn ServerSessionStore>),
    None,
}

impl SessionIds {
    /// Sets the store of a configuration that has tickets and no session store.
    pub(super) fn apply_to(self, resumption: &mut ServerResumption) {
        if resumption.tickets.is_none() || resumption.store.is_some() {
            return;
        }
        let own =
            || Policy::Here(Arc::new(ServerMemoryStore::new(limits::DEFAULT_SESSION_IDS)) as _);
        resumption.store = match self {
            Self::Own => Some(own()),
            Self::In(store) => Some(store),
            Self::None => return,
        };
        resumption.only_session_ids = true;
    }
}
