//! The signed content of CertificateVerify, and verification of a peer's signature. RFC 9846 4.5.2,
//! RFC 5246 7.4.8

use core::borrow::Borrow;

use tercel_crypto::{Digest, PublicKey};
use tercel_wire::{ProtocolVersion, SignatureScheme};

use crate::error::{Error, PeerError};
use crate::keys::scheme;
use crate::keys::tls13::{CLIENT_CONTEXT, SERVER_CONTEXT, SignedContent};
use crate::side::Side;

/// Returns the content that the CertificateVerify of this side signs. `transcript` ends with this
/// side's Certificate. RFC 9846 4.5.2
pub(crate) fn content_to_sign(side: Side, transcript: &Digest) -> SignedContent {
    let context = match side {
        Side::Client => CLIENT_CONTEXT,
        Side::Server => SERVER_CONTEXT,
    };
    SignedContent::new(context, transcript)
}

/// Verifies a peer's signature with the key that `signer` returns. The scheme has to be one of
/// `offered`.
pub(crate) fn verify_signature<K: Borrow<PublicKey>>(
    signer: impl FnOnce() -> Result<K, Error>,
    scheme: SignatureScheme,
    version: ProtocolVersion,
    offered: &[SignatureScheme],
    content: &[u8],
    signature: &[u8],
) -> Result<(), Error> {
    // The scheme is checked before the key is parsed.
    if !offered.contains(&scheme) {
        return Err(PeerError::WrongSignatureScheme.into());
    }
    let key = signer()?;
    let key = key.borrow();
    let algorithm = scheme::algorithm(scheme).ok_or(PeerError::WrongSignatureScheme)?;
    if !scheme::usable(scheme, key.kind(), version) {
        return Err(PeerError::WrongSignatureScheme.into());
    }
    key.verify(algorithm, content, signature).map_err(|_| PeerError::BadSignature.into())
}
