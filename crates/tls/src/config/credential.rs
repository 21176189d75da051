//! Certificate chains with their keys, and the choice among them.
//!
//! Must not know: handshakes. A credential is parsed once, when the configuration is built.
//! Next: [`super::policy::SelectCredential`].

use core::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use tercel_crypto::{KeyKind, PublicKey, SignatureAlgorithm, Signer, SigningKey};
use tercel_wire::{
    CertificateType, ClientCertificateType, DistinguishedName, List, NamedGroup, ProtocolVersion,
    Reader, SerializedSct, SignatureScheme,
};

use super::compressed_forms::CompressedForms;
use super::policy::{SelectCredential, Side};
use super::scheme::{self, SchemeSet};

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
    compressed: CompressedForms,
    /// How the chain's certificates are signed; `None` is a way we do not know.
    chain_signatures: Vec<Option<SignatureAlgorithm>>,
}

/// Where a credential's key lives.
pub(crate) enum Key {
    /// Here, or behind an object that answers at once.
    Here(Arc<dyn Signer>),
    /// Elsewhere: every signature is a [`crate::SignQuestion`].
    Remote,
}

/// Why a credential cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialError {
    /// There is no certificate in the chain.
    EmptyChain,
    /// The leaf certificate cannot be read.
    BadCertificate,
    /// The private key cannot be read, or is of a kind or size that is not supported.
    BadKey,
    /// The private key does not belong to the leaf certificate or raw public key.
    KeyMismatch,
    /// The list of signed certificate timestamps is malformed or empty.
    BadTimestamps,
    /// The raw public key cannot be read, or is of a kind or size that is not supported.
    BadPublicKey,
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyChain => "the certificate chain is empty",
            Self::BadCertificate => "the leaf certificate cannot be read",
            Self::BadKey => "the private key cannot be read or is not supported",
            Self::KeyMismatch => "the private key does not belong to the certificate or public key",
            Self::BadPublicKey => "the public key cannot be read or is not supported",
            Self::BadTimestamps => "the list of signed certificate timestamps is malformed",
        })
    }
}

impl std::error::Error for CredentialError {}

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
            compressed: CompressedForms::default(),
            chain_signatures,
        }
    }

    /// Staples an OCSP response (DER) to the leaf; an empty one is none. RFC 6066 8
    #[must_use]
    pub fn ocsp_response(mut self, response: Vec<u8>) -> Self {
        self.ocsp_response = Some(response).filter(|response| !response.is_empty());
        self.compressed = CompressedForms::default();
        self
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

/// What a credential must fit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CredentialRequest<'a> {
    /// Whose credential is wanted: our own side.
    pub side: Side,
    /// The version agreed.
    pub version: ProtocolVersion,
    /// The host name a client asked for; `None` on the client side, and for clients that name none.
    pub server_name: Option<&'a str>,
    /// What the peer can verify in handshake signatures.
    pub signature_schemes: List<'a, SignatureScheme>,
    /// What the peer can verify in certificates, if it says so apart. RFC 9846 4.3.3
    pub certificate_signature_schemes: Option<List<'a, SignatureScheme>>,
    /// Those of `signature_schemes` that we have: read once, asked often.
    pub(crate) known: SchemeSet,
    /// The same of `certificate_signature_schemes`.
    pub(crate) known_in_certificates: Option<SchemeSet>,
    /// The groups a TLS 1.2 client supports, which bind ECDSA certificates too. RFC 8422 5.1
    pub groups: Option<List<'a, NamedGroup>>,
    /// The forms that the peer accepts: X.509 unless it said otherwise. RFC 7250
    pub certificate_types: List<'a, CertificateType>,
    /// TLS 1.2: whether the cipher suites in common allow (RSA, ECDSA and EdDSA) keys.
    pub key_kinds: (bool, bool),
    /// The kinds of key that a TLS 1.2 server names in its request. RFC 5246 7.4.4
    pub client_certificate_types: Option<List<'a, ClientCertificateType>>,
    /// The authorities the peer says it trusts.
    pub authorities: Option<List<'a, DistinguishedName<'a>>>,
}

impl CredentialRequest<'_> {
    /// The scheme with which this credential can answer, or `None` if it does not fit.
    #[must_use]
    pub fn scheme_for(&self, credential: &Credential) -> Option<SignatureScheme> {
        let (rsa, ecdsa) = self.key_kinds;
        let allowed = match credential.kind {
            KeyKind::Rsa | KeyKind::RsaPss => rsa,
            _ => ecdsa,
        };
        if !self.certificate_types.contains(credential.certificate_type()) {
            return None;
        }
        if !allowed || !self.curve_fits(credential.kind) || !self.issuer_fits(credential) {
            return None;
        }
        credential.schemes.iter().copied().find(|scheme| {
            self.known.has(*scheme) && scheme::usable(*scheme, credential.kind, self.version)
        })
    }

    /// Whether the peer can verify the signatures of all certificates of this chain, as far as it says.
    ///
    /// A chain of which it cannot is still better than none: the peer may know its issuer already.
    /// RFC 9846 4.5.1.2, RFC 5246 7.4.2
    #[must_use]
    pub fn can_verify_chain(&self, credential: &Credential) -> bool {
        let theirs = self.known_in_certificates.unwrap_or(self.known);
        let known =
            |algorithm| theirs.iter().any(|each| scheme::algorithm(each) == Some(algorithm));
        credential.chain_signatures.iter().all(|algorithm| algorithm.is_some_and(known))
    }

    fn curve_fits(&self, kind: KeyKind) -> bool {
        if self.version != ProtocolVersion::TLS1_2 || self.side == Side::Client {
            return true;
        }
        match (&self.groups, scheme::curve(kind)) {
            (Some(groups), Some(curve)) => groups.contains(curve),
            _ => true,
        }
    }

    fn issuer_fits(&self, credential: &Credential) -> bool {
        if !credential.must_match_issuer {
            return true;
        }
        let Some(authorities) = &self.authorities else { return false };
        let issuers: Vec<_> =
            credential.chain.iter().filter_map(|c| tercel_pki::issuer(c).ok()).collect();
        authorities.iter().any(|name| issuers.iter().any(|issuer| issuer == name.0))
    }
}

/// A set of credentials that can be replaced while connections are being made.
///
/// The first whose leaf covers the name asked for and whose key fits wins; if no leaf covers the name,
/// the first that fits. Among those, one whose whole chain the peer can verify goes first.
pub struct Credentials {
    current: ArcSwap<Vec<Arc<Credential>>>,
    require_known_name: bool,
}

impl Credentials {
    /// A set, in order of preference.
    #[must_use]
    pub fn new(credentials: Vec<Credential>) -> Self {
        Self { current: ArcSwap::from_pointee(shared(credentials)), require_known_name: false }
    }

    /// Refuses clients whose server name no leaf covers, with `unrecognized_name`. RFC 6066 3
    #[must_use]
    pub fn require_known_name(mut self) -> Self {
        self.require_known_name = true;
        self
    }

    /// Puts another set in place. Handshakes under way keep what they chose; nothing is dropped.
    pub fn replace(&self, credentials: Vec<Credential>) {
        self.current.store(Arc::new(shared(credentials)));
    }

    /// Whether there are credentials, and all are of other types than these.
    pub(crate) fn lacks_type_of(&self, types: &List<'_, CertificateType>) -> bool {
        let current = self.current.load();
        !current.is_empty() && !current.iter().any(|own| types.contains(own.certificate_type()))
    }

    /// Whether clients that ask for an unknown name are to be refused, and `host` is unknown.
    #[must_use]
    pub fn refuses_name(&self, host: Option<&str>) -> bool {
        self.require_known_name
            && host.is_some_and(|host| !self.current.load().iter().any(|c| c.covers(host)))
    }
}

impl SelectCredential for Credentials {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        if self.refuses_name(request.server_name) {
            return None;
        }
        let current = self.current.load();
        let fitting = || current.iter().filter(|each| request.scheme_for(each).is_some());
        let named =
            |each: &&Arc<Credential>| request.server_name.is_some_and(|host| each.covers(host));
        let verifiable = |each: &&Arc<Credential>| request.can_verify_chain(each);
        let best_named = fitting().filter(named).find(verifiable).or_else(|| fitting().find(named));
        best_named.or_else(|| fitting().find(verifiable)).or_else(|| fitting().next()).cloned()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.current.load().iter()).finish()
    }
}

fn shared(credentials: Vec<Credential>) -> Vec<Arc<Credential>> {
    credentials.into_iter().map(Arc::new).collect()
}
