//! Certificate chains with their keys.
//!
//! Must not know: handshakes. A credential is parsed once, when the configuration is built.
//! Next: [`request`] and [`set`], the choice among several.

mod error;
mod request;
mod set;

use core::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel_crypto::{KeyKind, PublicKey, SignatureAlgorithm, Signer, SigningKey};
use tercel_wire::{CertificateType, List, Reader, SerializedSct, SignatureScheme};

use super::compressed_forms::CompressedForms;
use super::scheme;
use crate::session::credential_id::CredentialId;

pub use error::CredentialError;
pub use request::CredentialRequest;
pub(crate) use request::Known;
pub use set::Credentials;

/// A certificate chain, or a raw public key, and the means to sign with its key.
pub struct Credential {
    chain: Vec<CertificateDer<'static>>,
    /// In place of a chain. RFC 7250
    raw_key: Option<SubjectPublicKeyInfoDer<'static>>,
    key: Key,
    kind: KeyKind,
    /// Lower-case DNS names of the leaf, wildcards included.
    names: Vec<String>,
    ocsp_response: Option<Vec<u8>>,
    signed_certificate_timestamps: Option<Vec<u8>>,
    /// Schemes this credential may sign with, best first.
    schemes: Vec<SignatureScheme>,
    must_match_issuer: bool,
    /// The issuers of the chain's certificates, each a whole DER Name; empty for a raw public key.
    issuers: Vec<Vec<u8>>,
    compressed: CompressedForms,
    /// How the chain's certificates are signed; `None` is a way we do not know.
    chain_signatures: Vec<Option<SignatureAlgorithm>>,
    /// What sessions made with this credential are bound to.
    id: CredentialId,
}

/// Where a credential's key lives.
#[derive(Clone)]
pub(crate) enum Key {
    /// Here, or behind an object that answers at once.
    Here(Arc<dyn Signer>),
    /// Elsewhere: every signature is a [`crate::SignQuestion`].
    Remote,
}

impl Credential {
    /// A chain, leaf first, and its private key (PKCS#8, PKCS#1 or SEC1).
    ///
    /// # Errors
    /// If either cannot be read or they do not belong together.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: &PrivateKeyDer<'_>,
    ) -> Result<Self, CredentialError> {
        let key = SigningKey::from_der(key.secret_der()).map_err(|_| CredentialError::BadKey)?;
        Self::with_signer(chain, Arc::new(key))
    }

    /// A chain whose key is used through `signer`, at once and on this thread.
    ///
    /// # Errors
    /// If the leaf cannot be read or the signer's public key is another.
    pub fn with_signer(
        chain: Vec<CertificateDer<'static>>,
        signer: Arc<dyn Signer>,
    ) -> Result<Self, CredentialError> {
        let kind = leaf_kind(&chain)?;
        if signer.kind() != kind {
            return Err(CredentialError::KeyMismatch);
        }
        if let (Some(spki), Some(leaf)) = (signer.public_key_spki(), chain.first()) {
            let leaf_spki = tercel_pki::subject_public_key_info(leaf)
                .map_err(|_| CredentialError::BadCertificate)?;
            if spki != leaf_spki {
                return Err(CredentialError::KeyMismatch);
            }
        }
        Self::build(chain, Key::Here(signer), kind)
    }

    /// A chain whose key is elsewhere: every signature is asked for with [`crate::Question::Sign`].
    ///
    /// # Errors
    /// If the leaf cannot be read.
    pub fn remote(chain: Vec<CertificateDer<'static>>) -> Result<Self, CredentialError> {
        let kind = leaf_kind(&chain)?;
        Self::build(chain, Key::Remote, kind)
    }

    /// A public key (`SubjectPublicKeyInfo`) that stands for itself, for peers that know it, and its
    /// private key. RFC 7250
    ///
    /// It goes to peers that accept raw public keys, whatever host they ask for.
    ///
    /// # Errors
    /// If either cannot be read or they do not belong together.
    pub fn raw_public_key(
        public_key: SubjectPublicKeyInfoDer<'static>,
        key: &PrivateKeyDer<'_>,
    ) -> Result<Self, CredentialError> {
        let key = SigningKey::from_der(key.secret_der()).map_err(|_| CredentialError::BadKey)?;
        Self::raw_public_key_with_signer(public_key, Arc::new(key))
    }

    /// A raw public key whose private key is used through `signer`, at once and on this thread.
    ///
    /// # Errors
    /// If it cannot be read or the signer's public key is another.
    pub fn raw_public_key_with_signer(
        public_key: SubjectPublicKeyInfoDer<'static>,
        signer: Arc<dyn Signer>,
    ) -> Result<Self, CredentialError> {
        let kind = raw_kind(&public_key)?;
        let other = signer.public_key_spki().is_some_and(|spki| spki != public_key.as_ref());
        if other || signer.kind() != kind {
            return Err(CredentialError::KeyMismatch);
        }
        Ok(Self::assemble(Vec::new(), Some(public_key), Key::Here(signer), kind, Vec::new()))
    }

    /// A raw public key whose private key is elsewhere: every signature is asked for with
    /// [`crate::Question::Sign`].
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn remote_raw_public_key(
        public_key: SubjectPublicKeyInfoDer<'static>,
    ) -> Result<Self, CredentialError> {
        let kind = raw_kind(&public_key)?;
        Ok(Self::assemble(Vec::new(), Some(public_key), Key::Remote, kind, Vec::new()))
    }

    fn build(
        chain: Vec<CertificateDer<'static>>,
        key: Key,
        kind: KeyKind,
    ) -> Result<Self, CredentialError> {
        let leaf = chain.first().ok_or(CredentialError::EmptyChain)?;
        let names = tercel_pki::dns_names(leaf).map_err(|_| CredentialError::BadCertificate)?;
        let names = names.into_iter().map(|name| name.to_ascii_lowercase()).collect();
        Ok(Self::assemble(chain, None, key, kind, names))
    }

    fn assemble(
        chain: Vec<CertificateDer<'static>>,
        raw_key: Option<SubjectPublicKeyInfoDer<'static>>,
        key: Key,
        kind: KeyKind,
        names: Vec<String>,
    ) -> Self {
        let chain_signatures = tercel_pki::signature_algorithms(&chain);
        let issuers = chain.iter().filter_map(|one| tercel_pki::issuer(one).ok()).collect();
        let id = match (&raw_key, chain.first()) {
            (None, Some(leaf)) => CredentialId::of_certificate(leaf),
            (key, _) => CredentialId::of_raw_public_key(key.as_deref().unwrap_or_default()),
        };
        Self {
            chain,
            raw_key,
            key,
            kind,
            names,
            ocsp_response: None,
            signed_certificate_timestamps: None,
            schemes: scheme::for_key(kind),
            must_match_issuer: false,
            issuers,
            compressed: CompressedForms::default(),
            chain_signatures,
            id,
        }
    }

    /// Staples an OCSP response (DER) to the leaf; an empty one is none. RFC 6066 8
    #[must_use]
    pub fn ocsp_response(mut self, response: Vec<u8>) -> Self {
        self.ocsp_response = Some(response).filter(|response| !response.is_empty());
        self.compressed = CompressedForms::default();
        self
    }

    /// The same credential with this OCSP response (DER) in place of its own, or with none if it is empty.
    ///
    /// Cheap: the key is shared and nothing is parsed or checked again, so that a server can do it whenever
    /// its responder has news; see [`Credentials::renew_ocsp_response`].
    #[must_use]
    pub fn with_ocsp_response(&self, response: Vec<u8>) -> Self {
        let copy = Self {
            chain: self.chain.clone(),
            raw_key: self.raw_key.clone(),
            key: self.key.clone(),
            kind: self.kind,
            names: self.names.clone(),
            ocsp_response: None,
            signed_certificate_timestamps: self.signed_certificate_timestamps.clone(),
            schemes: self.schemes.clone(),
            must_match_issuer: self.must_match_issuer,
            issuers: self.issuers.clone(),
            compressed: CompressedForms::default(),
            chain_signatures: self.chain_signatures.clone(),
            id: self.id,
        };
        copy.ocsp_response(response)
    }

    /// Sends a `SignedCertificateTimestampList` with the leaf: its length in two bytes, then each
    /// timestamp behind its own. RFC 6962 3.3
    ///
    /// # Errors
    /// [`CredentialError::BadTimestamps`] if it is not such a list, or an empty one.
    pub fn signed_certificate_timestamps(mut self, list: Vec<u8>) -> Result<Self, CredentialError> {
        let mut reader = Reader::new(&list);
        let parsed = List::<SerializedSct<'_>>::read16(&mut reader).and_then(List::not_empty);
        if parsed.is_err() || !reader.is_empty() {
            return Err(CredentialError::BadTimestamps);
        }
        self.signed_certificate_timestamps = Some(list);
        self.compressed = CompressedForms::default();
        Ok(self)
    }

    /// Signs with these schemes only, best first.
    #[must_use]
    pub fn signature_schemes(mut self, schemes: Vec<SignatureScheme>) -> Self {
        self.schemes = schemes;
        self
    }

    /// Uses this credential only for peers that name an issuer of its chain among their authorities.
    #[must_use]
    pub fn must_match_issuer(mut self) -> Self {
        self.must_match_issuer = true;
        self
    }

    /// The chain, leaf first; empty for a raw public key.
    #[must_use]
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// The kind of the key.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Whether it is a chain or a raw public key. RFC 7250
    #[must_use]
    pub fn certificate_type(&self) -> CertificateType {
        match self.raw_key {
            Some(_) => CertificateType::RAW_PUBLIC_KEY,
            None => CertificateType::X509,
        }
    }

    pub(crate) fn raw_key(&self) -> Option<&[u8]> {
        self.raw_key.as_deref()
    }

    /// What sessions made with this credential are bound to.
    pub(crate) fn id(&self) -> &CredentialId {
        &self.id
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn compressed(&self) -> &CompressedForms {
        &self.compressed
    }

    /// What is stapled belongs to a certificate, so a raw public key has nothing of the kind.
    pub(crate) fn staple(&self) -> Option<&[u8]> {
        self.ocsp_response.as_deref().filter(|_| self.raw_key.is_none())
    }

    /// The timestamps to send; the list was checked when it was set.
    pub(crate) fn timestamps(&self) -> Option<List<'_, SerializedSct<'_>>> {
        let list = self.signed_certificate_timestamps.as_deref();
        let entries = list.filter(|_| self.raw_key.is_none())?.get(2..)?;
        List::from_bytes(entries).ok()
    }

    /// Whether the leaf is for this host: exactly, or by a wildcard in the leftmost label.
    /// A raw public key names nobody, so it is for every host. RFC 6125 6.4
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        self.raw_key.is_some()
            || self.names.iter().any(|name| match name.strip_prefix("*.") {
                None => name.eq_ignore_ascii_case(host),
                Some(parent) => host.split_once('.').is_some_and(|(label, rest)| {
                    !label.is_empty() && rest.eq_ignore_ascii_case(parent)
                }),
            })
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("kind", &self.kind)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

fn leaf_kind(chain: &[CertificateDer<'_>]) -> Result<KeyKind, CredentialError> {
    if chain.is_empty() {
        return Err(CredentialError::EmptyChain);
    }
    let key =
        tercel_pki::end_entity_public_key(chain).map_err(|_| CredentialError::BadCertificate)?;
    Ok(key.kind())
}

fn raw_kind(public_key: &SubjectPublicKeyInfoDer<'_>) -> Result<KeyKind, CredentialError> {
    let key = PublicKey::from_spki(public_key).map_err(|_| CredentialError::BadPublicKey)?;
    Ok(key.kind())
}
