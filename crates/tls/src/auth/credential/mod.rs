//! Credentials: certificate chains or raw public keys, with their private keys.
//!
//! A credential is parsed when it is created, not in handshakes.

pub(crate) mod certificate;
mod error;
pub(crate) mod request;
mod set;

use std::sync::{Arc, OnceLock};

use pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel_crypto::{KeyKind, PublicKey, SignatureAlgorithm, Signer, SigningKey};
use tercel_pki::{RefusalReason, Usage};
use tercel_wire::{CertificateType, List, Reader, SerializedSct, SignatureScheme};

use super::compressed_certificate_cache::CompressedCertificateCache;
use super::credential_id::CredentialId;
use crate::fips::FipsReason;
use crate::keys::scheme;

pub use error::CredentialError;
pub(crate) use request::PeerLists;
pub use request::{CredentialRequest, SelectCredential};
pub use set::Credentials;

/// A certificate chain or raw public key, with its private key or a [`Signer`].
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tercel::Credential;
///
/// let (chain, key) = (std::fs::read("cert.pem")?, std::fs::read("key.pem")?);
/// let credential = Credential::from_pem(&chain, &key)?.ocsp_response(std::fs::read("ocsp.der")?);
/// assert!(credential.covers("www.example.com"));
/// # Ok(()) }
/// ```
pub struct Credential {
    chain: Vec<CertificateDer<'static>>,
    /// A raw public key in place of a chain. RFC 7250
    raw_key: Option<SubjectPublicKeyInfoDer<'static>>,
    key: Key,
    kind: KeyKind,
    /// DNS names of the leaf in lower case, wildcards included.
    names: Vec<String>,
    usages: Usages,
    ocsp_response: Option<Vec<u8>>,
    signed_certificate_timestamps: Option<Vec<u8>>,
    /// Schemes that this credential may sign with, most preferred first.
    schemes: Vec<SignatureScheme>,
    must_match_issuer: bool,
    /// The issuers of the chain's certificates, each a DER Name; empty for a raw public key.
    issuers: Vec<Vec<u8>>,
    compressed: CompressedCertificateCache,
    /// The algorithms of the signatures on the chain's certificates; `None` if unknown.
    chain_signatures: Vec<Option<SignatureAlgorithm>>,
    /// The identifier of this credential, to which its sessions are bound.
    id: CredentialId,
    /// The first rule of FIPS 140-3 that is broken, determined on first use.
    broken_fips_rule: OnceLock<Option<FipsReason>>,
}

/// The uses that the extended key usage of a leaf allows.
#[derive(Clone, Copy)]
struct Usages {
    server: bool,
    client: bool,
}

impl Usages {
    const ALL: Self = Self { server: true, client: true };

    fn of(leaf: &CertificateDer<'_>) -> Self {
        let allows = |usage| tercel_pki::allows_usage(leaf, usage).unwrap_or(false);
        Self { server: allows(Usage::Server), client: allows(Usage::Client) }
    }
}

/// A credential's private key.
#[derive(Clone)]
pub(crate) enum Key {
    /// A signer that is called during the handshake and returns the signature at once.
    Here(Arc<dyn Signer>),
    /// A key outside of the process: each signature is a [`crate::questions::SignQuestion`].
    Remote,
}

impl Credential {
    /// Returns whether the private key is outside of the process, so that each signature is a
    /// question.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        matches!(self.key, Key::Remote)
    }

    /// Creates a credential from a chain, leaf first, and its private key (PKCS#8, PKCS#1 or SEC1).
    ///
    /// # Errors
    /// If the chain or the key cannot be parsed, the key does not match the leaf, or no handshake
    /// could be signed with them.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: &PrivateKeyDer<'_>,
    ) -> Result<Self, CredentialError> {
        let Ok(key) = SigningKey::from_der(key.secret_der()) else {
            // The certificate says which kind of key is not supported.
            return Err(leaf_kind(&chain).err().unwrap_or(CredentialError::BadKey));
        };
        Self::with_signer(chain, Arc::new(key))
    }

    /// Creates a credential from PEM: a chain, leaf first, and its private key (PKCS#8, PKCS#1 or
    /// SEC1, not encrypted).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::fs::read;
    /// let credential = tercel::Credential::from_pem(&read("chain.pem")?, &read("key.pem")?)?;
    /// # let _ = credential; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the chain or the key cannot be parsed, or the key does not match the leaf.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, CredentialError> {
        let chain = tercel_pki::load_certs_pem(chain).map_err(CredentialError::ChainPem)?;
        let key = tercel_pki::load_key_pem(key).map_err(CredentialError::KeyPem)?;
        Self::new(chain, &key)
    }

    /// Creates a credential from a chain, leaf first, whose private key is used through `signer`.
    /// The signer is called on the thread of the handshake.
    ///
    /// # Errors
    /// If the leaf cannot be parsed, or the signer has another public key.
    pub fn with_signer(
        chain: Vec<CertificateDer<'static>>,
        signer: Arc<dyn Signer>,
    ) -> Result<Self, CredentialError> {
        let position = signer.public_key_spki().map(|spki| {
            let has_key = |certificate: &CertificateDer<'_>| {
                tercel_pki::subject_public_key_info(certificate).is_ok_and(|own| own == spki)
            };
            chain.iter().position(has_key)
        });
        if let Some(Some(position @ 1..)) = position {
            return Err(CredentialError::LeafNotFirst(position.saturating_add(1)));
        }
        let kind = leaf_kind(&chain)?;
        if signer.kind() != kind || position == Some(None) {
            return Err(CredentialError::KeyMismatch);
        }
        Self::build(chain, Key::Here(signer), kind)
    }

    /// Creates a credential from a chain, leaf first, whose private key is outside of the process:
    /// each signature is requested by a [`crate::Question::Sign`].
    ///
    /// # Errors
    /// If the leaf cannot be parsed.
    pub fn remote(chain: Vec<CertificateDer<'static>>) -> Result<Self, CredentialError> {
        let kind = leaf_kind(&chain)?;
        Self::build(chain, Key::Remote, kind)
    }

    /// Creates a credential from a raw public key (`SubjectPublicKeyInfo`) and its private key.
    /// RFC 7250
    ///
    /// The credential is used for peers that accept raw public keys, under any server name.
    ///
    /// # Errors
    /// If a key cannot be parsed, or the keys do not match.
    pub fn raw_public_key(
        public_key: SubjectPublicKeyInfoDer<'static>,
        key: &PrivateKeyDer<'_>,
    ) -> Result<Self, CredentialError> {
        let key = SigningKey::from_der(key.secret_der()).map_err(|_| CredentialError::BadKey)?;
        Self::raw_public_key_with_signer(public_key, Arc::new(key))
    }

    /// Creates a credential from a raw public key whose private key is used through `signer`. The
    /// signer is called on the thread of the handshake.
    ///
    /// # Errors
    /// If the key cannot be parsed, or the signer has another public key.
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

    /// Creates a credential from a raw public key whose private key is outside of the process: each
    /// signature is requested by a [`crate::Question::Sign`].
    ///
    /// # Errors
    /// If the key cannot be parsed.
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
        let (leaf, issuers) = chain.split_first().ok_or(CredentialError::EmptyChain)?;
        let names = tercel_pki::dns_names(leaf).map_err(|_| CredentialError::BadCertificate)?;
        let is_bad = |issuer: &CertificateDer<'_>| tercel_pki::issuer(issuer).is_err();
        if let Some(bad) = issuers.iter().position(is_bad) {
            return Err(CredentialError::BadIssuer(bad.saturating_add(2)));
        }
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
        let usages = chain.first().map_or(Usages::ALL, Usages::of);
        Self {
            chain,
            raw_key,
            key,
            kind,
            names,
            usages,
            ocsp_response: None,
            signed_certificate_timestamps: None,
            schemes: scheme::for_key(kind),
            must_match_issuer: false,
            issuers,
            compressed: CompressedCertificateCache::default(),
            chain_signatures,
            id,
            broken_fips_rule: OnceLock::new(),
        }
    }

    /// Sets the OCSP response (DER) that is stapled to the leaf. Empty bytes remove the stapled
    /// response. RFC 6066 8
    #[must_use]
    pub fn ocsp_response(mut self, response: Vec<u8>) -> Self {
        self.ocsp_response = Some(response).filter(|response| !response.is_empty());
        self.compressed = CompressedCertificateCache::default();
        self
    }

    /// Returns a copy of this credential with this OCSP response (DER), or with none if it is
    /// empty.
    ///
    /// The copy shares the private key, and nothing is parsed again. See
    /// [`Credentials::renew_ocsp_response`].
    #[must_use]
    pub fn with_ocsp_response(&self, response: Vec<u8>) -> Self {
        self.clone().ocsp_response(response)
    }

    /// Sets the encoded `SignedCertificateTimestampList` that is sent with the leaf. RFC 6962 3.3
    ///
    /// # Errors
    /// [`CredentialError::BadTimestamps`] if the list is malformed or empty.
    pub fn signed_certificate_timestamps(mut self, list: Vec<u8>) -> Result<Self, CredentialError> {
        let mut reader = Reader::new(&list);
        let parsed = List::<SerializedSct<'_>>::read16(&mut reader).and_then(List::not_empty);
        if parsed.is_err() || !reader.is_empty() {
            return Err(CredentialError::BadTimestamps);
        }
        self.signed_certificate_timestamps = Some(list);
        self.compressed = CompressedCertificateCache::default();
        Ok(self)
    }

    /// Restricts signatures to these schemes, most preferred first.
    #[must_use]
    pub fn signature_schemes(mut self, schemes: Vec<SignatureScheme>) -> Self {
        self.schemes = schemes;
        self
    }

    /// Restricts this credential to peers that list an issuer of its chain in their
    /// `certificate_authorities`. RFC 9846 4.3.4
    #[must_use]
    pub fn must_match_issuer(mut self) -> Self {
        self.must_match_issuer = true;
        self
    }

    /// Checks that the extended key usage of the leaf, where present, allows this use. Building a
    /// [`ServerConfig`](crate::ServerConfig) checks its credentials; use this function for those
    /// that replace them later, and to name the file of a credential. Many servers accept clients
    /// with certificates of servers, so the credential of a client is not checked. RFC 5280
    /// 4.2.1.12
    ///
    /// # Errors
    /// [`CredentialError::NotForUsage`], also if the extension is malformed.
    pub fn check_usage(&self, usage: Usage) -> Result<(), CredentialError> {
        let Usages { server, client } = self.usages;
        match usage {
            Usage::Server if server => Ok(()),
            Usage::Client if client => Ok(()),
            other => Err(CredentialError::NotForUsage(other)),
        }
    }

    /// Returns the chain, leaf first; empty for a raw public key.
    #[must_use]
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// Returns the type of the key.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Returns the type of the credential: a chain (X.509) or a raw public key. RFC 7250
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

    /// Returns the identifier of this credential, to which its sessions are bound.
    pub(crate) fn id(&self) -> &CredentialId {
        &self.id
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the first rule of FIPS 140-3 that the key or the chain breaks.
    pub(crate) fn broken_fips_rule(&self) -> Option<FipsReason> {
        *self.broken_fips_rule.get_or_init(|| self.find_broken_fips_rule())
    }

    fn find_broken_fips_rule(&self) -> Option<FipsReason> {
        let is_in_module = match &self.key {
            Key::Here(signer) => signer.is_fips_approved(),
            Key::Remote => false,
        };
        if !is_in_module {
            return Some(FipsReason::Signer);
        }
        let has_approved_key = |certificate| {
            tercel_pki::subject_public_key_info(certificate)
                .is_ok_and(|key| PublicKey::from_spki(key).is_ok())
        };
        let is_approved = self.chain_signatures.iter().all(Option::is_some)
            && self.chain.iter().all(has_approved_key);
        (!is_approved).then_some(FipsReason::CredentialChain)
    }

    pub(crate) fn compressed(&self) -> &CompressedCertificateCache {
        &self.compressed
    }

    /// Returns the OCSP response to send. A raw public key has none.
    pub(crate) fn staple(&self) -> Option<&[u8]> {
        self.ocsp_response.as_deref().filter(|_| self.raw_key.is_none())
    }

    /// Returns the timestamps to send. The list was validated when it was set.
    pub(crate) fn timestamps(&self) -> Option<List<'_, SerializedSct<'_>>> {
        let list = self.signed_certificate_timestamps.as_deref();
        let entries = list.filter(|_| self.raw_key.is_none())?.get(2..)?;
        List::from_bytes(entries).ok()
    }

    /// Returns whether the leaf is valid for this host name, exactly or with a wildcard as leftmost
    /// label. A final dot of the name is ignored. Always true for a raw public key, which contains
    /// no name. RFC 6125 6.4
    #[must_use]
    pub fn covers(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.raw_key.is_some()
            || self.names.iter().any(|name| match name.strip_prefix("*.") {
                None => name.eq_ignore_ascii_case(host),
                Some(parent) => host.split_once('.').is_some_and(|(label, rest)| {
                    !label.is_empty() && rest.eq_ignore_ascii_case(parent)
                }),
            })
    }
}

/// The copy shares the private key, and nothing is parsed again.
impl Clone for Credential {
    fn clone(&self) -> Self {
        Self {
            chain: self.chain.clone(),
            raw_key: self.raw_key.clone(),
            key: self.key.clone(),
            kind: self.kind,
            names: self.names.clone(),
            usages: self.usages,
            ocsp_response: self.ocsp_response.clone(),
            signed_certificate_timestamps: self.signed_certificate_timestamps.clone(),
            schemes: self.schemes.clone(),
            must_match_issuer: self.must_match_issuer,
            issuers: self.issuers.clone(),
            compressed: CompressedCertificateCache::default(),
            chain_signatures: self.chain_signatures.clone(),
            id: self.id,
            broken_fips_rule: self.broken_fips_rule.clone(),
        }
    }
}

debug_fields!(Credential: kind, names);

/// The kind of the leaf's key, with which this side could sign a handshake.
fn leaf_kind(chain: &[CertificateDer<'_>]) -> Result<KeyKind, CredentialError> {
    let leaf = chain.first().ok_or(CredentialError::EmptyChain)?;
    let key = tercel_pki::end_entity_public_key(chain).map_err(|reason| match reason {
        _ if tercel_pki::has_malformed_validity(leaf) => CredentialError::BadValidity,
        RefusalReason::BadEncoding => CredentialError::BadCertificate,
        reason => CredentialError::UnusableCertificate(reason),
    })?;
    Ok(key.kind())
}

fn raw_kind(public_key: &SubjectPublicKeyInfoDer<'_>) -> Result<KeyKind, CredentialError> {
    let key = PublicKey::from_spki(public_key).map_err(|_| CredentialError::BadPublicKey)?;
    Ok(key.kind())
}
