//! A server's one retry: HelloRetryRequest, and what the second ClientHello may change. RFC 9846 4.2.2, 4.2.4
//!
//! Must not know: key schedules. Next: `tls13/server.rs`, its caller.

use std::sync::Arc;

use tercel_wire::{
    ClientHello, CompressionMethod, ExtensionType, HandshakeType, List, NamedGroup,
    ProtocolVersion, ServerHello, ServerHelloExtensions, ServerKeyShare,
};

use super::negotiate::{self, KnownSuites};
use super::parse_hello;
use crate::config::pre_shared_key::PreSharedKey;
use crate::config::server::ServerConfig;
use crate::error::{Error, Peer};
use crate::handshake::flow::{Command, Flow, Message};
use crate::handshake::pre_shared_key;
use crate::handshake::transcript::Transcript;
use crate::keys::suite::Suite;
use crate::record::limits;

/// What is settled once the hello to go on with is there.
pub(crate) struct Settled {
    pub(crate) hello: Message,
    pub(crate) suite: &'static Suite,
    pub(crate) group: NamedGroup,
    /// The external key to use, whose binder is still to be checked.
    pub(crate) external: Option<Arc<PreSharedKey>>,
    /// Up to `hello`, which is not in it yet.
    pub(crate) transcript: Transcript,
    pub(crate) retried: bool,
    /// Whether the hello that was answered with a retry offered early data.
    pub(crate) early_data_lost: bool,
}

/// Chooses suite and group, and asks for another hello if this one has no share for the group.
pub(crate) async fn settle(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    first: Message,
) -> Result<Settled, Error> {
    let hello = parse_hello(&first)?;
    check(&hello)?;
    let suites = KnownSuites::of(&hello);
    let external = pre_shared_key::find(flow, config, &hello, &suites, &first).await?;
    let hash = external.as_ref().map(|key| key.hash());
    let suite = negotiate::suite13(&suites, config, hash)?;
    let group = negotiate::group13(&hello, config)?;
    if has_share(&hello, group) {
        let transcript = Transcript::new(suite.hash);
        return Ok(Settled {
            hello: first,
            suite,
            group,
            external,
            transcript,
            retried: false,
            early_data_lost: false,
        });
    }
    let early_data_lost = hello.extensions.early_data.is_some();
    if early_data_lost {
        flow.order(Command::SkipEarlyData {
            limit: limits::skipped_early_data(config.resumption.max_early_data),
        })?;
    }
    let mut transcript = Transcript::after_retry(suite.hash, first.bytes());
    send_retry(flow, &hello, suite, group, &mut transcript)?;
    let second = flow.read_expected(HandshakeType::CLIENT_HELLO).await?;
    flow.order(Command::StopSkippingEarlyData)?;
    let again = parse_hello(&second)?;
    compare(&hello, &again, group)?;
    // Keys that go with the suite stay on offer. RFC 9846 4.2.2
    if let Some(key) = &external {
        again.extensions.pre_shared_key.ok_or(Peer::MissingExtension)?;
        if !pre_shared_key::is_offered(&again, key) {
            return Err(Peer::SecondHelloChanged.into());
        }
    }
    let hello = second;
    Ok(Settled { hello, suite, group, external, transcript, retried: true, early_data_lost })
}

/// What a hello that leads to TLS 1.3 must look like. RFC 9846 4.2.1, 9.2
fn check(hello: &ClientHello<'_>) -> Result<(), Error> {
    // The version is not negotiated here any more. RFC 9846 4.2.2
    if hello.legacy_version != ProtocolVersion::TLS1_2 {
        return Err(Peer::UnsupportedVersion.into());
    }
    if hello.compression_methods != List::of(&[CompressionMethod::NULL]) {
        return Err(Peer::Compression.into());
    }
    let extensions = &hello.extensions;
    if extensions.pre_shared_key.is_some() && extensions.psk_key_exchange_modes.is_none() {
        return Err(Peer::MissingExtension.into());
    }
    if extensions.supported_groups.is_some() != extensions.key_share.is_some() {
        return Err(Peer::MissingExtension.into());
    }
    // Who wants a certificate says which; who offers a key may do without. RFC 9846 9.2
    if extensions.signature_algorithms.is_none() && extensions.pre_shared_key.is_none() {
        return Err(Peer::MissingExtension.into());
    }
    // Every share is for a group that is listed. The order of both lists is the client's duty alone: a server need
    // not check it, and clients that remember a group from a retry get it wrong. RFC 9846 4.3.8
    if extensions.unlisted_key_share().is_some() {
        return Err(Peer::IllegalParameter.into());
    }
    Ok(())
}

fn has_share(hello: &ClientHello<'_>, group: NamedGroup) -> bool {
    let shares = hello.extensions.key_share;
    shares.is_some_and(|shares| shares.iter().any(|share| share.group == group))
}

fn send_retry(
    flow: &mut Flow,
    hello: &ClientHello<'_>,
    suite: &'static Suite,
    group: NamedGroup,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let retry = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &ServerHello::RETRY_RANDOM,
        session_id_echo: hello.session_id,
        cipher_suite: suite.code,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            supported_versions: Some(ProtocolVersion::TLS1_3),
            key_share: Some(ServerKeyShare::SelectedGroup(group)),
            ..Default::default()
        },
    };
    flow.send(&retry, transcript)?;
    // Middlebox compatibility, if the client asks for it. RFC 9846 E.4
    if !hello.session_id.is_empty() {
        flow.order(Command::SendChangeCipherSpec)?;
    }
    Ok(())
}

/// A second ClientHello may change its key share, early data, cookie, pre-shared keys and padding, and nothing else that
/// a server acts on. RFC 9846 4.2.2
fn compare(
    first: &ClientHello<'_>,
    second: &ClientHello<'_>,
    group: NamedGroup,
) -> Result<(), Error> {
    let changed = || Error::Peer(Peer::SecondHelloChanged);
    check(second)?;
    if first.legacy_version != second.legacy_version
        || first.random != second.random
        || first.session_id != second.session_id
        || first.cipher_suites != second.cipher_suites
        || first.compression_methods != second.compression_methods
    {
        return Err(changed());
    }
    // Early data is not offered twice. RFC 9846 4.2.2
    if second.extensions.early_data.is_some() {
        return Err(changed());
    }
    // The share for the group asked for, alone. RFC 9846 4.2.2, 4.3.8
    let mut shares = second.extensions.key_share.ok_or(Peer::MissingExtension)?.iter();
    match (shares.next(), shares.next()) {
        (Some(share), None) if share.group == group => {}
        _ => return Err(Peer::WrongGroup.into()),
    }
    // We sent no cookie. RFC 9846 4.3.2
    if second.extensions.cookie.is_some() && first.extensions.cookie.is_none() {
        return Err(Peer::UnexpectedExtension.into());
    }
    let compared = |(kind, _): &(ExtensionType, &[u8])| COMPARED.contains(kind);
    // In sorted order: the client may put them otherwise. There is one of each at most.
    let mut before: Vec<_> = first.extensions.received.iter().filter(compared).collect();
    let mut after: Vec<_> = second.extensions.received.iter().filter(compared).collect();
    before.sort_unstable_by_key(|(kind, _)| kind.0);
    after.sort_unstable_by_key(|(kind, _)| kind.0);
    if before == after { Ok(()) } else { Err(changed()) }
}

/// What a server acts on in TLS 1.3, apart from what a second hello may change. Extensions that are ignored in a first
/// hello are ignored in a second one too: an encrypted ClientHello is another one there. RFC 9846 4.2.2, RFC 9849 6.1.5
const COMPARED: [ExtensionType; 16] = [
    ExtensionType::SERVER_NAME,
    ExtensionType::STATUS_REQUEST,
    ExtensionType::SUPPORTED_GROUPS,
    ExtensionType::SIGNATURE_ALGORITHMS,
    ExtensionType::SIGNATURE_ALGORITHMS_CERT,
    ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION,
    ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP,
    ExtensionType::CLIENT_CERTIFICATE_TYPE,
    ExtensionType::SERVER_CERTIFICATE_TYPE,
    ExtensionType::COMPRESS_CERTIFICATE,
    ExtensionType::RECORD_SIZE_LIMIT,
    ExtensionType::SUPPORTED_VERSIONS,
    ExtensionType::PSK_KEY_EXCHANGE_MODES,
    ExtensionType::CERTIFICATE_AUTHORITIES,
    ExtensionType::POST_HANDSHAKE_AUTH,
    ExtensionType::TICKET_REQUEST,
];
