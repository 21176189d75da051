//! A client's sessions: which one to offer, and what to keep of a new one, in both versions.
//!
//! Must not know: messages. Next: `session/client_store.rs`, `connection/tickets.rs`.

use std::sync::Arc;

use pki_types::{ServerName, UnixTime};
use tercel_wire::ProtocolVersion;
use zeroize::Zeroizing;

use super::flow::Flow;
use super::identity::{self, Shown};
use crate::config::client::ClientConfig;
use crate::config::policy::Side;
use crate::connection::facts::Facts;
use crate::connection::tickets::{MAX_TICKETS, TicketTaker};
use crate::error::Error;
use crate::keys::suite::Suite;
use crate::keys::tls13::ResumptionSecret;
use crate::record::limits;
use crate::session::client_store::ClientSessionKey;
use crate::session::state::Session;

/// The server that a client means.
pub(crate) struct Destination {
    pub(crate) name: ServerName<'static>,
    /// Set if it tells servers of one name apart.
    pub(crate) port: Option<u16>,
}

/// What this configuration's sessions with a server are stored under.
fn key(config: &ClientConfig, to: &Destination) -> ClientSessionKey {
    ClientSessionKey::new(to.name.clone(), to.port, config.resumption.context)
}

/// The stored session to offer, judged again if the configuration says so, or if it was made under another
/// name.
pub(crate) async fn offerable(
    flow: &mut Flow,
    config: &ClientConfig,
    to: &Destination,
) -> Result<Option<Box<Session>>, Error> {
    let Some(mut session) = take(config, to) else { return Ok(None) };
    let elsewhere = session.server_name.as_deref() != Some(&*to.name.to_str());
    // Whom a session under another name was made with, only a chain can say.
    if elsewhere && (!session.across_names || session.peer_chain.is_empty()) {
        return Ok(None);
    }
    if !(elsewhere || config.resumption.verify_again) || !session.has_peer() {
        return Ok(Some(session));
    }
    let shown = Shown {
        side: Side::Server,
        chain: core::mem::take(&mut session.peer_chain),
        raw_public_key: session.peer_raw_public_key.take(),
        ocsp_requested: config.request_ocsp,
        ocsp_response: session.ocsp_response.take(),
        signed_certificate_timestamps: session.signed_certificate_timestamps.take(),
    };
    let now = config.common.clock.now();
    let verdict = identity::judge(flow, &config.verifier, &shown, Some(&to.name), now).await?;
    session.peer_chain = shown.chain;
    session.peer_raw_public_key = shown.raw_public_key;
    session.ocsp_response = shown.ocsp_response;
    session.signed_certificate_timestamps = shown.signed_certificate_timestamps;
    Ok(verdict.is_ok().then_some(session))
}

/// The stored session, if one fits the configuration as it is now.
fn take(config: &ClientConfig, to: &Destination) -> Option<Box<Session>> {
    let store = config.resumption.store.as_ref()?;
    let now = config.common.clock.now();
    let mut bytes = store.take(&key(config, to), now)?;
    let mut session = Session::from_stored_bytes(&bytes);
    match &mut session {
        Some(session) if session.version == ProtocolVersion::TLS1_2 => {
            session.stored = Some(Zeroizing::new(bytes));
        }
        _ => tercel_crypto::wipe(&mut bytes),
    }
    let session = session.filter(|session| session.is_fresh(now) && can_be_named(session))?;
    // The server's certificate bounds what was made with it.
    let expired = |leaf| tercel_pki::not_after(leaf).map_or(true, |end| end < now);
    if session.peer_chain.first().is_some_and(expired) {
        return None;
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
    to: &Destination,
    facts: &Facts,
    suite: &'static Suite,
    authenticated: Option<u64>,
    secret: impl FnOnce() -> ResumptionSecret,
) -> Option<Box<TicketTaker>> {
    let store = config.resumption.store.as_ref()?;
    Some(Box::new(TicketTaker {
        secret: secret(),
        template: template(config, &to.name, facts, suite, authenticated),
        key: key(config, to),
        store: Arc::clone(store),
        clock: Arc::clone(&config.common.clock),
        left: MAX_TICKETS,
    }))
}

/// Seconds for which a session known by its id is worth trying. RFC 5246 F.1.4
pub(crate) const LIFETIME_OF_ID: u32 = 86_400;

/// Keeps a session of TLS 1.2 under its new ticket. A hint of zero leaves the time to us. RFC 5077 3.3
pub(crate) fn keep_ticket(
    config: &ClientConfig,
    to: &Destination,
    mut session: Session,
    (hint, ticket): (u32, Vec<u8>),
) {
    // An empty ticket is none. RFC 5077 3.3
    if ticket.is_empty() || ticket.len() > limits::MAX_KEPT_TICKET {
        return;
    }
    session.identity = ticket;
    session.by_ticket = true;
    session.created = config.common.clock.now().as_secs();
    session.lifetime = if hint == 0 { LIFETIME_OF_ID } else { hint };
    keep(config, to, &session);
}

/// Keeps a session that is as it came out of the store.
pub(crate) fn put_back(
    config: &ClientConfig,
    to: &Destination,
    mut bytes: Zeroizing<Vec<u8>>,
    expires: UnixTime,
) {
    if let Some(store) = &config.resumption.store {
        store.put(&key(config, to), core::mem::take(&mut *bytes), expires);
    }
}

/// Keeps a session.
pub(crate) fn keep(config: &ClientConfig, to: &Destination, session: &Session) {
    if let (Some(store), Some(bytes)) = (&config.resumption.store, session.to_stored_bytes()) {
        store.put(&key(config, to), bytes, session.expires());
    }
}
