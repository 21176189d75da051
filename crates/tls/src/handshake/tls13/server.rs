//! The server of RFC 9846, in the order of its figure: what follows on its first flight. RFC 9846 2, A.2
//!
//! Must not know: records. Next: [`super::first_flight`], [`super::auth`] for certificates.

use std::sync::Arc;

use tercel_wire::{EndOfEarlyData, HandshakeMessage, HandshakeType};

use super::auth::{self, Asked, Received};
use super::first_flight::{FirstFlight, Keys, Unused, send_first_flight};
use super::resumption;
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::authentication::HandshakeContext;
use crate::connection::facts::Facts;
use crate::error::{Error, Local, Peer};
use crate::handshake::coroutine::{Turn, boxed};
use crate::handshake::established::Established;
use crate::handshake::flow::{Flow, Message};
use crate::handshake::hello::{Outcome, first_limit};
use crate::handshake::identity;
use crate::handshake::resumption::{keep_digest, template as server_session};
use crate::handshake::transcript::Transcript;

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
    let shown = if sent.credential.is_some() && config.client_auth != ClientAuth::None {
        // Its question needs much room, and most handshakes have none.
        boxed(|| receive_client_certificate(flow, config, &sent.facts, &mut sent.transcript))
            .await?
    } else {
        None
    };
    let finished = flow.read_expected(HandshakeType::FINISHED).await?;
    let Unused { client, exporter, end } = keys.unused.ok_or(Local::Encode)?;
    auth::check_finished(&finished, &mut sent.transcript, |transcript, verify_data| {
        end.verifies(transcript, verify_data)
    })?;
    flow.install_read(client)?;
    let FirstFlight { suite, mut transcript, mut facts, session, credential, .. } = sent;
    let authenticated = session.as_ref().map(|session| session.authenticated);
    // A chain of resumptions stays bound to what its full handshake has shown.
    let resumed = session.as_ref().and_then(|session| session.credential);
    let has_name = facts.server_name.is_some();
    let credential = credential.map(|shown| shown.id().in_session(has_name)).or(resumed);
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
    if !sent.for_tickets.is_empty() {
        let secret = end.into_resumption_secret(&mut transcript).ok_or(Local::Encode)?;
        let template = server_session(config, suite, &facts, credential, authenticated);
        resumption::send_tickets(flow, config, &sent.for_tickets, template, &secret, &mut facts)?;
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
