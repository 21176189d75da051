//! The server of RFC 9846, in the order of its figure. RFC 9846 2, A.2
//!
//! Must not know: records. Next: [`super::auth`] for certificates, `hello/retry.rs` for the retry.

use std::sync::Arc;

use tercel_crypto::{CryptoError, KeyExchange, KeyExchangeAlgorithm, SharedSecret, ShortSecret};
use tercel_wire::{
    ClientHello, CompressionMethod, EncryptedExtensions, EndOfEarlyData, Finished,
    HandshakeMessage, HandshakeType, KeyShareEntry, NamedGroup, ProtocolName, ProtocolVersion,
    ServerHello, ServerHelloExtensions, ServerKeyShare,
};

use super::auth::{self, Asked, Received, Wishes};
use super::basis::{Basis, choose_basis};
use super::fresh::{AgeAdds, Fresh};
use super::resumption;
use super::secrets::{Application, application, handshake_keys};
use crate::config::policy::Side;
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::authentication::HandshakeContext;
use crate::connection::authentication::certificate::write_request;
use crate::connection::export::Exporter;
use crate::connection::facts::{EarlyData, Facts};
use crate::error::{Error, Local, Peer};
use crate::handshake::coroutine::{Turn, boxed};
use crate::handshake::established::Established;
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::hello::retry::{self, Settled};
use crate::handshake::hello::{
    Outcome, certificate_type, first_limit, group, negotiate, parse_hello,
};
use crate::handshake::identity;
use crate::handshake::log::SecretLog;
use crate::handshake::record_limits::{self, RecordLimits};
use crate::handshake::resumption::{keep_digest, template as server_session};
use crate::handshake::transcript::Transcript;
use crate::keys::direction::{Keys as DirectionKeys, NewKeys};
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, FinishedKey, HandshakeKeys, MainSecret};
use crate::record::limits;
use crate::session::state::Session;

/// The whole handshake, from a ClientHello that leads to TLS 1.3.
pub(crate) async fn handshake(
    mut flow: Flow,
    config: Arc<ServerConfig>,
    first: Message,
) -> Outcome {
    let (flow, config) = (&mut flow, &config);
    flow.order(first_limit(&config.common))?;
    let mut keys = Keys::default();
    // In a box of its own: many may wait for a client's answer, and that takes a third of the room.
    let mut sent = boxed(|| send_first_flight(flow, config, first, &mut keys)).await?;

    if let Some(limits) = sent.early_data.take() {
        let end = flow.read_expected(HandshakeType::END_OF_EARLY_DATA).await?;
        EndOfEarlyData::parse(end.body())?;
        sent.transcript.add(end.bytes());
        flow.install_read(keys.behind_early_data.take().ok_or(Local::Encode)?)?;
        flow.order(limits)?;
    }
    let shown = if sent.shows_certificate && config.client_auth != ClientAuth::None {
        // Its question needs much room, and most handshakes have none.
        boxed(|| receive_client_certificate(flow, config, &sent.facts, &mut sent.transcript))
            .await?
    } else {
        None
    };
    let expected = &keys.unused.as_ref().ok_or(Local::Encode)?.client_finished;
    receive_finished(flow, expected, &mut sent.transcript).await?;
    let Unused { main, client, exporter, .. } = keys.unused.ok_or(Local::Encode)?;
    flow.install_read(client)?;
    let FirstFlight { suite, mut transcript, mut facts, session, .. } = sent;
    let authenticated = session.as_ref().map(|session| session.authenticated);
    if let Some(Received { shown, scheme }) = shown {
        facts.peer_signature_scheme = Some(scheme);
        shown.into_facts(&mut facts);
        keep_digest(config, &mut facts);
    } else if let Some(session) = session {
        session.tell(&mut facts);
    }
    // Who has an external key is not asked later either. RFC 9846 4.4.2
    facts.post_handshake_auth &= facts.pre_shared_key().is_none();
    let requesting = requesting(config, &facts, &transcript);
    if sent.tickets > 0 {
        let secret = main.resumption_secret(&transcript.digest());
        let template = server_session(config, suite, &facts, authenticated);
        let age_adds = sent.age_adds.into_iter().take(sent.tickets.into());
        resumption::send_tickets(flow, config, age_adds, template, &secret, &mut facts)?;
    }
    flow.connect(Established {
        facts,
        exporter,
        early_exporter: sent.early_exporter,
        tolerate_truncation: config.common.tolerate_truncation,
        tickets: None,
        answering: None,
        requesting,
    })?;
    Ok(Turn::Over)
}

/// What is needed of the first flight once it is sent, keys apart.
pub(crate) struct FirstFlight {
    suite: &'static Suite,
    transcript: Transcript,
    facts: Facts,
    session: Option<Arc<Session>>,
    /// If early data was accepted: the limits that hold behind it.
    early_data: Option<RecordLimits>,
    early_exporter: Option<Box<Exporter>>,
    shows_certificate: bool,
    /// How many tickets the client gets, and what obfuscates their ages.
    tickets: u8,
    age_adds: AgeAdds,
}

/// What is still needed of the keys then: put here as soon as it is made.
#[derive(Default)]
pub(crate) struct Keys {
    /// The client's handshake keys, if early data comes first.
    behind_early_data: Option<DirectionKeys>,
    unused: Option<Unused>,
}

/// What is not used before the client's Finished.
struct Unused {
    main: MainSecret,
    client_finished: ClientFinished,
    client: NewKeys,
    exporter: Exporter,
}

/// What a client's Finished is compared with.
enum ClientFinished {
    /// It follows on ours at once, so that what it says is known.
    Known(ShortSecret),
    /// Other messages stand between, which it is over too.
    Key(FinishedKey),
}

/// Up to our Finished.
pub(crate) async fn send_first_flight(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    first: Message,
    keys: &mut Keys,
) -> Result<FirstFlight, Error> {
    flow.order(Command::Negotiated(ProtocolVersion::TLS1_3))?;
    let settled = retry::settle(flow, config, first).await?;
    let Settled {
        hello: message,
        suite,
        group,
        external,
        mut transcript,
        retried,
        early_data_lost,
    } = settled;
    let hello = parse_hello(&message)?;
    let mut facts = Facts::new(ProtocolVersion::TLS1_3, suite.code);
    facts.group = Some(group);
    facts.retried = retried;
    // A retry rejects early data, and the second hello does not offer it. RFC 9846 4.3.10
    if early_data_lost {
        facts.early_data = EarlyData::Rejected;
    }
    facts.server_name = negotiate::server_name(&hello).map(str::to_owned);
    let alpn = negotiate::alpn(&hello, config)?;
    facts.alpn = alpn.map(<[u8]>::to_vec);

    // What binders are over goes into the transcript before what they are, and nothing twice.
    let bytes = message.bytes();
    let bound = hello.without_binders(bytes).unwrap_or(bytes).len();
    transcript.add(bytes.get(..bound).unwrap_or_default());
    let Basis { early, psk_index, session, own, early_data, ticket_age_skew } = choose_basis(
        flow,
        config,
        &message,
        &hello,
        suite,
        &mut transcript,
        external.as_ref(),
        alpn,
        retried,
    )
    .await?;
    facts.ticket_age_skew = ticket_age_skew;
    facts.own_signature_scheme = own.as_ref().map(|(_, scheme)| *scheme);
    if let (Some(key), Some(_), None) = (&external, psk_index, &session) {
        facts.set_pre_shared_key(key.used());
    }
    if let Some(session) = &session {
        facts.server_certificate_type = session.server_certificate_type();
    }
    if let Some((credential, _)) = &own {
        facts.server_certificate_type = credential.certificate_type();
        facts.client_certificate_type = certificate_type::of_client(&hello, config)?;
    }
    transcript.add(bytes.get(bound..).unwrap_or_default());
    let log = SecretLog::new(config.common.key_log.clone(), hello.random);
    facts.resumed = session.is_some();

    let early_exporter = receive_early_data(
        flow,
        config,
        &hello,
        early_data,
        &early,
        &mut transcript,
        &log,
        &mut facts,
        session.as_deref(),
    )?;
    let (shared, age_adds) = exchange_keys(flow, &hello, suite, group, psk_index, &mut transcript)?;
    // Middlebox compatibility, once, if the client asks for it. RFC 9846 E.4
    if !hello.session_id.is_empty() && !retried {
        flow.order(Command::SendChangeCipherSpec)?;
    }
    let secret = early.into_handshake(&shared);
    let HandshakeKeys { client, server, client_finished, server_finished, main } =
        handshake_keys(secret, &mut transcript, &log);
    flow.install_write(server)?;
    if early_data {
        keys.behind_early_data = Some(client);
    } else {
        flow.install_read(client)?;
    }

    send_encrypted_extensions(flow, config, &hello, &facts, &mut transcript)?;
    if let Some((credential, scheme)) = &own {
        if config.client_auth != ClientAuth::None {
            send_certificate_request(flow, config, &mut transcript)?;
        }
        let wishes = Wishes::of_client(&hello, config);
        auth::send_certificate(flow, &mut transcript, Some(credential), &[], wishes)?;
        auth::send_verify(flow, &mut transcript, credential, *scheme, Side::Server).await?;
    }
    let verify_data = server_finished.verify_data(&transcript.digest());
    flow.send(&Finished { verify_data: &verify_data }, &mut transcript)?;
    let asks = own.is_some() && config.client_auth != ClientAuth::None;
    let alone = (!early_data && !asks).then_some(&client_finished);
    let Application { client, server, exporter, client_verify_data } =
        application(&main, alone, &mut transcript, &log);
    // From here on we may send application data. RFC 9846 4.5.3
    flow.install_write(server)?;
    let client_finished = match client_verify_data {
        Some(known) => ClientFinished::Known(known),
        None => ClientFinished::Key(client_finished),
    };
    keys.unused = Some(Unused { main, client_finished, client, exporter });
    flow.order(Command::HalfRtt)?;

    // Clients that do not offer it are never asked later. RFC 9846 4.3.6
    facts.post_handshake_auth = hello.extensions.post_handshake_auth.is_some();
    let early_data = early_data.then(|| {
        let theirs = hello.extensions.record_size_limit;
        let ours = config.common.record_size_limit.filter(|_| theirs.is_some());
        record_limits::tls13(&config.common, theirs, ours)
    });
    let tickets = resumption::tickets_to_send(config, &hello, &facts);
    let shows_certificate = own.is_some();
    Ok(FirstFlight {
        suite,
        transcript,
        facts,
        session,
        early_data,
        early_exporter,
        shows_certificate,
        tickets,
        age_adds,
    })
}

/// Sends our share in the ServerHello; the secret that comes of it and the client's.
fn exchange_keys(
    flow: &mut Flow,
    hello: &ClientHello<'_>,
    suite: &'static Suite,
    group: NamedGroup,
    psk_index: Option<u16>,
    transcript: &mut Transcript,
) -> Result<(SharedSecret, AgeAdds), Error> {
    let algorithm = group::algorithm(group).ok_or(Peer::NoSharedGroup)?;
    let shares = hello.extensions.key_share.ok_or(Peer::MissingExtension)?;
    let share = shares.iter().find(|share| share.group == group).ok_or(Peer::WrongGroup)?;
    let mut room = [0_u8; KeyExchangeAlgorithm::MAX_SHARE_LEN];
    let own = room.get_mut(..algorithm.server_share_len()).ok_or(Local::Encode)?;
    let shared =
        KeyExchange::respond_into(algorithm, share.key_exchange, own).map_err(bad_share)?;
    let Fresh { random, age_adds } = Fresh::draw()?;
    send_server_hello(flow, hello, &random, suite, group, own, psk_index, transcript)?;
    Ok((shared, age_adds))
}

/// A share that its group does not allow is the peer's fault, anything else is ours.
pub(crate) fn bad_share(error: CryptoError) -> Error {
    match error {
        CryptoError::InvalidShare => Peer::BadKeyShare.into(),
        other => Local::Crypto(other).into(),
    }
}

#[allow(clippy::too_many_arguments)]
fn send_server_hello(
    flow: &mut Flow,
    hello: &ClientHello<'_>,
    random: &[u8; 32],
    suite: &'static Suite,
    group: NamedGroup,
    share: &[u8],
    psk_index: Option<u16>,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let server_hello = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random,
        session_id_echo: hello.session_id,
        cipher_suite: suite.code,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            supported_versions: Some(ProtocolVersion::TLS1_3),
            key_share: Some(ServerKeyShare::Entry(KeyShareEntry { group, key_exchange: share })),
            pre_shared_key: psk_index,
            ..Default::default()
        },
    };
    flow.send(&server_hello, transcript)
}

/// Early data is read from here on, passed over, or was not offered.
#[allow(clippy::too_many_arguments)]
fn receive_early_data(
    flow: &mut Flow,
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    admitted: bool,
    early: &EarlySecret,
    transcript: &mut Transcript,
    log: &SecretLog,
    facts: &mut Facts,
    session: Option<&Session>,
) -> Result<Option<Box<Exporter>>, Error> {
    if hello.extensions.early_data.is_none() {
        return Ok(None);
    }
    if !admitted {
        facts.early_data = EarlyData::Rejected;
        flow.order(Command::SkipEarlyData {
            limit: limits::skipped_early_data(config.resumption.max_early_data),
        })?;
        return Ok(None);
    }
    facts.early_data = EarlyData::Accepted;
    let digest = transcript.digest();
    let (secret, exporter) = early.early_secrets(&digest);
    log.log("CLIENT_EARLY_TRAFFIC_SECRET", secret.as_bytes());
    log.log("EARLY_EXPORTER_SECRET", exporter.as_bytes());
    flow.install_read(DirectionKeys::Tls13(secret))?;
    let mut agreed = Box::new(facts.so_far());
    if let Some(session) = session {
        session.tell(&mut agreed);
    }
    let limit = config.resumption.max_early_data;
    flow.order(Command::ReadEarlyData { limit, facts: agreed })?;
    Ok(Some(Box::new(Exporter::tls13(exporter))))
}

fn send_encrypted_extensions(
    flow: &mut Flow,
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    facts: &Facts,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let offered = &hello.extensions;
    let limit = config.common.record_size_limit.filter(|_| offered.record_size_limit.is_some());
    let (server_certificate_type, client_certificate_type) =
        certificate_type::answers(hello, config, facts);
    // There is no first flight to lengthen without a certificate.
    let padding = offered.server_padding.filter(|_| config.server_padding && !facts.resumed);
    let padding = padding.filter(|bytes| *bytes <= limits::MAX_SERVER_PADDING);
    let padding = padding.map(|bytes| vec![0; usize::from(bytes)]);
    let message = EncryptedExtensions {
        server_certificate_type,
        client_certificate_type,
        // A resumed session has its name already. RFC 6066 3
        server_name: facts
            .server_name
            .as_ref()
            .filter(|_| config.acknowledge_server_name && !facts.resumed)
            .map(|_| ()),
        alpn: facts.alpn.as_deref().map(ProtocolName),
        record_size_limit: limit,
        server_padding: padding.as_deref(),
        early_data: (facts.early_data == EarlyData::Accepted).then_some(()),
        ..Default::default()
    };
    // Early data was sent before our limit could be known.
    let reads_early = facts.early_data == EarlyData::Accepted;
    let ours = limit.filter(|_| !reads_early);
    flow.order(record_limits::tls13(&config.common, offered.record_size_limit, ours))?;
    flow.order(Command::Padding(config.common.padding))?;
    flow.send(&message, transcript)
}

fn send_certificate_request(
    flow: &mut Flow,
    config: &ServerConfig,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    flow.send_with(|out| write_request(config, &[], out), |bytes| transcript.add(bytes))
}

async fn receive_client_certificate(
    flow: &mut Flow,
    config: &ServerConfig,
    facts: &Facts,
    transcript: &mut Transcript,
) -> Result<Option<Received>, Error> {
    let Some(verifier) = &config.client_verifier else { return Ok(None) };
    let message = flow.read().await;
    let asked = Asked::of_client(config, facts.client_certificate_type);
    let received = auth::receive(flow, transcript, &message, asked).await?;
    match &received {
        None if config.client_auth == ClientAuth::Required => {
            return Err(Peer::CertificateRequired.into());
        }
        None => {}
        Some(Received { shown, .. }) => {
            let now = config.common.clock.now();
            identity::verify(flow, verifier, shown, None, now).await?;
        }
    }
    Ok(received)
}

/// What it takes to ask for a certificate later, if that is possible. RFC 9846 4.7.2
fn requesting(
    config: &Arc<ServerConfig>,
    facts: &Facts,
    transcript: &Transcript,
) -> Option<Box<HandshakeContext<ServerConfig>>> {
    let possible = facts.post_handshake_auth && config.client_verifier.is_some();
    possible
        .then(|| HandshakeContext::boxed(config, transcript.hash(), facts.client_certificate_type))
}

async fn receive_finished(
    flow: &mut Flow,
    expected: &ClientFinished,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let message = flow.read_expected(HandshakeType::FINISHED).await?;
    auth::check_finished(&message, transcript, |transcript, verify_data| match expected {
        ClientFinished::Known(known) => {
            tercel_crypto::constant_time_eq(known.as_bytes(), verify_data)
        }
        ClientFinished::Key(key) => key.verifies(&transcript.digest(), verify_data),
    })
}
