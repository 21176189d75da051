//! A server's resumption rules for both versions, and the issuing of new sessions.

use core::time::Duration;
use std::sync::Arc;

use pki_types::UnixTime;
use tercel_crypto::{Hash, HashAlgorithm};
use tercel_wire::{CertificateType, ProtocolVersion};
use zeroize::Zeroizing;

use super::identity::{self, CredentialForHello};
use super::question::{
    AnswerValue, ClaimSessionQuestion, FindSessionQuestion, OpenTicketQuestion, Question,
    SealTicketQuestion, SessionIdentity,
};
use super::runtime::flow::{Flow, wrong_answer};
use crate::auth::chain::Chain;
use crate::auth::credential_id::SessionCredential;
use crate::config::client_auth::ClientAuth;
use crate::config::resumption::Tickets;
use crate::config::server::ServerConfig;
use crate::connection::info::{ConnectionInfo, NewSession};
use crate::error::Error;
use crate::keys::suite::Suite;
use crate::policy::Policy;
use crate::record::limits;
use crate::resumption::session::Session;
use crate::resumption::session::invalidation::StoredSession;
use crate::resumption::session::server_session::ServerSession;
use crate::side::Side;

/// A session that a client offers.
pub(crate) struct FoundSession {
    pub(crate) session: Arc<Session>,
    /// Whether the session is in the configuration's store and was not removed from it.
    pub(crate) is_stored: bool,
    /// Whether the session is the application's answer to a question.
    pub(crate) is_from_application: bool,
    /// Whether the client gets a new ticket for it in TLS 1.2.
    pub(crate) needs_new_ticket: bool,
    /// The time at which the session was found.
    pub(crate) now: UnixTime,
}

/// The means by which a client requests a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    /// The identity of a pre-shared key in TLS 1.3: a ticket, or an ID for single use.
    PreSharedKey,
    /// A ticket of TLS 1.2.
    Ticket,
    /// A session ID of TLS 1.2.
    SessionId,
}

impl Means {
    fn version(self) -> ProtocolVersion {
        match self {
            Self::PreSharedKey => ProtocolVersion::TLS1_3,
            Self::Ticket | Self::SessionId => ProtocolVersion::TLS1_2,
        }
    }
}

/// Finds the session that a client requests by a ticket or a session ID, in the ticket itself or in
/// a store. A single-use session stays in its store until the caller removes it with [`claim`].
pub(crate) async fn find(
    flow: &mut Flow,
    config: &ServerConfig,
    identity: &[u8],
    means: Means,
) -> Result<Option<FoundSession>, Error> {
    let mut now = config.common.clock.now();
    let resumption = &config.resumption;
    let (opened, is_renewed) = match &resumption.tickets {
        Some(Tickets::Sealer(sealer)) => (sealer.open(identity, now), false),
        Some(Tickets::Asked(_)) if means != Means::SessionId => {
            let opened = ask_to_open(flow, identity, means, now).await?;
            now = config.common.clock.now();
            opened
        }
        Some(Tickets::Asked(_)) | None => (None, false),
    };
    if let Some(bytes) = opened {
        let renews =
            || resumption.sealer().is_some_and(|sealer| sealer.needs_renewal(identity, now));
        let found = |session| FoundSession {
            session: Arc::new(session),
            is_stored: false,
            is_from_application: false,
            needs_new_ticket: is_renewed || renews(),
            now,
        };
        return Ok(read(bytes, Session::from_bytes).map(found));
    }
    let single_use = means == Means::PreSharedKey;
    let store = match means {
        Means::PreSharedKey if resumption.stores_tickets() => resumption.store.as_ref(),
        Means::SessionId => resumption.store.as_ref(),
        // A ticket of TLS 1.2 is never an ID.
        Means::PreSharedKey | Means::Ticket => None,
    };
    let (session, is_stored) = match store {
        None => (None, false),
        Some(Policy::Here(store)) => (store.get_session(identity, now), true),
        Some(Policy::Ask) => {
            let identity = SessionIdentity::joined(0, &[identity]);
            let question = FindSessionQuestion { identity, single_use };
            match flow.ask(Question::FindSession(question)).await {
                AnswerValue::Session(bytes) => {
                    now = config.common.clock.now();
                    let read = |bytes| read(take(bytes), ServerSession::from_bytes);
                    (bytes.and_then(read), false)
                }
                _ => return Err(wrong_answer()),
            }
        }
    };
    let session = session.map(ServerSession::into_inner);
    Ok(session.map(|session| FoundSession {
        session,
        is_stored,
        is_from_application: !is_stored,
        needs_new_ticket: false,
        now,
    }))
}

/// Takes the bytes of an answer, for [`read`], which wipes them.
fn take(mut bytes: Zeroizing<Vec<u8>>) -> Vec<u8> {
    core::mem::take(&mut *bytes)
}

fn read<T>(mut bytes: Vec<u8>, how: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let session = how(&bytes);
    tercel_crypto::wipe(&mut bytes);
    session
}

/// Asks the application for the session in a ticket. Also returns whether the ticket is replaced.
async fn ask_to_open(
    flow: &mut Flow,
    ticket: &[u8],
    means: Means,
    now: UnixTime,
) -> Result<(Option<Vec<u8>>, bool), Error> {
    let question = OpenTicketQuestion { ticket: ticket.to_vec(), version: means.version(), now };
    match flow.ask(Question::OpenTicket(question)).await {
        AnswerValue::OpenedTicket(session) => Ok((session.map(take), false)),
        AnswerValue::OpenedAndRenewed(session) => Ok((Some(take(session)), true)),
        _ => Err(wrong_answer()),
    }
}

/// Removes a single-use session from its store. Returns `false` if another connection has removed
/// it. The caller has checked that the client has the session's key. RFC 9846 8.1
pub(crate) async fn claim(
    flow: &mut Flow,
    config: &ServerConfig,
    found: &FoundSession,
    session_id: &[u8],
) -> Result<bool, Error> {
    match &config.resumption.store {
        Some(Policy::Here(store)) if found.is_stored => {
            Ok(store.claim(session_id, config.common.clock.now()))
        }
        Some(Policy::Ask) if found.is_from_application => {
            let identity = SessionIdentity::joined(0, &[session_id]);
            let question = ClaimSessionQuestion { identity };
            match flow.ask(Question::ClaimSession(question)).await {
                AnswerValue::Claimed(is_claimed) => Ok(is_claimed),
                _ => Err(wrong_answer()),
            }
        }
        // A ticket that contains its session is in no store.
        _ => Ok(true),
    }
}

/// Whether a session may be resumed: its version, context, server name and parameters match, it has
/// not expired, and a full handshake would authenticate the same peers. RFC 9846 4.7.1, RFC 6066 3,
/// RFC 7627 5.3
pub(crate) fn is_resumable(
    session: &Session,
    config: &ServerConfig,
    version: ProtocolVersion,
    server_name: Option<&str>,
    credential: &mut CredentialForHello<'_>,
    now: UnixTime,
) -> bool {
    session.version == version
        && config.common.is_of_same_transport(session)
        && session.context_digest == config.resumption.context_digest_for(session)
        && (session.resumption_across_names && config.resumption.resumption_across_names
            || identity::is_same_name(session.server_name.as_deref(), server_name))
        && config.common.allows(session)
        && session.is_unexpired(now)
        && authenticates_client(session, config)
        // An external key authenticates both sides without certificates.
        && (session.pre_shared_key.is_some() || credential.authenticates(session))
}

/// Whether a session authenticates the client in the way that the configuration requires in a full
/// handshake. A session of an external pre-shared key meets this condition as long as that key is
/// accepted.
fn authenticates_client(session: &Session, config: &ServerConfig) -> bool {
    let Some(key) = &session.pre_shared_key else {
        let required = config.client_auth == ClientAuth::Required;
        // A full handshake accepts only the configured certificate types. RFC 7250 4.2
        let accepts =
            |certificate_type| config.client_certificate_types.contains(&certificate_type);
        let accepts_certificate_type = match &session.peer_raw_public_key {
            Some(_) => accepts(CertificateType::RAW_PUBLIC_KEY),
            None => !session.has_peer() || accepts(CertificateType::X509),
        };
        return !config.only_pre_shared_keys
            && (!required || session.has_peer())
            && accepts_certificate_type;
    };
    match &config.pre_shared_keys {
        None => false,
        Some(Policy::Here(keys)) => keys.knows(&key.external_identity, &key.fingerprint),
        Some(Policy::Ask) => true,
    }
}

/// Verifies a client's certificate again, with current roots, CRLs and time, if that is configured.
/// If the verifier refuses the certificate, a full handshake follows.
pub(crate) async fn verify_resumed_client(
    flow: &mut Flow,
    config: &ServerConfig,
    session: &Session,
) -> Result<bool, Error> {
    let Some(verifier) = &config.client_verifier else { return Ok(true) };
    if !session.has_peer() || !config.resumption.verify_resumed {
        return Ok(true);
    }
    // A TLS 1.2 server cannot request an OCSP response from a client.
    let ocsp_requested = config.common.request_ocsp && session.version == ProtocolVersion::TLS1_3;
    let peer = session.peer(Side::Client, None, ocsp_requested, config.common.clock.now());
    let result = identity::verify_identity(flow, verifier, &peer).await?;
    Ok(result.is_ok())
}

/// Creates a session for this handshake. The caller has to set its secret and its ticket.
pub(crate) fn template(
    config: &ServerConfig,
    suite: &'static Suite,
    info: &ConnectionInfo,
    credential: Option<SessionCredential>,
    authenticated: Option<u64>,
) -> Session {
    let now = config.common.clock.now().as_secs();
    let mut session = info.to_session(suite, now, authenticated);
    session.credential = credential;
    session.context_digest = config.resumption.context_digest_for(&session);
    // An OCSP response makes tickets longer, so it is stored only if it was requested.
    if config.common.request_ocsp {
        session.ocsp_response.clone_from(&info.ocsp_response);
    }
    // Unlike a certificate, an external key has no list of names, and the server may use another
    // key under another name.
    session.resumption_across_names = config.resumption.resumption_across_names
        && info.version == ProtocolVersion::TLS1_3
        && session.pre_shared_key.is_none();
    if config.resumption.store_only_certificate_digests {
        session.peer_chain = Chain::default();
        session.ocsp_response = None;
        session.signed_certificate_timestamps = None;
    }
    session
}

/// Computes the digest that sessions keep instead of the client's chain, if that is configured.
pub(crate) fn keep_digest(config: &ServerConfig, info: &mut ConnectionInfo) {
    let leaf = info.peer_chain.first().filter(|_| config.resumption.store_only_certificate_digests);
    let digest = leaf.map(|leaf| Hash::digest(HashAlgorithm::Sha256, &[leaf]));
    info.set_peer_certificate_digest(digest.and_then(|digest| digest.first_chunk().copied()));
}

/// The ID of a session in a store. It is random, because guessing an ID would reveal that the
/// session exists.
pub(crate) type SessionId = [u8; SESSION_ID_LENGTH];

pub(crate) const SESSION_ID_LENGTH: usize = 32;

/// Creates a ticket for a session: its ID in a store, or the sealed session. Returns `None` if no
/// ticket can be made. This is not an error: the client's next handshake is then a full handshake.
pub(crate) fn issue(
    config: &ServerConfig,
    session: &Session,
    session_id: Option<SessionId>,
    info: &mut ConnectionInfo,
) -> Option<Vec<u8>> {
    let store = config.resumption.store.as_ref().filter(|_| config.resumption.stores_tickets());
    let Some(store) = store else { return seal(config, session) };
    let session_id = session_id?;
    match store {
        Policy::Here(store) => {
            let kept = ServerSession::new(session.duplicate());
            store.put_session(&session_id, kept, session.expires());
        }
        Policy::Ask => pass_to_application(&session_id, session, info),
    }
    Some(session_id.to_vec())
}

/// Seals a session into a ticket. `None` if the application is asked to seal.
pub(crate) fn seal(config: &ServerConfig, session: &Session) -> Option<Vec<u8>> {
    let sealer = config.resumption.sealer()?;
    let mut bytes = session.to_bytes()?;
    let ticket = sealer.seal(&bytes, config.common.clock.now());
    tercel_crypto::wipe(&mut bytes);
    ticket.filter(|ticket| has_valid_length(ticket))
}

/// Asks the application to seal a session into a ticket.
pub(crate) async fn ask_to_seal(
    flow: &mut Flow,
    config: &ServerConfig,
    session: &Session,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(bytes) = session.to_bytes() else { return Ok(None) };
    let question = SealTicketQuestion {
        session: Zeroizing::new(bytes),
        version: session.version,
        expires: session.expires(),
        now: config.common.clock.now(),
    };
    match flow.ask(Question::SealTicket(question)).await {
        AnswerValue::SealedTicket(ticket) => Ok(ticket.filter(|ticket| has_valid_length(ticket))),
        _ => Err(wrong_answer()),
    }
}

/// Whether a ticket has a valid length: an application may return any. RFC 9846 4.7.1
fn has_valid_length(ticket: &[u8]) -> bool {
    (1..=0xffff).contains(&ticket.len())
}

/// Passes a session to the application, which stores it.
pub(crate) fn pass_to_application(id: &[u8], session: &Session, info: &mut ConnectionInfo) {
    if let Some(bytes) = session.to_stored_bytes() {
        let expires = session.expires();
        info.add_new_session(NewSession { id: id.to_vec(), session: bytes, expires });
    }
}

/// Returns the reference by which a connection invalidates the session with this ID. `session` is
/// given if it is in the configuration's store: all its connections share one reference to it.
/// RFC 5246 7.2.2
pub(crate) fn stored_session(
    config: &ServerConfig,
    session: Option<&Session>,
    id: &[u8],
) -> Option<Arc<StoredSession>> {
    // All IDs that this server issues have the same length.
    let id = id.try_into().ok()?;
    match (&config.resumption.store, session) {
        (Some(Policy::Here(store)), Some(session)) => {
            Some(StoredSession::of_server(session, store, id))
        }
        _ => config.resumption.stored_session(id),
    }
}

/// Returns the lifetime in seconds of a session that is issued now, in a sealed ticket or in a
/// store.
pub(crate) fn lifetime(config: &ServerConfig, is_sealed: bool) -> u32 {
    let resumption = &config.resumption;
    let sealed = || resumption.tickets.as_ref().map_or(Duration::ZERO, Tickets::lifetime);
    let lifetime = if is_sealed { sealed() } else { resumption.lifetime };
    limits::ticket_lifetime(lifetime)
}
