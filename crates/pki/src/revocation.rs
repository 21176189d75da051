//! Certificate revocation lists and their policy.
//!
//! Revocation checks are off unless a list is given. Lists are parsed once, when the verifier is
//! built; path building checks their signatures and dates at each use.

use std::fmt;

use pki_types::CertificateRevocationListDer;
use tercel_crypto::{Hash, HashAlgorithm};
use webpki::{
    CertRevocationList, ExpirationPolicy, OwnedCertRevocationList, RevocationCheckDepth,
    RevocationOptions, RevocationOptionsBuilder, UnknownStatusPolicy,
};

/// The policy for revocation lists. The default is the strictest policy: the whole chain is
/// checked, and a certificate without a list, or with an outdated list, is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevocationPolicy {
    /// Check only the leaf, not the intermediates.
    pub end_entity_only: bool,
    /// Accept a certificate that no list covers.
    pub allow_unknown_status: bool,
    /// Accept a list after its nextUpdate.
    pub allow_expired_lists: bool,
}

/// The bytes are not a revocation list, or the list has an unsupported form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableCrl;

impl fmt::Display for UnreadableCrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate revocation list is malformed or of an unsupported form")
    }
}

impl std::error::Error for UnreadableCrl {}

/// The lists of a verifier, with their policy.
#[derive(Default)]
pub(crate) struct Revocation {
    lists: Vec<CertRevocationList<'static>>,
    /// The digest of each list.
    digests: Vec<Vec<u8>>,
    pub(crate) policy: RevocationPolicy,
}

/// Omits the lists themselves.
impl fmt::Debug for Revocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revocation")
            .field("lists", &self.lists.len())
            .field("policy", &self.policy)
            .finish()
    }
}

impl Revocation {
    pub(crate) fn add(
        &mut self,
        crl: &CertificateRevocationListDer<'_>,
    ) -> Result<(), UnreadableCrl> {
        let list = OwnedCertRevocationList::from_der(crl).map_err(|_| UnreadableCrl)?;
        self.lists.push(list.into());
        self.digests.push(Hash::digest(HashAlgorithm::Sha256, &[crl]).to_vec());
        Ok(())
    }

    /// The digests of the lists, in order.
    pub(crate) fn digests(&self) -> &[Vec<u8>] {
        &self.digests
    }

    /// References to the lists, for [`Self::options`]. Without lists, nothing is allocated.
    pub(crate) fn lists(&self) -> Vec<&CertRevocationList<'static>> {
        self.lists.iter().collect()
    }

    /// The options for path building; `None` if there are no lists.
    pub(crate) fn options<'a>(
        &self,
        lists: &'a [&'a CertRevocationList<'a>],
    ) -> Option<RevocationOptions<'a>> {
        let RevocationPolicy { end_entity_only, allow_unknown_status, allow_expired_lists } =
            self.policy;
        let depth = if end_entity_only {
            RevocationCheckDepth::EndEntity
        } else {
            RevocationCheckDepth::Chain
        };
        let unknown = if allow_unknown_status {
            UnknownStatusPolicy::Allow
        } else {
            UnknownStatusPolicy::Deny
        };
        let expiration =
            if allow_expired_lists { ExpirationPolicy::Ignore } else { ExpirationPolicy::Enforce };
        let builder = RevocationOptionsBuilder::new(lists).ok()?;
        let builder = builder.with_depth(depth).with_status_policy(unknown);
        Some(builder.with_expiration_policy(expiration).build())
    }
}
