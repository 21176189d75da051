//! Hellos: what each side says first, and the version that comes of it.
//!
//! The two functions here are the whole handshakes; they part by version after the first exchange.
//! Must not know: records. Next: [`offer`] (client), [`negotiate`] (server), [`retry`].

pub(crate) mod certificate_type;
pub(crate) mod group;
pub(crate) mod negotiate;
pub(crate) mod offer;
pub(crate) mod offered_key;
pub(crate) mod retry;

use core::pin::Pin;
use std::sync::Arc;

use tercel_wire::{ClientHello, HandshakeMessage, HandshakeType, ProtocolVersion, ServerHello};

use super::coroutine::boxed;
use super::flow::{Flow, Message, refused, wrong_answer};
use super::question::{Answer, ChooseConfigQuestion, Question};
use super::record_limits::RecordLimits;
use super::{client_session, tls12, tls13};
use crate::config::client::ClientConfig;
use crate::config::common::Common;
use crate::config::policy::Policy;
use crate::config::server::ServerConfig;
use crate::error::{Error, Peer};
use crate::session::client_store::ClientSessionKey;
use offer::Offer;

/// A server's handshake, whichever version it turns out to be.
pub(crate) async fn server(mut flow: Flow, config: Arc<ServerConfig>) -> Result<(), Error> {
    let hello = flow.read_expected(HandshakeType::CLIENT_HELLO).await?;
    let (config, version) = match decide(&config, &hello)? {
        Some((chosen, version)) => (chosen.unwrap_or(config), version),
        None => {
            let config = ask_for_config(&mut flow, &hello).await?;
            let version = version(&parse_hello(&hello)?, &config)?;
            (config, version)
        }
    };
    flow.order(first_limit(&config.common))?;
    match version {
        ProtocolVersion::TLS1_3 => tls13::server::handshake(&mut flow, &config, hello).await,
        _ => tls12::server::handshake(&mut flow, &config, hello).await,
    }
}

/// A client's handshake, whichever version the server chooses.
pub(crate) async fn client(
    mut flow: Flow,
    config: Arc<ClientConfig>,
    to: ClientSessionKey,
) -> Result<(), Error> {
    flow.order(first_limit(&config.common))?;
    let session = client_session::offerable(&mut flow, &config, &to).await?;
    let mut offer = Offer::new(&config, to, session)?;
    offer.send(&mut flow, &config)?;
    let message = flow.read_expected(HandshakeType::SERVER_HELLO).await?;
    go_on(&mut flow, &config, offer, message)?.await
}

/// The rest of a client's handshake, in the version that the server chose.
///
/// In a box of its own: many may wait for a server's first word, with the room for that.
fn go_on<'h>(
    flow: &'h mut Flow,
    config: &'h Arc<ClientConfig>,
    offer: Offer,
    message: Message,
) -> Result<Rest<'h>, Error> {
    let hello = ServerHello::parse(message.body())?;
    match chosen_version(&hello, config)? {
        ProtocolVersion::TLS1_3 => {
            Ok(boxed(|| tls13::client::handshake(flow, config, offer, message)))
        }
        // Early data cannot be taken back. RFC 9846 E.3
        _ if offer.early_data => Err(Peer::WrongVersionForEarlyData.into()),
        _ => tls12::client::handshake(flow, config, offer, &hello, message.bytes()),
    }
}

/// A handshake from the moment at which its kind is known.
pub(crate) type Rest<'h> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'h>>;

/// Our own limit holds from the first record; the peer's comes with its extensions.
fn first_limit(common: &Common) -> RecordLimits {
    RecordLimits { read: None, write: Some(common.max_fragment) }
}

/// The `ClientHello` in a message.
#[inline]
pub(crate) fn parse_hello(message: &Message) -> Result<ClientHello<'_>, Error> {
    let hello = ClientHello::parse(message.body())?;
    certificate_type::check_offer(&hello)?;
    Ok(hello)
}

/// The configuration, if it is another one, and the version to go on with; `None` if the application is to be asked.
#[allow(clippy::type_complexity)]
fn decide(
    config: &Arc<ServerConfig>,
    hello: &Message,
) -> Result<Option<(Option<Arc<ServerConfig>>, ProtocolVersion)>, Error> {
    if config.choose_config.is_none() {
        // All of it is parsed by who goes on.
        let versions = ClientHello::versions(hello.body());
        let version = versions.map(|versions| negotiate::version(&versions, &config.common));
        if let Ok(Ok(version)) = version {
            return Ok(Some((None, version)));
        }
    }
    // What else is wrong with a hello goes before its version.
    let parsed = parse_hello(hello)?;
    let chosen = match &config.choose_config {
        None => None,
        Some(Policy::Here(choose)) => Some(choose.choose_config(&parsed).ok_or_else(refused)?),
        Some(Policy::Ask) => return Ok(None),
    };
    let version = version(&parsed, chosen.as_ref().unwrap_or(config))?;
    Ok(Some((chosen, version)))
}

fn version(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<ProtocolVersion, Error> {
    negotiate::version(&hello.into(), &config.common)
}

async fn ask_for_config(flow: &mut Flow, hello: &Message) -> Result<Arc<ServerConfig>, Error> {
    let question = ChooseConfigQuestion { hello: hello.clone() };
    match flow.ask(Question::ChooseConfig(question)).await {
        Answer::Config(config) => config.ok_or_else(refused),
        _ => Err(wrong_answer()),
    }
}

/// The version a server chose. RFC 9846 4.2.3, 4.3.1
fn chosen_version(
    hello: &ServerHello<'_>,
    config: &ClientConfig,
) -> Result<ProtocolVersion, Error> {
    let version = match hello.extensions.supported_versions {
        // Only TLS 1.3 is chosen this way. RFC 9846 4.3.1
        Some(ProtocolVersion::TLS1_3) => ProtocolVersion::TLS1_3,
        Some(_) => return Err(Peer::WrongVersionChosen.into()),
        None if hello.is_hello_retry_request() => return Err(Peer::MissingServerExtension.into()),
        None if hello.legacy_version == ProtocolVersion::TLS1_2 => ProtocolVersion::TLS1_2,
        None => return Err(Peer::UnsupportedVersion.into()),
    };
    if config.common.has_version(version) {
        return Ok(version);
    }
    match version {
        ProtocolVersion::TLS1_3 => Err(Peer::WrongVersionChosen.into()),
        _ => Err(Peer::UnsupportedVersion.into()),
    }
}
