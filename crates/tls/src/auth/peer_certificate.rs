//! [`PeerCertificate`]: the content of a peer's Certificate message, in both versions.

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use tercel_crypto::{CryptoError, PublicKey};
use tercel_pki::{RefusalReason, ServerName};

use super::verify_peer::PeerIdentity;
use crate::error::{Error, PeerError};
use crate::side::Side;

/// A peer's certificate chain or raw public key, with the OCSP response and timestamps sent with
/// it.
#[derive(PartialEq, Eq)]
pub(crate) struct PeerCertificate {
    pub(crate) side: Side,
    /// The certificates, leaf first. Empty if the peer sent a raw public key.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    /// Whether an OCSP response was requested.
    pub(crate) ocsp_requested: bool,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) signed_certificate_timestamps: Option<Vec<u8>>,
}

impl PeerCertificate {
    /// Creates a chain without OCSP response and timestamps.
    pub(crate) fn chain(side: Side, chain: Vec<CertificateDer<'static>>) -> Self {
        Self {
            side,
            chain,
            raw_public_key: None,
            ocsp_requested: false,
            ocsp_response: None,
            signed_certificate_timestamps: None,
        }
    }

    /// Creates a raw public key from a SubjectPublicKeyInfo. RFC 7250 3
    pub(crate) fn raw_public_key(side: Side, key: &[u8]) -> Self {
        let key = SubjectPublicKeyInfoDer::from(key.to_vec());
        Self { raw_public_key: Some(key), ..Self::chain(side, Vec::new()) }
    }

    /// Returns the public key for the handshake signature. `legacy`: whether old RSA keys are
    /// accepted in certificates.
    pub(crate) fn public_key(&self, legacy: bool) -> Result<PublicKey, Error> {
        match &self.raw_public_key {
            Some(key) => PublicKey::from_spki(key).map_err(|error| match error {
                CryptoError::Unsupported => Error::Refused(RefusalReason::UnsupportedKey),
                _ => PeerError::BadRawPublicKey.into(),
            }),
            None => match legacy {
                true => tercel_pki::legacy_end_entity_public_key(&self.chain),
                false => tercel_pki::end_entity_public_key(&self.chain),
            }
            .map_err(Error::Refused),
        }
    }

    /// Returns the identity for a verifier.
    pub(crate) fn identity<'s>(
        &'s self,
        server_name: Option<&'s ServerName<'static>>,
        now: UnixTime,
    ) -> PeerIdentity<'s> {
        PeerIdentity {
            side: self.side,
            chain: &self.chain,
            raw_public_key: self.raw_public_key.as_deref(),
            server_name,
            ocsp_requested: self.ocsp_requested,
            ocsp_response: self.ocsp_response.as_deref(),
            signed_certificate_timestamps: self.signed_certificate_timestamps.as_deref(),
            now,
            resumed: false,
        }
    }
}
