//! Certificate, CertificateVerify, Finished: the same three messages on both sides. RFC 9846 4.5
//!
//! Must not know: whose turn it is. Next: [`super::server`], [`super::client`].

use std::sync::Arc;

use pki_types::CertificateDer;
use tercel_wire::{
    Certificate, CertificateEntryExtensions, CertificateStatus, CertificateVerify, ClientHello,
    ExtensionType, Finished, HandshakeMessage, HandshakeType, List, ProtocolVersion, SerializedSct,
    SignatureScheme, Writer,
};

use crate::config::credential::Credential;
use crate::config::policy::Side;
use crate::error::{Error, Local, Peer};
use crate::handshake::flow::{Flow, Message};
use crate::handshake::identity::Shown;
use crate::handshake::signature;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::{CLIENT_CONTEXT, SERVER_CONTEXT, TrafficSecret, signed_content};

/// What the receiver of a certificate asked to have with it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wishes {
    pub(crate) ocsp: bool,
    pub(crate) timestamps: bool,
}

impl Wishes {
    pub(crate) fn of_client(hello: &ClientHello<'_>) -> Self {
        Self {
            ocsp: hello.extensions.status_request.is_some(),
            timestamps: hello.extensions.signed_certificate_timestamp.is_some(),
        }
    }

    fn allow(self, kind: ExtensionType) -> bool {
        (kind == ExtensionType::STATUS_REQUEST && self.ocsp)
            || (kind == ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP && self.timestamps)
    }
}

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
    wishes: Wishes,
) -> Result<(), Error> {
    let Some(credential) = credential else {
        let chain = List::of(&[]);
        let message = Certificate { certificate_request_context: context, certificate_list: chain };
        return flow.send(&message, transcript);
    };
    let timestamps = credential.timestamps().filter(|_| wishes.timestamps);
    let timestamps = match timestamps.and_then(|list| list.get(2..)) {
        Some(list) => Some(List::from_bytes(list).map_err(|_| Local::Encode)?),
        None => None,
    };
    let staple = credential.staple().filter(|_| wishes.ocsp);
    let of_leaf = CertificateEntryExtensions {
        status_request: staple.map(|ocsp_response| CertificateStatus { ocsp_response }),
        signed_certificate_timestamp: timestamps,
        ..Default::default()
    };
    flow.send_with(
        |out| Certificate::encode_chain(context, credential.chain(), &of_leaf, out),
        |bytes| transcript.add(bytes),
    )
}

/// Proves that we have the key of the certificate sent. RFC 9846 4.5.2
pub(crate) async fn send_verify(
    flow: &mut Flow,
    transcript: &mut Transcript,
    credential: &Arc<Credential>,
    scheme: SignatureScheme,
    side: Side,
) -> Result<(), Error> {
    let content = signed_content(context_of(side), &transcript.digest());
    let signature = signature::sign(flow, credential, scheme, content).await?;
    let message = CertificateVerify { algorithm: scheme, signature: &signature };
    flow.send(&message, transcript)
}

/// Reads what follows a peer's Certificate and checks its signature; trust is another matter.
/// `None`: a client that shows no certificate.
pub(crate) async fn receive(
    flow: &mut Flow,
    transcript: &mut Transcript,
    certificate: &Message,
    side: Side,
    wishes: Wishes,
    offered: &[SignatureScheme],
) -> Result<Option<Received>, Error> {
    let parsed = Certificate::parse(certificate.body())?;
    transcript.add(certificate.bytes());
    // In a handshake the context is empty. RFC 9846 4.5.1
    if !parsed.certificate_request_context.is_empty() {
        return Err(Peer::WrongCertificateContext.into());
    }
    let Some(shown) = shown(&parsed, side, wishes)? else {
        // Only a client may have nothing to show. RFC 9846 4.5.1.3
        return if side == Side::Client { Ok(None) } else { Err(Peer::EmptyCertificate.into()) };
    };
    let message = flow.read_expected(HandshakeType::CERTIFICATE_VERIFY).await?;
    let verify = CertificateVerify::parse(message.body())?;
    let content = signed_content(context_of(side), &transcript.digest());
    let leaf = shown.chain.first().ok_or(Peer::EmptyCertificate)?;
    let version = ProtocolVersion::TLS1_3;
    signature::verify(leaf, verify.algorithm, version, offered, &content, verify.signature)?;
    transcript.add(message.bytes());
    Ok(Some(Received { shown, scheme: verify.algorithm }))
}

/// Compares a peer's Finished and adds it to the transcript. RFC 9846 4.5.3
pub(crate) fn check_finished(
    message: &Message,
    secret: &TrafficSecret,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let finished = Finished::parse(message.body())?;
    if !secret.verifies(&transcript.digest(), finished.verify_data) {
        return Err(Peer::BadFinished.into());
    }
    transcript.add(message.bytes());
    Ok(())
}

fn shown(parsed: &Certificate<'_>, side: Side, wishes: Wishes) -> Result<Option<Shown>, Error> {
    let mut shown =
        Shown { side, chain: Vec::new(), ocsp_response: None, signed_certificate_timestamps: None };
    for entry in parsed.certificate_list {
        // Extensions answer what was asked. RFC 9846 4.5.1
        if !entry.extensions.types().all(|kind| wishes.allow(kind)) {
            return Err(Peer::UnexpectedExtension.into());
        }
        if shown.chain.is_empty() {
            let status = entry.extensions.status_request;
            shown.ocsp_response = status.map(|status| status.ocsp_response.to_vec());
            shown.signed_certificate_timestamps =
                entry.extensions.signed_certificate_timestamp.map(timestamp_list).transpose()?;
        }
        shown.chain.push(CertificateDer::from(entry.cert_data.to_vec()));
    }
    Ok(if shown.chain.is_empty() { None } else { Some(shown) })
}

/// A `SignedCertificateTimestampList` as its RFC writes it. RFC 6962 3.3
pub(crate) fn timestamp_list(list: List<'_, SerializedSct<'_>>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    list.write16(&mut writer);
    writer.finish()?;
    Ok(bytes)
}

fn context_of(side: Side) -> &'static [u8; 33] {
    match side {
        Side::Client => CLIENT_CONTEXT,
        Side::Server => SERVER_CONTEXT,
    }
}
