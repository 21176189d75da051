//! Certificate revocation lists and their policy.
//!
//! Revocation checks are off unless a list is given. Lists are parsed once, when the verifier is
//! built; their signatures and dates are checked at each use. RFC 5280 6.3

mod list;

use std::fmt;

use pki_types::{CertificateRevocationListDer, UnixTime};
use tercel_crypto::{Hash, HashAlgorithm, KeyKind};

use crate::algorithms::{self, CertificateAlgorithm};
use crate::certificate::PathCertificate;
use crate::reason::RefusalReason;
use list::List;

/// The policy for revocation lists. The default is the strictest policy: the whole chain below the
/// trust anchor is checked, and a certificate without a list, or with an outdated list, is refused.
///
/// A certificate that is itself trusted, as an anchor or a pinned leaf, is looked up in no list and
/// needs no OCSP response. To end its trust, remove it from the [`Roots`](crate::Roots).
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
    lists: Vec<List>,
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
        self.lists.push(List::read(crl).map_err(|_| UnreadableCrl)?);
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
    /// list is enough. `pay` pays for the verification of one signature by a key of a kind.
    pub(crate) fn check(
        &self,
        certificate: &PathCertificate<'_>,
        issuer: &Signer<'_>,
        algorithms: &[&'static CertificateAlgorithm],
        now: UnixTime,
        pay: &mut dyn FnMut(KeyKind) -> Result<(), RefusalReason>,
    ) -> Result<(), RefusalReason> {
        let points = certificate.extensions.distribution_points;
        let mut result = match self.policy.allow_unknown_status {
            true => Ok(()),
            false => Err(RefusalReason::UnknownRevocationStatus),
        };
        let mut is_covered = false;
        for list in &self.lists {
            if *list.issuer != *certificate.fields.issuer || !list.covers(certificate.is_ca, points)
            {
                continue;
            }
            let outcome = issuer.check_signature(list, algorithms, pay).and_then(|()| {
                if list.has(certificate.fields.serial_number) {
                    return Err(RefusalReason::Revoked);
                }
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
            });
            if let Err(RefusalReason::Revoked | RefusalReason::PathLimits) = outcome {
                return outcome;
            }
            if !is_covered || outcome.is_ok() {
                result = outcome;
            }
            is_covered = true;
        }
        result
    }
}

/// The issuer of a certificate, as the signer of its lists.
pub(crate) struct Signer<'a> {
    /// The content of the SEQUENCE of the key's AlgorithmIdentifier, and the bits of the key.
    pub(crate) key: (&'a [u8], &'a [u8]),
    /// Whether its key usage, if any, has cRLSign.
    pub(crate) may_sign_lists: bool,
}

impl Signer<'_> {
    /// RFC 5280 6.3.3 (f), (g)
    fn check_signature(
        &self,
        list: &List,
        algorithms: &[&'static CertificateAlgorithm],
        pay: &mut dyn FnMut(KeyKind) -> Result<(), RefusalReason>,
    ) -> Result<(), RefusalReason> {
        let (key_algorithm, key) = self.key;
        let algorithm = algorithms::find(algorithms, &list.signature_algorithm, key_algorithm);
        let (true, Ok(algorithm)) = (self.may_sign_lists, algorithm) else {
            return Err(RefusalReason::InvalidCrl);
        };
        pay(algorithm.key())?;
        let key = algorithm.parse_key(key).map_err(|_| RefusalReason::InvalidCrl)?;
        let verified = algorithm.verify_by(&key, &list.signed, &list.signature);
        verified.map_err(|_| RefusalReason::InvalidCrl)
    }
}

/// The most seconds by which the clock of a list's issuer may be ahead of the local one.
const MAX_CLOCK_SKEW: u64 = 5 * 60;
