//! The server's side of a HelloRetryRequest, and the checks of the second ClientHello.
//! `server_hello.rs` contains the client's side. RFC 9846 4.2.2, 4.2.4

use tercel_wire::{
    ClientHello, CompressionMethod, ExtensionType, HandshakeType, NamedGroup, ProtocolVersion,
    ServerHello, ServerHelloExtensions, ServerKeyShare,
};

use super::parameters::{self, Parameters};
use crate::config::server::ServerConfig;
use crate::error::{Error, PeerError};
use crate::handshake::ech::server::ServerEch;
use crate::handshake::negotiate;
use crate::handshake::runtime::command::Command;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::transcript::Transcript;
use crate::record::joiner::Message;
use crate::record::limits;

/// The result of a HelloRetryRequest.
pub(super) struct RetryResult {
    /// The second ClientHello.
    pub(super) second: Message,
    /// The transcript before the second ClientHello.
    pub(super) transcript: Transcript,
    pub(super) rejects_early_data: bool,
}

/// Sends a HelloRetryRequest for a share of the group, and receives the second ClientHello.
/// RFC 9846 4.2.4
pub(super) async fn request(
    flow: &mut Flow,
    config: &ServerConfig,
    first: &Message,
    hello: &ClientHello<'_>,
    parameters: &Parameters,
    ech: &mut ServerEch,
) -> Result<RetryResult, Error> {
    let rejects_early_data = hello.extensions.early_data.is_some();
    if rejects_early_data {
        flow.execute(Command::SkipEarlyData {
            limit: limits::skipped_early_data(config.resumption.max_early_data),
        })?;
    }
    let mut transcript = Transcript::after_retry(parameters.suite.hash, first.bytes());
    send_retry(flow, hello, parameters, &mut transcript, ech)?;
    let second = flow.read_expected(HandshakeType::CLIENT_HELLO).await?;
    flow.execute(Command::StopSkippingEarlyData)?;
    let second = ech.open_second(second)?;
    Ok(RetryResult { second, transcript, rejects_early_data })
}

/// Compares the second ClientHello with the first. RFC 9846 4.2.2
pub(super) fn check_second(
    first: &ClientHello<'_>,
    second: &ClientHello<'_>,
    parameters: &Parameters,
) -> Result<(), Error> {
    compare(first, second, parameters.group)?;
    // The client has to offer keys with the hash of the cipher suite again. RFC 9846 4.2.2
    if let Some(key) = &parameters.external {
        second.extensions.pre_shared_key.ok_or(PeerError::MissingExtension)?;
        if !negotiate::is_offered(second, key) {
            return Err(PeerError::SecondHelloChanged.into());
        }
    }
    Ok(())
}

fn send_retry(
    flow: &mut Flow,
    hello: &ClientHello<'_>,
    parameters: &Parameters,
    transcript: &mut Transcript,
    ech: &ServerEch,
) -> Result<(), Error> {
    let Parameters { suite, group, .. } = parameters;
    let retry = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &ServerHello::RETRY_RANDOM,
        session_id_echo: hello.session_id,
        cipher_suite: suite.code,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            supported_versions: Some(ProtocolVersion::TLS1_3),
            key_share: Some(ServerKeyShare::SelectedGroup(*group)),
            ..Default::default()
        },
    };
    ech.send(flow, &retry, transcript, hello.random)?;
    // In middlebox compatibility mode, the client sends a session ID, and the server a
    // change_cipher_spec. RFC 9846 E.4
    if !hello.session_id.is_empty() {
        flow.execute(Command::SendChangeCipherSpec)?;
    }
    Ok(())
}

/// Compares the fields of both ClientHellos. Among the fields that a server uses, only key share,
/// early data, cookie, pre-shared keys and padding may differ. RFC 9846 4.2.2
fn compare(
    first: &ClientHello<'_>,
    second: &ClientHello<'_>,
    group: NamedGroup,
) -> Result<(), Error> {
    let changed = || Error::Peer(PeerError::SecondHelloChanged);
    parameters::check_hello(second)?;
    if first.legacy_version != second.legacy_version
        || first.random != second.random
        || first.session_id != second.session_id
        || first.cipher_suites != second.cipher_suites
        || first.compression_methods != second.compression_methods
    {
        return Err(changed());
    }
    // The second ClientHello must not offer early data. RFC 9846 4.2.2
    if second.extensions.early_data.is_some() {
        return Err(changed());
    }
    // The second ClientHello must contain one share, for the requested group. RFC 9846 4.2.2, 4.3.8
    let mut shares = second.extensions.key_share.ok_or(PeerError::MissingExtension)?.iter();
    match (shares.next(), shares.next()) {
        (Some(share), None) if share.group == group => {}
        _ => return Err(PeerError::WrongGroup.into()),
    }
    // The HelloRetryRequest contained no cookie. RFC 9846 4.3.2
    if second.extensions.cookie.is_some() && first.extensions.cookie.is_none() {
        return Err(PeerError::UnexpectedExtension.into());
    }
    let compared = |(kind, _): &(ExtensionType, &[u8])| UNCHANGED_IN_SECOND_HELLO.contains(kind);
    // The extensions are sorted, since the client may change their order. Each type occurs at most
    // once.
    let mut before: Vec<_> = first.extensions.received.iter().filter(compared).collect();
    let mut after: Vec<_> = second.extensions.received.iter().filter(compared).collect();
    before.sort_unstable_by_key(|(kind, _)| kind.0);
    after.sort_unstable_by_key(|(kind, _)| kind.0);
    if before == after { Ok(()) } else { Err(changed()) }
}

/// The extensions that a TLS 1.3 server uses, except those that a second ClientHello may change.
/// Extensions that the server ignores are not compared. encrypted_client_hello differs in the
/// second ClientHello, and is checked elsewhere. RFC 9846 4.2.2, RFC 9849 6.1.5
const UNCHANGED_IN_SECOND_HELLO: &[ExtensionType] = &[
    #[cfg(feature = "quic")]
    ExtensionType::QUIC_TRANSPORT_PARAMETERS,
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
