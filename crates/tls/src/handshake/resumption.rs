//! What both versions of a server ask of a session before they resume it, and how they hand out new ones.
//!
//! Must not know: which message named the session. Next: `session/state.rs`, `tls13/resumption.rs`.

use std::sync::Arc;

use pki_types::UnixTime;
use tercel_crypto::{Hash, HashAlgorithm};
use tercel_wire::{CertificateType, ProtocolVersion};

use super::flow::{Flow, wrong_answer};
use super::identity::{self, CredentialForHello};
use super::question::{Answer, FindSessionQuestion, Question};
use crate::config::policy::{Policy, Side};
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::facts::{Facts, NewSession};
use crate::error::Error;
use crate::keys::suite::Suite;
use crate::session::chain::Chain;
use crate::session::credential_id::SessionCredential;
use crate::session::server_value::ServerSession;
use crate::session::state::Session;
use crate::session::stored::StoredSession;

/// A session that a client named.
pub(crate) struct Found {
    pub(crate) session: Arc<Session>,
    /// It lay in a store of ours, where it still is.
    pub(crate) is_stored: bool,
    /// The application has it.
    pub(crate) is_elsewhere: bool,
    /// When it was found.
    pub(crate) now: UnixTime,
}

/// The session that a ticket or id names, wherever it is kept. Who asks for one that may be used once
/// takes it with [`claim`] when it is clear that it will be used; an application that is asked takes it at once.
pub(crate) async fn find(
    flow: &mut Flow,
    config: &ServerConfig,
    name: &[u8],
    single_use: bool,
) -> Result<Option<Found>, Error> {
    let mut now = config.common.clock.now();
    let resumption = &config.resumption;
    if let Some(bytes) = resumption.tickets.as_ref().and_then(|tickets| tickets.open(name, now)) {
        let session = read(bytes, Session::from_bytes);
        let found = |session| Found {
            session: Arc::new(session),
            is_stored: false,
            is_elsewhere: false,
            now,
        };
        return Ok(session.map(found));
    }
    let store = resumption.store.as_ref().filter(|_| !single_use || resumption.stores_tickets());
    let (session, is_stored) = match store {
        None => (None, false),
        // One that may be used once is looked at here and taken by `claim`.
        Some(Policy::Here(store)) => (store.get_session(name, now), true),
        Some(Policy::Ask) => {
            let question = FindSessionQuestion { identity: name.to_vec(), single_use };
            match flow.ask(Question::FindSession(question)).await {
                Answer::Session(bytes) => {
                    now = config.common.clock.now();
                    let read = |bytes| read(bytes, ServerSession::from_bytes);
                    (bytes.and_then(read), false)
                }
                _ => return Err(wrong_answer()),
            }
        }
    };
    let session = session.map(ServerSession::into_inner);
    Ok(session.map(|session| Found { session, is_stored, is_elsewhere: !is_stored, now }))
}

fn read<T>(mut bytes: Vec<u8>, how: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let session = how(&bytes);
    tercel_crypto::wipe(&mut bytes);
    session
}

/// Takes a session that may be used once out of its store: `false` if somebody else was faster.
pub(crate) fn claim(config: &ServerConfig, name: &[u8]) -> bool {
    let Some(Policy::Here(store)) = &config.resumption.store else { return false };
    store.claim(name, config.common.clock.now())
}

/// Whether a session was made by a configuration like this one, for this name, with what a full handshake would authenticate, and
/// is not too old. RFC 9846 4.7.1, RFC 6066 3, RFC 7627 5.3
pub(crate) fn belongs(
    session: &Session,
    config: &ServerConfig,
    version: ProtocolVersion,
    server_name: Option<&str>,
    credential: &mut CredentialForHello<'_>,
    now: UnixTime,
) -> bool {
    session.version == version
        && session.context == config.resumption.context_for(session)
        && (session.across_names && config.resumption.across_names
            || session.server_name.as_deref() == server_name)
        && config.common.allows(session)
        && session.is_fresh(now)
        && names_peer(session, config)
        // An external key stands for both sides, and neither shows a certificate.
        && (session.pre_shared_key.is_some() || credential.authenticates(session))
}

/// Whether a session says as much of the client as the configuration asks of a new one. What a pre-shared
/// key did, a session of it does where that key still counts.
fn names_peer(session: &Session, config: &ServerConfig) -> bool {
    let Some(key) = &session.pre_shared_key else {
        let required = config.client_auth == ClientAuth::Required;
        // Nor does a full handshake take a form of certificate that is not listed. RFC 7250 4.2
        let takes = |form| config.client_certificate_types.contains(&form);
        let form = match &session.peer_raw_public_key {
            Some(_) => takes(CertificateType::RAW_PUBLIC_KEY),
            None => !session.has_peer() || takes(CertificateType::X509),
        };
        return !config.only_pre_shared_keys && (!required || session.has_peer()) && form;
    };
    match &config.pre_shared_keys {
        None => false,
        Some(Policy::Here(keys)) => keys.knows(&key.external_identity, &key.fingerprint),
        Some(Policy::Ask) => true,
    }
}

/// Judges a client's certificate again, by today's roots, lists and time, unless the configuration does
/// without. A refusal means a full handshake.
pub(crate) async fn still_trusted(
    flow: &mut Flow,
    config: &ServerConfig,
    session: &Session,
) -> Result<bool, Error> {
    let Some(verifier) = &config.client_verifier else { return Ok(true) };
    if !session.has_peer() || !config.resumption.verify_again {
        return Ok(true);
    }
    // TLS 1.2 has no way to ask clients.
    let ocsp_requested = config.request_ocsp && session.version == ProtocolVersion::TLS1_3;
    let peer = session.peer(Side::Client, None, ocsp_requested, config.common.clock.now());
    let verdict = identity::judge(flow, verifier, &peer).await?;
    Ok(verdict.is_ok())
}

/// A session after this handshake; the secret and what belongs to one ticket are still to come.
pub(crate) fn template(
    config: &ServerConfig,
    suite: &'static Suite,
    facts: &Facts,
    credential: Option<SessionCredential>,
    authenticated: Option<u64>,
) -> Session {
    let now = config.common.clock.now().as_secs();
    let mut session = Session::of(suite, facts, now, authenticated);
    session.credential = credential;
    session.context = config.resumption.context_for(&session);
    // Tickets grow by this, so only who asked for it has it judged again.
    if config.request_ocsp {
        session.ocsp_response.clone_from(&facts.ocsp_response);
    }
    // An external key is no certificate with several names, and may be another one under another name.
    session.across_names = config.resumption.across_names
        && facts.version == ProtocolVersion::TLS1_3
        && session.pre_shared_key.is_none();
    if config.resumption.digests_only {
        session.peer_chain = Chain::default();
        session.ocsp_response = None;
        session.signed_certificate_timestamps = None;
    }
    session
}

/// Notes the digest that sessions keep in place of the client's chain, if that is wanted.
pub(crate) fn keep_digest(config: &ServerConfig, facts: &mut Facts) {
    let leaf = facts.peer_chain.first().filter(|_| config.resumption.digests_only);
    let digest = leaf.map(|leaf| Hash::digest(HashAlgorithm::Sha256, &[leaf]));
    facts.set_peer_certificate_digest(digest.and_then(|digest| digest.first_chunk().copied()));
}

/// What a session is called in a store: random, for who guesses a name learns that there is such a session.
pub(crate) type Name = [u8; NAME];

pub(crate) const NAME: usize = 32;

/// Hands out a session: by this name in a store, or itself in a ticket. `None` if it cannot be done, which
/// costs the client a full handshake and nobody an error.
pub(crate) fn issue(
    config: &ServerConfig,
    session: &Session,
    name: Option<Name>,
    facts: &mut Facts,
) -> Option<Vec<u8>> {
    let store = config.resumption.store.as_ref().filter(|_| config.resumption.stores_tickets());
    let Some(store) = store else { return seal(config, session) };
    let name = name?;
    match store {
        Policy::Here(store) => {
            let kept = ServerSession::new(session.duplicate());
            store.put_session(&name, kept, session.expires());
        }
        Policy::Ask => leave(&name, session, facts),
    }
    Some(name.to_vec())
}

/// Seals a session into a ticket.
pub(crate) fn seal(config: &ServerConfig, session: &Session) -> Option<Vec<u8>> {
    let tickets = config.resumption.tickets.as_ref()?;
    let mut bytes = session.to_bytes()?;
    let ticket = tickets.seal(&bytes, config.common.clock.now());
    tercel_crypto::wipe(&mut bytes);
    // An application's own sealer may give what no message can carry. RFC 9846 4.7.1
    ticket.filter(|ticket| (1..=0xffff).contains(&ticket.len()))
}

/// Leaves it to the application to keep a session.
pub(crate) fn leave(id: &[u8], session: &Session, facts: &mut Facts) {
    if let Some(bytes) = session.to_stored_bytes() {
        let expires = session.expires();
        facts.add_new_session(NewSession { id: id.to_vec(), session: bytes, expires });
    }
}

/// Has the session of this id forgotten if the connection ends with a fatal alert. One in a store of ours is given: all its
/// connections share its place. RFC 5246 7.2.2
pub(crate) fn forget_on_alert(
    flow: &mut Flow,
    config: &ServerConfig,
    session: Option<&Session>,
    id: &[u8],
) -> Result<(), Error> {
    // Ids that we give have one length.
    let Ok(id) = id.try_into() else { return Ok(()) };
    let stored = match (&config.resumption.store, session) {
        (Some(Policy::Here(store)), Some(session)) => {
            Some(StoredSession::of_server(session, store, id))
        }
        _ => StoredSession::by_id(config, id),
    };
    stored.map_or(Ok(()), |stored| flow.forget_on_alert(stored))
}

/// Seconds for which a session that is handed out now can be used, sealed in a ticket or in the
/// store.
pub(crate) fn lifetime(config: &ServerConfig, is_sealed: bool) -> u32 {
    let resumption = &config.resumption;
    let sealed = || resumption.tickets.as_ref().map_or(0, |tickets| tickets.lifetime());
    // Seven days at most. RFC 9846 4.7.1
    let lifetime = if is_sealed { sealed() } else { resumption.lifetime };
    lifetime.min(604_800)
}
