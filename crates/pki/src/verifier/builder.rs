//! The builder of [`ChainVerifier`], which detects every configuration error.

use std::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, CertificateRevocationListDer, SignatureVerificationAlgorithm};

use super::ChainVerifier;
use crate::algorithms::CertificateAlgorithm;
use crate::ocsp::OcspPolicy;
use crate::path::Trusted;
use crate::revocation::{Revocation, RevocationPolicy, UnreadableCrl};
use crate::roots::Roots;

/// A builder of [`ChainVerifier`]; see [`ChainVerifier::builder`].
pub struct ChainVerifierBuilder {
    roots: Arc<Roots>,
    pins: Vec<CertificateDer<'static>>,
    revocation: Revocation,
    ocsp: OcspPolicy,
    algorithms: Vec<&'static CertificateAlgorithm>,
    cache_signatures: bool,
    check_anchor_validity: bool,
}

/// Omits certificates and lists.
impl fmt::Debug for ChainVerifierBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainVerifierBuilder")
            .field("roots", &self.roots)
            .field("pins", &self.pins.len())
            .field("revocation", &self.revocation)
            .field("ocsp", &self.ocsp)
            .finish_non_exhaustive()
    }
}

impl ChainVerifierBuilder {
    pub(super) fn new(roots: Arc<Roots>) -> Self {
        Self {
            roots,
            pins: Vec::new(),
            revocation: Revocation::default(),
            ocsp: OcspPolicy::default(),
            algorithms: CertificateAlgorithm::ALL.to_vec(),
            cache_signatures: true,
            check_anchor_validity: true,
        }
    }

    /// Adds a pinned leaf, which is trusted with any issuer, even if the leaf is self-signed or a
    /// CA certificate. The leaf is compared byte by byte. Its validity and its names are still
    /// checked; its issuer, its usage and its revocation are not.
    #[must_use]
    pub fn pin(mut self, leaf: CertificateDer<'static>) -> Self {
        self.pins.push(leaf);
        self
    }

    /// Adds a revocation list. The first list turns revocation checks on.
    ///
    /// A verification hashes each list of the chain's issuers that it consults, whole: limit the
    /// length of lists that are loaded automatically. All other work for lists is part of the
    /// limits on path building ([`RefusalReason::PathLimits`](crate::RefusalReason::PathLimits)).
    pub fn crl(mut self, crl: &CertificateRevocationListDer<'_>) -> Result<Self, UnreadableCrl> {
        self.revocation.add(crl)?;
        Ok(self)
    }

    /// Sets the policy for revocation lists. It has no effect without a list.
    #[must_use]
    pub fn revocation_policy(mut self, policy: RevocationPolicy) -> Self {
        self.revocation.policy = policy;
        self
    }

    /// Sets the policy for stapled OCSP responses. Default: [`OcspPolicy::Ignore`].
    #[must_use]
    pub fn ocsp_policy(mut self, policy: OcspPolicy) -> Self {
        self.ocsp = policy;
        self
    }

    /// Sets the signature algorithms of certificates and OCSP responses, the preferred first,
    /// instead of [`CertificateAlgorithm::ALL`]. Duplicates are ignored.
    #[must_use]
    pub fn algorithms(mut self, algorithms: &[&'static CertificateAlgorithm]) -> Self {
        // Addresses are not compared, because a constant may have a different address in each crate
        // that uses it.
        let identifiers =
            |one: &CertificateAlgorithm| (one.public_key_alg_id(), one.signature_alg_id());
        self.algorithms.clear();
        for algorithm in algorithms {
            if !self.algorithms.iter().any(|known| identifiers(known) == identifiers(algorithm)) {
                self.algorithms.push(algorithm);
            }
        }
        self
    }

    /// Sets whether valid signatures of accepted chains are cached (default: true), as digests, up
    /// to 1024 of them in 32 KiB. If a chain is verified again, each cached signature costs a
    /// digest instead of a signature verification. Everything else is checked each time: dates,
    /// names, usages, constraints, revocation, staples.
    ///
    /// The duration of a verification reveals whether one of its certificates was verified before.
    /// If users of one verifier must not learn this about each other, give each user a verifier of
    /// its own, or turn the cache off. Keys of trust anchors are parsed once in either case.
    #[must_use]
    pub fn cache_signatures(mut self, remember: bool) -> Self {
        self.cache_signatures = remember;
        self
    }

    /// Sets whether trust anchors are accepted before and after the validity of their own
    /// certificates. Default: false.
    ///
    /// This is for programs whose authorities cannot be renewed in time. RFC 5280 6.1.1 does not
    /// require the check, but an authority that stops protecting its key relies on it.
    #[must_use]
    pub fn ignore_anchor_validity(mut self, ignore: bool) -> Self {
        self.check_anchor_validity = !ignore;
        self
    }

    /// Builds the verifier, or fails if it could never accept a chain.
    pub fn build(self) -> Result<ChainVerifier, NoTrustConfigured> {
        let can_build_paths = !self.roots.anchors().is_empty() && !self.algorithms.is_empty();
        if !can_build_paths && self.pins.is_empty() && !self.roots.has_leaves() {
            return Err(NoTrustConfigured);
        }
        let trusted = Trusted::new(
            self.roots,
            self.check_anchor_validity,
            self.algorithms,
            self.cache_signatures,
            self.revocation,
        );
        Ok(ChainVerifier { trusted, pins: self.pins, ocsp: self.ocsp })
    }
}

/// There is no trust anchor (or no signature algorithm) and no pinned leaf: the verifier would
/// refuse every chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTrustConfigured;

impl fmt::Display for NoTrustConfigured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "there are no trust anchors and no pinned certificates, so no chain could be accepted",
        )
    }
}

impl std::error::Error for NoTrustConfigured {}
