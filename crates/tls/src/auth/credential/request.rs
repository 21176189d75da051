//! [`CredentialRequest`]: the requirements on a credential that a peer's message contains, and the
//! check whether a credential meets them.

use std::sync::{Arc, OnceLock};

use tercel_crypto::KeyKind;
use tercel_wire::{
    CertificateRequest, CertificateType, CipherSuite, ClientCertificateType, DistinguishedName,
    List, NamedGroup, ProtocolName, ProtocolVersion, SignatureScheme,
};

use super::Credential;
use crate::auth::certificate_types::{self, TypeSet};
use crate::keys::group::KnownGroups;
use crate::keys::scheme::{self, SchemeSet};
use crate::side::Side;

/// The selection of a credential for a peer.
///
/// This server proves to an ACME server that it has a name, while it serves others with its usual
/// credentials. It needs `acme-tls/1` among its [`alpn`] protocols, and sends the challenge's
/// certificate only to a client that offers nothing else. RFC 8737 3
///
/// ```
/// use std::sync::Arc;
/// use tercel::certificates::{CredentialRequest, Credentials, SelectCredential};
/// use tercel::{Credential, wire::ProtocolName};
///
/// struct WithChallenges {
///     usual: Credentials,
///     challenge: fn(&str) -> Option<Arc<Credential>>,
/// }
///
/// impl SelectCredential for WithChallenges {
///     fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
///         let offered = request.alpn.iter().flatten();
///         if offered.eq([ProtocolName(b"acme-tls/1")]) {
///             return (self.challenge)(request.server_name?);
///         }
///         self.usual.select_credential(request)
///     }
/// }
/// ```
///
/// [`alpn`]: crate::server::ServerConfigBuilder::alpn
pub trait SelectCredential: Send + Sync {
    /// Selects a credential that matches the request.
    ///
    /// `None` if no credential matches: a client then sends an empty Certificate, and a server
    /// refuses the client with `handshake_failure`, or as [`Self::is_unknown_name`] says.
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>>;

    /// Server: returns whether [`Self::select_credential`] returned `None` because the requested
    /// server name is unknown. The client is then refused with `unrecognized_name`. RFC 6066 3
    ///
    /// By default, the reason is another one.
    fn is_unknown_name(&self, _request: &CredentialRequest<'_>) -> bool {
        false
    }
}

/// The requirements on a credential, from a ClientHello or CertificateRequest.
///
/// If the client sent an encrypted ClientHello that this server has accepted, the values are those
/// of the inner ClientHello. RFC 9849 7.1
///
/// The peer's lists can have up to 32,000 entries. To check many credentials, use the methods,
/// whose work does not grow with the lists. If the lists were searched for each credential, a peer
/// could cause seconds of work with one message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CredentialRequest<'a> {
    /// The side whose credential is selected, which is this side.
    pub side: Side,
    /// The negotiated version.
    pub version: ProtocolVersion,
    /// The server name that the client requested. `None` on the client side, and if the client sent
    /// no name.
    pub server_name: Option<&'a str>,
    /// The application protocols that the client offers, most preferred first. `None` on the client
    /// side, and if the client offers none. RFC 7301 3.1
    pub alpn: Option<List<'a, ProtocolName<'a>>>,
    /// The cipher suites that the client offers, most preferred first, also those that this library
    /// does not have. Empty on the client side. [`Self::key_kinds`] has their effect on the key.
    /// RFC 9846 4.2.2
    pub cipher_suites: List<'a, CipherSuite>,
    /// The schemes of handshake signatures that the peer can verify.
    pub signature_schemes: List<'a, SignatureScheme>,
    /// The schemes that the peer can verify in certificates, if it sent a separate list for them.
    /// RFC 9846 4.3.3
    pub certificate_signature_schemes: Option<List<'a, SignatureScheme>>,
    /// The groups that a TLS 1.2 client supports, also in ECDSA certificates. RFC 8422 5.1
    pub groups: Option<List<'a, NamedGroup>>,
    /// The certificate types that the peer accepts (X.509 or raw public key). If the peer sent no
    /// list, this is X.509 only. RFC 7250
    pub certificate_types: List<'a, CertificateType>,
    /// TLS 1.2: whether the common cipher suites allow RSA keys, and whether they allow ECDSA and
    /// EdDSA keys.
    pub key_kinds: (bool, bool),
    /// The field `certificate_types` of a TLS 1.2 server's CertificateRequest: kinds of keys and
    /// signatures. These are not the certificate types of RFC 7250. RFC 5246 7.4.4
    pub client_certificate_types: Option<List<'a, ClientCertificateType>>,
    /// The authorities that the peer lists as trusted. RFC 9846 4.3.4
    pub authorities: Option<List<'a, DistinguishedName<'a>>>,
    /// The supported values in the peer's lists above.
    pub(crate) known: PeerLists<'a>,
}

/// The supported values in a peer's lists, for checks that are made for each credential.
#[derive(Clone, Debug)]
pub(crate) struct PeerLists<'a> {
    schemes: SchemeSet,
    schemes_in_certificates: SchemeSet,
    groups: Option<KnownGroups>,
    certificate_types: TypeSet,
    /// The authorities, sorted on first use.
    authorities: OnceLock<Vec<&'a [u8]>>,
}

impl PeerLists<'_> {
    pub(crate) fn of(
        schemes: SchemeSet,
        in_certificates: Option<List<'_, SignatureScheme>>,
        groups: Option<List<'_, NamedGroup>>,
        certificate_types: List<'_, CertificateType>,
    ) -> Self {
        Self {
            schemes,
            schemes_in_certificates: in_certificates.map_or(schemes, SchemeSet::of),
            groups: groups.map(|groups| KnownGroups::of(groups.iter())),
            certificate_types: TypeSet::of(certificate_types),
            authorities: OnceLock::new(),
        }
    }
}

impl CredentialRequest<'_> {
    /// Creates a request without signature schemes, which no credential matches.
    pub(crate) fn that_nothing_matches(side: Side) -> Self {
        let none = || List::new(&[]);
        Self {
            side,
            version: ProtocolVersion::TLS1_3,
            server_name: None,
            alpn: None,
            cipher_suites: List::new(&[]),
            signature_schemes: none(),
            certificate_signature_schemes: None,
            groups: None,
            certificate_types: List::new(&[]),
            key_kinds: (false, false),
            client_certificate_types: None,
            authorities: None,
            known: PeerLists::of(SchemeSet::of(none()), None, None, List::new(&[])),
        }
    }

    /// Returns the scheme to sign with, or `None` if the credential does not match the request.
    #[must_use]
    pub fn scheme_for(&self, credential: &Credential) -> Option<SignatureScheme> {
        let (rsa, ecdsa) = self.key_kinds;
        let allowed = match credential.kind {
            KeyKind::Rsa | KeyKind::RsaPss => rsa,
            _ => ecdsa,
        };
        if !self.known.certificate_types.has(credential.certificate_type()) {
            return None;
        }
        if !allowed || !self.curve_fits(credential.kind) || !self.issuer_fits(credential) {
            return None;
        }
        credential.schemes.iter().copied().find(|scheme| {
            self.known.schemes.has(*scheme)
                && scheme::usable(*scheme, credential.kind, self.version)
        })
    }

    /// Returns whether the peer lists the schemes of all signatures in the credential's chain.
    ///
    /// If no available chain meets this condition, any of them can be used, since the peer may
    /// already have the issuer's certificate. RFC 9846 4.5.1.2, RFC 5246 7.4.2
    #[must_use]
    pub fn can_verify_chain(&self, credential: &Credential) -> bool {
        let theirs = self.known.schemes_in_certificates;
        let known =
            |algorithm| theirs.iter().any(|each| scheme::algorithm(each) == Some(algorithm));
        credential.chain_signatures.iter().all(|algorithm| algorithm.is_some_and(known))
    }

    /// Returns whether the peer lists an issuer of the credential's chain as trusted, or lists no
    /// authorities.
    ///
    /// A peer may trust authorities that it does not list, so this method expresses a preference.
    /// [`Credential::must_match_issuer`] makes it a requirement. RFC 9846 4.3.4, RFC 5246 7.4.4
    #[must_use]
    pub fn names_issuer_of(&self, credential: &Credential) -> bool {
        credential.raw_key.is_some()
            || self.authorities.is_none_or(|authorities| authorities.is_empty())
            || self.names_one_of(&credential.issuers)
    }

    fn curve_fits(&self, kind: KeyKind) -> bool {
        if self.version != ProtocolVersion::TLS1_2 || self.side == Side::Client {
            return true;
        }
        match (&self.known.groups, scheme::curve(kind)) {
            (Some(groups), Some(curve)) => groups.has(curve),
            _ => true,
        }
    }

    fn issuer_fits(&self, credential: &Credential) -> bool {
        !credential.must_match_issuer || self.names_one_of(&credential.issuers)
    }

    /// Whether the peer lists one of these issuers.
    fn names_one_of(&self, issuers: &[Vec<u8>]) -> bool {
        let Some(list) = self.authorities else { return false };
        let sorted = self.known.authorities.get_or_init(|| {
            let mut names: Vec<_> = list.iter().map(|name| name.0).collect();
            names.sort_unstable();
            names.dedup();
            names
        });
        issuers.iter().any(|issuer| sorted.binary_search(&issuer.as_slice()).is_ok())
    }
}

/// Returns the requirements of a server's CertificateRequest, or `None` if it lists no signature
/// schemes.
pub(crate) fn credential_request<'a>(
    request: &CertificateRequest<'a>,
    certificate_type: CertificateType,
) -> Option<CredentialRequest<'a>> {
    let extensions = &request.extensions;
    let signature_schemes = extensions.signature_algorithms?;
    let for_certificates = extensions.signature_algorithms_cert;
    let certificate_types = certificate_types::list_of(certificate_type);
    Some(CredentialRequest {
        side: Side::Client,
        version: ProtocolVersion::TLS1_3,
        server_name: None,
        alpn: None,
        cipher_suites: List::new(&[]),
        known: PeerLists::of(
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
