//! A server's first flight: ServerHello to Finished. RFC 9846 2, 4.5
//!
//! Must not know: what the client answers. Next: `hello/retry.rs` for the retry, [`super::server_hello`] for the key
//! exchange, [`super::server`] for the rest.

use std::sync::Arc;

use tercel_wire::{ClientHello, EncryptedExtensions, Finished, ProtocolName, ProtocolVersion};

use super::auth::{self, Wishes};
use super::basis::{Basis, choose_basis};
use super::fresh::{ForTickets, Fresh};
use super::resumption;
use super::secrets::{Application, End, application, handshake_keys};
use super::server_hello::exchange_keys;
use crate::config::credential::Credential;
use crate::config::policy::Side;
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::authentication::certificate::write_request;
use crate::connection::export::Exporter;
use crate::connection::facts::{EarlyData, Facts};
use crate::error::Error;
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::hello::retry::{self, Settled};
use crate::handshake::hello::{certificate_type, negotiate, parse_hello};
use crate::handshake::log::SecretLog;
use crate::handshake::record_limits::{self, RecordLimits};
use crate::handshake::transcript::Transcript;
use crate::keys::direction::{Keys as DirectionKeys, NewKeys};
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, HandshakeKeys};
use crate::record::limits;
use crate::session::state::Session;

/// What is needed of the first flight once it is sent, keys apart.
pub(crate) struct FirstFlight {
    pub(super) suite: &'static Suite,
    pub(super) transcript: Transcript,
    pub(super) facts: Facts,
    pub(super) session: Option<Arc<Session>>,
    /// If early data was accepted: the limits that hold behind it.
    pub(super) early_data: Option<RecordLimits>,
    pub(super) early_exporter: Option<Box<Exporter>>,
    /// The credential that was shown, in a full handshake.
    pub(super) credential: Option<Arc<Credential>>,
    /// For the tickets that the client gets.
    pub(super) for_tickets: ForTickets,
}

/// What is still needed of the keys then: put here as soon as it is made.
#[derive(Default)]
pub(crate) struct Keys {
    /// The client's handshake keys, if early data comes first.
    pub(super) behind_early_data: Option<DirectionKeys>,
    pub(super) unused: Option<Unused>,
}

/// What is not used before the client's Finished.
pub(super) struct Unused {
    pub(super) client: NewKeys,
    pub(super) exporter: Exporter,
    pub(super) end: End,
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
    let partial = hello.without_binders(bytes).unwrap_or(bytes);
    let Basis { early, psk_index, session, own, early_data, ticket_age_skew } = choose_basis(
        flow,
        config,
        &message,
        &hello,
        suite,
        &mut transcript,
        partial,
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
    transcript.add(bytes.get(partial.len()..).unwrap_or_default());
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
    let (shared, for_tickets) = {
        let tickets = resumption::tickets_to_send(config, &hello, &facts, own.is_some());
        let Fresh { random, for_tickets } = Fresh::draw(config, tickets)?;
        let shared =
            exchange_keys(flow, &hello, &random, suite, group, psk_index, &mut transcript)?;
        (shared, for_tickets)
    };
    // Middlebox compatibility, once, if the client asks for it. RFC 9846 E.4
    if !hello.session_id.is_empty() && !retried {
        flow.order(Command::SendChangeCipherSpec)?;
    }
    let secret = early.into_handshake(&shared);
    let HandshakeKeys { client, server, client_finished, server_finished, main } =
        handshake_keys(secret, &mut transcript, &log);
    let mut end = End::Open { client_finished, main };
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
    let (follows, resumption) = (!early_data && !asks, !for_tickets.is_empty());
    let Application { client, server, exporter } =
        application(&mut end, follows, resumption, &mut transcript, &log)?;
    // From here on we may send application data. RFC 9846 4.5.3
    flow.install_write(server)?;
    keys.unused = Some(Unused { client, exporter, end });
    flow.order(Command::HalfRtt)?;

    // Clients that do not offer it are never asked later. RFC 9846 4.3.6
    facts.post_handshake_auth = hello.extensions.post_handshake_auth.is_some();
    let early_data = early_data.then(|| {
        let theirs = hello.extensions.record_size_limit;
        let ours = config.common.record_size_limit.filter(|_| theirs.is_some());
        record_limits::tls13(&config.common, theirs, ours)
    });
    let credential = own.map(|(credential, _)| credential);
    Ok(FirstFlight {
        suite,
        transcript,
        facts,
        session,
        early_data,
        early_exporter,
        credential,
        for_tickets,
    })
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
    // There is no first flight to lengthen without a certificate. A server that does not take part does not open the
    // request: the code point is not registered.
    let padding = if config.server_padding && !facts.resumed {
        offered.requested_server_padding()?
    } else {
        None
    };
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
