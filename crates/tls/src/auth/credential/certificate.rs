//! Writing of TLS 1.3 Certificate and CompressedCertificate messages. RFC 9846 4.5.1, RFC 8879 4

use std::sync::Arc;

use tercel_wire::{
    Certificate, CertificateEntryExtensions, CertificateRequest, CertificateStatus, ClientHello,
    HandshakeMessage, List,
};

use super::Credential;
use crate::auth::compressed_certificate;
use crate::auth::compressed_certificate_cache::Variant;
use crate::auth::compression::CompressCertificate;
use crate::error::Error;

/// What a peer requested for this side's Certificate: extensions and compression.
#[derive(Clone, Copy, Default)]
pub(crate) struct CertificateOptions<'c> {
    ocsp: bool,
    timestamps: bool,
    compression: Option<&'c Arc<dyn CompressCertificate>>,
}

impl<'c> CertificateOptions<'c> {
    /// Returns the options of a ClientHello. `ours` are the algorithms of this side.
    pub(crate) fn of_client(
        hello: &ClientHello<'_>,
        ours: &'c compressed_certificate::Algorithms,
    ) -> Self {
        let extensions = &hello.extensions;
        Self {
            ocsp: extensions.status_request.is_some(),
            timestamps: extensions.signed_certificate_timestamp.is_some(),
            compression: compressed_certificate::choose(ours, extensions.compress_certificate),
        }
    }

    /// Returns the options of a CertificateRequest. `ours` are the algorithms of this side.
    pub(crate) fn of_server(
        request: &CertificateRequest<'_>,
        ours: &'c compressed_certificate::Algorithms,
    ) -> Self {
        let extensions = &request.extensions;
        Self {
            // A client may staple an OCSP response that the server requests. RFC 9846 4.5.1.1
            ocsp: extensions.status_request.is_some(),
            timestamps: extensions.signed_certificate_timestamp.is_some(),
            compression: compressed_certificate::choose(ours, extensions.compress_certificate),
        }
    }
}

/// Makes every compressed variant of a credential's Certificate in advance. Compression takes
/// milliseconds, which would otherwise delay a handshake.
pub(crate) fn compress_ahead(
    credential: &Credential,
    algorithms: &compressed_certificate::Algorithms,
) {
    for algorithm in algorithms {
        for (ocsp, timestamps) in [(false, false), (false, true), (true, false), (true, true)] {
            let options = CertificateOptions { ocsp, timestamps, compression: Some(algorithm) };
            // An error is ignored here: a handshake tries again and returns it.
            let _ = write(Some(credential), &[], options, &mut Vec::new());
        }
    }
}

/// Writes a Certificate or CompressedCertificate with the credential's chain or raw key, or with an
/// empty list if a client has no credential.
pub(crate) fn write(
    credential: Option<&Credential>,
    context: &[u8],
    options: CertificateOptions<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let Some(credential) = credential else {
        let chain = List::new(&[]);
        let message = Certificate { certificate_request_context: context, certificate_list: chain };
        return Ok(message.encode(out)?);
    };
    let timestamps = credential.timestamps().filter(|_| options.timestamps);
    let staple = credential.staple().filter(|_| options.ocsp);
    let of_leaf = CertificateEntryExtensions {
        status_request: staple.map(|ocsp_response| CertificateStatus { ocsp_response }),
        signed_certificate_timestamp: timestamps,
        ..Default::default()
    };
    let encode = |out: &mut Vec<u8>| match credential.raw_key() {
        Some(key) => Certificate::encode_chain(context, &[key], &of_leaf, out),
        None => Certificate::encode_chain(context, credential.chain(), &of_leaf, out),
    };
    // The compressed bytes include the context, so they are cached only for the empty context of
    // the handshake.
    let Some(algorithm) = options.compression.filter(|_| context.is_empty()) else {
        return Ok(encode(out)?);
    };
    let make = || {
        let mut message = Vec::new();
        encode(&mut message)?;
        compressed_certificate::compress(algorithm.as_ref(), &message)
    };
    let variant = Variant {
        algorithm: algorithm.algorithm(),
        staple: staple.is_some(),
        timestamps: timestamps.is_some(),
    };
    match &credential.compressed().get_or_make(variant, make)? {
        None => encode(out)?,
        Some(message) => out.extend_from_slice(message),
    }
    Ok(())
}
