//! Reading of a TLS 1.3 peer's Certificate and CertificateVerify. The messages may contain only
//! what was requested. RFC 9846 4.5.1, 4.5.2

use std::borrow::Cow;

use pki_types::CertificateDer;
use tercel_crypto::Digest;
use tercel_wire::{
    Certificate, CertificateType, CertificateVerify, ExtensionType, HandshakeMessage,
    HandshakeType, List, ProtocolVersion, SerializedSct, SignatureScheme, Writer,
};

use super::certificate_verify::{content_to_sign, verify_signature};
use super::compressed_certificate;
use super::peer_certificate::PeerCertificate;
use crate::error::{Error, PeerError};
use crate::side::Side;

/// What a peer's certificate may contain: the features that this side requested or offered.
#[derive(Clone, Copy)]
pub(crate) struct CertificateExpectations<'c> {
    /// Whether the peer is the client or the server.
    pub(crate) side: Side,
    /// Whether an OCSP response was requested.
    pub(crate) ocsp: bool,
    /// Whether signed certificate timestamps were requested.
    pub(crate) timestamps: bool,
    pub(crate) certificate_type: CertificateType,
    /// Whether old RSA keys are accepted.
    pub(crate) legacy_keys: bool,
    /// The offered signature schemes.
    pub(crate) schemes: &'c [SignatureScheme],
    /// The offered compression algorithms.
    pub(crate) compression: &'c compressed_certificate::Algorithms,
}

impl<'c> CertificateExpectations<'c> {
    fn allows(&self, kind: ExtensionType) -> bool {
        (kind == ExtensionType::STATUS_REQUEST && self.ocsp)
            || (kind == ExtensionType::SIGNED_CERTIFICATE_TIMESTAMP && self.timestamps)
    }

    /// Returns the body of a Certificate, decompressed if it is a CompressedCertificate. RFC 8879 4
    pub(crate) fn certificate_body<'m>(
        &self,
        kind: HandshakeType,
        body: &'m [u8],
    ) -> Result<Cow<'m, [u8]>, Error> {
        match kind {
            HandshakeType::CERTIFICATE => Ok(Cow::Borrowed(body)),
            HandshakeType::COMPRESSED_CERTIFICATE if !self.compression.is_empty() => {
                compressed_certificate::decompress(self.compression, body).map(Cow::Owned)
            }
            _ => Err(PeerError::UnexpectedMessage.into()),
        }
    }

    /// Parses the body of a Certificate that answers the request with this context. Returns `None`
    /// if it contains no certificate.
    pub(crate) fn parse(
        &self,
        body: &[u8],
        context: &[u8],
    ) -> Result<Option<PeerCertificate>, Error> {
        parse(body, *self, context)
    }

    /// Checks the signature in the body of a CertificateVerify. `transcript` ends with the
    /// Certificate. RFC 9846 4.5.2
    pub(crate) fn check_certificate_verify(
        &self,
        certificate: &PeerCertificate,
        body: &[u8],
        transcript: &Digest,
    ) -> Result<SignatureScheme, Error> {
        let CertificateVerify { algorithm, signature } = CertificateVerify::parse(body)?;
        let content = content_to_sign(self.side, transcript);
        let version = ProtocolVersion::TLS1_3;
        verify_signature(
            || certificate.public_key(self.legacy_keys),
            algorithm,
            version,
            self.schemes,
            &content,
            signature,
        )?;
        Ok(algorithm)
    }
}

fn parse(
    body: &[u8],
    expectations: CertificateExpectations<'_>,
    context: &[u8],
) -> Result<Option<PeerCertificate>, Error> {
    let parsed = Certificate::parse(body)?;
    // The context has to be that of the request. It is empty in the handshake. RFC 9846 4.5.1
    if parsed.certificate_request_context != context {
        return Err(PeerError::WrongCertificateContext.into());
    }
    if expectations.certificate_type == CertificateType::RAW_PUBLIC_KEY {
        return raw_public_key(&parsed, expectations);
    }
    let mut certificate = PeerCertificate::chain(expectations.side, Vec::new());
    certificate.ocsp_requested = expectations.ocsp;
    for entry in parsed.certificate_list {
        // Only requested extensions are allowed. RFC 9846 4.5.1
        if !entry.extensions.types().all(|kind| expectations.allows(kind)) {
            return Err(PeerError::UnexpectedExtension.into());
        }
        if certificate.chain.is_empty() {
            let status = entry.extensions.status_request;
            certificate.ocsp_response = status.map(|status| status.ocsp_response.to_vec());
            certificate.signed_certificate_timestamps =
                entry.extensions.signed_certificate_timestamp.map(timestamp_list).transpose()?;
        }
        certificate.chain.push(CertificateDer::from(entry.cert_data.to_vec()));
    }
    Ok(if certificate.chain.is_empty() { None } else { Some(certificate) })
}

/// Returns the raw public key of a Certificate, or `None` if the Certificate is empty. The key must
/// be the only entry, and the entry must have no extensions. RFC 9846 4.5.1
fn raw_public_key(
    parsed: &Certificate<'_>,
    expectations: CertificateExpectations<'_>,
) -> Result<Option<PeerCertificate>, Error> {
    let mut entries = parsed.certificate_list.iter();
    let Some(entry) = entries.next() else { return Ok(None) };
    if entries.next().is_some() {
        return Err(PeerError::BadRawPublicKey.into());
    }
    if entry.extensions.types().next().is_some() {
        return Err(PeerError::UnexpectedExtension.into());
    }
    let certificate = PeerCertificate::raw_public_key(expectations.side, entry.cert_data);
    // A malformed key is refused before it is verified or stored.
    certificate.public_key(expectations.legacy_keys)?;
    Ok(Some(certificate))
}

/// Encodes a `SignedCertificateTimestampList`. RFC 6962 3.3
pub(crate) fn timestamp_list(list: List<'_, SerializedSct<'_>>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    list.write16(&mut writer);
    writer.finish()?;
    Ok(bytes)
}
