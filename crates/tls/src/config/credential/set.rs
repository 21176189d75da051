//! Several credentials, and the choice among them.
//!
//! Must not know: handshakes. Next: [`super::request`], which says what fits.

use core::fmt;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Credential, CredentialRequest};
use crate::config::certificate_types::TypeSet;
use crate::config::compression::CompressCertificate;
use crate::config::policy::SelectCredential;
use crate::connection::authentication::certificate::compress_ahead;
use crate::session::credential_id::SessionCredential;
use arc_swap::ArcSwap;
use pki_types::CertificateDer;

/// A set of credentials that can be replaced while connections are being made.
///
/// A credential is shown if the peer can verify its key's signatures and, in TLS 1.2, its curve. Of those,
/// the one goes first whose leaf covers the name asked for; then one with an issuer that the peer names among
/// its authorities; then one whose whole chain the peer can verify; then the one that stands first in the set.
/// So there may be several for each name: ML-DSA before ECDSA before RSA, each from several authorities.
pub struct Credentials {
    current: ArcSwap<Current>,
    require_known_name: bool,
    /// Whose forms are made before a credential is put in place.
    compress_ahead: ArcSwap<Vec<Arc<dyn CompressCertificate>>>,
}

/// The credentials at one moment.
struct Current {
    credentials: Vec<Arc<Credential>>,
    /// Of all their chains.
    issuers: BTreeSet<Vec<u8>>,
}

impl Credentials {
    /// A set, in order of preference.
    #[must_use]
    pub fn new(credentials: Vec<Credential>) -> Self {
        let current = Current::new(credentials.into_iter().map(Arc::new).collect());
        Self {
            current: ArcSwap::from_pointee(current),
            require_known_name: false,
            compress_ahead: ArcSwap::default(),
        }
    }

    /// Refuses clients whose server name no leaf covers, with `unrecognized_name`. RFC 6066 3
    #[must_use]
    pub fn require_known_name(mut self) -> Self {
        self.require_known_name = true;
        self
    }

    /// Puts another set in place. Handshakes under way keep what they chose; nothing is dropped.
    pub fn replace(&self, credentials: Vec<Credential>) {
        let credentials: Vec<_> = credentials.into_iter().map(Arc::new).collect();
        credentials.iter().for_each(|each| self.prepare(each));
        self.current.store(Arc::new(Current::new(credentials)));
    }

    /// Staples this OCSP response (DER) from now on to the chains with this leaf, and leaves all else as it is.
    /// Returns whether there is such a chain. Handshakes under way keep what they chose.
    ///
    /// The response is not looked into: who fetches it can have it checked by [`crate::pki::ChainVerifier`].
    pub fn renew_ocsp_response(&self, leaf: &CertificateDer<'_>, response: &[u8]) -> bool {
        let has_leaf = |each: &Credential| each.chain().first() == Some(leaf);
        let mut found = false;
        self.current.rcu(|current| {
            found = false;
            let renewed = current.credentials.iter().map(|each| {
                if !has_leaf(each) {
                    return Arc::clone(each);
                }
                found = true;
                let renewed = each.with_ocsp_response(response.to_vec());
                self.prepare(&renewed);
                Arc::new(renewed)
            });
            Current::new(renewed.collect())
        });
        found
    }

    /// Has the compressed forms made of what is here, and of whatever will be, before it is used.
    pub(crate) fn compress_ahead(&self, algorithms: &[Arc<dyn CompressCertificate>]) {
        // Several configurations may share the set, each with algorithms of its own.
        self.compress_ahead.rcu(|known| {
            let mut all = Vec::clone(known);
            for algorithm in algorithms {
                if !all.iter().any(|known| known.algorithm() == algorithm.algorithm()) {
                    all.push(Arc::clone(algorithm));
                }
            }
            all
        });
        self.current.load().credentials.iter().for_each(|each| self.prepare(each));
    }

    fn prepare(&self, credential: &Credential) {
        compress_ahead(credential, &self.compress_ahead.load());
    }

    /// Whether there are credentials, and all are of other types than these.
    pub(crate) fn lacks_type_of(&self, types: TypeSet) -> bool {
        let current = self.current.load();
        let fits = |own: &Arc<Credential>| types.has(own.certificate_type());
        !current.credentials.is_empty() && !current.credentials.iter().any(fits)
    }

    /// Whether the one credential that a session was made with is all that can be shown, whatever authorities a client names. A raw
    /// public key is shown only to clients that list its type.
    pub(crate) fn shows_only(&self, shown: SessionCredential, has_server_name: bool) -> bool {
        let current = self.current.load();
        let [only] = current.credentials.as_slice() else { return false };
        only.id().in_session(has_server_name) == shown
            && !only.must_match_issuer
            && only.raw_key.is_none()
    }

    /// Whether clients that ask for an unknown name are to be refused, and `host` is unknown.
    #[must_use]
    pub fn refuses_name(&self, host: Option<&str>) -> bool {
        let unknown = |host| !self.current.load().credentials.iter().any(|each| each.covers(host));
        self.require_known_name && host.is_some_and(unknown)
    }
}

impl Current {
    fn new(credentials: Vec<Arc<Credential>>) -> Self {
        let issuers = credentials.iter().flat_map(|each| each.issuers.iter().cloned()).collect();
        Self { credentials, issuers }
    }

    /// Those of our issuers that the peer names; `None` if it names nobody. One look at each of its names,
    /// however many credentials there are: it may send thousands.
    fn named_issuers(&self, request: &CredentialRequest<'_>) -> Option<BTreeSet<&[u8]>> {
        let authorities = request.authorities.filter(|authorities| !authorities.is_empty())?;
        let ours = authorities.iter().filter_map(|name| self.issuers.get(name.0));
        Some(ours.map(Vec::as_slice).collect())
    }
}

impl SelectCredential for Credentials {
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        if self.refuses_name(request.server_name) {
            return None;
        }
        let current = self.current.load();
        let named_issuers = current.named_issuers(request);
        let issuer_is_named = |each: &Credential| {
            let named = |named: &BTreeSet<&[u8]>| {
                each.raw_key.is_some() || each.issuers.iter().any(|own| named.contains(&**own))
            };
            named_issuers.as_ref().is_none_or(named)
        };
        let mut best: Option<(&Arc<Credential>, Rank)> = None;
        for each in current.credentials.iter().filter(|each| request.scheme_for(each).is_some()) {
            let rank = Rank {
                covers_name: request.server_name.is_none_or(|host| each.covers(host)),
                issuer_is_named: issuer_is_named(each),
                chain_is_verifiable: request.can_verify_chain(each),
            };
            if best.as_ref().is_none_or(|(_, best)| rank > *best) {
                best = Some((each, rank));
            }
            if rank == Rank::BEST {
                break;
            }
        }
        best.map(|(each, _)| Arc::clone(each))
    }
}

/// How well a credential suits a peer that can use it, the weightiest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    covers_name: bool,
    issuer_is_named: bool,
    chain_is_verifiable: bool,
}

impl Rank {
    const BEST: Self = Self { covers_name: true, issuer_is_named: true, chain_is_verifiable: true };
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.current.load().credentials.iter()).finish()
    }
}
