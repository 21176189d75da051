//! The ServerHello, and the key exchange that it answers. RFC 9846 4.2.3, 4.3.8
//!
//! Must not know: what the handshake rests on. Next: [`super::first_flight`].

use tercel_crypto::{CryptoError, KeyExchange, KeyExchangeAlgorithm, SharedSecret};
use tercel_wire::{
    ClientHello, CompressionMethod, KeyShareEntry, NamedGroup, ProtocolVersion, ServerHello,
    ServerHelloExtensions, ServerKeyShare,
};

use crate::error::{Error, Local, Peer};
use crate::handshake::flow::Flow;
use crate::handshake::hello::group;
use crate::handshake::transcript::Transcript;
use crate::keys::suite::Suite;

/// Sends our share in the ServerHello; the secret that comes of it and the client's.
pub(super) fn exchange_keys(
    flow: &mut Flow,
    hello: &ClientHello<'_>,
    random: &[u8; 32],
    suite: &'static Suite,
    group: NamedGroup,
    psk_index: Option<u16>,
    transcript: &mut Transcript,
) -> Result<SharedSecret, Error> {
    let algorithm = group::algorithm(group).ok_or(Peer::NoSharedGroup)?;
    let shares = hello.extensions.key_share.ok_or(Peer::MissingExtension)?;
    let share = shares.iter().find(|share| share.group == group).ok_or(Peer::WrongGroup)?;
    let mut room = [0_u8; KeyExchangeAlgorithm::MAX_SHARE_LEN];
    let own = room.get_mut(..algorithm.server_share_len()).ok_or(Local::Encode)?;
    let shared =
        KeyExchange::respond_into(algorithm, share.key_exchange, own).map_err(bad_share)?;
    send_server_hello(flow, hello, random, suite, group, own, psk_index, transcript)?;
    Ok(shared)
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
