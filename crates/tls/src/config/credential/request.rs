//! What a peer's hello or request asks of a credential, and whether one fits it.
//!
//! Must not know: handshakes. Next: [`super::set`], which chooses by it.

use tercel_crypto::KeyKind;
use tercel_wire::{
    CertificateType, ClientCertificateType, DistinguishedName, List, NamedGroup, ProtocolVersion,
    SignatureScheme,
};

use super::Credential;
use crate::config::policy::Side;
use crate::config::scheme::{self, SchemeSet};

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

    /// Whether the peer names an issuer of this chain among the authorities it trusts, or says nothing of them.
    ///
    /// A peer may trust more than it names, so this guides a choice and forbids nothing; to forbid it there is
    /// [`Credential::must_match_issuer`]. RFC 9846 4.3.4, RFC 5246 7.4.4
    #[must_use]
    pub fn names_issuer_of(&self, credential: &Credential) -> bool {
        let authorities = self.authorities.filter(|authorities| !authorities.is_empty());
        let named =
            |name: DistinguishedName<'_>| credential.issuers.iter().any(|own| own == name.0);
        credential.raw_key.is_some()
            || authorities.is_none_or(|authorities| authorities.iter().any(named))
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
        authorities.iter().any(|name| credential.issuers.iter().any(|issuer| issuer == name.0))
    }
}
