//! Certificate, CertificateVerify, Finished: the same three messages on both sides. RFC 9846 4.5
//!
//! Must not know: whose turn it is. Next: [`super::server`], [`super::client`].

use std::sync::Arc;

use tercel_wire::{CertificateVerify, Finished, HandshakeMessage, HandshakeType, SignatureScheme};

use crate::config::credential::Credential;
use crate::config::policy::Side;
pub(crate) use crate::connection::authentication::certificate::{Asked, Wishes};
use crate::connection::authentication::certificate::{content_to_sign, write};
use crate::error::{Error, Peer};
use crate::handshake::flow::{Flow, Message};
use crate::handshake::identity::Shown;
use crate::handshake::signature;
use crate::handshake::transcript::Transcript;

/// A peer that proved to have the key of its leaf.
pub(crate) struct Received {
    pub(crate) shown: Shown,
    pub(crate) scheme: SignatureScheme,
}

/// Sends our chain, or a client's empty one.
pub(crate) fn send_certificate(
    flow: &mut Flow,
    transcript: &mut Transcript,
    credential: Option<&Arc<Credential>>,
    context: &[u8],
    wishes: Wishes<'_>,
) -> Result<(), Error> {
    let credential = credential.map(Arc::as_ref);
    flow.send_with(|out| write(credential, context, wishes, out), |bytes| transcript.add(bytes))
}

/// Proves that we have the key of the certificate sent. RFC 9846 4.5.2
pub(crate) async fn send_verify(
    flow: &mut Flow,
    transcript: &mut Transcript,
    credential: &Arc<Credential>,
    scheme: SignatureScheme,
    side: Side,
) -> Result<(), Error> {
    let content = content_to_sign(side, &transcript.digest());
    let signature = signature::sign(flow, credential, scheme, &content).await?;
    flow.send_with(
        |out| CertificateVerify::encode_signed(scheme, |out| signature.write(out), out),
        |bytes| transcript.add(bytes),
    )
}

/// Reads a peer's Certificate and what follows it, and checks the signature; trust is another matter.
/// `None`: a client that shows no certificate.
pub(crate) async fn receive(
    flow: &mut Flow,
    transcript: &mut Transcript,
    certificate: &Message,
    asked: Asked<'_>,
) -> Result<Option<Received>, Error> {
    let side = asked.side;
    let body = asked.open(certificate.kind(), certificate.body())?;
    let shown = asked.shown(&body, &[])?;
    drop(body);
    transcript.add(certificate.bytes());
    let Some(shown) = shown else {
        // Only a client may have nothing to show. RFC 9846 4.5.1.3
        return if side == Side::Client { Ok(None) } else { Err(Peer::EmptyCertificate.into()) };
    };
    let message = flow.read_expected(HandshakeType::CERTIFICATE_VERIFY).await?;
    let scheme = asked.check_verify(&shown, message.body(), &transcript.digest())?;
    transcript.add(message.bytes());
    Ok(Some(Received { shown, scheme }))
}

/// Has a peer's Finished compared in constant time, and adds it to the transcript. RFC 9846 4.5.3
pub(crate) fn check_finished(
    message: &Message,
    transcript: &mut Transcript,
    verifies: impl FnOnce(&mut Transcript, &[u8]) -> bool,
) -> Result<(), Error> {
    let finished = Finished::parse(message.body())?;
    if !verifies(transcript, finished.verify_data) {
        let expected = transcript.digest().len();
        return Err(Peer::wrong_finished(finished.verify_data.len(), expected).into());
    }
    transcript.add(message.bytes());
    Ok(())
}
