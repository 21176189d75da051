//! The client of RFC 5246, in the order of its figure. RFC 5246 7.3
//!
//! Must not know: records. Next: [`super::auth`].

use std::sync::Arc;

use tercel_crypto::{PublicKey, SharedSecret};
use tercel_wire::{
    CertificateRequestTls12, CertificateStatus, CertificateType, ClientKeyExchange,
    CompressionMethod, ExtensionType, HandshakeMessage, HandshakeType, NamedGroup, ProtocolVersion,
    ServerHello, ServerHelloDone, ServerKeyExchange, SignatureScheme, check_point_formats,
};

use super::auth::{self, Randoms};
use super::resumption;
use crate::config::client::ClientConfig;
use crate::config::credential::Credential;
use crate::config::policy::Side;
use crate::config::scheme;
use crate::connection::authentication::certificate::timestamp_list;
use crate::connection::authentication::shown::verify_signature;
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};
use crate::handshake::client_session;
use crate::handshake::coroutine::{Turn, boxed};
use crate::handshake::established::Established;
use crate::handshake::few::Few;
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::hello::offer::Offer;
use crate::handshake::hello::{Outcome, certificate_type, negotiate};
use crate::handshake::identity::{self, Shown};
use crate::handshake::log::SecretLog;
use crate::handshake::question::{RequestSource, request_from_message};
use crate::handshake::record_limits::{self, RecordLimits};
use crate::handshake::transcript::Transcript;
use crate::keys::suite::{self, Suite};
use crate::keys::tls12::{DirectionKeys, Exporter12};
use crate::session::client_store::ClientSessionKey;

/// What a ServerHello has settled.
pub(crate) struct Begun {
    pub(crate) suite: &'static Suite,
    pub(crate) randoms: Randoms,
    pub(crate) facts: Facts,
    pub(crate) transcript: Transcript,
    pub(crate) ticket_promised: bool,
    pub(crate) limits: RecordLimits,
}

/// The whole handshake, from a ServerHello that chose TLS 1.2, in a box of the kind that it is: neither kind
/// need hold the room of the other.
pub(crate) fn handshake(
    mut flow: Flow,
    config: Arc<ClientConfig>,
    mut offer: Offer,
    hello: &ServerHello<'_>,
    message: &[u8],
) -> Outcome {
    flow.order(Command::Negotiated(ProtocolVersion::TLS1_2))?;
    let suite = check(hello, &config, &offer)?;
    let mut facts = Facts::new(ProtocolVersion::TLS1_2, suite.code);
    accept_extensions(hello, &config, &mut facts)?;
    let resumes = given_back(hello, &offer);
    // Only who has a credential may have to sign what was said, and in a full handshake. RFC 5246 7.4.8
    let mut transcript = if config.credentials.is_some() && !resumes {
        Transcript::keeping_messages(suite.hash)
    } else {
        Transcript::new(suite.hash)
    };
    transcript.add(&offer.message);
    transcript.add(message);
    let begun = Begun {
        suite,
        randoms: Randoms { client: offer.random, server: *hello.random },
        facts,
        transcript,
        ticket_promised: hello.extensions.session_ticket.is_some(),
        limits: limits(&config, hello),
    };
    if resumes {
        let session = offer.session.take().ok_or(Peer::SessionIdNotEchoed)?;
        let resumed = boxed(|| resumption::resume(flow, config, offer.to, session, begun));
        return Ok(Turn::Next(resumed));
    }
    let timestamps = hello.extensions.signed_certificate_timestamp;
    let promised = Promised {
        timestamps: timestamps.map(timestamp_list).transpose()?,
        status: hello.extensions.status_request.is_some(),
        session_id: Few::joined(0, &[hello.session_id_echo]),
    };
    Ok(Turn::Next(boxed(|| full(flow, config, offer.to, begun, promised))))
}

/// What else a ServerHello says of a full handshake.
pub(crate) struct Promised {
    timestamps: Option<Vec<u8>>,
    status: bool,
    session_id: Few<u8, 32>,
}

/// A full handshake.
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(crate) fn full(
    mut flow: Flow,
    config: Arc<ClientConfig>,
    to: ClientSessionKey,
    mut begun: Begun,
    promised: Promised,
) -> impl Future<Output = Outcome> + Send {
    async move {
        let (flow, config) = (&mut flow, &config);
        let suite = begun.suite;
        let (randoms, facts, transcript) =
            (&begun.randoms, &mut begun.facts, &mut begun.transcript);
        let extended = facts.extended_main_secret;
        let (mut shown, key) = receive_certificate(flow, config, facts, suite, transcript).await?;
        shown.ocsp_requested = config.request_ocsp;
        shown.signed_certificate_timestamps = promised.timestamps;
        let message = receive_status(flow, promised.status, &mut shown, transcript).await?;
        let (group, shared, share, scheme) = receive_key_exchange(config, &message, key, randoms)?;
        transcript.add(message.bytes());
        drop(message);
        facts.group = Some(group);
        facts.peer_signature_scheme = Some(scheme);
        let request = receive_request_and_done(flow, transcript).await?;
        if request.is_none() {
            drop(transcript.take_messages());
        }
        let now = config.common.clock.now();
        identity::verify(flow, &config.verifier, &shown, Some(&to.server_name), now).await?;

        let chosen = match &request {
            None => None,
            Some(request) => {
                certificate_type::check_client(config, facts)?;
                let kind = facts.client_certificate_type;
                let chosen = select_credential(flow, config, request, kind).await?;
                let credential = chosen.as_ref().map(|(credential, _)| credential);
                auth::send_certificate(flow, transcript, credential)?;
                chosen
            }
        };
        flow.send(&ClientKeyExchange { ecdh_public: &share }, transcript)?;
        let log = SecretLog::new(config.common.key_log.clone(), &randoms.client);
        let main = auth::main_secret(suite, &shared, randoms, extended, transcript, &log);
        if let Some((credential, scheme)) = chosen {
            facts.own_signature_scheme = Some(scheme);
            auth::send_verify(flow, transcript, &credential, scheme).await?;
        }
        let (DirectionKeys { client: write_keys, server: read_keys }, verify_data) =
            main.keys_and_client_finished(randoms, &transcript.digest());
        auth::send_finished(flow, write_keys, &verify_data, Some(transcript))?;
        let ticket = resumption::receive_ticket(flow, begun.ticket_promised, transcript).await?;
        let expected = main.server_verify_data(&transcript.digest());
        flow.order(begun.limits)?;
        auth::receive_finished(flow, read_keys, &expected, None).await?;
        shown.into_facts(facts);
        let id = &promised.session_id;
        let session = resumption::of_client(config, id, &to, suite, &main, facts, ticket);
        let exporter = Exporter12::new(&main, randoms.client, randoms.server, extended);
        flow.connect(Established::tls12(begun.facts, exporter, &config.common))?;
        client_session::keep(flow, config, &to, session)?;
        Ok(Turn::Over)
    }
}

/// The server gives our session id back. RFC 5246 7.4.1.3, RFC 5077 3.4
fn given_back(hello: &ServerHello<'_>, offer: &Offer) -> bool {
    !offer.session_id.is_empty() && hello.session_id_echo == &*offer.session_id
}

/// The server's choices, against what was offered. RFC 5246 7.4.1.3, RFC 9846 4.2.3
fn check(
    hello: &ServerHello<'_>,
    config: &ClientConfig,
    offer: &Offer,
) -> Result<&'static Suite, Error> {
    if hello.compression_method != CompressionMethod::NULL {
        return Err(Peer::Compression.into());
    }
    // We offered TLS 1.3, and the server says that it could have had it. RFC 9846 4.2.3
    let tail = hello.random.last_chunk::<8>();
    let marked = tail == Some(&ServerHello::DOWNGRADE_TO_TLS12)
        || tail == Some(&ServerHello::DOWNGRADE_BELOW_TLS12);
    if marked && config.common.has_version(ProtocolVersion::TLS1_3) {
        return Err(Peer::Downgrade.into());
    }
    // An id for middleboxes may not come back as a session. RFC 9846 E.4
    if given_back(hello, offer) && offer.session12().is_none() {
        return Err(Peer::SessionIdNotEchoed.into());
    }
    let offered = offer.offered();
    let allowed = |kind: ExtensionType| offered.has(kind) && IN_SERVER_HELLO.contains(&kind);
    if !hello.extensions.types().all(allowed) {
        return Err(Peer::UnexpectedExtension.into());
    }
    suite::find(hello.cipher_suite)
        .filter(|suite| !suite.is_tls13() && config.common.suites.contains(suite))
        .ok_or_else(|| Peer::WrongCipherSuiteChosen.into())
}

/// Extensions that may stand in a ServerHello of TLS 1.2.
///
/// supported_groups may not, but some old servers send it back; it means nothing.
const IN_SERVER_HELLO: [ExtensionType; 13] = [
    ExtensionType::SESSION_TICKET,
    ExtensionType::SERVER_NAME,
    ExtensionType::MAX_FRAGMENT_LENGTH,
    ExtensionType::STATUS_REQUEST,
    ExtensionType::SUPPORTED_GROUPS,
    ExtensionType::EC_POINT_FORMATS,
    ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION,
    ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP,
    ExtensionType::CLIENT_CERTIFICATE_TYPE,
    ExtensionType::SERVER_CERTIFICATE_TYPE,
    ExtensionType::EXTENDED_MASTER_SECRET,
    ExtensionType::RECORD_SIZE_LIMIT,
    ExtensionType::RENEGOTIATION_INFO,
];

/// Takes over what the extensions agree.
fn accept_extensions(
    hello: &ServerHello<'_>,
    config: &ClientConfig,
    facts: &mut Facts,
) -> Result<(), Error> {
    let extensions = &hello.extensions;
    check_point_formats(extensions.ec_point_formats)?;
    match extensions.renegotiation_info {
        Some([]) => facts.secure_renegotiation = true,
        // In an initial handshake it is empty. RFC 5746 3.4
        Some(_) => return Err(Peer::RenegotiationMismatch.into()),
        None if config.require_secure_renegotiation => {
            return Err(Peer::UnsafeLegacyRenegotiation.into());
        }
        None => {}
    }
    let extended = extensions.extended_master_secret.is_some();
    if config.common.require_extended_main_secret && !extended {
        return Err(Peer::ExtendedMainSecretRequired.into());
    }
    facts.extended_main_secret = extended;
    if let Some(protocol) = extensions.alpn {
        if !config.common.alpn.iter().any(|ours| ours.as_slice() == protocol.0) {
            return Err(Peer::WrongApplicationProtocol.into());
        }
        facts.alpn = Some(protocol.0.to_vec());
    }
    let types = (extensions.server_certificate_type, extensions.client_certificate_type);
    certificate_type::accept(types, config, facts)?;
    record_limits::check(extensions.record_size_limit)
}

fn limits(config: &ClientConfig, hello: &ServerHello<'_>) -> RecordLimits {
    let theirs = hello.extensions.record_size_limit;
    let ours = config.common.record_size_limit.filter(|_| theirs.is_some());
    record_limits::tls12(&config.common, theirs, ours.map(|limit| limit.min(1 << 14)))
}

/// The server's chain, and its key, which must fit the suite. RFC 5246 7.4.2
async fn receive_certificate(
    flow: &mut Flow,
    config: &ClientConfig,
    facts: &Facts,
    suite: &'static Suite,
    transcript: &mut Transcript,
) -> Result<(Shown, PublicKey), Error> {
    let message = flow.read_expected(HandshakeType::CERTIFICATE).await?;
    certificate_type::check_server(config, facts)?;
    let shown = auth::shown(&message, Side::Server, facts.server_certificate_type)?
        .ok_or(Peer::EmptyCertificate)?;
    let key = shown.public_key()?;
    if suite.authentication != Some(auth::authentication_of(key.kind())) {
        return Err(Peer::WrongCertificateType.into());
    }
    // The leaf's curve is one of the groups we named. RFC 8422 5.3
    if scheme::curve(key.kind()).is_some_and(|curve| !config.common.groups.contains(&curve)) {
        return Err(Peer::WrongCertificateType.into());
    }
    transcript.add(message.bytes());
    Ok((shown, key))
}

/// The stapled status, if the server sends the one it promised, and the message after it. RFC 6066 8
async fn receive_status(
    flow: &mut Flow,
    promised: bool,
    shown: &mut Shown,
    transcript: &mut Transcript,
) -> Result<Message, Error> {
    let message = flow.read().await;
    if message.kind() == HandshakeType::CERTIFICATE_STATUS && promised {
        let status = CertificateStatus::parse(message.body())?;
        shown.ocsp_response = Some(status.ocsp_response.to_vec());
        transcript.add(message.bytes());
        return flow.read_expected(HandshakeType::SERVER_KEY_EXCHANGE).await;
    }
    message.require(HandshakeType::SERVER_KEY_EXCHANGE)?;
    Ok(message)
}

/// Checks the server's half and makes ours: (group, secret, our share, the server's scheme). RFC 8422 5.4
fn receive_key_exchange(
    config: &ClientConfig,
    message: &Message,
    server: PublicKey,
    randoms: &Randoms,
) -> Result<(NamedGroup, SharedSecret, Few<u8, { auth::MAX_SHARE }>, SignatureScheme), Error> {
    let parsed = ServerKeyExchange::parse(message.body())?;
    let group = parsed.params.named_curve;
    if !config.common.groups.contains(&group) || negotiate::is_post_quantum(group) {
        return Err(Peer::WrongGroup.into());
    }
    let content = auth::signed_params(randoms, &parsed.params);
    let offered = &config.common.signature_schemes;
    let version = ProtocolVersion::TLS1_2;
    verify_signature(
        || Ok(server),
        parsed.algorithm,
        version,
        offered,
        &content,
        parsed.signature,
    )?;
    let (shared, share) = auth::respond(group, parsed.params.public)?;
    Ok((group, shared, share, parsed.algorithm))
}

/// The CertificateRequest, if there is one, and ServerHelloDone.
async fn receive_request_and_done(
    flow: &mut Flow,
    transcript: &mut Transcript,
) -> Result<Option<Message>, Error> {
    let message = flow.read().await;
    if message.kind() != HandshakeType::CERTIFICATE_REQUEST {
        receive_done(&message, transcript)?;
        return Ok(None);
    }
    CertificateRequestTls12::parse(message.body())?;
    transcript.add(message.bytes());
    receive_done(&flow.read().await, transcript)?;
    Ok(Some(message))
}

fn receive_done(message: &Message, transcript: &mut Transcript) -> Result<(), Error> {
    message.require(HandshakeType::SERVER_HELLO_DONE)?;
    ServerHelloDone::parse(message.body())?;
    transcript.add(message.bytes());
    Ok(())
}

async fn select_credential(
    flow: &mut Flow,
    config: &ClientConfig,
    message: &Message,
    certificate_type: CertificateType,
) -> Result<Option<(Arc<Credential>, SignatureScheme)>, Error> {
    let Some(policy) = &config.credentials else { return Ok(None) };
    let version = ProtocolVersion::TLS1_2;
    let request = request_from_message(message.body(), version, certificate_type)
        .ok_or(Peer::UnexpectedMessage)?;
    let source = || RequestSource::Request { message: message.clone(), version, certificate_type };
    let Some(credential) = identity::select(flow, policy, &request, source).await? else {
        return Ok(None);
    };
    let scheme = request.scheme_for(&credential).ok_or(Peer::NoCommonSignatureScheme)?;
    Ok(Some((credential, scheme)))
}
