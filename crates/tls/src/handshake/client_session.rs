//! A client's sessions in both versions: the selection of a session to offer, and the storing of
//! new ones.

use std::sync::Arc;

use super::identity;
use super::question::{AnswerValue, FindClientSessionQuestion, Question};
use super::runtime::flow::{Flow, wrong_answer};
use crate::auth::server_identity::ServerIdentity;
use crate::config::client::ClientConfig;
use crate::connection::info::ConnectionInfo;
use crate::connection::tickets::{Destination, NewSessions, TicketHandler};
use crate::error::Error;
use crate::keys::suite::Suite;
use crate::keys::tls13::ResumptionSecret;
use crate::record::limits;
use crate::resumption::context_digest::ContextDigest;
use crate::resumption::session::Session;
use crate::resumption::session::client_session::ClientSession;
use crate::resumption::session::client_store::ClientSessionKey;
use crate::resumption::session::invalidation::StoredSession;
use crate::resumption::session::new_client_session::NewClientSession;
use crate::side::Side;

/// Returns the stored session to offer. The server's certificate is verified again if that is
/// configured, or if the session was established under another name.
pub(crate) async fn offerable(
    flow: &mut Flow,
    config: &ClientConfig,
    server: &ServerIdentity,
) -> Result<Option<Box<Session>>, Error> {
    let Some(session) = take(flow, config, server).await? else { return Ok(None) };
    let name = server.name().to_str();
    let under_other_name = !identity::is_same_name(session.server_name.as_deref(), Some(&name));
    // Under another name, only a certificate chain can be verified.
    if under_other_name && (!session.resumption_across_names || session.peer_chain.is_empty()) {
        return Ok(None);
    }
    if !(under_other_name || config.resumption.verify_resumed) || !session.has_peer() {
        return Ok(Some(session));
    }
    let (name, now) = (Some(server.name()), config.common.clock.now());
    let peer = session.peer(Side::Server, name, config.common.request_ocsp, now);
    let result = identity::verify_identity(flow, &config.verifier, &peer).await?;
    Ok(result.is_ok().then_some(session))
}

/// Takes a session from the store, or asks the application for it. Returns the session if it
/// matches the current configuration.
async fn take(
    flow: &mut Flow,
    config: &ClientConfig,
    server: &ServerIdentity,
) -> Result<Option<Box<Session>>, Error> {
    let Some(store) = &config.resumption.store else { return Ok(None) };
    let key = store_key(config, server);
    let found = if config.resumption.ask_for_session {
        let question = FindClientSessionQuestion { key };
        match flow.ask(Question::FindClientSession(question)).await {
            AnswerValue::ClientSession(session) => session,
            _ => return Err(wrong_answer()),
        }
    } else {
        store.take_session(&key, config.common.clock.now())
    };
    Ok(found.and_then(|session| usable(config, server, session.into_inner())))
}

/// Returns the session if it is valid now and matches the current configuration.
fn usable(
    config: &ClientConfig,
    server: &ServerIdentity,
    mut session: Box<Session>,
) -> Option<Box<Session>> {
    let now = config.common.clock.now();
    if !session.is_unexpired(now) || !fits_in_hello(&session) {
        return None;
    }
    // A store or an application may return the session of another configuration by mistake, whose
    // server was verified less strictly than this configuration requires.
    if session.context_digest != context_digest(config, server) {
        return None;
    }
    // A session of TCP is not offered over QUIC, and vice versa, nor in another version of QUIC.
    // RFC 9001 4.5, RFC 9369 5
    if !config.common.is_of_same_transport(&session) {
        return None;
    }
    // The session may have been invalidated through another store. RFC 5246 7.2.2
    if StoredSession::is_session_invalidated(&session) {
        return None;
    }
    // A session must not be used after the server's certificate has expired, except by an
    // application that allows it.
    let leaf = session.peer_chain.first();
    if let Some(leaf) = leaf.filter(|_| !config.resumption.resume_after_certificate) {
        let look = || tercel_pki::not_after(leaf).map_or(0, |end| end.as_secs());
        if *session.chain_expires.get_or_insert_with(look) < now.as_secs() {
            return None;
        }
    }
    // The session is not offered if a full handshake would refuse its certificate type, or its lack
    // of the extended main secret. RFC 7250, RFC 7627 5.2
    let accepts_certificate_type = !session.has_peer()
        || config.server_certificate_types.contains(&session.server_certificate_type());
    if !accepts_certificate_type
        || (config.common.require_extended_main_secret && !session.extended)
    {
        return None;
    }
    let offered = config.common.usable_suites().any(|suite| suite == session.suite);
    (offered && config.common.allows(&session)).then_some(session)
}

/// Whether the ticket or session ID fits in a ClientHello.
fn fits_in_hello(session: &Session) -> bool {
    let most = if session.has_ticket() { limits::MAX_TICKET_LENGTH } else { MAX_SESSION_ID };
    (1..=most).contains(&session.identity.len())
}

/// The maximum length of a session ID: `opaque SessionID<0..32>`. RFC 5246 7.4.1.2
const MAX_SESSION_ID: usize = 32;

/// The digest to which sessions of this configuration and port are bound.
pub(crate) fn context_digest(config: &ClientConfig, server: &ServerIdentity) -> ContextDigest {
    ContextDigest::of_client(&config.resumption.trust_digest, server.port())
}

/// The key of the sessions of this configuration with this server. No other function derives it.
pub(crate) fn store_key(config: &ClientConfig, server: &ServerIdentity) -> ClientSessionKey {
    let configuration = config.resumption.context_digest;
    ClientSessionKey::new(server.name().clone(), server.port(), configuration)
}

/// Creates a session for this handshake. The caller has to set its secret and its ticket.
pub(crate) fn template(
    config: &ClientConfig,
    server: &ServerIdentity,
    info: &ConnectionInfo,
    suite: &'static Suite,
    authenticated: Option<u64>,
) -> Session {
    let now = config.common.clock.now().as_secs();
    let mut session = info.to_session(suite, now, authenticated);
    session.server_name = Some(server.name().to_str().into_owned());
    session.context_digest = context_digest(config, server);
    session.ocsp_response.clone_from(&info.ocsp_response);
    session.signed_certificate_timestamps.clone_from(&info.signed_certificate_timestamps);
    session
}

/// Creates the handler of a TLS 1.3 connection's tickets, if the client resumes sessions.
pub(crate) fn from_tickets(
    config: &ClientConfig,
    server: &ServerIdentity,
    info: &ConnectionInfo,
    suite: &'static Suite,
    authenticated: Option<u64>,
    secret: impl FnOnce() -> ResumptionSecret,
) -> Option<Box<NewSessions>> {
    let destination = Destination::of(&config.resumption)?;
    let tickets = Some(TicketHandler {
        secret: secret(),
        template: template(config, server, info, suite, authenticated),
        key: store_key(config, server),
        clock: Arc::clone(&config.common.clock),
        left: limits::MAX_TICKETS_RECEIVED,
    });
    Some(Box::new(NewSessions { tickets, destination }))
}

/// The number of seconds for which a client offers a session by its ID. RFC 5246 F.1.4
pub(crate) const LIFETIME_OF_ID: u32 = 86_400;

/// Returns a TLS 1.2 session with its new ticket. If the lifetime hint is 0, the client chooses the
/// lifetime. RFC 5077 3.3
pub(crate) fn with_ticket(
    config: &ClientConfig,
    mut session: Box<Session>,
    (hint, ticket): (u32, Vec<u8>),
) -> Option<Box<Session>> {
    // An empty ticket means that the server does not issue a ticket. RFC 5077 3.3
    if ticket.is_empty() || ticket.len() > limits::MAX_TICKET_LENGTH {
        return None;
    }
    session.identity = ticket;
    session.by_ticket = true;
    session.created = config.common.clock.now().as_secs();
    session.lifetime = if hint == 0 { LIFETIME_OF_ID } else { hint };
    Some(session)
}

/// Stores a TLS 1.2 session, or returns it to the caller, once its handshake is complete. The
/// session is removed again if the connection ends with a fatal alert. RFC 5246 7.2.2
pub(crate) fn store_session(
    flow: &mut Flow,
    config: &ClientConfig,
    server: &ServerIdentity,
    session: Option<Box<Session>>,
) -> Result<(), Error> {
    let (Some(store), Some(session)) = (&config.resumption.store, session) else { return Ok(()) };
    let key = store_key(config, server);
    let stored = StoredSession::of_client(&session, store, &key);
    flow.invalidate_on_alert(Arc::clone(&stored))?;
    if config.resumption.return_new_sessions {
        let (expires, session) = (session.expires(), ClientSession::new(session));
        return flow.return_session(NewClientSession {
            key,
            session,
            expires,
            across_names: false,
        });
    }
    stored.put_unless_invalidated(|| {
        let expires = session.expires();
        store.put_session(&key, ClientSession::new(session), expires);
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::verifier::AcceptAnyPeer;
    use crate::keys::suite;
    use crate::policy::Policy;
    use tercel_crypto::Secret;
    use tercel_wire::{CipherSuite, NamedGroup, ProtocolVersion};

    const OURS: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
    const ANOTHER: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384;

    fn config() -> Arc<ClientConfig> {
        ClientConfig::builder()
            .versions(&[ProtocolVersion::TLS1_2])
            .cipher_suites(&[OURS])
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
            .build()
            .unwrap()
    }

    /// Whether a stored session is offered after this change.
    fn is_taken(change: impl FnOnce(&mut Session)) -> bool {
        is_taken_by(&config(), change)
    }

    fn is_taken_by(config: &ClientConfig, change: impl FnOnce(&mut Session)) -> bool {
        let server = ServerIdentity::new("server.example".try_into().unwrap(), None);
        let suite = suite::find(OURS).unwrap();
        let info = ConnectionInfo::new(ProtocolVersion::TLS1_2, OURS);
        let mut session = template(config, &server, &info, suite, None);
        session.secret = Secret::new(&[7; 48]);
        session.lifetime = 100;
        session.identity = vec![1; MAX_SESSION_ID];
        change(&mut session);
        usable(config, &server, Box::new(session)).is_some()
    }

    #[test]
    fn a_session_is_taken_only_if_its_identity_fits_in_a_client_hello() {
        assert!(is_taken(|_| {}));
        for (by_ticket, most) in [(false, MAX_SESSION_ID), (true, limits::MAX_TICKET_LENGTH)] {
            for (length, taken) in [(0, false), (1, true), (most, true), (most + 1, false)] {
                let fits = is_taken(|session| {
                    session.by_ticket = by_ticket;
                    session.identity = vec![1; length];
                });
                assert_eq!(fits, taken, "{length} bytes, ticket: {by_ticket}");
            }
        }
    }

    #[test]
    fn a_session_is_taken_only_under_a_suite_that_is_offered() {
        assert!(!is_taken(|session| session.suite = suite::find(ANOTHER).unwrap()));
    }

    #[test]
    fn a_session_is_taken_only_with_an_extended_main_secret_where_one_is_required() {
        assert!(is_taken(|session| session.extended = false));
        let mut strict = ClientConfig::clone(&config());
        strict.common.require_extended_main_secret = true;
        for extended in [false, true] {
            let taken = is_taken_by(&strict, |session| session.extended = extended);
            assert_eq!(taken, extended);
        }
    }

    #[test]
    fn a_session_is_taken_only_if_nothing_else_has_become_stricter() {
        assert!(!is_taken(|session| session.lifetime = 0));
        assert!(!is_taken(|session| session.group = Some(NamedGroup(0xaaaa))));
    }
}
