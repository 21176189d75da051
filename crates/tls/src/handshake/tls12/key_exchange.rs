//! The ephemeral key exchange of both sides, and the main secret derived from it. RFC 8422 2, 5.4

use tercel_crypto::{KeyExchange, KeyKind, SharedSecret};
use tercel_wire::{NamedGroup, ServerEcdhParams};

use crate::error::{Error, PeerError};
use crate::handshake::secret_log::SecretLog;
use crate::handshake::short_list::ShortList;
use crate::handshake::transcript::Transcript;
use crate::keys::group::{self, bad_share};
use crate::keys::suite::{Authentication, Suite};
use crate::keys::tls12::{MainSecret12, Randoms};

/// A public key of the key exchange.
pub(super) type Share = ShortList<u8, MAX_SHARE>;

/// The longest share of a group of TLS 1.2: a point on P-521.
const MAX_SHARE: usize = 133;

/// Generates a server's private key in a group of TLS 1.2, and its share.
pub(super) fn generate(group: NamedGroup) -> Result<(KeyExchange, Share), Error> {
    let algorithm = group::algorithm(group).ok_or(PeerError::WrongGroup)?;
    let mut share = Share::repeated(0, algorithm.client_share_len());
    let exchange = KeyExchange::generate_into(algorithm, share.as_mut_slice())?;
    Ok((exchange, share))
}

/// Computes the shared secret from the server's private key and the client's share.
pub(super) fn agree(exchange: KeyExchange, client_share: &[u8]) -> Result<SharedSecret, Error> {
    exchange.agree(client_share).map_err(bad_share)
}

/// A client's share, and the shared secret of both shares.
pub(super) struct Agreement {
    pub(super) share: Share,
    pub(super) shared: SharedSecret,
}

/// Generates a client's key pair, and computes the shared secret with the server's share.
pub(super) fn respond(group: NamedGroup, server_share: &[u8]) -> Result<Agreement, Error> {
    let algorithm = group::algorithm(group).ok_or(PeerError::WrongGroup)?;
    let mut share = Share::repeated(0, algorithm.server_share_len());
    let shared = KeyExchange::respond_into(algorithm, server_share, share.as_mut_slice());
    Ok(Agreement { shared: shared.map_err(bad_share)?, share })
}

/// Returns the bytes that the signature of a ServerKeyExchange covers. RFC 8422 5.4
pub(super) fn signed_params(
    randoms: &Randoms,
    params: &ServerEcdhParams<'_>,
) -> ShortList<u8, { 64 + 4 + MAX_SHARE }> {
    ShortList::joined(0, &[&randoms.client, &randoms.server, &params.head(), params.public])
}

/// Derives the main secret, or the extended main secret if both sides support it. RFC 5246 8.1,
/// RFC 7627 4
pub(super) fn main_secret(
    suite: &'static Suite,
    shared: &SharedSecret,
    randoms: &Randoms,
    extended: bool,
    transcript: &mut Transcript,
    log: &SecretLog,
) -> MainSecret12 {
    let main = if extended {
        MainSecret12::extended(suite, shared, &transcript.digest())
    } else {
        MainSecret12::plain(suite, shared, &randoms.client, &randoms.server)
    };
    log.log("CLIENT_RANDOM", main.as_bytes());
    main
}

/// Returns the authentication method of the cipher suites that can be used with this kind of key.
/// RFC 5246 7.4.2, RFC 8422 2
pub(super) fn authentication_of(kind: KeyKind) -> Authentication {
    match kind {
        KeyKind::Rsa | KeyKind::RsaPss => Authentication::Rsa,
        _ => Authentication::Ecdsa,
    }
}
