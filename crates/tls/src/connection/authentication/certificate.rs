//! Certificate and CertificateVerify of TLS 1.3: written, read, and held against what was asked.
//! RFC 9846 4.5.1, 4.5.2
//!
//! Must not know: when they come, and who judges a chain. Next: `handshake/tls13/auth.rs` for the
//! handshake, [`super::client`] and [`super::server`] for what comes after it.

use std::borrow::Cow;
use std::sync::Arc;

use pki_types::CertificateDer;
use tercel_crypto::Digest;
use tercel_wire::{
    Certificate, CertificateEntryExtensions, CertificateRequest, CertificateRequestExtensions,
    CertificateStatus, CertificateType, CertificateVerify, ClientHello, DistinguishedName,
    EncodeError, ExtensionType, HandshakeMessage, HandshakeType, List, ProtocolVersion,
    SerializedSct, SignatureScheme, Writer,
};

use super::compression;
use super::shown::{Shown, verify_signature};
use crate::config::certificate_types;
use crate::config::client::ClientConfig;
use crate::config::compressed_forms::Form;
use crate::config::compression::CompressCertificate;
use crate::config::credential::{Credential, CredentialRequest, Known};
use crate::config::policy::Side;
use crate::config::scheme::SchemeSet;
use crate::config::server::ServerConfig;
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};
use crate::keys::tls13::{CLIENT_CONTEXT, SERVER_CONTEXT, SignedContent};

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
    pub(crate) side: Side,
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

    pub(crate) fn of_client(config: &'c ServerConfig, certificate_type: CertificateType) -> Self {
        Self {
            side: Side::Client,
            ocsp: config.request_ocsp,
            timestamps: config.request_timestamps,
            certificate_type,
            schemes: &config.common.signature_schemes,
            compression: config.common.offered_compression(),
        }
    }

    fn allows(&self, kind: ExtensionType) -> bool {
        (kind == ExtensionType::STATUS_REQUEST && self.ocsp)
            || (kind == ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP && self.timestamps)
    }

    /// The body of a Certificate, or of the one in a CompressedCertificate if we offered to read those.
    pub(crate) fn open<'m>(
        &self,
        kind: HandshakeType,
        body: &'m [u8],
    ) -> Result<Cow<'m, [u8]>, Error> {
        match kind {
            HandshakeType::CERTIFICATE => Ok(Cow::Borrowed(body)),
            HandshakeType::COMPRESSED_CERTIFICATE if !self.compression.is_empty() => {
                compression::decompress(self.compression, body).map(Cow::Owned)
            }
            _ => Err(Peer::UnexpectedMessage.into()),
        }
    }

    /// What a Certificate in answer to the request of this context shows; `None`: nothing.
    pub(crate) fn shown(&self, body: &[u8], context: &[u8]) -> Result<Option<Shown>, Error> {
        shown(body, *self, context)
    }

    /// Checks the signature in the body of a CertificateVerify; `transcript` ends with the Certificate.
    /// RFC 9846 4.5.2
    pub(crate) fn check_verify(
        &self,
        shown: &Shown,
        body: &[u8],
        transcript: &Digest,
    ) -> Result<SignatureScheme, Error> {
        let CertificateVerify { algorithm, signature } = CertificateVerify::parse(body)?;
        let content = content_to_sign(self.side, transcript);
        let version = ProtocolVersion::TLS1_3;
        verify_signature(
            || shown.public_key(),
            algorithm,
            version,
            self.schemes,
            &content,
            signature,
        )?;
        Ok(algorithm)
    }
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
pub(crate) fn write(
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
    // The context is inside what is compressed: only that of a handshake is the same each time.
    let Some(algorithm) = wishes.compression.filter(|_| context.is_empty()) else {
        return Ok(encode(out)?);
    };
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

/// Writes a CertificateRequest for what this configuration accepts. RFC 9846 4.4.2
pub(crate) fn write_request(
    config: &ServerConfig,
    context: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let authorities = config.authorities();
    let names: Vec<_> = authorities.iter().map(|name| DistinguishedName(name)).collect();
    let compressions = compression::codes(config.common.offered_compression());
    let for_certificates = config.common.certificate_signature_schemes.as_deref();
    let message = CertificateRequest {
        certificate_request_context: context,
        extensions: CertificateRequestExtensions {
            signature_algorithms: Some(List::of(&config.common.signature_schemes)),
            signature_algorithms_cert: for_certificates.map(List::of),
            certificate_authorities: (!names.is_empty()).then(|| List::of(&names)),
            compress_certificate: (!compressions.is_empty()).then(|| List::of(&compressions)),
            status_request: config.request_ocsp.then_some(()),
            signed_certificate_timestamp: config.request_timestamps.then_some(()),
            ..Default::default()
        },
    };
    message.encode(out)
}

/// What a server's request wants of a client's credential. `None` if it names no signature schemes.
pub(crate) fn credential_request<'a>(
    request: &CertificateRequest<'a>,
    certificate_type: CertificateType,
) -> Option<CredentialRequest<'a>> {
    let extensions = &request.extensions;
    let signature_schemes = extensions.signature_algorithms?;
    let for_certificates = extensions.signature_algorithms_cert;
    let certificate_types = certificate_types::only(certificate_type);
    Some(CredentialRequest {
        side: Side::Client,
        version: ProtocolVersion::TLS1_3,
        server_name: None,
        known: Known::of(
            SchemeSet::of(signature_schemes),
            for_certificates,
            None,
            certificate_types,
        ),
        signature_schemes,
        certificate_signature_schemes: for_certificates,
        groups: None,
        certificate_types,
        key_kinds: (true, true),
        client_certificate_types: None,
        authorities: extensions.certificate_authorities,
    })
}

/// What this side's CertificateVerify signs; `transcript` ends with its Certificate. RFC 9846 4.5.2
pub(crate) fn content_to_sign(side: Side, transcript: &Digest) -> SignedContent {
    let context = match side {
        Side::Client => CLIENT_CONTEXT,
        Side::Server => SERVER_CONTEXT,
    };
    SignedContent::new(context, transcript)
}

fn shown(body: &[u8], asked: Asked<'_>, context: &[u8]) -> Result<Option<Shown>, Error> {
    let parsed = Certificate::parse(body)?;
    // The context is that of the request; in a handshake it is empty. RFC 9846 4.5.1
    if parsed.certificate_request_context != context {
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
