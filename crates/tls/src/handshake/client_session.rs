//! A client's sessions: which one to offer, and what to keep of a new one, in both versions.
//!
//! Must not know: messages. Next: `session/client_store.rs`, `connection/tickets.rs`.

use std::sync::Arc;

use pki_types::ServerName;
use tercel_wire::ProtocolVersion;

use super::flow::Flow;
use super::identity;
use crate::config::client::ClientConfig;
use crate::config::policy::Side;
use crate::connection::facts::Facts;
use crate::connection::tickets::{MAX_TICKETS, TicketTaker};
use crate::error::Error;
use crate::keys::suite::Suite;
use crate::keys::tls13::ResumptionSecret;
use crate::record::limits;
use crate::session::client_store::ClientSessionKey;
use crate::session::client_value::ClientSession;
use crate::session::state::Session;
use crate::session::stored::StoredSession;

/// The stored session to offer, judged again if the configuration says so, or if it was made under another
/// name.
pub(crate) async fn offerable(
    flow: &mut Flow,
    config: &ClientConfig,
    to: &ClientSessionKey,
) -> Result<Option<Box<Session>>, Error> {
    let Some(session) = take(config, to) else { return Ok(None) };
    let elsewhere = session.server_name.as_deref() != Some(&*to.server_name.to_str());
    // Whom a session under another name was made with, only a chain can say.
    if elsewhere && (!session.across_names || session.peer_chain.is_empty()) {
        return Ok(None);
    }
    if !(elsewhere || config.resumption.verify_again) || !session.has_peer() {
        return Ok(Some(session));
    }
    let (name, now) = (Some(&to.server_name), config.common.clock.now());
    let peer = session.peer(Side::Server, name, config.request_ocsp, now);
    let verdict = identity::judge(flow, &config.verifier, &peer).await?;
    Ok(verdict.is_ok().then_some(session))
}

/// The stored session, if one fits the configuration as it is now.
fn take(config: &ClientConfig, to: &ClientSessionKey) -> Option<Box<Session>> {
    let store = config.resumption.store.as_ref()?;
    let now = config.common.clock.now();
    let mut session = store.take_session(to, now)?.into_inner();
    if !session.is_fresh(now) || !can_be_named(&session) {
        return None;
    }
    // It may have been forgotten where it lay before. RFC 5246 7.2.2
    if StoredSession::has_forgotten(&session) {
        return None;
    }
    // The server's certificate bounds what was made with it.
    if let Some(leaf) = session.peer_chain.first() {
        let look = || tercel_pki::not_after(leaf).map_or(0, |end| end.as_secs());
        if *session.chain_ends.get_or_insert_with(look) < now.as_secs() {
            return None;
        }
    }
    let offered = config.common.usable_suites().any(|suite| suite == session.suite);
    (offered && config.common.allows(&session)).then_some(session)
}

/// Whether a hello has room for the ticket or the id.
fn can_be_named(session: &Session) -> bool {
    let is_ticket = session.by_ticket || session.version == ProtocolVersion::TLS1_3;
    let most = if is_ticket { limits::MAX_KEPT_TICKET } else { MAX_SESSION_ID };
    (1..=most).contains(&session.identity.len())
}

/// `opaque SessionID<0..32>`. RFC 5246 7.4.1.2
const MAX_SESSION_ID: usize = 32;

/// A session after this handshake; the secret and what belongs to one ticket are still to come.
pub(crate) fn template(
    config: &ClientConfig,
    name: &ServerName<'_>,
    facts: &Facts,
    suite: &'static Suite,
    authenticated: Option<u64>,
) -> Session {
    let now = config.common.clock.now().as_secs();
    let mut session = Session::of(suite, facts, now, authenticated);
    session.server_name = Some(name.to_str().into_owned());
    session.ocsp_response.clone_from(&facts.ocsp_response);
    session.signed_certificate_timestamps.clone_from(&facts.signed_certificate_timestamps);
    session
}

/// What takes the tickets of a connection of TLS 1.3.
pub(crate) fn taker(
    config: &ClientConfig,
    to: &ClientSessionKey,
    facts: &Facts,
    suite: &'static Suite,
    authenticated: Option<u64>,
    secret: impl FnOnce() -> Option<ResumptionSecret>,
) -> Option<Box<TicketTaker>> {
    let store = config.resumption.store.as_ref()?;
    Some(Box::new(TicketTaker {
        secret: secret()?,
        template: template(config, &to.server_name, facts, suite, authenticated),
        key: to.clone(),
        store: Arc::clone(store),
        clock: Arc::clone(&config.common.clock),
        left: MAX_TICKETS,
    }))
}

/// Seconds for which a session known by its id is worth trying. RFC 5246 F.1.4
pub(crate) const LIFETIME_OF_ID: u32 = 86_400;

/// A session of TLS 1.2 under its new ticket. A hint of zero leaves the time to us. RFC 5077 3.3
pub(crate) fn under_ticket(
    config: &ClientConfig,
    mut session: Box<Session>,
    (hint, ticket): (u32, Vec<u8>),
) -> Option<Box<Session>> {
    // An empty ticket is none. RFC 5077 3.3
    if ticket.is_empty() || ticket.len() > limits::MAX_KEPT_TICKET {
        return None;
    }
    session.identity = ticket;
    session.by_ticket = true;
    session.created = config.common.clock.now().as_secs();
    session.lifetime = if hint == 0 { LIFETIME_OF_ID } else { hint };
    Some(session)
}

/// Keeps a session of TLS 1.2, if there is one, once its handshake is complete: what failed leaves none, and what
/// fails later takes it along. RFC 5246 7.2.2
pub(crate) fn keep(
    flow: &mut Flow,
    config: &ClientConfig,
    to: &ClientSessionKey,
    session: Option<Box<Session>>,
) -> Result<(), Error> {
    let (Some(store), Some(session)) = (&config.resumption.store, session) else { return Ok(()) };
    let stored = StoredSession::of_client(&session, store, to);
    flow.forget_on_alert(Arc::clone(&stored))?;
    stored.put_back(|| {
        let expires = session.expires();
        store.put_session(to, ClientSession::new(session), expires);
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::policy::Policy;
    use crate::config::verifier::AcceptAnyPeer;
    use crate::keys::suite;
    use tercel_crypto::Secret;
    use tercel_wire::{CipherSuite, NamedGroup};

    const OURS: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
    const ANOTHER: CipherSuite = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384;

    fn config() -> Arc<ClientConfig> {
        ClientConfig::builder()
            .versions(&[ProtocolVersion::TLS1_2])
            .cipher_suites(&[OURS])
            .unwrap()
            .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
            .build()
            .unwrap()
    }

    /// Whether a stored session that was changed like this is taken.
    fn is_taken(change: impl FnOnce(&mut Session)) -> bool {
        let config = config();
        let to = ClientSessionKey::new(
            "server.example".try_into().unwrap(),
            None,
            config.resumption.context,
        );
        let suite = suite::find(OURS).unwrap();
        let facts = Facts::new(ProtocolVersion::TLS1_2, OURS);
        let mut session = template(&config, &to.server_name, &facts, suite, None);
        session.secret = Secret::new(&[7; 48]);
        session.lifetime = 100;
        session.identity = vec![1; MAX_SESSION_ID];
        change(&mut session);
        let expires = session.expires();
        let store = config.resumption.store.as_ref().unwrap();
        store.put_session(&to, ClientSession::new(Box::new(session)), expires);
        take(&config, &to).is_some()
    }

    #[test]
    fn a_session_is_taken_only_if_a_hello_can_name_it() {
        assert!(is_taken(|_| {}));
        for (by_ticket, most) in [(false, MAX_SESSION_ID), (true, limits::MAX_KEPT_TICKET)] {
            for (length, taken) in [(0, false), (1, true), (most, true), (most + 1, false)] {
                let named = is_taken(|session| {
                    session.by_ticket = by_ticket;
                    session.identity = vec![1; length];
                });
                assert_eq!(named, taken, "{length} bytes, ticket: {by_ticket}");
            }
        }
    }

    #[test]
    fn a_session_is_taken_only_under_a_suite_that_is_offered() {
        assert!(!is_taken(|session| session.suite = suite::find(ANOTHER).unwrap()));
    }

    #[test]
    fn a_session_is_taken_only_if_nothing_else_has_become_stricter() {
        assert!(!is_taken(|session| session.lifetime = 0));
        assert!(!is_taken(|session| session.group = Some(NamedGroup(0xaaaa))));
    }
}
