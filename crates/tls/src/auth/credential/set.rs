//! [`Credentials`]: a set of credentials, and the selection of a credential from the set.

use core::fmt;
use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use pki_types::CertificateDer;
use tercel_pki::Usage;

use super::certificate::compress_ahead;
use super::{Credential, CredentialError, CredentialRequest, SelectCredential};
use crate::auth::certificate_types::TypeSet;
use crate::auth::compression::CompressCertificate;
use crate::auth::credential_id::SessionCredential;
use crate::fips::FipsReason;

/// A set of credentials that can be replaced at any time.
///
/// A credential can be selected only if the peer supports its signatures and, in TLS 1.2, its
/// curve. These criteria decide among the remaining credentials, in this order:
///
/// 1. The leaf is valid for the requested server name.
/// 2. The peer lists an issuer of the chain as trusted.
/// 3. The peer supports the signatures of the whole chain.
/// 4. The credential is earlier in the set.
///
/// A set can thus contain several credentials for each name: ML-DSA before ECDSA before RSA, and
/// each of them from several authorities.
///
/// ```
/// use std::sync::Arc;
/// use tercel::certificates::Credentials;
/// use tercel::{Credential, ServerConfig};
///
/// # fn run(first: Credential, second: Credential, renewed: Credential)
/// #     -> Result<(), Box<dyn std::error::Error>> {
/// let credentials = Arc::new(Credentials::new(vec![first, second]));
/// let config = ServerConfig::builder().replaceable_credentials(Arc::clone(&credentials)).build()?;
/// // Later, while the server runs:
/// credentials.replace(vec![renewed]);
/// # let _ = config; Ok(()) }
/// ```
pub struct Credentials {
    current: ArcSwap<CredentialList>,
    require_known_name: bool,
    /// The algorithms with which each credential's Certificate is compressed before it is used.
    compress_ahead: ArcSwap<Vec<Arc<dyn CompressCertificate>>>,
}

/// The current credentials, replaced as a whole.
struct CredentialList {
    credentials: Vec<Arc<Credential>>,
    /// The issuers of the certificates in all chains.
    issuers: BTreeSet<Vec<u8>>,
}

impl Credentials {
    /// Creates a set, in order of preference.
    #[must_use]
    pub fn new(credentials: Vec<Credential>) -> Self {
        let current = CredentialList::new(credentials.into_iter().map(Arc::new).collect());
        Self {
            current: ArcSwap::from_pointee(current),
            require_known_name: false,
            compress_ahead: ArcSwap::default(),
        }
    }

    /// Makes the server refuse a client with `unrecognized_name` if no leaf is valid for the
    /// requested name. RFC 6066 3
    #[must_use]
    pub fn require_known_name(mut self) -> Self {
        self.require_known_name = true;
        self
    }

    /// Replaces the set. Handshakes in progress keep the credentials that they selected.
    /// [`Credential::check_usage`] checks what the configuration checked of the first ones.
    pub fn replace(&self, credentials: Vec<Credential>) {
        let credentials: Vec<_> = credentials.into_iter().map(Arc::new).collect();
        credentials.iter().for_each(|each| self.prepare(each));
        self.current.store(Arc::new(CredentialList::new(credentials)));
    }

    /// Replaces the OCSP response (DER) of all chains that start with this leaf. Returns whether
    /// there are any such chains. Handshakes in progress keep the credentials that they selected.
    ///
    /// The response is not verified here. [`crate::pki::ChainVerifier`] can verify it.
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
            CredentialList::new(renewed.collect())
        });
        found
    }

    /// Makes the compressed Certificate messages of the current credentials now. Those of later
    /// credentials are made before they replace the current ones.
    pub(crate) fn compress_ahead(&self, algorithms: &[Arc<dyn CompressCertificate>]) {
        // Several configurations with different algorithms may share the set.
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

    /// Checks that each credential may be used thus. See [`Credential::check_usage`].
    pub(crate) fn check_usage(&self, usage: Usage) -> Result<(), CredentialError> {
        self.current.load().credentials.iter().try_for_each(|each| each.check_usage(usage))
    }

    /// Returns the first rule of FIPS 140-3 that a credential breaks.
    pub(crate) fn broken_fips_rule(&self) -> Option<FipsReason> {
        self.current.load().credentials.iter().find_map(|each| each.broken_fips_rule())
    }

    /// Whether one of the credentials has a private key outside of the process.
    #[cfg(feature = "quic")]
    pub(crate) fn has_remote_key(&self) -> bool {
        self.current.load().credentials.iter().any(|each| each.is_remote())
    }

    /// Whether the set is not empty, but contains no credential of these types.
    pub(crate) fn lacks_type_of(&self, types: TypeSet) -> bool {
        let current = self.current.load();
        let fits = |own: &Arc<Credential>| types.has(own.certificate_type());
        !current.credentials.is_empty() && !current.credentials.iter().any(fits)
    }

    /// Whether every client would get the credential with which a session was made: the set
    /// contains only this credential, and it may be used whatever authorities the client lists.
    /// False for a raw public key, which is used only for clients that list this certificate type.
    pub(crate) fn contains_only(
        &self,
        credential: SessionCredential,
        has_server_name: bool,
    ) -> bool {
        let current = self.current.load();
        let [only] = current.credentials.as_slice() else { return false };
        only.id().in_session(has_server_name) == credential
            && !only.must_match_issuer
            && only.raw_key.is_none()
    }

    /// Returns whether unknown server names are refused, and no leaf is valid for `host`.
    #[must_use]
    pub fn refuses_name(&self, host: Option<&str>) -> bool {
        let unknown = |host| !self.current.load().credentials.iter().any(|each| each.covers(host));
        self.require_known_name && host.is_some_and(unknown)
    }
}

impl CredentialList {
    fn new(credentials: Vec<Arc<Credential>>) -> Self {
        let issuers = credentials.iter().flat_map(|each| each.issuers.iter().cloned()).collect();
        Self { credentials, issuers }
    }

    /// Returns the issuers of this set that the peer lists, or `None` if it lists no authorities. A
    /// peer may list thousands of names: each is looked up once, not once for each credential.
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

/// The rank of a credential that the peer can use, by criteria of decreasing importance.
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
