//! A client's processing of HelloRetryRequest and ServerHello. RFC 9846 4.2.3, 4.2.4
//!
//! `hello_retry_request.rs` contains the server's side of a HelloRetryRequest.

use std::sync::Arc;

use tercel_wire::{
    CompressionMethod, ExtensionType, HandshakeMessage, HandshakeType, ProtocolVersion,
    ServerHello, ServerKeyShare,
};

use crate::config::client::ClientConfig;
use crate::error::{Error, PeerError};
use crate::handshake::client_hello::offer::Offer;
use crate::handshake::runtime::command::Command;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::transcript::Transcript;
use crate::keys::suite::{self, Suite};
use crate::record::joiner::Message;

/// An accepted ServerHello.
pub(super) struct ReceivedServerHello {
    pub(super) message: Message,
    pub(super) suite: &'static Suite,
    /// The transcript before the ServerHello.
    pub(super) transcript: Transcript,
    /// Whether the server sent a HelloRetryRequest first.
    pub(super) retried: bool,
}

/// Answers a HelloRetryRequest, if `first` is one, and receives the ServerHello. RFC 9846 4.2.4
pub(super) async fn receive(
    flow: &mut Flow,
    config: &Arc<ClientConfig>,
    offer: &mut Offer,
    first: Message,
) -> Result<ReceivedServerHello, Error> {
    let hello = ServerHello::parse(first.body())?;
    if hello.is_hello_retry_request() {
        offer.settle_ech_by_retry(first.bytes(), &hello)?;
    } else {
        offer.settle_ech(first.bytes(), &hello, None)?;
    }
    let suite = check(&hello, config, offer)?;
    if !hello.is_hello_retry_request() {
        let transcript = offer.transcript(suite.hash);
        return Ok(ReceivedServerHello { message: first, suite, transcript, retried: false });
    }
    let mut transcript = Transcript::after_retry(suite.hash, &offer.message);
    transcript.add(first.bytes());
    let group = match hello.extensions.key_share {
        None => None,
        Some(ServerKeyShare::SelectedGroup(group)) => {
            // The requested group must be an offered group without a share. RFC 9846 4.2.4, 4.3.8
            if !config.common.groups.contains(&group) || offer.has_share(config, group) {
                return Err(PeerError::WrongGroup.into());
            }
            Some(group)
        }
        Some(ServerKeyShare::Entry(_)) => return Err(PeerError::IllegalParameter.into()),
    };
    // The HelloRetryRequest must lead to a change of the ClientHello. RFC 9846 4.2.4
    if group.is_none() && hello.extensions.cookie.is_none() {
        return Err(PeerError::UnnecessaryRetry.into());
    }
    if offer.early_data {
        flow.execute(Command::AbandonEarlyData)?;
    } else if !offer.session_id.is_empty() {
        flow.execute(Command::SendChangeCipherSpec)?;
    }
    offer.send_again(flow, config, group, hello.extensions.cookie, &transcript)?;
    transcript.add(&offer.message);

    let second = flow.read_expected(HandshakeType::SERVER_HELLO).await?;
    let after = ServerHello::parse(second.body())?;
    // A second HelloRetryRequest is refused. RFC 9846 4.2.4
    if after.is_hello_retry_request() {
        return Err(PeerError::SecondRetry.into());
    }
    // The version and the suite must not change. RFC 9846 4.2.4
    if after.extensions.supported_versions != Some(ProtocolVersion::TLS1_3) {
        return Err(PeerError::WrongVersionChosen.into());
    }
    offer.settle_ech(second.bytes(), &after, Some(&transcript))?;
    if check(&after, config, offer)? != suite {
        return Err(PeerError::CipherSuiteChangedAfterRetry.into());
    }
    if let (Some(group), Some(ServerKeyShare::Entry(share))) = (group, after.extensions.key_share) {
        if share.group != group {
            return Err(PeerError::WrongGroup.into());
        }
    }
    Ok(ReceivedServerHello { message: second, suite, transcript, retried: true })
}

/// Performs the checks that apply to every ServerHello and HelloRetryRequest in TLS 1.3.
/// RFC 9846 4.2.3
fn check(
    hello: &ServerHello<'_>,
    config: &ClientConfig,
    offer: &Offer,
) -> Result<&'static Suite, Error> {
    // legacy_version has a fixed value; any other value leads to a protocol_version alert.
    // RFC 9846 4.2.3
    if hello.legacy_version != ProtocolVersion::TLS1_2 {
        return Err(PeerError::UnsupportedVersion.into());
    }
    if hello.session_id_echo != &*offer.session_id {
        return Err(PeerError::SessionIdNotEchoed.into());
    }
    if hello.compression_method != CompressionMethod::NULL {
        return Err(PeerError::Compression.into());
    }
    let retry = hello.is_hello_retry_request();
    let allowed = |kind: ExtensionType| match kind {
        ExtensionType::SUPPORTED_VERSIONS | ExtensionType::KEY_SHARE => true,
        ExtensionType::COOKIE => retry,
        // RFC 9849 5
        ExtensionType::ENCRYPTED_CLIENT_HELLO => retry && offer.offered().contains(kind),
        ExtensionType::PRE_SHARED_KEY => !retry && offer.offered().contains(kind),
        _ => false,
    };
    if !hello.extensions.types().all(allowed) {
        return Err(PeerError::UnexpectedExtension.into());
    }
    suite::find(hello.cipher_suite)
        .filter(|suite| suite.is_tls13() && config.common.suites.contains(suite))
        .ok_or_else(|| PeerError::WrongCipherSuiteChosen.into())
}
