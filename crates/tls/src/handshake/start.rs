//! The start of a handshake: the first messages, and the selection of the version.
//!
//! [`server`] and [`client`] begin the handshakes, which continue in `tls12` or `tls13`.

use std::sync::Arc;

use tercel_wire::{ClientHello, HandshakeMessage, HandshakeType, ProtocolVersion, ServerHello};

use super::client_hello::offer::Offer;
use super::ech::client::ClientEch;
use super::ech::server::ServerEch;
use super::ech::{self, RequestedOffer};
use super::negotiate::parse_hello;
use super::question::{AnswerValue, ChooseConfigQuestion, Question};
use super::runtime::coroutine::{Completion, Outcome, Sequence, boxed};
use super::runtime::flow::{Flow, refused, wrong_answer};
use super::runtime::record_limits::first_limit;
use super::{client_session, negotiate, tls12, tls13};
use crate::auth::server_identity::ServerIdentity;
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::error::{Error, InternalError, PeerError};
#[cfg(feature = "quic")]
use crate::keys::quic::Version;
use crate::policy::Policy;
use crate::record::joiner::Message;

/// Returns a server's handshake in the version that is negotiated with this ClientHello.
pub(crate) fn server(config: Arc<ServerConfig>, hello: Message) -> Result<Sequence<Error>, Error> {
    hello.require(HandshakeType::CLIENT_HELLO)?;
    let (hello, ech) = ech::server::open(&config, hello)?;
    Ok(match decide(&config, &hello)? {
        Some((chosen, version)) => {
            in_version(version, Flow::default(), chosen.unwrap_or(config), hello, ech)
        }
        None => boxed(|| with_asked_config(config, hello, ech)),
    })
}

async fn with_asked_config(config: Arc<ServerConfig>, hello: Message, ech: ServerEch) -> Outcome {
    let mut flow = Flow::default();
    let chosen = ask_for_config(&mut flow, &hello).await?;
    check_fips(&config, &chosen)?;
    let config = for_transport(chosen, config.common.quic_version())?;
    let version = version(&parse_hello(&hello)?, &config)?;
    Ok(Completion::Continue(in_version(version, flow, config, hello, ech)))
}

fn in_version(
    version: ProtocolVersion,
    flow: Flow,
    config: Arc<ServerConfig>,
    hello: Message,
    ech: ServerEch,
) -> Sequence<Error> {
    match version {
        ProtocolVersion::TLS1_3 => boxed(|| tls13::server::handshake(flow, config, hello, ech)),
        _ => boxed(|| tls12::server::handshake(flow, config, hello)),
    }
}

/// Performs a client's handshake up to the server's selection of the version.
pub(crate) async fn client(
    mut flow: Flow,
    config: Arc<ClientConfig>,
    server: ServerIdentity,
    requested: RequestedOffer,
) -> Outcome {
    flow.execute(first_limit(&config.common))?;
    let session = client_session::offerable(&mut flow, &config, &server).await?;
    let ech = ClientEch::new(&mut flow, requested, &config)?;
    let mut offer = Offer::new(&config, server, session, ech)?;
    offer.send(&mut flow, &config)?;
    let message = flow.read_expected(HandshakeType::SERVER_HELLO).await?;
    continue_in_version(flow, config, offer, message)
}

/// Performs the rest of a client's handshake, in the version that the server selected.
///
/// The rest is a separate coroutine, which replaces the first. Many handshakes may be waiting for a
/// ServerHello: the first coroutine needs no memory for later steps, and the second coroutine needs
/// no memory for the ClientHello.
fn continue_in_version(
    flow: Flow,
    config: Arc<ClientConfig>,
    mut offer: Offer,
    message: Message,
) -> Outcome {
    let hello = ServerHello::parse(message.body())?;
    match chosen_version(&hello, &config)? {
        ProtocolVersion::TLS1_3 => Ok(Completion::Continue(boxed(|| {
            tls13::client::handshake(flow, config, offer, message)
        }))),
        // A client that offered early data has to refuse TLS 1.2. RFC 9846 E.3
        _ if offer.early_data => Err(PeerError::WrongVersionForEarlyData.into()),
        _ => {
            offer.reject_ech()?;
            tls12::client::handshake(flow, config, offer, &hello, message.bytes())
        }
    }
}

/// Returns the configuration that a policy selected, if there is such a policy, and the version.
/// Returns `None` if the application has to be asked for a configuration.
#[allow(clippy::type_complexity)]
fn decide(
    config: &Arc<ServerConfig>,
    hello: &Message,
) -> Result<Option<(Option<Arc<ServerConfig>>, ProtocolVersion)>, Error> {
    if config.choose_config.is_none() {
        // Only the versions are parsed here. The coroutine parses the whole ClientHello.
        let versions = ClientHello::versions(hello.body());
        let version = versions.map(|versions| negotiate::version(&versions, &config.common));
        if let Ok(Ok(version)) = version {
            return Ok(Some((None, version)));
        }
    }
    // Errors in the ClientHello take precedence over an unsupported version.
    let parsed = parse_hello(hello)?;
    let chosen = match &config.choose_config {
        None => None,
        Some(Policy::Here(choose)) => {
            let chosen = choose.choose_config(&parsed).ok_or_else(refused)?;
            check_fips(config, &chosen)?;
            Some(for_transport(chosen, config.common.quic_version())?)
        }
        Some(Policy::Ask) => return Ok(None),
    };
    let version = version(&parsed, chosen.as_ref().unwrap_or(config))?;
    Ok(Some((chosen, version)))
}

/// Refuses a chosen configuration without the option `fips`, if the configuration with which the
/// handshake began has it. Refuses one with the option, if the first has keys for Encrypted
/// ClientHello: their HPKE is outside of the FIPS module.
fn check_fips(config: &ServerConfig, chosen: &ServerConfig) -> Result<(), InternalError> {
    #[cfg(feature = "ech")]
    let has_ech_keys = config.ech.is_some();
    #[cfg(not(feature = "ech"))]
    let has_ech_keys = false;
    match (config.common.fips, chosen.common.fips) {
        (true, false) => Err(InternalError::NotFips),
        (false, true) if has_ech_keys => Err(InternalError::NotFips),
        _ => Ok(()),
    }
}

/// Returns a chosen configuration, in a handshake over QUIC the one derived for the version.
#[cfg(feature = "quic")]
fn for_transport(
    config: Arc<ServerConfig>,
    quic_version: Option<u32>,
) -> Result<Arc<ServerConfig>, Error> {
    let Some(number) = quic_version else { return Ok(config) };
    let version = Version::from_number(number).ok_or(InternalError::Internal)?;
    config.for_quic(version).map_err(|_| InternalError::NotForQuic.into())
}

#[cfg(not(feature = "quic"))]
fn for_transport(config: Arc<ServerConfig>, _: Option<u32>) -> Result<Arc<ServerConfig>, Error> {
    Ok(config)
}

fn version(hello: &ClientHello<'_>, config: &ServerConfig) -> Result<ProtocolVersion, Error> {
    negotiate::version(&hello.into(), &config.common)
}

async fn ask_for_config(flow: &mut Flow, hello: &Message) -> Result<Arc<ServerConfig>, Error> {
    let question = ChooseConfigQuestion { hello: hello.clone() };
    match flow.ask(Question::ChooseConfig(question)).await {
        AnswerValue::Config(config) => config.ok_or_else(refused),
        _ => Err(wrong_answer()),
    }
}

/// Returns the version that a server selected. RFC 9846 4.2.3, 4.3.1
fn chosen_version(
    hello: &ServerHello<'_>,
    config: &ClientConfig,
) -> Result<ProtocolVersion, Error> {
    let version = match hello.extensions.supported_versions {
        // A server may select only TLS 1.3 by this extension. RFC 9846 4.3.1
        Some(ProtocolVersion::TLS1_3) => ProtocolVersion::TLS1_3,
        Some(_) => return Err(PeerError::WrongVersionChosen.into()),
        None if hello.is_hello_retry_request() => {
            return Err(PeerError::MissingServerExtension.into());
        }
        None if hello.legacy_version == ProtocolVersion::TLS1_2 => ProtocolVersion::TLS1_2,
        None => return Err(PeerError::UnsupportedVersion.into()),
    };
    if config.common.has_version(version) {
        return Ok(version);
    }
    match version {
        ProtocolVersion::TLS1_3 => Err(PeerError::WrongVersionChosen.into()),
        _ => Err(PeerError::UnsupportedVersion.into()),
    }
}
