//! Certificate revocation lists and their policy.
//!
//! Revocation checks are off unless a list is given. Lists are parsed once, when the verifier is
//! built; their signatures and dates are checked in each verification. RFC 5280 6.3
//!
//! An authority decides how many distribution points its certificates have, and an application may
//! load its lists. So the work is paid from the [`Budget`] of the verification: a list costs one
//! unit for each certificate of its issuer, and four for each of its distribution points or of the
//! certificate's, the smaller number, so that no list alone exhausts the budget. The
//! signature of a list is checked once for each key, and all keys except the first two pay for
//! the list's bytes.

mod list;
mod signatures;

use std::collections::BTreeMap;
use std::fmt;

use pki_types::{CertificateRevocationListDer, UnixTime};
use tercel_crypto::{Hash, HashAlgorithm};

use crate::algorithms::CertificateAlgorithm;
use crate::budget::Budget;
use crate::certificate::{KeyFit, PathCertificate};
use crate::distinguished_names;
use crate::reason::RefusalReason;
use list::{DistributionPoints, List};
pub(crate) use signatures::{Signer, Work};

/// The policy for revocation lists. The default is the strictest policy: the whole chain below the
/// trust anchor is checked, and a certificate without a list, or with an outdated list, is refused.
///
/// A list covers the certificates of its issuer that are within its scope: of its distribution
/// point, and of the kind that it is for (RFC 5280 5.2.5, 6.3.3 (b) (2)). No certificate is
/// accepted because of a list that does not cover it. If such a list, with a valid signature of the
/// certificate's issuer, has the certificate's number, which the issuer has given once (RFC 5280
/// 4.1.2.2), and no valid list covers the certificate, then the certificate is refused as revoked
/// under each policy that looks it up. OpenSSL refuses it as well ("different CRL scope").
///
/// A certificate that is itself trusted, as an anchor or a pinned leaf, is looked up in no list and
/// needs no OCSP response. To end its trust, remove it from the [`Roots`](crate::Roots).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevocationPolicy {
    /// Check only the leaf, not the intermediates.
    pub end_entity_only: bool,
    /// Accept a certificate that no list covers, unless its issuer has revoked it on a list for
    /// others. RFC 5280 6.3.3 calls the status UNDETERMINED.
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
    lists: Vec<List>,
    /// The indices of the lists of each issuer, whose name is in its canonical encoding: a list
    /// that is not found revokes nothing. RFC 5280 6.3.3 (b) (1), 7.1
    by_issuer: BTreeMap<Vec<u8>, Vec<usize>>,
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

/// A list that may decide on the status of a certificate. The order is the one in which lists are
/// consulted.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Consulted {
    /// Whether the list does not cover the certificate, but has its number.
    is_for_others: bool,
    /// Whether the list states the identifier of the key that the certificate states.
    fit: KeyFit,
    index: usize,
    /// Whether the list has the certificate.
    is_revoked: bool,
}

impl Revocation {
    pub(crate) fn add(
        &mut self,
        crl: &CertificateRevocationListDer<'_>,
    ) -> Result<(), UnreadableCrl> {
        let list = List::read(crl).map_err(|_| UnreadableCrl)?;
        let issuer = distinguished_names::canonical(&list.issuer);
        self.by_issuer.entry(issuer).or_default().push(self.lists.len());
        self.lists.push(list);
        self.digests.push(Hash::digest(HashAlgorithm::Sha256, &[crl]).to_vec());
        Ok(())
    }

    /// The digests of the lists, in order.
    pub(crate) fn digests(&self) -> &[Vec<u8>] {
        &self.digests
    }

    /// Whether there are no lists, so that nothing is checked.
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Checks a certificate of a path against the lists of its issuer. RFC 5280 6.3.3
    ///
    /// A valid list that has the certificate decides, also if it is outdated. Otherwise one valid
    /// list that covers the certificate is enough, and without one, a list for others that has the
    /// certificate decides.
    pub(crate) fn check<'a>(
        &self,
        certificate: &PathCertificate<'_>,
        issuer: Signer<'a>,
        algorithms: &[&'static CertificateAlgorithm],
        now: UnixTime,
        work: &mut Work<'a>,
    ) -> Result<(), RefusalReason> {
        let mut result = None;
        for consulted in self.consulted(certificate, &mut work.budget)? {
            let Consulted { is_for_others, index, is_revoked, .. } = consulted;
            if result == Some(Ok(())) && (is_for_others || !is_revoked) {
                continue;
            }
            let Some(list) = self.lists.get(index) else { continue };
            let is_signed = work.check_signature((index, list), issuer, algorithms);
            let outcome = match is_signed {
                Ok(()) if is_revoked => return Err(RefusalReason::Revoked),
                Ok(()) => self.check_dates(list, now),
                Err(RefusalReason::PathLimits) => return Err(RefusalReason::PathLimits),
                Err(reason) => Err(reason),
            };
            if !is_for_others && (result.is_none() || outcome.is_ok()) {
                result = Some(outcome);
            }
        }
        result.unwrap_or(match self.policy.allow_unknown_status {
            true => Ok(()),
            false => Err(RefusalReason::UnknownRevocationStatus),
        })
    }

    /// The lists of the certificate's issuer that cover the certificate, and then those that only
    /// have its number. Lists with the identifier of its issuer's key come first, because several
    /// authorities may have one name. RFC 5280 4.2.1.1, 5.2.1
    fn consulted(
        &self,
        certificate: &PathCertificate<'_>,
        budget: &mut Budget,
    ) -> Result<Vec<Consulted>, RefusalReason> {
        let PathCertificate { fields, extensions, .. } = certificate;
        // The name is read.
        budget.pay(fields.issuer.len() / 4)?;
        let issuer = distinguished_names::canonical(fields.issuer);
        let Some(indices) = self.by_issuer.get(&issuer) else { return Ok(Vec::new()) };
        let points = extensions.distribution_points.unwrap_or_default();
        budget.pay(points.len() / 4)?;
        let points = DistributionPoints::read(points);
        let stated = extensions.issuer_key_identifier();
        let mut consulted = Vec::new();
        for &index in indices {
            let Some(list) = self.lists.get(index) else { continue };
            budget.pay(list.comparisons(&points).saturating_mul(4).saturating_add(1))?;
            // The number is hashed.
            budget.pay(fields.serial_number.len() / 16)?;
            let is_revoked = list.has(fields.serial_number);
            let is_for_others = !list.covers(certificate.is_ca, &points);
            if is_revoked || !is_for_others {
                let fit = KeyFit::new(stated, list.key_identifier.as_deref());
                consulted.push(Consulted { is_for_others, fit, index, is_revoked });
            }
        }
        consulted.sort_unstable();
        Ok(consulted)
    }

    fn check_dates(&self, list: &List, now: UnixTime) -> Result<(), RefusalReason> {
        // The list states what holds at a later time. RFC 5280 5.1.2.4
        if list.this_update.as_secs() > now.as_secs().saturating_add(MAX_CLOCK_SKEW) {
            return Err(RefusalReason::InvalidCrl);
        }
        // RFC 5280 5.1.2.5
        let next_update = list.next_update;
        match next_update < now && !self.policy.allow_expired_lists {
            true => Err(RefusalReason::CrlExpired { next_update }),
            false => Ok(()),
        }
    }
}

/// The most seconds by which the clock of a list's issuer may be ahead of the local one.
const MAX_CLOCK_SKEW: u64 = 5 * 60;
