//! A client's first exchange: the ServerHello to go on with, after one retry at most. RFC 9846 4.2.3, 4.2.4
//!
//! The server's side of a retry is `hello/retry.rs`. Must not know: key schedules. Next: [`super::client`].

use std::sync::Arc;

use tercel_wire::{
    CompressionMethod, ExtensionType, HandshakeMessage, HandshakeType, ProtocolVersion,
    ServerHello, ServerKeyShare,
};

use crate::config::client::ClientConfig;
use crate::error::{Error, Peer};
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::hello::offer::Offer;
use crate::handshake::transcript::Transcript;
use crate::keys::suite::{self, Suite};

/// The ServerHello to go on with, after one retry at most. RFC 9846 4.2.4
pub(crate) async fn settle(
    flow: &mut Flow,
    config: &Arc<ClientConfig>,
    offer: &mut Offer,
    first: Message,
) -> Result<(Message, &'static Suite, Transcript, bool), Error> {
    let hello = ServerHello::parse(first.body())?;
    let suite = check(&hello, config, offer)?;
    if !hello.is_hello_retry_request() {
        let transcript = offer.transcript(suite.hash);
        return Ok((first, suite, transcript, false));
    }
    let mut transcript = Transcript::after_retry(suite.hash, &offer.message);
    transcript.add(first.bytes());
    let group = match hello.extensions.key_share {
        None => None,
        Some(ServerKeyShare::SelectedGroup(group)) => {
            // A group that we have, and have not sent a share for. RFC 9846 4.2.4, 4.3.8
            if !config.common.groups.contains(&group) || offer.has_share(config, group) {
                return Err(Peer::WrongGroup.into());
            }
            Some(group)
        }
        Some(ServerKeyShare::Entry(_)) => return Err(Peer::IllegalParameter.into()),
    };
    // A request that changes nothing would go on forever. RFC 9846 4.2.4
    if group.is_none() && hello.extensions.cookie.is_none() {
        return Err(Peer::PointlessRetry.into());
    }
    if offer.early_data {
        flow.order(Command::AbandonEarlyData)?;
    } else if !offer.session_id.is_empty() {
        flow.order(Command::SendChangeCipherSpec)?;
    }
    offer.send_again(flow, config, group, hello.extensions.cookie, &transcript)?;
    transcript.add(&offer.message);

    let second = flow.read_expected(HandshakeType::SERVER_HELLO).await?;
    let after = ServerHello::parse(second.body())?;
    if after.is_hello_retry_request() {
        return Err(Peer::SecondRetry.into());
    }
    // The choice of TLS 1.3 and of the suite stands. RFC 9846 4.2.4
    if after.extensions.supported_versions != Some(ProtocolVersion::TLS1_3) {
        return Err(Peer::WrongVersionChosen.into());
    }
    if check(&after, config, offer)? != suite {
        return Err(Peer::CipherSuiteChangedAfterRetry.into());
    }
    if let (Some(group), Some(ServerKeyShare::Entry(share))) = (group, after.extensions.key_share) {
        if share.group != group {
            return Err(Peer::WrongGroup.into());
        }
    }
    Ok((second, suite, transcript, true))
}

/// What every ServerHello and HelloRetryRequest of TLS 1.3 must look like. RFC 9846 4.2.3
fn check(
    hello: &ServerHello<'_>,
    config: &ClientConfig,
    offer: &Offer,
) -> Result<&'static Suite, Error> {
    // Not a choice any more, but any other value is a protocol_version. RFC 9846 4.2.3
    if hello.legacy_version != ProtocolVersion::TLS1_2 {
        return Err(Peer::UnsupportedVersion.into());
    }
    if hello.session_id_echo != &*offer.session_id {
        return Err(Peer::SessionIdNotEchoed.into());
    }
    if hello.compression_method != CompressionMethod::NULL {
        return Err(Peer::Compression.into());
    }
    let retry = hello.is_hello_retry_request();
    let allowed = |kind: ExtensionType| match kind {
        ExtensionType::SUPPORTED_VERSIONS | ExtensionType::KEY_SHARE => true,
        ExtensionType::COOKIE => retry,
        ExtensionType::PRE_SHARED_KEY => !retry && offer.offered().has(kind),
        _ => false,
    };
    if !hello.extensions.types().all(allowed) {
        return Err(Peer::UnexpectedExtension.into());
    }
    suite::find(hello.cipher_suite)
        .filter(|suite| suite.is_tls13() && config.common.suites.contains(suite))
        .ok_or_else(|| Peer::WrongCipherSuiteChosen.into())
}
