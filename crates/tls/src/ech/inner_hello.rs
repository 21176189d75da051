//! Decryption of the inner ClientHello, and its checks. RFC 9849 5.1, 7.1

use tercel_wire::{
    ClientHello, EncryptedClientHello, HandshakeMessage, ProtocolVersion, decode_inner_client_hello,
};

use crate::error::{Error, PeerError};
use crate::record::joiner::Message;

/// Returns the body of an outer ClientHello with zeros in place of the encrypted payload.
/// RFC 9849 5.2
pub(super) fn associated_data(outer: &Message) -> Result<Vec<u8>, Error> {
    let mut body = outer.body().to_vec();
    let payload = ClientHello::encrypted_payload(&body)?;
    if let Some(payload) = payload.and_then(|range| body.get_mut(range)) {
        payload.fill(0);
    }
    Ok(body)
}

/// Rebuilds the inner ClientHello from the decrypted payload of an outer ClientHello, and checks
/// it. RFC 9849 5.1, 7.1
pub(super) fn rebuild(encoded: &[u8], outer: &Message) -> Result<Message, Error> {
    let malformed = |error| Error::Peer(PeerError::MalformedInnerHello(error));
    let message = decode_inner_client_hello(encoded, outer.body()).map_err(malformed)?;
    let message = Message::from(message);
    let hello = ClientHello::parse(message.body()).map_err(malformed)?;
    let is_marked = hello.extensions.encrypted_client_hello == Some(EncryptedClientHello::INNER);
    // Without supported_versions, a client offers TLS 1.2 or earlier versions.
    let versions = hello.extensions.supported_versions;
    let offers_old = versions.is_none_or(|versions| versions.iter().any(is_old));
    if offers_old || !is_marked {
        return Err(PeerError::InvalidInnerHello.into());
    }
    Ok(message)
}

/// Whether this is SSL 3.0 or TLS below 1.3.
fn is_old(version: ProtocolVersion) -> bool {
    (0x0300..0x0304).contains(&version.0)
}
