//! Certificate revocation lists and what to make of them.
//!
//! Off unless a list is given. Lists are parsed once, when the verifier is built; their signatures and dates are checked
//! at each use, by path building. Next: [`crate::verifier`].

use std::fmt;

use pki_types::CertificateRevocationListDer;
use webpki::{
    CertRevocationList, ExpirationPolicy, OwnedCertRevocationList, RevocationCheckDepth,
    RevocationOptions, RevocationOptionsBuilder, UnknownStatusPolicy,
};

/// How strictly revocation lists are applied. The default is the strictest: the whole chain is checked, a certificate
/// without a list is refused, and so is a list that is out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevocationPolicy {
    /// Check the leaf only, not the intermediates.
    pub end_entity_only: bool,
    /// Accept a certificate that no list covers.
    pub allow_unknown_status: bool,
    /// Rely on a list after the moment its successor was due.
    pub allow_expired_lists: bool,
}

/// The bytes are no revocation list, or one of a form that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnreadableCrl;

impl fmt::Display for UnreadableCrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate revocation list is malformed or of an unsupported form")
    }
}

impl std::error::Error for UnreadableCrl {}

/// The lists of a verifier, with their policy.
#[derive(Debug, Default)]
pub(crate) struct Revocation {
    lists: Vec<CertRevocationList<'static>>,
    pub(crate) policy: RevocationPolicy,
}

impl Revocation {
    pub(crate) fn add(
        &mut self,
        crl: &CertificateRevocationListDer<'_>,
    ) -> Result<(), UnreadableCrl> {
        let list = OwnedCertRevocationList::from_der(crl).map_err(|_| UnreadableCrl)?;
        self.lists.push(list.into());
        Ok(())
    }

    /// The lists in the shape that [`Self::options`] borrows; empty, and without allocation, when there are none.
    pub(crate) fn lists(&self) -> Vec<&CertRevocationList<'static>> {
        self.lists.iter().collect()
    }

    /// What path building is told; nothing when there are no lists.
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
