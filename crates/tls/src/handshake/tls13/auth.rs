//! Certificate, CertificateVerify, Finished: the same three messages on both sides. RFC 9846 4.5
//!
//! Must not know: whose turn it is. Next: [`super::server`], [`super::client`].

use std::borrow::Cow;
use std::sync::Arc;

use pki_types::CertificateDer;
use tercel_wire::{
    Certificate, CertificateEntryExtensions, CertificateRequest, CertificateStatus,
    CertificateType, CertificateVerify, ClientHello, ExtensionType, Finished, HandshakeMessage,
    HandshakeType, List, ProtocolVersion, SerializedSct, SignatureScheme, Writer,
};

use crate::config::client::ClientConfig;
use crate::config::compressed_forms::Form;
use crate::config::compression::CompressCertificate;
use crate::config::credential::Credential;
use crate::config::policy::Side;
use crate::config::server::ServerConfig;
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};
use crate::handshake::flow::{Flow, Message};
use crate::handshake::identity::Shown;
use crate::handshake::transcript::Transcript;
use crate::handshake::{compression, signature};
use crate::keys::tls13::{CLIENT_CONTEXT, SERVER_CONTEXT, TrafficSecret, signed_content};

/// How a peer wants to have our certificate, as far as we can.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wishes<'c> {
    ocsp: bool,
    timestamps: bool,
    compression: Option<&'c Arc<dyn CompressCertificate>>,
}

impl<'c> Wishes<'c> {
    pub(crate) fn of_client(hello: &ClientHello<'_>, config: &'c ServerConfig) -> Self {
        let ours = &config.common.certificate_compression;
        Self {
            ocsp: hello.extensions.status_request.is_some(),
            timestamps: hello.extensions.signed_certificate_timestamp.is_some(),
            compression: compression::choose(ours, hello.extensions.compress_certificate),
        }
    }

    pub(crate) fn of_server(request: &CertificateRequest<'_>, config: &'c ClientConfig) -> Self {
        let ours = &config.common.certificate_compression;
        let theirs = request.extensions.compress_certificate;
        Self {
            // What a server asks for in its request, a client may staple. RFC 9846 4.5.1.1
            ocsp: request.extensions.status_request.is_some(),
            timestamps: request.extensions.signed_certificate_timestamp.is_some(),
            compression: compression::choose(ours, theirs),
        }
    }
}

/// What we asked of a peer's certificate.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'c> {
    /// Whose certificate it is.
    side: Side,
    ocsp: bool,
    timestamps: bool,
    certificate_type: CertificateType,
    schemes: &'c [SignatureScheme],
    compression: &'c compression::Algorithms,
}

impl<'c> Asked<'c> {
    pub(crate) fn of_server(config: &'c ClientConfig, facts: &Facts) -> Self {
        Self {
            side: Side::Server,
            ocsp: config.request_ocsp,
            timestamps: config.request_timestamps,
            certificate_type: facts.server_certificate_type,
            schemes: &config.common.signature_schemes,
            compression: config.common.offered_compression(),
        }
    }

    pub(crate) fn of_client(config: &'c ServerConfig, facts: &Facts) -> Self {
        Self {
            side: Side::Client,
            ocsp: config.request_ocsp,
            timestamps: config.request_timestamps,
            certificate_type: facts.client_certificate_type,
            schemes: &config.common.signature_schemes,
            compression: config.common.offered_compression(),
        }
    }

    fn allows(&self, kind: ExtensionType) -> bool {
        (kind == ExtensionType::STATUS_REQUEST && self.ocsp)
            || (kind == ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP && self.timestamps)
    }

    /// The body of a Certificate, or of the one in a CompressedCertificate if we offered to read those.
    fn body<'m>(&self, message: &'m Message) -> Result<Cow<'m, [u8]>, Error> {
        if message.kind() == HandshakeType::COMPRESSED_CERTIFICATE && !self.compression.is_empty() {
            return compression::decompress(self.compression, message.body()).map(Cow::Owned);
        }
        message.require(HandshakeType::CERTIFICATE)?;
        Ok(Cow::Borrowed(message.body()))
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
    wishes: Wishes<'_>,
) -> Result<(), Error> {
    let credential = credential.map(Arc::as_ref);
    flow.send_with(|out| write(credential, context, wishes, out), |bytes| transcript.add(bytes))
}

/// Makes every compressed form of a certificate, so that no handshake has to: that takes milliseconds.
pub(crate) fn compress_ahead(credential: &Credential, algorithms: &compression::Algorithms) {
    for algorithm in algorithms {
        for (ocsp, timestamps) in [(false, false), (false, true), (true, false), (true, true)] {
            let wishes = Wishes { ocsp, timestamps, compression: Some(algorithm) };
            // What fails here is tried again in a handshake, which has somebody to tell.
            let _ = write(Some(credential), &[], wishes, &mut Vec::new());
        }
    }
}

/// Writes our chain or raw key, or a client's empty list, into a Certificate or CompressedCertificate.
fn write(
    credential: Option<&Credential>,
    context: &[u8],
    wishes: Wishes<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let Some(credential) = credential else {
        let chain = List::of(&[]);
        let message = Certificate { certificate_request_context: context, certificate_list: chain };
        return Ok(message.encode(out)?);
    };
    let timestamps = credential.timestamps().filter(|_| wishes.timestamps);
    let staple = credential.staple().filter(|_| wishes.ocsp);
    let of_leaf = CertificateEntryExtensions {
        status_request: staple.map(|ocsp_response| CertificateStatus { ocsp_response }),
        signed_certificate_timestamp: timestamps,
        ..Default::default()
    };
    let encode = |out: &mut Vec<u8>| match credential.raw_key() {
        Some(key) => Certificate::encode_chain(context, &[key], &of_leaf, out),
        None => Certificate::encode_chain(context, credential.chain(), &of_leaf, out),
    };
    let Some(algorithm) = wishes.compression else { return Ok(encode(out)?) };
    let make = || {
        let mut message = Vec::new();
        encode(&mut message)?;
        compression::compress(algorithm.as_ref(), &message)
    };
    let form = Form {
        algorithm: algorithm.algorithm(),
        staple: staple.is_some(),
        timestamps: timestamps.is_some(),
    };
    match &credential.compressed().get_or_make(form, make)? {
        None => encode(out)?,
        Some(message) => out.extend_from_slice(message),
    }
    Ok(())
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

/// Reads a peer's Certificate and what follows it, and checks the signature; trust is another matter.
/// `None`: a client that shows no certificate.
pub(crate) async fn receive(
    flow: &mut Flow,
    transcript: &mut Transcript,
    certificate: &Message,
    asked: Asked<'_>,
) -> Result<Option<Received>, Error> {
    let side = asked.side;
    let shown = shown(&asked.body(certificate)?, asked)?;
    transcript.add(certificate.bytes());
    let Some(shown) = shown else {
        // Only a client may have nothing to show. RFC 9846 4.5.1.3
        return if side == Side::Client { Ok(None) } else { Err(Peer::EmptyCertificate.into()) };
    };
    let message = flow.read_expected(HandshakeType::CERTIFICATE_VERIFY).await?;
    let verify = CertificateVerify::parse(message.body())?;
    let content = signed_content(context_of(side), &transcript.digest());
    let version = ProtocolVersion::TLS1_3;
    let (scheme, signature) = (verify.algorithm, verify.signature);
    signature::verify(&shown, scheme, version, asked.schemes, &content, signature)?;
    transcript.add(message.bytes());
    Ok(Some(Received { shown, scheme }))
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

fn shown(body: &[u8], asked: Asked<'_>) -> Result<Option<Shown>, Error> {
    let parsed = Certificate::parse(body)?;
    // In a handshake the context is empty. RFC 9846 4.5.1
    if !parsed.certificate_request_context.is_empty() {
        return Err(Peer::WrongCertificateContext.into());
    }
    if asked.certificate_type == CertificateType::RAW_PUBLIC_KEY {
        return raw_public_key(&parsed, asked);
    }
    let mut shown = Shown::chain(asked.side, Vec::new());
    shown.ocsp_requested = asked.ocsp;
    for entry in parsed.certificate_list {
        // Extensions answer what was asked. RFC 9846 4.5.1
        if !entry.extensions.types().all(|kind| asked.allows(kind)) {
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

/// One key and nothing stapled to it, or none. RFC 9846 4.5.1
fn raw_public_key(parsed: &Certificate<'_>, asked: Asked<'_>) -> Result<Option<Shown>, Error> {
    let mut entries = parsed.certificate_list.iter();
    let Some(entry) = entries.next() else { return Ok(None) };
    if entries.next().is_some() {
        return Err(Peer::BadRawPublicKey.into());
    }
    if entry.extensions.types().next().is_some() {
        return Err(Peer::UnexpectedExtension.into());
    }
    let shown = Shown::raw_public_key(asked.side, entry.cert_data);
    // What it is not comes to light before anything rests on it.
    shown.public_key()?;
    Ok(Some(shown))
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
