//! What a peer shows of itself, in both versions: a chain or a raw public key, and what is stapled to it.
//!
//! Must not know: which message carries it, and who judges it. Next: [`super::certificate`],
//! `handshake/identity.rs`.

use core::borrow::Borrow;

use pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use tercel_crypto::{CryptoError, PublicKey};
use tercel_pki::RefusalReason;
use tercel_wire::{ProtocolVersion, SignatureScheme};

use crate::config::policy::{PeerIdentity, Side};
use crate::config::scheme;
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};

/// What a peer showed, owned.
#[derive(PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) side: Side,
    /// Empty if the peer showed a raw public key.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    /// Whether we asked for an OCSP response.
    pub(crate) ocsp_requested: bool,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) signed_certificate_timestamps: Option<Vec<u8>>,
}

impl Shown {
    /// A chain, with nothing stapled to it.
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

    /// A SubjectPublicKeyInfo. RFC 7250 3
    pub(crate) fn raw_public_key(side: Side, key: &[u8]) -> Self {
        let key = SubjectPublicKeyInfoDer::from(key.to_vec());
        Self { raw_public_key: Some(key), ..Self::chain(side, Vec::new()) }
    }

    /// The key that signs the handshake.
    pub(crate) fn public_key(&self) -> Result<PublicKey, Error> {
        match &self.raw_public_key {
            Some(key) => PublicKey::from_spki(key).map_err(|error| match error {
                CryptoError::Unsupported => Error::Refused(RefusalReason::UnsupportedKey),
                _ => Peer::BadRawPublicKey.into(),
            }),
            None => tercel_pki::end_entity_public_key(&self.chain).map_err(Error::Refused),
        }
    }

    /// What a verifier gets to see of it.
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
        }
    }

    /// The facts keep what the application may want to see.
    pub(crate) fn into_facts(self, facts: &mut Facts) {
        facts.peer_chain = self.chain.into();
        facts.peer_raw_public_key = self.raw_public_key;
        facts.ocsp_response = self.ocsp_response;
        facts.signed_certificate_timestamps = self.signed_certificate_timestamps;
    }
}

/// Checks a peer's signature, whose scheme must be among `offered`, by the key that `signer` gives.
pub(crate) fn verify_signature<K: Borrow<PublicKey>>(
    signer: impl FnOnce() -> Result<K, Error>,
    scheme: SignatureScheme,
    version: ProtocolVersion,
    offered: &[SignatureScheme],
    content: &[u8],
    signature: &[u8],
) -> Result<(), Error> {
    // What was not offered is not looked at.
    if !offered.contains(&scheme) {
        return Err(Peer::WrongSignatureScheme.into());
    }
    let key = signer()?;
    let key = key.borrow();
    let algorithm = scheme::algorithm(scheme).ok_or(Peer::WrongSignatureScheme)?;
    if !scheme::usable(scheme, key.kind(), version) {
        return Err(Peer::WrongSignatureScheme.into());
    }
    key.verify(algorithm, content, signature).map_err(|_| Peer::BadSignature.into())
}
