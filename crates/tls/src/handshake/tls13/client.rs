//! The client of RFC 9846, in the order of its figure. RFC 9846 2, A.1
//!
//! Must not know: records. Next: [`super::auth`] for certificates, `hello/offer.rs` for what was offered.

use std::sync::Arc;

use tercel_crypto::HashAlgorithm;
use tercel_wire::{
    CertificateRequest, CertificateType, DecodeError, EncryptedExtensions, EndOfEarlyData,
    ExtensionType, HandshakeMessage, HandshakeType, ProtocolVersion, ServerHello, ServerKeyShare,
};

use super::auth::{self, Asked, Received, Wishes};
use super::secrets::{Application, End, application, handshake_keys};
use super::settle::settle;
use crate::config::client::ClientConfig;
use crate::config::credential::Credential;
use crate::config::policy::Side;
use crate::config::pre_shared_key::PreSharedKey;
use crate::connection::authentication::HandshakeContext;
use crate::connection::export::Exporter;
use crate::connection::facts::{EarlyData, Facts};
use crate::error::{Error, Peer};
use crate::handshake::coroutine::Turn;
use crate::handshake::established::Established;
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::hello::offer::Offer;
use crate::handshake::hello::{Outcome, certificate_type};
use crate::handshake::identity;
use crate::handshake::log::SecretLog;
use crate::handshake::question::{RequestSource, request_from_message};
use crate::handshake::transcript::Transcript;
use crate::handshake::{client_session as session, record_limits};
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, HandshakeKeys};
use crate::session::state::Session;

/// The whole handshake, from the ServerHello or HelloRetryRequest in `first`.
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(crate) fn handshake(
    mut flow: Flow,
    config: Arc<ClientConfig>,
    mut offer: Offer,
    first: Message,
) -> impl Future<Output = Outcome> + Send {
    async move {
        let (flow, config) = (&mut flow, &config);
        flow.order(Command::Negotiated(ProtocolVersion::TLS1_3))?;
        let offered_early = offer.early_data;
        let (message, suite, mut transcript, retried) =
            settle(flow, config, &mut offer, first).await?;
        let hello = ServerHello::parse(message.body())?;
        let mut facts = Facts::new(ProtocolVersion::TLS1_3, suite.code);
        facts.retried = retried;
        if offered_early {
            facts.early_data = EarlyData::Rejected;
        }

        if config.only_pre_shared_keys && hello.extensions.pre_shared_key.is_none() {
            return Err(Peer::PreSharedKeyDeclined.into());
        }
        let Some(ServerKeyShare::Entry(share)) = hello.extensions.key_share else {
            return Err(Peer::MissingServerExtension.into());
        };
        facts.group = Some(share.group);
        let shared = offer.agree(config, share.group, share.key_exchange)?;
        let (session, external) = chosen_key(&hello, &mut offer, suite)?;
        let log = SecretLog::new(config.common.key_log.clone(), &offer.random);
        let early = match (&session, &external) {
            (Some(_), _) => {
                offer.early_secret.take().ok_or(Peer::WrongPreSharedKeyChosen)?.for_suite(suite)
            }
            (None, Some(key)) => EarlySecret::new(suite, Some(key.secret())),
            (None, None) => EarlySecret::new(suite, None),
        };
        if let Some(key) = external {
            facts.set_pre_shared_key(key.used());
        }
        // Without the session's key anyone could compute it.
        let early_exporter = (offer.early_data && session.is_some()).then(|| {
            let digest = offer.transcript(suite.hash).digest();
            Box::new(Exporter::tls13(early.early_exporter_secret(&digest)))
        });
        transcript.add(message.bytes());
        let secret = early.into_handshake(&shared);
        // Middlebox compatibility, once. RFC 9846 E.4
        if !offer.session_id.is_empty() && !retried && !offered_early {
            flow.order(Command::SendChangeCipherSpec)?;
        }
        let HandshakeKeys { client, server, client_finished, server_finished, main } =
            handshake_keys(secret, &mut transcript, &log);
        let mut end = End::Open { client_finished, main };
        flow.install_read(server)?;
        // Behind early data, if there is any.
        let mut client = Some(client);
        if let Some(keys) = client.take_if(|_| !offer.early_data) {
            flow.install_write(keys)?;
        }

        receive_encrypted_extensions(
            flow,
            config,
            &offer,
            session.as_deref(),
            &mut transcript,
            &mut facts,
        )
        .await?;
        if let Some(keys) = client.take_if(|_| facts.early_data == EarlyData::Rejected) {
            flow.install_write(keys)?;
        }
        facts.resumed = session.is_some();
        let authenticated = session.as_ref().map(|session| session.authenticated);
        let request = match session {
            Some(session) => {
                session.tell(&mut facts);
                None
            }
            // Neither side shows a certificate. RFC 9846 4.4.2, F.1
            None if facts.pre_shared_key().is_some() => None,
            None => authenticate_server(flow, config, &offer, &mut transcript, &mut facts).await?,
        };
        let finished = flow.read_expected(HandshakeType::FINISHED).await?;
        auth::check_finished(&finished, &mut transcript, |transcript, verify_data| {
            server_finished.verifies(&transcript.digest(), verify_data)
        })?;

        let accepted = facts.early_data == EarlyData::Accepted;
        let follows = !accepted && request.is_none();
        let resumption = config.resumption.store.is_some();
        let Application { client: write_keys, server: read_keys, exporter } =
            application(&mut end, follows, resumption, &mut transcript, &log)?;
        // The server has said all it says under handshake keys.
        flow.install_read(read_keys)?;
        if let Some(keys) = client {
            flow.send(&EndOfEarlyData, &mut transcript)?;
            flow.install_write(keys)?;
        }
        if let Some(request) = request {
            certificate_type::check_client(config, &facts)?;
            let kind = facts.client_certificate_type;
            facts.own_signature_scheme =
                authenticate(flow, config, &mut transcript, request, kind).await?;
        }
        end.send(flow, &mut transcript)?;
        flow.install_write(write_keys)?;
        // After an external key there is nothing to be asked for. RFC 9846 4.4.2
        facts.post_handshake_auth = config.post_handshake_auth && facts.pre_shared_key().is_none();
        // Only who offered to be asked later needs the transcript any more. RFC 9846 4.7.2
        let answering = facts.post_handshake_auth.then(|| {
            HandshakeContext::boxed(config, transcript.hash(), facts.client_certificate_type)
        });
        let secret = || end.into_resumption_secret(&mut transcript);
        let tickets = session::taker(config, &offer.to, &facts, suite, authenticated, secret);
        flow.connect(Established {
            facts,
            exporter,
            early_exporter: early_exporter.filter(|_| accepted),
            tolerate_truncation: config.common.tolerate_truncation,
            tickets,
            answering,
            requesting: None,
        })?;
        Ok(Turn::Over)
    }
}

/// The key that the server chose: that of a session, or one from outside.
type Chosen = (Option<Box<Session>>, Option<Arc<PreSharedKey>>);

/// The key that the server chose is one that we offered, and its hash is the suite's. RFC 9846 4.3.11
fn chosen_key(
    hello: &ServerHello<'_>,
    offer: &mut Offer,
    suite: &'static Suite,
) -> Result<Chosen, Error> {
    let Some(index) = hello.extensions.pre_shared_key else { return Ok((None, None)) };
    let index = usize::from(index);
    // A session stands first; one of TLS 1.2 is offered elsewhere.
    let session = offer.session.take();
    let external = match session.filter(|session| session.version == ProtocolVersion::TLS1_3) {
        Some(session) if index == 0 => {
            check_hash(session.suite.hash, suite)?;
            return Ok((Some(session), None));
        }
        Some(_) => index.checked_sub(1),
        None => Some(index),
    };
    let key = external.and_then(|index| offer.pre_shared_keys.get(index));
    let key = Arc::clone(key.ok_or(Peer::WrongPreSharedKeyChosen)?);
    check_hash(key.hash(), suite)?;
    Ok((None, Some(key)))
}

fn check_hash(hash: HashAlgorithm, suite: &Suite) -> Result<(), Error> {
    if hash == suite.hash { Ok(()) } else { Err(Peer::WrongCipherSuiteChosen.into()) }
}

/// The server's request, if it has one, its certificate and its proof.
async fn authenticate_server(
    flow: &mut Flow,
    config: &ClientConfig,
    offer: &Offer,
    transcript: &mut Transcript,
    facts: &mut Facts,
) -> Result<Option<Message>, Error> {
    let (request, certificate) = receive_request(flow, transcript).await?;
    certificate_type::check_server(config, facts)?;
    let asked = Asked::of_server(config, facts);
    let server = auth::receive(flow, transcript, &certificate, asked).await?;
    let Received { shown, scheme } = server.ok_or(Peer::EmptyCertificate)?;
    let now = config.common.clock.now();
    identity::verify(flow, &config.verifier, &shown, Some(&offer.to.server_name), now).await?;
    facts.peer_signature_scheme = Some(scheme);
    shown.into_facts(facts);
    Ok(request)
}

async fn receive_encrypted_extensions(
    flow: &mut Flow,
    config: &ClientConfig,
    offer: &Offer,
    session: Option<&Session>,
    transcript: &mut Transcript,
    facts: &mut Facts,
) -> Result<(), Error> {
    let message = flow.read_expected(HandshakeType::ENCRYPTED_EXTENSIONS).await?;
    let extensions = EncryptedExtensions::parse(message.body())?;
    let offered = offer.offered();
    for kind in extensions.types() {
        // Answers to what was not asked, and extensions that belong elsewhere. RFC 9846 4.3
        if !offered.has(kind) || !IN_ENCRYPTED_EXTENSIONS.contains(&kind) {
            return Err(Peer::UnexpectedExtension.into());
        }
    }
    if let Some(protocol) = extensions.alpn {
        if !config.common.alpn.iter().any(|ours| ours.as_slice() == protocol.0) {
            return Err(Peer::WrongApplicationProtocol.into());
        }
        facts.alpn = Some(protocol.0.to_vec());
    }
    let types = (extensions.server_certificate_type, extensions.client_certificate_type);
    certificate_type::accept(types, config, facts)?;
    if extensions.early_data.is_some() {
        // Accepted early data went with the session's suite and protocol. RFC 9846 4.3.10
        if facts.pre_shared_key().is_some() {
            return Err(Peer::EarlyDataMismatch.into());
        }
        let session = session.filter(|_| offer.early_data).ok_or(Peer::UnexpectedExtension)?;
        if session.suite.code != facts.cipher_suite || session.alpn != facts.alpn {
            return Err(Peer::EarlyDataMismatch.into());
        }
        facts.early_data = EarlyData::Accepted;
    }
    if let Some(padding) = extensions.server_padding {
        // As much as was asked for, or none.
        if config.server_padding.map(usize::from) != Some(padding.len()) {
            return Err(DecodeError::InvalidLength.into());
        }
        facts.server_padding = true;
    }
    record_limits::check(extensions.record_size_limit)?;
    let ours = config.common.record_size_limit.filter(|_| extensions.record_size_limit.is_some());
    flow.order(record_limits::tls13(&config.common, extensions.record_size_limit, ours))?;
    flow.order(Command::Padding(config.common.padding))?;
    transcript.add(message.bytes());
    Ok(())
}

/// Extensions that may stand in EncryptedExtensions. RFC 9846 4.3, table 1
const IN_ENCRYPTED_EXTENSIONS: [ExtensionType; 9] = [
    ExtensionType::SERVER_NAME,
    ExtensionType::MAX_FRAGMENT_LENGTH,
    ExtensionType::SUPPORTED_GROUPS,
    ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION,
    ExtensionType::CLIENT_CERTIFICATE_TYPE,
    ExtensionType::SERVER_CERTIFICATE_TYPE,
    ExtensionType::RECORD_SIZE_LIMIT,
    ExtensionType::EARLY_DATA,
    ExtensionType::SERVER_PADDING,
];

/// The CertificateRequest, if the server sends one, and what should be the Certificate.
async fn receive_request(
    flow: &mut Flow,
    transcript: &mut Transcript,
) -> Result<(Option<Message>, Message), Error> {
    let message = flow.read().await;
    if message.kind() != HandshakeType::CERTIFICATE_REQUEST {
        return Ok((None, message));
    }
    let request = CertificateRequest::parse(message.body())?;
    // In a handshake the context is empty. RFC 9846 4.4.2
    if !request.certificate_request_context.is_empty() {
        return Err(Peer::WrongCertificateContext.into());
    }
    if request.extensions.signature_algorithms.is_none() {
        return Err(Peer::MissingServerExtension.into());
    }
    transcript.add(message.bytes());
    Ok((Some(message), flow.read().await))
}

/// Answers a CertificateRequest: with a credential that fits, or with an empty certificate. RFC 9846 4.5.1
async fn authenticate(
    flow: &mut Flow,
    config: &Arc<ClientConfig>,
    transcript: &mut Transcript,
    message: Message,
    certificate_type: CertificateType,
) -> Result<Option<tercel_wire::SignatureScheme>, Error> {
    let version = ProtocolVersion::TLS1_3;
    let body = message.body();
    let request = request_from_message(body, version, certificate_type)
        .ok_or(Peer::MissingServerExtension)?;
    let mut chosen: Option<(Arc<Credential>, tercel_wire::SignatureScheme)> = None;
    if let Some(policy) = &config.credentials {
        let source =
            || RequestSource::Request { message: message.clone(), version, certificate_type };
        let credential = identity::select(flow, policy, &request, source).await?;
        if let Some(credential) = credential {
            let scheme = request.scheme_for(&credential).ok_or(Peer::NoCommonSignatureScheme)?;
            chosen = Some((credential, scheme));
        }
    }
    let credential = chosen.as_ref().map(|(credential, _)| credential);
    let wishes = Wishes::of_server(&CertificateRequest::parse(body)?, config);
    auth::send_certificate(flow, transcript, credential, &[], wishes)?;
    let Some((credential, scheme)) = chosen else { return Ok(None) };
    auth::send_verify(flow, transcript, &credential, scheme, Side::Client).await?;
    Ok(Some(scheme))
}
