//! The server of RFC 5246, in the order of its figure. RFC 5246 7.3
//!
//! Must not know: records. Next: [`first_flight`], [`super::auth`].

mod first_flight;

use std::sync::Arc;

use tercel_wire::{
    CipherSuite, ClientHello, ClientKeyExchange, CompressionMethod, HandshakeMessage,
    HandshakeType, ProtocolVersion, ServerHello, check_point_formats,
};

use super::auth::{self, Randoms};
use super::resumption::{self, NewSession};
use crate::config::policy::Side;
use crate::config::server::{ClientAuth, ServerConfig};
use crate::error::{Error, Local, Peer};
use crate::handshake::coroutine::{Turn, boxed};
use crate::handshake::established::Established;
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::hello::{Outcome, first_limit, parse_hello};
use crate::handshake::identity::{self, Shown};
use crate::handshake::log::SecretLog;
use crate::handshake::record_limits::{self, RecordLimits};
use crate::handshake::resumption::keep_digest;
use crate::handshake::tls13::server_hello::bad_share;
use crate::keys::tls12::{DirectionKeys, Exporter12, MainSecret12};
use first_flight::FirstFlight;

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
        let named = (&hello, message.bytes());
        let begun = resumption::begin(flow, config, named, session, random, secure_renegotiation)?;
        resumption::complete(flow, config, begun).await?;
        return Ok(None);
    }
    let sent =
        first_flight::send(flow, config, &message, &hello, secure_renegotiation, extended).await?;
    Ok(Some(sent))
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
        let FirstFlight {
            suite,
            mut facts,
            mut transcript,
            randoms,
            session,
            limits,
            credential,
            ..
        } = sent;
        let credential = credential.id();
        let kept = match session {
            NewSession::None => None,
            NewSession::Stored(id) => {
                Some(resumption::made(config, suite, &main, &mut facts, credential, id))
            }
            NewSession::Ticket => {
                let session = resumption::of_server(config, suite, &main, &facts, credential, true);
                resumption::send_ticket(flow, config, &session, &mut transcript)?;
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

/// Form and renegotiation indication; whether the client gives one. RFC 5246 7.4.1.2, RFC 5746 3.6
fn check(hello: &ClientHello<'_>) -> Result<bool, Error> {
    if !hello.compression_methods.contains(CompressionMethod::NULL) {
        return Err(Peer::Compression.into());
    }
    check_point_formats(hello.extensions.ec_point_formats)?;
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

pub(crate) fn our_limit(config: &ServerConfig, hello: &ClientHello<'_>) -> Option<u16> {
    let limit = config.common.record_size_limit?;
    // In TLS 1.2 the limit counts plaintext only, of which there are 2^14 bytes at most. RFC 8449 4
    hello.extensions.record_size_limit.map(|_| limit.min(1 << 14))
}

pub(crate) fn limits(config: &ServerConfig, hello: &ClientHello<'_>) -> RecordLimits {
    let theirs = hello.extensions.record_size_limit;
    record_limits::tls12(&config.common, theirs, our_limit(config, hello))
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
