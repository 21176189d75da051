//! Puts a [`ChainVerifier`] together. Everything that can be wrong about a configuration is found here, not later.

use std::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, CertificateRevocationListDer, SignatureVerificationAlgorithm};

use super::ChainVerifier;
use super::anchor_keys::AnchorKeys;
use super::remembered::VerifiedSignatures;
use crate::algorithms::CertificateAlgorithm;
use crate::ocsp::OcspPolicy;
use crate::revocation::{Revocation, RevocationPolicy, UnreadableCrl};
use crate::roots::Roots;

/// Builds a [`ChainVerifier`]; see [`ChainVerifier::builder`].
#[derive(Debug)]
pub struct ChainVerifierBuilder {
    roots: Arc<Roots>,
    pins: Vec<CertificateDer<'static>>,
    revocation: Revocation,
    ocsp: OcspPolicy,
    algorithms: Vec<&'static CertificateAlgorithm>,
    remember_signatures: bool,
}

impl ChainVerifierBuilder {
    pub(super) fn new(roots: Arc<Roots>) -> Self {
        Self {
            roots,
            pins: Vec::new(),
            revocation: Revocation::default(),
            ocsp: OcspPolicy::default(),
            algorithms: CertificateAlgorithm::ALL.to_vec(),
            remember_signatures: true,
        }
    }

    /// Trusts exactly this leaf, whoever issued it, self-signed and authority's certificates included. It is compared byte
    /// by byte. Its validity and its names are still checked; its issuer, its usage and its revocation are not.
    #[must_use]
    pub fn pin(mut self, leaf: CertificateDer<'static>) -> Self {
        self.pins.push(leaf);
        self
    }

    /// Checks revocation, with this list among others. The first list turns the checks on.
    pub fn crl(mut self, crl: &CertificateRevocationListDer<'_>) -> Result<Self, UnreadableCrl> {
        self.revocation.add(crl)?;
        Ok(self)
    }

    /// How strictly revocation lists are applied. Without a list it has no effect.
    #[must_use]
    pub fn revocation_policy(mut self, policy: RevocationPolicy) -> Self {
        self.revocation.policy = policy;
        self
    }

    /// What is made of stapled OCSP responses. Default: [`OcspPolicy::Ignore`].
    #[must_use]
    pub fn ocsp_policy(mut self, policy: OcspPolicy) -> Self {
        self.ocsp = policy;
        self
    }

    /// What certificates and OCSP responses may be signed with, the preferred first, instead of
    /// [`CertificateAlgorithm::ALL`]. One named twice counts once.
    #[must_use]
    pub fn algorithms(mut self, algorithms: &[&'static CertificateAlgorithm]) -> Self {
        // Not by address: a constant may have one in each crate that uses it.
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

    /// Whether signatures of certificates that were found good in an accepted chain are remembered (default: true), as
    /// digests, up to 1024 of them in 32 KiB. A chain seen again then costs two or three digests instead of as many
    /// signatures. All else is checked every time: dates, names, usages, constraints, revocation, staples.
    ///
    /// How long a verification takes tells whether one of its certificates was met before. Where that matters between
    /// those who share a verifier, give each a verifier of its own, or turn this off. Keys of trust anchors are read once
    /// either way.
    #[must_use]
    pub fn remember_signatures(mut self, remember: bool) -> Self {
        self.remember_signatures = remember;
        self
    }

    /// The verifier; refused if it could never accept anything.
    pub fn build(self) -> Result<ChainVerifier, NothingTrusted> {
        let can_build_paths = !self.roots.is_empty() && !self.algorithms.is_empty();
        if !can_build_paths && self.pins.is_empty() {
            return Err(NothingTrusted);
        }
        let for_path_building = self
            .algorithms
            .iter()
            .map(|&algorithm| algorithm as &dyn SignatureVerificationAlgorithm)
            .collect();
        Ok(ChainVerifier {
            roots: self.roots,
            pins: self.pins,
            revocation: self.revocation,
            ocsp: self.ocsp,
            algorithms: self.algorithms,
            for_path_building,
            remembered: self.remember_signatures.then(VerifiedSignatures::new).flatten(),
            anchor_keys: AnchorKeys::default(),
        })
    }
}

/// There is no trust anchor (or no signature algorithm) and no pinned leaf: the verifier would refuse every chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingTrusted;

impl fmt::Display for NothingTrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "there are no trust anchors and no pinned certificates, so no chain could be accepted",
        )
    }
}

impl std::error::Error for NothingTrusted {}
