//! The server of RFC 5246, in the order of its figure. RFC 5246 7.3
//!
//! Must not know: records. Next: [`super::auth`].

use std::sync::Arc;

use tercel_crypto::KeyExchange;
use tercel_wire::{
    CertificateRequestTls12, CertificateStatus, CertificateType, CipherSuite,
    ClientCertificateType, ClientHello, ClientKeyExchange, CompressionMethod, DistinguishedName,
    EcPointFormat, HandshakeMessage, HandshakeType, List, ProtocolName, ProtocolVersion,
    ServerEcdhParams, ServerHello, ServerHelloDone, ServerHelloExtensions, ServerKeyExchange,
    SignatureScheme,
};

use super::auth::{self, Randoms};
use super::resumption::{self, NewSession};
use crate::config::credential::Credential;
use crate::config::policy::Side;
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::facts::Facts;
use crate::error::{Error, Local, Peer};
use crate::handshake::coroutine::{Turn, boxed};
use crate::handshake::established::Established;
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::hello::{Outcome, certificate_type, first_limit, negotiate, parse_hello};
use crate::handshake::identity::{self, Shown};
use crate::handshake::log::SecretLog;
use crate::handshake::record_limits::{self, RecordLimits};
use crate::handshake::resumption::keep_digest;
use crate::handshake::signature;
use crate::handshake::tls13::server_hello::bad_share;
use crate::handshake::transcript::Transcript;
use crate::keys::suite::Suite;
use crate::keys::tls12::{DirectionKeys, Exporter12, MainSecret12};

/// The whole handshake, from a ClientHello that leads to TLS 1.2.
pub(crate) async fn handshake(
    mut flow: Flow,
    config: Arc<ServerConfig>,
    message: Message,
) -> Outcome {
    flow.order(first_limit(&config.common))?;
    match answer(&mut flow, &config, message).await? {
        None => Ok(Turn::Over),
        // Many may wait for a client's answer, and all but what that needs would be a burden.
        Some(sent) => Ok(Turn::Next(boxed(|| finish(flow, config, sent)))),
    }
}

/// What is needed of the first flight of a full handshake once it is sent.
pub(crate) struct FirstFlight {
    suite: &'static Suite,
    facts: Facts,
    transcript: Transcript,
    randoms: Randoms,
    exchange: Option<KeyExchange>,
    session: NewSession,
    /// What holds behind the handshake.
    limits: RecordLimits,
}

/// Sends the first flight of a full handshake, or resumes, after which there is nothing left to do.
async fn answer(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    message: Message,
) -> Result<Option<FirstFlight>, Error> {
    flow.order(Command::Negotiated(ProtocolVersion::TLS1_2))?;
    let hello = parse_hello(&message)?;
    let secure_renegotiation = check(&hello)?;
    let extended = extended_main_secret(&hello, config)?;
    if let Some(session) = resumption::find(flow, config, &hello).await? {
        let random = server_random(config)?;
        let message = message.bytes();
        resumption::serve(flow, config, &hello, message, session, random, secure_renegotiation)
            .await?;
        return Ok(None);
    }
    let sent =
        send_first_flight(flow, config, &message, &hello, secure_renegotiation, extended).await?;
    Ok(Some(sent))
}

/// Up to ServerHelloDone.
async fn send_first_flight(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    message: &Message,
    hello: &ClientHello<'_>,
    secure_renegotiation: bool,
    extended: bool,
) -> Result<FirstFlight, Error> {
    let alpn = negotiate::alpn(hello, config)?;
    let group = negotiate::group12(hello, config)?;
    let (credential, scheme) = select_credential(flow, config, message, hello).await?;
    let authentication = auth::authentication_of(credential.kind());
    let suite = negotiate::suite12(hello, config, authentication)?;

    let mut facts = Facts::new(ProtocolVersion::TLS1_2, suite.code);
    facts.group = Some(group);
    facts.alpn = alpn.map(<[u8]>::to_vec);
    facts.server_name = negotiate::server_name(hello).map(str::to_owned);
    facts.extended_main_secret = extended;
    facts.secure_renegotiation = secure_renegotiation;
    facts.own_signature_scheme = Some(scheme);
    facts.server_certificate_type = credential.certificate_type();
    facts.client_certificate_type = certificate_type::of_client(hello, config)?;

    let asks = config.client_auth != ClientAuth::None;
    let mut transcript =
        if asks { Transcript::keeping_messages(suite.hash) } else { Transcript::new(suite.hash) };
    transcript.add(message.bytes());
    let randoms = Randoms { client: *hello.random, server: server_random(config)? };
    let staple = credential.staple().filter(|_| hello.extensions.status_request.is_some());
    let certificate_types = certificate_type::answers(hello, config, &facts);
    let session = resumption::plan(config, hello)?;
    let staples = staple.is_some();
    let answers = Answers {
        extended,
        secure_renegotiation,
        alpn,
        staple: staples,
        session: &session,
        certificate_types,
    };
    send_server_hello(
        flow,
        config,
        hello,
        suite,
        &randoms,
        &credential,
        &answers,
        &mut transcript,
    )?;
    auth::send_certificate(flow, &mut transcript, Some(&credential))?;
    if let Some(ocsp_response) = staple {
        flow.send(&CertificateStatus { ocsp_response }, &mut transcript)?;
    }
    let (exchange, share) = auth::generate(group)?;
    let params = ServerEcdhParams { named_curve: group, public: &share };
    send_key_exchange(flow, &randoms, params, &credential, scheme, &mut transcript).await?;
    if asks {
        send_certificate_request(flow, config, &mut transcript)?;
    }
    flow.send(&ServerHelloDone, &mut transcript)?;

    let limits = limits(config, hello);
    Ok(FirstFlight { suite, facts, transcript, randoms, exchange: Some(exchange), session, limits })
}

/// From the client's answer on.
#[allow(clippy::manual_async_fn, reason = "an async fn holds its arguments twice")]
pub(crate) fn finish(
    mut flow: Flow,
    config: Arc<ServerConfig>,
    mut sent: FirstFlight,
) -> impl Future<Output = Outcome> + Send {
    async move {
        let (flow, config) = (&mut flow, &config);
        let shown = receive_client_certificate(flow, config, &mut sent).await?;
        let main = receive_key_exchange(flow, config, &mut sent).await?;
        if let Some(shown) = shown {
            // Its question needs much room, and most handshakes have none.
            boxed(|| judge_client(flow, config, &shown, &mut sent)).await?;
            shown.into_facts(&mut sent.facts);
            keep_digest(config, &mut sent.facts);
        }
        let digest = sent.transcript.digest();
        let (DirectionKeys { client: read_keys, server: write_keys }, expected) =
            main.keys_and_client_finished(&sent.randoms, &digest);
        auth::receive_finished(flow, read_keys, &expected, Some(&mut sent.transcript)).await?;
        let FirstFlight { suite, mut facts, mut transcript, randoms, session, limits, .. } = sent;
        let kept = match session {
            NewSession::None => None,
            NewSession::Stored(id) => Some(resumption::made(config, suite, &main, &mut facts, id)),
            NewSession::Ticket => {
                resumption::send_ticket(flow, config, suite, &main, &facts, &mut transcript)?;
                None
            }
        };
        let verify_data = main.server_verify_data(&transcript.digest());
        auth::send_finished(flow, write_keys, &verify_data, None)?;
        flow.order(limits)?;
        let Randoms { client, server } = randoms;
        let exporter = Exporter12::new(&main, client, server, facts.extended_main_secret);
        flow.connect(Established::tls12(facts, exporter, &config.common))?;
        if let Some(kept) = kept {
            resumption::keep(flow, config, kept)?;
        }
        Ok(Turn::Over)
    }
}

/// What the extensions of a ServerHello depend on.
struct Answers<'a> {
    extended: bool,
    secure_renegotiation: bool,
    alpn: Option<&'a [u8]>,
    staple: bool,
    /// The server's and the client's.
    certificate_types: (Option<CertificateType>, Option<CertificateType>),
    session: &'a NewSession,
}

/// Form and renegotiation indication; whether the client gives one. RFC 5246 7.4.1.2, RFC 5746 3.6
fn check(hello: &ClientHello<'_>) -> Result<bool, Error> {
    if !hello.compression_methods.contains(CompressionMethod::NULL) {
        return Err(Peer::Compression.into());
    }
    if let Some(info) = hello.extensions.renegotiation_info {
        // In an initial handshake it is empty. RFC 5746 3.6
        if !info.is_empty() {
            return Err(Peer::RenegotiationMismatch.into());
        }
        return Ok(true);
    }
    Ok(hello.cipher_suites.contains(CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV))
}

fn extended_main_secret(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<bool, Error> {
    let extended = hello.extensions.extended_master_secret.is_some();
    if config.common.require_extended_main_secret && !extended {
        return Err(Peer::ExtendedMainSecretRequired.into());
    }
    Ok(extended)
}

async fn select_credential(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    message: &Message,
    hello: &ClientHello<'_>,
) -> Result<(Arc<Credential>, SignatureScheme), Error> {
    // Without the extension a client can verify SHA-1 only, which we do not sign. RFC 5246 7.4.1.4.1
    let request = negotiate::credential_request(hello, ProtocolVersion::TLS1_2, config)
        .ok_or(Peer::NoCommonSignatureScheme)?;
    if request.key_kinds == (false, false) {
        return Err(Peer::NoSharedCipherSuite.into());
    }
    identity::select_for_client(flow, config, message, hello, &request).await
}

/// Our random; if we could have spoken TLS 1.3 it says so, for clients that could too. RFC 9846 4.2.3
fn server_random(config: &ServerConfig) -> Result<[u8; 32], Error> {
    let mut random = [0_u8; 32];
    tercel_crypto::fill_random(&mut random)?;
    if config.common.has_version(ProtocolVersion::TLS1_3) {
        if let Some(tail) = random.last_chunk_mut() {
            *tail = ServerHello::DOWNGRADE_TO_TLS12;
        }
    }
    Ok(random)
}

#[allow(clippy::too_many_arguments)]
fn send_server_hello(
    flow: &mut Flow,
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    suite: &'static Suite,
    randoms: &Randoms,
    credential: &Credential,
    answers: &Answers<'_>,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let offered = &hello.extensions;
    let timestamps =
        credential.timestamps().filter(|_| offered.signed_certificate_timestamp.is_some());
    let formats = [EcPointFormat::UNCOMPRESSED];
    let message = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &randoms.server,
        // Only what is stored here is named. RFC 5246 7.4.1.3
        session_id_echo: match answers.session {
            NewSession::Stored(id) => id,
            _ => &[],
        },
        cipher_suite: suite.code,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            server_name: negotiate::server_name(hello)
                .filter(|_| config.acknowledge_server_name)
                .map(|_| ()),
            status_request: answers.staple.then_some(()),
            ec_point_formats: offered.ec_point_formats.map(|_| List::of(&formats)),
            alpn: answers.alpn.map(ProtocolName),
            signed_certificate_timestamp: timestamps,
            server_certificate_type: answers.certificate_types.0,
            client_certificate_type: answers.certificate_types.1,
            extended_master_secret: answers.extended.then_some(()),
            record_size_limit: our_limit(config, hello),
            session_ticket: matches!(answers.session, NewSession::Ticket).then_some(()),
            renegotiation_info: answers.secure_renegotiation.then_some(&[]),
            ..Default::default()
        },
    };
    flow.send(&message, transcript)
}

pub(crate) fn our_limit(config: &ServerConfig, hello: &ClientHello<'_>) -> Option<u16> {
    let limit = config.common.record_size_limit?;
    // In TLS 1.2 the limit counts plaintext only, of which there are 2^14 bytes at most. RFC 8449 4
    hello.extensions.record_size_limit.map(|_| limit.min(1 << 14))
}

pub(crate) fn limits(config: &ServerConfig, hello: &ClientHello<'_>) -> RecordLimits {
    let theirs = hello.extensions.record_size_limit;
    record_limits::tls12(&config.common, theirs, our_limit(config, hello))
}

/// Our half of the exchange, signed with both randoms. RFC 8422 5.4
async fn send_key_exchange(
    flow: &mut Flow,
    randoms: &Randoms,
    params: ServerEcdhParams<'_>,
    credential: &Arc<Credential>,
    scheme: SignatureScheme,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let content = auth::signed_params(randoms, &params);
    let signature = signature::sign(flow, credential, scheme, &content).await?;
    flow.send_with(
        |out| ServerKeyExchange::encode_signed(&params, scheme, |out| signature.write(out), out),
        |bytes| transcript.add(bytes),
    )
}

fn send_certificate_request(
    flow: &mut Flow,
    config: &ServerConfig,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let authorities = config.authorities();
    let names: Vec<_> = authorities.iter().map(|name| DistinguishedName(name)).collect();
    let types = [ClientCertificateType::ECDSA_SIGN, ClientCertificateType::RSA_SIGN];
    let schemes: Vec<_> = config.common.schemes_for(ProtocolVersion::TLS1_2).collect();
    let message = CertificateRequestTls12 {
        certificate_types: List::of(&types),
        supported_signature_algorithms: List::of(&schemes),
        certificate_authorities: List::of(&names),
    };
    flow.send(&message, transcript)
}

async fn receive_client_certificate(
    flow: &mut Flow,
    config: &ServerConfig,
    sent: &mut FirstFlight,
) -> Result<Option<Shown>, Error> {
    if config.client_auth == ClientAuth::None {
        return Ok(None);
    }
    let message = flow.read_expected(HandshakeType::CERTIFICATE).await?;
    let shown = auth::shown(&message, Side::Client, sent.facts.client_certificate_type)?;
    if shown.is_none() && config.client_auth == ClientAuth::Required {
        // TLS 1.2 has no alert of its own for this. RFC 5246 7.4.6
        return Err(Peer::CertificateRequiredTls12.into());
    }
    sent.transcript.add(message.bytes());
    Ok(shown)
}

/// The client's half, and the secret that comes of both.
async fn receive_key_exchange(
    flow: &mut Flow,
    config: &ServerConfig,
    sent: &mut FirstFlight,
) -> Result<MainSecret12, Error> {
    let message = flow.read_expected(HandshakeType::CLIENT_KEY_EXCHANGE).await?;
    let share = ClientKeyExchange::parse(message.body())?;
    // A key exchange is agreed once, and this is where.
    let exchange = sent.exchange.take().ok_or(Local::Encode)?;
    let shared = exchange.agree(share.ecdh_public).map_err(bad_share)?;
    let FirstFlight { suite, facts, transcript, randoms, .. } = sent;
    transcript.add(message.bytes());
    let log = SecretLog::new(config.common.key_log.clone(), &randoms.client);
    let extended = facts.extended_main_secret;
    Ok(auth::main_secret(suite, &shared, randoms, extended, transcript, &log))
}

/// The client's signature, then its chain.
async fn judge_client(
    flow: &mut Flow,
    config: &ServerConfig,
    shown: &Shown,
    sent: &mut FirstFlight,
) -> Result<(), Error> {
    let offered = &config.common.signature_schemes;
    let scheme = auth::receive_verify(flow, &mut sent.transcript, shown, offered).await?;
    sent.facts.peer_signature_scheme = Some(scheme);
    let Some(verifier) = &config.client_verifier else { return Err(Local::NoCredential.into()) };
    let now = config.common.clock.now();
    identity::verify(flow, verifier, shown, None, now).await
}
