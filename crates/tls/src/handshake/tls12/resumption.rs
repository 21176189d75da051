//! The abbreviated handshakes of TLS 1.2, both sides, and the sessions they live on. RFC 5246 7.3, RFC 5077
//!
//! Must not know: full handshakes. Next: `handshake/resumption.rs`, `handshake/client_session.rs`.

use std::sync::Arc;

use pki_types::CertificateDer;
use tercel_crypto::Secret;
use tercel_wire::{
    ClientHello, CompressionMethod, EcPointFormat, HandshakeMessage, HandshakeType, List,
    NewSessionTicketTls12, ProtocolName, ProtocolVersion, ServerHello, ServerHelloExtensions,
};

use super::auth::{self, Randoms};
use super::client;
use crate::config::client::ClientConfig;
use crate::config::policy::Policy;
use crate::config::server::ServerConfig;
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};
use crate::handshake::coroutine::Turn;
use crate::handshake::established::Established;
use crate::handshake::flow::Flow;
use crate::handshake::hello::{Outcome, certificate_type, negotiate};
use crate::handshake::identity::CredentialForHello;
use crate::handshake::log::SecretLog;
use crate::handshake::record_limits::RecordLimits;
use crate::handshake::resumption::Found;
use crate::handshake::transcript::Transcript;
use crate::handshake::{client_session, resumption};
use crate::keys::direction::Keys;
use crate::keys::suite::Suite;
use crate::keys::tls12::{DirectionKeys, Exporter12, MainSecret12, VerifyData};
use crate::record::limits;
use crate::session::client_store::ClientSessionKey;
use crate::session::credential_id::CredentialId;
use crate::session::server_value::ServerSession;
use crate::session::state::Session;
use crate::session::stored::StoredSession;

/// The session that a client names by ticket or id, if it may be resumed in this handshake.
pub(crate) async fn find(
    flow: &mut Flow,
    config: &ServerConfig,
    hello: &ClientHello<'_>,
) -> Result<Option<Found>, Error> {
    let Some(name) = named(hello, config) else { return Ok(None) };
    let Some(found) = resumption::find(flow, config, name, false).await? else {
        return Ok(None);
    };
    let session = &found.session;
    let server_name = negotiate::server_name(hello);
    let version = ProtocolVersion::TLS1_2;
    let credential = &mut CredentialForHello::new(config, hello, version);
    if !resumption::belongs(session, config, version, server_name, credential, found.now) {
        return Ok(None);
    }
    let extended = hello.extensions.extended_master_secret.is_some();
    match (session.extended, extended) {
        // A client that had it and does not have it any more is not the same client. RFC 7627 5.3
        (true, false) => return Err(Peer::ExtendedMainSecretLost.into()),
        (false, true) => return Ok(None),
        _ => {}
    }
    let suite = config.common.usable_suites().find(|suite| *suite == session.suite);
    if suite.is_none() || !hello.cipher_suites.contains(session.suite.code) {
        return Ok(None);
    }
    let found = resumption::still_trusted(flow, config, session).await?.then_some(found);
    // It may have been forgotten meanwhile, or where it lay before. RFC 5246 7.2.2
    Ok(found.filter(|found| !StoredSession::has_forgotten(&found.session)))
}

/// What a client calls the session that it would resume.
fn named<'h>(hello: &ClientHello<'h>, config: &ServerConfig) -> Option<&'h [u8]> {
    // A ticket goes before an id. RFC 5077 3.4
    match hello.extensions.session_ticket {
        Some(ticket) if !ticket.is_empty() => Some(ticket),
        _ if !hello.session_id.is_empty() && config.resumption.store.is_some() => {
            Some(hello.session_id)
        }
        _ => None,
    }
}

/// A server's abbreviated handshake that has come to the client's answer.
pub(super) struct Begun {
    read_keys: Keys,
    /// What the client's Finished has to say.
    expected: VerifyData,
    facts: Facts,
    exporter: Exporter12,
    limits: RecordLimits,
}

/// A server's abbreviated handshake up to its Finished. The hello is given with its message. RFC 5246 7.3
pub(super) fn begin(
    flow: &mut Flow,
    config: &ServerConfig,
    (hello, message): (&ClientHello<'_>, &[u8]),
    found: Found,
    server_random: [u8; 32],
    secure_renegotiation: bool,
) -> Result<Begun, Error> {
    let Found { mut session, is_stored, is_elsewhere, .. } = found;
    if let Some(id) = named(hello, config).filter(|_| is_stored || is_elsewhere) {
        // From here on the session is this connection's too. RFC 5246 7.2.2
        let value = is_stored.then_some(&*session);
        resumption::forget_on_alert(flow, config, value, id)?;
    }
    let suite = session.suite;
    let alpn = negotiate::alpn(hello, config)?;
    let mut facts = Facts::new(ProtocolVersion::TLS1_2, suite.code);
    facts.resumed = true;
    facts.group = session.group;
    facts.alpn = alpn.map(<[u8]>::to_vec);
    // What came out of a ticket is nobody else's.
    facts.server_name = match Arc::get_mut(&mut session) {
        Some(session) => session.server_name.take(),
        None => session.server_name.clone(),
    };
    facts.extended_main_secret = session.extended;
    facts.secure_renegotiation = secure_renegotiation;
    facts.server_certificate_type = session.server_certificate_type();
    let randoms = Randoms { client: *hello.random, server: server_random };
    let mut transcript = Transcript::new(suite.hash);
    transcript.add(message);
    let formats = [EcPointFormat::UNCOMPRESSED];
    let answer = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &randoms.server,
        // Given back: the session is resumed. RFC 5246 7.4.1.3, RFC 5077 3.4
        session_id_echo: hello.session_id,
        cipher_suite: suite.code,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            ec_point_formats: hello.extensions.ec_point_formats.map(|_| List::of(&formats)),
            alpn: alpn.map(ProtocolName),
            server_certificate_type: certificate_type::answers(hello, config, &facts).0,
            extended_master_secret: session.extended.then_some(()),
            record_size_limit: super::server::our_limit(config, hello),
            renegotiation_info: secure_renegotiation.then_some(&[]),
            ..Default::default()
        },
    };
    flow.send(&answer, &mut transcript)?;
    let log = SecretLog::new(config.common.key_log.clone(), hello.random);
    let of_ticket;
    let main = if is_stored {
        session.main_secret()
    } else {
        // Not met a second time.
        of_ticket = MainSecret12::resumed(suite, session.secret.duplicate());
        &of_ticket
    };
    log.log("CLIENT_RANDOM", main.as_bytes());
    let (DirectionKeys { client: read_keys, server: write_keys }, verify_data, expected) =
        auth::abbreviated(main, &randoms, &mut transcript);
    auth::send_finished(flow, write_keys, &verify_data, None)?;
    session.tell(&mut facts);
    let extended = facts.extended_main_secret;
    let exporter = Exporter12::new(main, randoms.client, randoms.server, extended);
    let limits = super::server::limits(config, hello);
    Ok(Begun { read_keys, expected, facts, exporter, limits })
}

/// From the client's answer on.
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(super) fn complete<'f>(
    flow: &'f mut Flow,
    config: &'f ServerConfig,
    begun: Begun,
) -> impl Future<Output = Result<(), Error>> + Send + 'f {
    async move {
        auth::receive_finished(flow, begun.read_keys, &begun.expected, None).await?;
        flow.order(begun.limits)?;
        flow.connect(Established::tls12(begun.facts, begun.exporter, &config.common))
    }
}

/// How a server's new session will be named, decided before its ServerHello.
pub(crate) enum NewSession {
    None,
    Ticket,
    Stored([u8; 32]),
}

/// A client that takes tickets gets one; others get an id if there is a store. RFC 5077 3.2
pub(crate) fn plan(config: &ServerConfig, hello: &ClientHello<'_>) -> Result<NewSession, Error> {
    let resumption = &config.resumption;
    // What would never be accepted is not handed out.
    if !config.binds_sessions() {
        return Ok(NewSession::None);
    }
    if resumption.tickets.is_some() && hello.extensions.session_ticket.is_some() {
        return Ok(NewSession::Ticket);
    }
    if resumption.store.is_none() {
        return Ok(NewSession::None);
    }
    let mut id = [0_u8; 32];
    tercel_crypto::fill_random(&mut id)?;
    Ok(NewSession::Stored(id))
}

/// The session after a server's full handshake.
pub(crate) fn of_server(
    config: &ServerConfig,
    suite: &'static Suite,
    main: &MainSecret12,
    facts: &Facts,
    credential: &CredentialId,
    is_sealed: bool,
) -> Session {
    let credential = credential.in_session(facts.server_name.is_some());
    let mut session = resumption::template(config, suite, facts, Some(credential), None);
    session.secret = Secret::new(main.as_bytes());
    session.lifetime = resumption::lifetime(config, is_sealed);
    session
}

/// The promised ticket; an empty one if it cannot be made. RFC 5077 3.3
pub(crate) fn send_ticket(
    flow: &mut Flow,
    config: &ServerConfig,
    session: &Session,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let ticket = resumption::seal(config, session);
    let message = NewSessionTicketTls12 {
        ticket_lifetime_hint: session.lifetime,
        ticket: ticket.as_deref().unwrap_or_default(),
    };
    flow.send(&message, transcript)
}

/// The session that goes under the id which the ServerHello gave it, to be kept by [`keep`]; what the application is to
/// keep is left with the facts.
pub(crate) fn made(
    config: &ServerConfig,
    suite: &'static Suite,
    main: &MainSecret12,
    facts: &mut Facts,
    credential: &CredentialId,
    id: [u8; 32],
) -> ([u8; 32], Option<ServerSession>) {
    let session = of_server(config, suite, main, facts, credential, false);
    if let Some(Policy::Ask) = &config.resumption.store {
        resumption::leave(&id, &session, facts);
        return (id, None);
    }
    (id, Some(ServerSession::new(session)))
}

/// Keeps it, once the handshake is complete: what failed leaves no session. RFC 5246 7.2.2
pub(crate) fn keep(
    flow: &mut Flow,
    config: &ServerConfig,
    (id, session): ([u8; 32], Option<ServerSession>),
) -> Result<(), Error> {
    let value = session.as_ref().map(ServerSession::inner);
    resumption::forget_on_alert(flow, config, value, &id)?;
    // How much memory such a store takes is told by the number of its sessions.
    let too_large = config.resumption.only_session_ids
        && session.as_ref().is_some_and(|session| {
            let length = |der: &CertificateDer<'_>| der.len();
            let chain = &session.inner().peer_chain;
            chain.iter().map(length).sum::<usize>() > limits::MAX_CHAIN_UNDER_AN_ID
        });
    if let (Some(Policy::Here(store)), Some(session), false) =
        (&config.resumption.store, session, too_large)
    {
        let expires = session.inner().expires();
        store.put_session(&id, session, expires);
    }
    Ok(())
}

/// A client's abbreviated handshake, once the server has given back the id.
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(crate) fn resume(
    mut flow: Flow,
    config: Arc<ClientConfig>,
    to: ClientSessionKey,
    mut session: Box<Session>,
    mut begun: client::Begun,
) -> impl Future<Output = Outcome> + Send {
    async move {
        let (flow, config) = (&mut flow, &*config);
        let suite = begun.suite;
        let (randoms, facts, transcript) =
            (&begun.randoms, &mut begun.facts, &mut begun.transcript);
        // Version, suite and extended main secret are the session's. RFC 5246 7.4.1.3, RFC 7627 5.3
        if session.suite != suite {
            return Err(Peer::WrongCipherSuiteChosen.into());
        }
        if session.extended != facts.extended_main_secret {
            return Err(Peer::ExtendedMainSecretLost.into());
        }
        facts.resumed = true;
        facts.group = session.group;
        let log = SecretLog::new(config.common.key_log.clone(), &randoms.client);
        let main = session.main_secret();
        log.log("CLIENT_RANDOM", main.as_bytes());
        let ticket = receive_ticket(flow, begun.ticket_promised, transcript).await?;
        let (DirectionKeys { client: write_keys, server: read_keys }, expected, verify_data) =
            auth::abbreviated(main, randoms, transcript);
        auth::receive_finished(flow, read_keys, &expected, None).await?;
        auth::send_finished(flow, write_keys, &verify_data, None)?;
        flow.order(begun.limits)?;
        let extended = facts.extended_main_secret;
        let exporter = Exporter12::new(main, randoms.client, randoms.server, extended);
        session.tell(facts);
        // The same session goes on. Only the ticket and the protocol can be others.
        session.alpn.clone_from(&facts.alpn);
        let session = match ticket {
            Some(ticket) => client_session::under_ticket(config, session, ticket),
            None => Some(session),
        };
        flow.connect(Established::tls12(begun.facts, exporter, &config.common))?;
        client_session::keep(flow, config, &to, session)?;
        Ok(Turn::Over)
    }
}

/// A new ticket: (seconds it can be used, the ticket).
pub(crate) type Ticket = (u32, Vec<u8>);

/// The ticket, if the ServerHello promised one. RFC 5077 3.2, 3.3
pub(crate) async fn receive_ticket(
    flow: &mut Flow,
    promised: bool,
    transcript: &mut Transcript,
) -> Result<Option<Ticket>, Error> {
    if !promised {
        return Ok(None);
    }
    let message = flow.read_expected(HandshakeType::NEW_SESSION_TICKET).await?;
    let ticket = NewSessionTicketTls12::parse(message.body())?;
    transcript.add(message.bytes());
    Ok(Some((ticket.ticket_lifetime_hint, ticket.ticket.to_vec())))
}

/// What a full handshake gave a client to come back with: a ticket, or the id of a session.
pub(crate) fn of_client(
    config: &ClientConfig,
    session_id: &[u8],
    to: &ClientSessionKey,
    suite: &'static Suite,
    main: &MainSecret12,
    facts: &Facts,
    ticket: Option<Ticket>,
) -> Option<Box<Session>> {
    config.resumption.store.as_ref()?;
    let name = &to.server_name;
    let mut session = Box::new(client_session::template(config, name, facts, suite, None));
    session.secret = Secret::new(main.as_bytes());
    if let Some(ticket) = ticket {
        return client_session::under_ticket(config, session, ticket);
    }
    session.identity = session_id.to_vec();
    session.lifetime = client_session::LIFETIME_OF_ID;
    (!session_id.is_empty()).then_some(session)
}
