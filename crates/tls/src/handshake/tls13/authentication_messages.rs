//! Certificate, CertificateVerify and Finished, which are the same on both sides. RFC 9846 4.5

use std::sync::Arc;

use tercel_wire::{CertificateVerify, Finished, HandshakeType, SignatureScheme};

use crate::auth::certificate_verify::content_to_sign;
use crate::auth::credential::Credential;
use crate::auth::credential::certificate::write;
use crate::error::{Error, PeerError};
use crate::handshake::identity::PeerCertificate;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::signature;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::FinishedKey;
use crate::record::joiner::Message;
use crate::side::Side;

pub(crate) use crate::auth::certificate_expectations::CertificateExpectations;
pub(crate) use crate::auth::credential::certificate::CertificateOptions;

/// A peer's certificate, after its CertificateVerify was checked.
pub(crate) struct ReceivedCertificate {
    pub(crate) certificate: PeerCertificate,
    pub(crate) scheme: SignatureScheme,
}

/// Sends a Certificate, which may be empty on a client.
pub(crate) fn send_certificate(
    flow: &mut Flow,
    transcript: &mut Transcript,
    credential: Option<&Arc<Credential>>,
    context: &[u8],
    options: CertificateOptions<'_>,
) -> Result<(), Error> {
    let credential = credential.map(Arc::as_ref);
    flow.send_with(|out| write(credential, context, options, out), |bytes| transcript.add(bytes))
}

/// Sends a CertificateVerify. RFC 9846 4.5.2
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

/// Reads a peer's Certificate and CertificateVerify. The signature is checked, but not whether the
/// certificate is trusted. Returns `None` if a client sends no certificate.
pub(crate) async fn receive(
    flow: &mut Flow,
    transcript: &mut Transcript,
    message: &Message,
    expectations: CertificateExpectations<'_>,
) -> Result<Option<ReceivedCertificate>, Error> {
    let side = expectations.side;
    let body = expectations.certificate_body(message.kind(), message.body())?;
    let certificate = expectations.parse(&body, &[])?;
    drop(body);
    transcript.add(message.bytes());
    let Some(certificate) = certificate else {
        // Only a client may send an empty Certificate. RFC 9846 4.5.1.3
        return if side == Side::Client {
            Ok(None)
        } else {
            Err(PeerError::EmptyCertificate.into())
        };
    };
    let verify = flow.read_expected(HandshakeType::CERTIFICATE_VERIFY).await?;
    let scheme =
        expectations.check_certificate_verify(&certificate, verify.body(), &transcript.digest())?;
    transcript.add(verify.bytes());
    Ok(Some(ReceivedCertificate { certificate, scheme }))
}

/// Sends a Finished. RFC 9846 4.5.3
pub(crate) fn send_finished(
    flow: &mut Flow,
    transcript: &mut Transcript,
    key: &FinishedKey,
) -> Result<(), Error> {
    let verify_data = key.verify_data(&transcript.digest());
    flow.send(&Finished { verify_data: &verify_data }, transcript)
}

/// Checks a peer's Finished and adds it to the transcript. RFC 9846 4.5.3
pub(crate) fn check_finished(
    message: &Message,
    transcript: &mut Transcript,
    key: &FinishedKey,
) -> Result<(), Error> {
    key.check(message.body(), &transcript.digest())?;
    transcript.add(message.bytes());
    Ok(())
}
