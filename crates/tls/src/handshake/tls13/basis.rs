//! What a server's handshake rests on: a session, an external key, or a credential. RFC 9846 4.3.11, 4.5.1
//!
//! Must not know: what is sent. Next: [`super::resumption`] for the first two.

use std::sync::Arc;

use tercel_wire::{ClientHello, ProtocolVersion, SignatureScheme};

use super::resumption;
use crate::config::credential::Credential;
use crate::config::pre_shared_key::PreSharedKey;
use crate::config::server::ServerConfig;
use crate::error::{Error, Peer};
use crate::handshake::flow::{Flow, Message};
use crate::handshake::hello::negotiate;
use crate::handshake::identity::{self, CredentialForHello};
use crate::handshake::transcript::Transcript;
use crate::keys::suite::Suite;
use crate::keys::tls13::EarlySecret;
use crate::session::state::Session;

/// What a handshake rests on: a session, an external key, or a credential of ours.
pub(super) struct Basis {
    pub(super) early: EarlySecret,
    pub(super) psk_index: Option<u16>,
    pub(super) session: Option<Arc<Session>>,
    pub(super) own: Option<(Arc<Credential>, SignatureScheme)>,
    pub(super) early_data: bool,
    pub(super) ticket_age_skew: Option<i32>,
}

/// Chooses it: what the client offers and we accept, or else a credential. `partial` is what binders are over; `transcript`
/// goes as far as before it, and to its end afterwards. RFC 9846 4.3.11
#[allow(clippy::too_many_arguments)]
pub(super) async fn choose_basis(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    message: &Message,
    hello: &ClientHello<'_>,
    suite: &'static Suite,
    transcript: &mut Transcript,
    mut partial: &[u8],
    external: Option<&Arc<PreSharedKey>>,
    alpn: Option<&[u8]>,
    retried: bool,
) -> Result<Basis, Error> {
    let mut credential = CredentialForHello::new(config, hello, ProtocolVersion::TLS1_3);
    let credential = &mut credential;
    let accepted = resumption::accept(flow, credential, suite, transcript, &mut partial, external);
    let accepted = accepted.await?;
    // Nothing was accepted, so that it was not needed.
    if !partial.is_empty() {
        transcript.add(partial);
    }
    let Some(accepted) = accepted else {
        if config.only_pre_shared_keys {
            return Err(Peer::UnknownPreSharedKey.into());
        }
        let own = select_credential(flow, config, message, hello).await?;
        let early = EarlySecret::new(suite, None);
        return Ok(Basis {
            early,
            psk_index: None,
            session: None,
            own: Some(own),
            early_data: false,
            ticket_age_skew: None,
        });
    };
    let ticket_age_skew = Some(accepted.reported_age_skew());
    let early_data = accepted.admits_early_data(flow, config, hello, suite, alpn, retried).await?;
    Ok(Basis {
        early: accepted.early,
        psk_index: Some(accepted.index),
        session: accepted.session,
        own: None,
        early_data,
        ticket_age_skew,
    })
}

async fn select_credential(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    message: &Message,
    hello: &ClientHello<'_>,
) -> Result<(Arc<Credential>, SignatureScheme), Error> {
    let request = negotiate::credential_request(hello, ProtocolVersion::TLS1_3, config)
        .ok_or(Peer::MissingExtension)?;
    identity::select_for_client(flow, config, message, hello, &request).await
}
