//! What a peer's hello or request asks of a credential, and whether one fits it.
//!
//! Must not know: handshakes. Next: [`super::set`], which chooses by it.

use std::sync::OnceLock;

use tercel_crypto::KeyKind;
use tercel_wire::{
    CertificateType, ClientCertificateType, DistinguishedName, List, NamedGroup, ProtocolVersion,
    SignatureScheme,
};

use super::Credential;
use crate::config::certificate_types::TypeSet;
use crate::config::policy::Side;
use crate::config::scheme::{self, SchemeSet};
use crate::handshake::hello::group::KnownGroups;

/// What a credential must fit.
///
/// The lists in it are as long as the peer likes, up to 32,000 entries. What a choice among many credentials asks for
/// each of them is asked of the methods, whose work does not grow with the lists; to walk a list for each credential
/// would let one message cost seconds.
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
    /// The lists above, each read once.
    pub(crate) known: Known<'a>,
}

/// What we know of a peer's lists, for questions that are asked for every credential.
#[derive(Clone, Debug)]
pub(crate) struct Known<'a> {
    schemes: SchemeSet,
    schemes_in_certificates: SchemeSet,
    groups: Option<KnownGroups>,
    certificate_types: TypeSet,
    /// The authorities, sorted: made when the first credential is held against them.
    authorities: OnceLock<Vec<&'a [u8]>>,
}

impl Known<'_> {
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
    /// The scheme with which this credential can answer, or `None` if it does not fit.
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

    /// Whether the peer can verify the signatures of all certificates of this chain, as far as it says.
    ///
    /// A chain of which it cannot is still better than none: the peer may know its issuer already.
    /// RFC 9846 4.5.1.2, RFC 5246 7.4.2
    #[must_use]
    pub fn can_verify_chain(&self, credential: &Credential) -> bool {
        let theirs = self.known.schemes_in_certificates;
        let known =
            |algorithm| theirs.iter().any(|each| scheme::algorithm(each) == Some(algorithm));
        credential.chain_signatures.iter().all(|algorithm| algorithm.is_some_and(known))
    }

    /// Whether the peer names an issuer of this chain among the authorities it trusts, or says nothing of them.
    ///
    /// A peer may trust more than it names, so this guides a choice and forbids nothing; to forbid it there is
    /// [`Credential::must_match_issuer`]. RFC 9846 4.3.4, RFC 5246 7.4.4
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

    /// Whether one of these names is among the authorities.
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
