//! A server's resumption in TLS 1.2: the selection of the session to resume, and the ticket or ID
//! of a new session. RFC 5246 F.1.4, RFC 5077

use pki_types::CertificateDer;
use tercel_wire::{ClientHello, ProtocolVersion};

use crate::config::server::ServerConfig;
use crate::connection::info::ConnectionInfo;
use crate::error::{Error, PeerError};
use crate::handshake::identity::CredentialForHello;
use crate::handshake::resumption_rules;
use crate::handshake::resumption_rules::{FoundSession, Means, SessionId};
use crate::handshake::runtime::coroutine::boxed;
use crate::handshake::runtime::flow::Flow;
use crate::policy::Policy;
use crate::record::limits;
use crate::resumption::session::Session;
use crate::resumption::session::invalidation::StoredSession;
use crate::resumption::session::server_session::ServerSession;

pub(super) use crate::handshake::resumption_rules::{ask_to_seal, seal};

/// A session that is resumed.
pub(super) struct ResumedSession {
    pub(super) found: FoundSession,
    /// The ticket that replaces the client's. RFC 5077 3.3
    pub(super) new_ticket: Option<Vec<u8>>,
}

/// Finds the session of the client's ticket or session ID, if this handshake may resume it.
pub(super) async fn find(
    flow: &mut Flow,
    config: &ServerConfig,
    hello: &ClientHello<'_>,
) -> Result<Option<ResumedSession>, Error> {
    let Some((identity, means)) = offered_identity(hello, config) else { return Ok(None) };
    let Some(found) = resumption_rules::find(flow, config, identity, means).await? else {
        return Ok(None);
    };
    let session = &found.session;
    let server_name = hello.host_name();
    let version = ProtocolVersion::TLS1_2;
    let credential = &mut CredentialForHello::new(config, hello, version);
    if !resumption_rules::is_resumable(session, config, version, server_name, credential, found.now)
    {
        return Ok(None);
    }
    let extended = hello.extensions.extended_master_secret.is_some();
    match (session.extended, extended) {
        // The handshake must be aborted, and not continued as a full handshake. RFC 7627 5.3
        (true, false) => return Err(PeerError::ExtendedMainSecretLost.into()),
        (false, true) => return Ok(None),
        _ => {}
    }
    let suite = config.common.usable_suites().find(|suite| *suite == session.suite);
    if suite.is_none() || !hello.cipher_suites.contains(session.suite.code) {
        return Ok(None);
    }
    if !resumption_rules::verify_resumed_client(flow, config, session).await? {
        return Ok(None);
    }
    // A fatal alert on another connection may have removed the session meanwhile. RFC 5246 7.2.2
    if StoredSession::is_session_invalidated(session) {
        return Ok(None);
    }
    let new_ticket = match found.needs_new_ticket {
        // This future is boxed, because most configurations do not ask.
        true if config.resumption.asks_to_seal() => {
            boxed(|| ask_to_seal(flow, config, session)).await?
        }
        true => seal(config, session),
        false => None,
    };
    Ok(Some(ResumedSession { found, new_ticket }))
}

/// Returns the ticket or ID of the session that the client requests to resume.
pub(super) fn offered_identity<'h>(
    hello: &ClientHello<'h>,
    config: &ServerConfig,
) -> Option<(&'h [u8], Means)> {
    // A ticket has priority over a session ID. RFC 5077 3.4
    match hello.extensions.session_ticket {
        Some(ticket) if !ticket.is_empty() => Some((ticket, Means::Ticket)),
        _ if !hello.session_id.is_empty() && config.resumption.store.is_some() => {
            Some((hello.session_id, Means::SessionId))
        }
        _ => None,
    }
}

/// The means by which the client can resume the new session of a full handshake. The ServerHello
/// announces a ticket, or contains the ID.
pub(super) enum ResumptionMeans {
    None,
    Ticket,
    SessionId(SessionId),
}

impl ResumptionMeans {
    /// Selects a ticket for a client that supports tickets. For other clients, selects an ID if
    /// there is a store. RFC 5077 3.2
    pub(super) fn plan(config: &ServerConfig, hello: &ClientHello<'_>) -> Result<Self, Error> {
        let resumption = &config.resumption;
        // A session that would never be resumed is not issued.
        if !config.binds_sessions() {
            return Ok(Self::None);
        }
        if resumption.tickets.is_some() && hello.extensions.session_ticket.is_some() {
            return Ok(Self::Ticket);
        }
        if resumption.store.is_none() {
            return Ok(Self::None);
        }
        let mut id = [0_u8; 32];
        tercel_crypto::fill_random(&mut id)?;
        Ok(Self::SessionId(id))
    }
}

/// A new session, and the ID that the ServerHello contains for it.
pub(super) struct SessionWithId {
    id: SessionId,
    /// `None` if the application stores the session, or if it is not stored.
    session: Option<ServerSession>,
}

impl SessionWithId {
    /// Creates the value. If the application stores sessions, the session is passed to the
    /// application in `info`. In a store that is only for session IDs, large sessions would evict
    /// many others, so they are not stored.
    pub(super) fn new(
        id: SessionId,
        session: Session,
        config: &ServerConfig,
        info: &mut ConnectionInfo,
    ) -> Self {
        let is_stored = !config.resumption.only_session_ids || has_short_chain(&session);
        match &config.resumption.store {
            Some(Policy::Ask) if is_stored => {
                resumption_rules::pass_to_application(&id, &session, info);
                Self { id, session: None }
            }
            Some(Policy::Here(_)) if is_stored => {
                Self { id, session: Some(ServerSession::new(session)) }
            }
            _ => Self { id, session: None },
        }
    }

    /// Stores the session when the handshake is complete. A failed handshake stores no session.
    /// RFC 5246 7.2.2
    pub(super) fn store(self, flow: &mut Flow, config: &ServerConfig) -> Result<(), Error> {
        let Self { id, session } = self;
        let value = session.as_ref().map(ServerSession::inner);
        if let Some(stored) = resumption_rules::stored_session(config, value, &id) {
            flow.invalidate_on_alert(stored)?;
        }
        if let (Some(Policy::Here(store)), Some(session)) = (&config.resumption.store, session) {
            let expires = session.inner().expires();
            store.put_session(&id, session, expires);
        }
        Ok(())
    }
}

/// Whether the client's chain is short enough for a store that is only for session IDs.
fn has_short_chain(session: &Session) -> bool {
    let length = |der: &CertificateDer<'_>| der.len();
    let chain = session.peer_chain.iter();
    chain.map(length).sum::<usize>() <= limits::MAX_CHAIN_LENGTH_BY_SESSION_ID
}
