//! The Certificate message, which both sides send, and a client's CertificateVerify.
//! RFC 5246 7.4.2, 7.4.6, 7.4.8

use std::sync::Arc;

use pki_types::CertificateDer;
use tercel_wire::{
    CertificateTls12, CertificateType, CertificateVerify, HandshakeMessage, HandshakeType,
    ProtocolVersion, RawPublicKeyTls12, SignatureScheme,
};

use crate::auth::certificate_verify::verify_signature;
use crate::auth::credential::Credential;
use crate::config::common::Common;
use crate::error::Error;
use crate::handshake::identity::PeerCertificate;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::signature;
use crate::handshake::transcript::Transcript;
use crate::record::joiner::Message;
use crate::side::Side;

/// Sends the chain or raw public key of this side. A client without a credential sends an empty
/// chain. RFC 5246 7.4.2, 7.4.6
pub(super) fn send_certificate(
    flow: &mut Flow,
    transcript: &mut Transcript,
    credential: Option<&Arc<Credential>>,
) -> Result<(), Error> {
    if let Some(key) = credential.and_then(|credential| credential.raw_key()) {
        let message = RawPublicKeyTls12 { subject_public_key_info: key };
        return flow.send(&message, transcript);
    }
    // An empty message has the same encoding for both certificate types. RFC 7250 3
    let chain = credential.map(|credential| credential.chain()).unwrap_or_default();
    flow.send_with(|out| CertificateTls12::encode_chain(chain, out), |bytes| transcript.add(bytes))
}

/// Returns the chain or raw public key in a peer's Certificate message, or `None` if the message is
/// empty. RFC 5246 7.4.2, RFC 7250 3
pub(super) fn parse_certificate(
    message: &Message,
    side: Side,
    certificate_type: CertificateType,
) -> Result<Option<PeerCertificate>, Error> {
    if certificate_type == CertificateType::RAW_PUBLIC_KEY {
        let key = RawPublicKeyTls12::parse(message.body())?.subject_public_key_info;
        return Ok((!key.is_empty()).then(|| PeerCertificate::raw_public_key(side, key)));
    }
    let parsed = CertificateTls12::parse(message.body())?;
    let chain: Vec<_> =
        parsed.certificates().map(|der| CertificateDer::from(der.to_vec())).collect();
    Ok((!chain.is_empty()).then(|| PeerCertificate::chain(side, chain)))
}

/// Signs all messages so far with a client's key. RFC 5246 7.4.8
pub(super) async fn send_verify(
    flow: &mut Flow,
    transcript: &mut Transcript,
    credential: &Arc<Credential>,
    scheme: SignatureScheme,
) -> Result<(), Error> {
    let content = transcript.take_messages();
    let signature = signature::sign(flow, credential, scheme, &content).await?;
    flow.send_with(
        |out| CertificateVerify::encode_signed(scheme, |out| signature.write(out), out),
        |bytes| transcript.add(bytes),
    )
}

/// Verifies a client's signature over all messages so far. Returns the signature scheme.
/// RFC 5246 7.4.8
pub(super) async fn receive_verify(
    flow: &mut Flow,
    transcript: &mut Transcript,
    client: &PeerCertificate,
    common: &Common,
) -> Result<SignatureScheme, Error> {
    let message = flow.read_expected(HandshakeType::CERTIFICATE_VERIFY).await?;
    let verify = CertificateVerify::parse(message.body())?;
    let content = transcript.take_messages();
    let version = ProtocolVersion::TLS1_2;
    verify_signature(
        || client.public_key(common.legacy_peer_keys),
        verify.algorithm,
        version,
        &common.signature_schemes,
        &content,
        verify.signature,
    )?;
    transcript.add(message.bytes());
    Ok(verify.algorithm)
}
