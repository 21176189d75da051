//! Verification of a chain for a use, a name and a time.
//!
//! The verifier builds a path with `webpki` and the configured signature algorithms, or recognises
//! a pinned leaf. It reads no clock, opens no file and handles no TLS. See [`crate::refusal`] for
//! the result of a failure.

mod anchor_keys;
mod builder;
mod candidates;
mod path_end;
mod signature_cache;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use tercel_crypto::{KeyKind, PartsHash, PublicKey, SignatureAlgorithm};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath};

use crate::algorithms::CertificateAlgorithm;
use crate::certificate::{Certificate, Usage, bad_encoding};
use crate::der;
use crate::ocsp::{self, Issuer, OcspPolicy};
use crate::reason::RefusalReason;
use crate::refusal::{MAX_CERTIFICATE_LENGTH, Refusal};
use crate::revocation::Revocation;
use crate::roots::Roots;
use crate::server_name::ServerName;

use anchor_keys::{AnchorAlgorithm, AnchorKeys, Anchors, with_algorithms};
pub use builder::{ChainVerifierBuilder, NoTrustConfigured};
use candidates::{Candidates, OriginalAlgorithm};
use signature_cache::{CachedAlgorithm, ChainSignatures, SignatureCache};

/// The basis of trust in an accepted chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// A path leads from the leaf to a trust anchor.
    Anchor,
    /// The leaf is pinned, or it is itself one of the trusted certificates.
    Pin,
}

/// The peer's response to the request for a stapled OCSP response. RFC 6066 8
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Staple<'a> {
    /// The peer sent no response.
    Missing,
    /// The response that the peer sent (DER).
    Response(&'a [u8]),
}

/// Omits the response itself.
impl fmt::Debug for Staple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("Missing"),
            Self::Response(response) => write!(f, "Response({} bytes)", response.len()),
        }
    }
}

/// A verifier of certificate chains, immutable and shared by any number of concurrent handshakes.
///
/// ```
/// use std::sync::Arc;
/// use tercel_pki::{ChainVerifier, OcspPolicy, Roots, Usage, load_certs_pem};
/// use pki_types::UnixTime;
///
/// # fn run(roots: Roots, chain: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// let verifier = ChainVerifier::builder(Arc::new(roots)).ocsp_policy(OcspPolicy::Ignore).build()?;
/// let name = "service.example".try_into()?;
/// let chain = load_certs_pem(chain)?;
/// verifier.verify(Usage::Server, &chain, Some(&name), None, UnixTime::now())?;
/// # Ok(()) }
/// ```
pub struct ChainVerifier {
    roots: Arc<Roots>,
    pins: Vec<CertificateDer<'static>>,
    revocation: Revocation,
    ocsp: OcspPolicy,
    algorithms: Vec<&'static CertificateAlgorithm>,
    /// The same algorithms as in `algorithms`, in the form that path building takes.
    for_path_building: Vec<&'static dyn SignatureVerificationAlgorithm>,
    signature_cache: Option<SignatureCache>,
    anchor_keys: AnchorKeys,
    check_anchor_validity: bool,
}

/// Omits certificates and lists.
impl fmt::Debug for ChainVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainVerifier")
            .field("roots", &self.roots)
            .field("pins", &self.pins.len())
            .field("revocation", &self.revocation)
            .field("ocsp", &self.ocsp)
            .finish_non_exhaustive()
    }
}

impl ChainVerifier {
    /// A builder with these trust anchors.
    #[must_use]
    pub fn builder(roots: Arc<Roots>) -> ChainVerifierBuilder {
        ChainVerifierBuilder::new(roots)
    }

    /// Verifies a chain: `chain` as sent by the peer, leaf first; `name` as requested by the
    /// application, or `None` to accept any (a server usually has no name to check in a client's
    /// certificate); `now` from the application's clock.
    ///
    /// `ocsp` is the result of requesting a stapled response, `None` if none was requested;
    /// [`OcspPolicy`] decides how it is used. The refusal is boxed because it is large and rare.
    pub fn verify(
        &self,
        usage: Usage,
        chain: &[CertificateDer<'_>],
        name: Option<&ServerName<'_>>,
        ocsp: Option<Staple<'_>>,
        now: UnixTime,
    ) -> Result<Trust, Box<Refusal>> {
        self.verify_chain(usage, chain, name, ocsp, now).map_err(|reason| {
            let mut refusal = Box::new(Refusal::new(reason, chain, name, now));
            // The last two are the reasons if an anchor of the issuer's name has another key.
            if let RefusalReason::UnknownIssuer
            | RefusalReason::SelfSigned
            | RefusalReason::BadSignature
            | RefusalReason::UnsupportedKey = reason
            {
                refusal.chain_end = path_end::find(chain, self.roots.anchors());
            }
            refusal
        })
    }

    /// The trust anchors.
    #[must_use]
    pub fn roots(&self) -> &Arc<Roots> {
        &self.roots
    }

    /// A digest of all settings that decide which chains are accepted: the roots, the pins, the
    /// revocation lists and their policy, the policy for OCSP responses, and the algorithms.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = PartsHash::new();
        let mut add = |part: &[u8]| hash.add(part);
        add(&self.roots.fingerprint());
        let policies = (self.ocsp, self.revocation.policy, self.check_anchor_validity);
        add(format!("{policies:?}").as_bytes());
        add(&self.pins.len().to_be_bytes());
        self.pins.iter().for_each(|pin| add(pin));
        add(&self.revocation.digests().len().to_be_bytes());
        self.revocation.digests().iter().for_each(|list| add(list));
        for algorithm in &self.algorithms {
            add(&algorithm.public_key_alg_id());
            add(&algorithm.signature_alg_id());
        }
        hash.finish()
    }

    /// The signature algorithms of certificates, the preferred first, without duplicates.
    #[must_use]
    pub fn signature_algorithms(&self) -> Vec<(KeyKind, SignatureAlgorithm)> {
        let mut pairs = Vec::new();
        for algorithm in &self.algorithms {
            let pair = (algorithm.key(), algorithm.algorithm());
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs
    }

    fn verify_chain(
        &self,
        usage: Usage,
        chain: &[CertificateDer<'_>],
        name: Option<&ServerName<'_>>,
        ocsp: Option<Staple<'_>>,
        now: UnixTime,
    ) -> Result<Trust, RefusalReason> {
        let (leaf_der, intermediates) = chain.split_first().ok_or(RefusalReason::EmptyChain)?;
        if leaf_der.len() > MAX_CERTIFICATE_LENGTH {
            return Err(RefusalReason::CertificateTooLarge);
        }
        let Ok(parsed) = Certificate::parse(leaf_der) else {
            // Path building may have a more precise reason.
            EndEntityCert::try_from(leaf_der)?;
            return Err(RefusalReason::BadEncoding);
        };
        // Path building refuses such keys of issuers, which no signature algorithm has.
        if !parsed.has_named_curve().map_err(bad_encoding)? {
            return Err(RefusalReason::UnsupportedKey);
        }
        let chain_signatures = self.signature_cache.as_ref().map(ChainSignatures::new);
        let candidates;
        let searched;
        let path = if self.pins.iter().any(|pin| pin == leaf_der) {
            check_validity(&parsed, now)?;
            None
        } else if self.roots.is_pinned(leaf_der) {
            check_validity(&parsed, now)?;
            if !parsed.key_purposes().map_err(bad_encoding)?.allow(usage) {
                return Err(RefusalReason::NotForThisUsage);
            }
            // No path is built, which would find such an extension. RFC 5280 4.2
            if parsed.has_unknown_critical_extension() {
                return Err(RefusalReason::UnsupportedCriticalExtension);
            }
            None
        } else {
            candidates = Candidates::choose(leaf_der, &parsed, intermediates);
            searched = EndEntityCert::try_from(&candidates.leaf)?;
            let path =
                self.build_path(usage, &searched, &candidates, now, chain_signatures.as_ref());
            Some(path.map_err(|reason| self.refine_reason(reason, chain, &parsed))?)
        };
        if let Some(name) = name {
            parsed.check_server_name(name)?;
        }
        // No OCSP response is needed for a pinned leaf, because its trust does not depend on an
        // authority.
        let Some(path) = path else { return Ok(Trust::Pin) };
        self.check_status(&path, leaf_der, ocsp, now)?;
        if let Some(chain_signatures) = chain_signatures {
            chain_signatures.accept();
        }
        Ok(Trust::Anchor)
    }

    fn build_path<'p>(
        &'p self,
        usage: Usage,
        leaf: &'p EndEntityCert<'p>,
        candidates: &'p Candidates<'p>,
        now: UnixTime,
        chain_signatures: Option<&ChainSignatures<'_>>,
    ) -> Result<VerifiedPath<'p>, RefusalReason> {
        let key_usage = match usage {
            Usage::Server => KeyUsage::server_auth(),
            Usage::Client => KeyUsage::client_auth(),
        };
        // Path building continues after a path that this check refuses, and returns an error of any
        // other path. The reason here is the more useful one: the refused path is complete.
        let refused = Cell::new(None);
        let check = |path: &VerifiedPath<'_>| {
            self.check_path(usage, candidates, path, now).map_err(|reason| {
                refused.set(refused.get().or(Some(reason)));
                webpki::Error::UnknownIssuer
            })
        };
        let lists = self.revocation.lists();
        let build = |algorithms: &[&dyn SignatureVerificationAlgorithm]| {
            leaf.verify_for_usage(
                algorithms,
                self.roots.anchors(),
                &candidates.intermediates,
                now,
                key_usage,
                self.revocation.options(&lists),
                Some(&check),
            )
        };
        let anchors = Anchors { anchors: self.roots.anchors(), keys: &self.anchor_keys };
        let originals = &candidates.originals;
        let anchor_algorithm = |algorithm| AnchorAlgorithm { algorithm, anchors: &anchors };
        let path = match chain_signatures {
            Some(chain_signatures) => {
                let cached = |algorithm| {
                    let algorithm = anchor_algorithm(algorithm);
                    let algorithm = CachedAlgorithm { algorithm, chain_signatures };
                    OriginalAlgorithm { algorithm, originals }
                };
                with_algorithms(&self.algorithms, cached, build)
            }
            None => {
                let original = |algorithm| OriginalAlgorithm {
                    algorithm: anchor_algorithm(algorithm),
                    originals,
                };
                with_algorithms(&self.algorithms, original, build)
            }
        };
        path.map_err(|error| match RefusalReason::from(error) {
            limit @ (RefusalReason::PathLimits | RefusalReason::PathTooDeep) => limit,
            // A certificate that was left out may be the one that is missing.
            _ if candidates.is_incomplete => RefusalReason::PathLimits,
            other => refused.get().unwrap_or(other),
        })
    }

    /// Checks what path building does not: the key usages of issuers, and the restrictions of the
    /// trust anchor.
    fn check_path(
        &self,
        usage: Usage,
        candidates: &Candidates<'_>,
        path: &VerifiedPath<'_>,
        now: UnixTime,
    ) -> Result<(), RefusalReason> {
        let mut counted = 0_usize;
        for issuer in path.intermediate_certificates() {
            let der = issuer.der();
            let issuer = candidates.fields_of(&der)?;
            // A key usage without keyCertSign: the key must not verify certificates.
            // RFC 5280 4.2.1.3, 6.1.4 (n)
            if !issuer.may_certify().map_err(bad_encoding)? {
                return Err(RefusalReason::IssuerMayNotCertify);
            }
            // Constraints without a subtree are prohibited, and may be meant to be strict.
            // RFC 5280 4.2.1.10
            if issuer.has_empty_name_constraints().map_err(bad_encoding)? {
                return Err(RefusalReason::BadEncoding);
            }
            // Self-issued certificates do not count. RFC 5280 6.1.4 (l)
            counted = counted.saturating_add(usize::from(issuer.subject != issuer.issuer));
        }
        let limits = self.roots.limits_of(path.anchor()).ok_or(RefusalReason::Other)?;
        limits.check(usage, counted, self.check_anchor_validity.then_some(now))
    }

    /// Checks the stapled response against the policy and the leaf's must-staple extension. The
    /// extension applies only if a response was requested: otherwise the peer could not have sent
    /// one. RFC 7633 4.3.3
    fn check_status(
        &self,
        path: &VerifiedPath<'_>,
        leaf: &CertificateDer<'_>,
        ocsp: Option<Staple<'_>>,
        now: UnixTime,
    ) -> Result<(), RefusalReason> {
        if ocsp.is_none() && self.ocsp != OcspPolicy::Require {
            return Ok(());
        }
        let leaf = Certificate::parse_or_refuse(leaf)?;
        let required = ocsp.is_some() && leaf.must_staple().map_err(bad_encoding)?;
        match ocsp {
            Some(Staple::Response(response)) if required || self.ocsp != OcspPolicy::Ignore => {
                let algorithms = ocsp::Algorithms {
                    all: &self.algorithms,
                    for_path_building: &self.for_path_building,
                };
                ocsp::check(response, &leaf, &Issuer::of(path), algorithms, now)
            }
            Some(Staple::Response(_)) => Ok(()),
            _ if required => Err(RefusalReason::MissingStaple),
            _ if self.ocsp == OcspPolicy::Require => Err(RefusalReason::StapleRequired),
            _ => Ok(()),
        }
    }

    /// Replaces a general reason of path building by a more specific one for common mistakes.
    fn refine_reason(
        &self,
        reason: RefusalReason,
        chain: &[CertificateDer<'_>],
        leaf: &Certificate<'_>,
    ) -> RefusalReason {
        let is_too_large = |der: &CertificateDer<'_>| der.len() > MAX_CERTIFICATE_LENGTH;
        match reason {
            RefusalReason::BadEncoding | RefusalReason::UnknownIssuer
                if chain.iter().any(is_too_large) =>
            {
                RefusalReason::CertificateTooLarge
            }
            RefusalReason::NameConstraint if self.has_unsupported_constraint(chain) => {
                RefusalReason::UnsupportedNameConstraint
            }
            RefusalReason::CaUsedAsEndEntity if self.is_anchor(chain) => {
                RefusalReason::TrustAnchorAsEndEntity
            }
            RefusalReason::UnknownIssuer if leaf.issuer == leaf.subject => {
                RefusalReason::SelfSigned
            }
            RefusalReason::BadSignature if self.has_unusable_issuer_key(chain) => {
                RefusalReason::InvalidKey
            }
            other => other,
        }
    }

    /// Whether an issuer in the chain, or an anchor that issued one, has name constraints that
    /// cannot be checked.
    fn has_unsupported_constraint(&self, chain: &[CertificateDer<'_>]) -> bool {
        let parsed: Vec<_> = chain.iter().filter_map(|der| Certificate::parse(der).ok()).collect();
        let Some((leaf, issuers)) = parsed.split_first() else { return false };
        let sent = issuers.iter().filter_map(|issuer| issuer.name_constraints().ok().flatten());
        let mut names: Vec<&[u8]> = parsed.iter().map(|certificate| certificate.issuer).collect();
        names.sort_unstable();
        let anchors = self.roots.anchors().iter();
        let trusted = anchors
            .filter(|anchor| names.binary_search(&anchor.subject.as_ref()).is_ok())
            .filter_map(|anchor| anchor.name_constraints.as_deref());
        sent.chain(trusted).any(|constraints| leaf.unsupported_form(constraints).is_some())
    }

    /// Whether the leaf has the name and the key of a trust anchor.
    fn is_anchor(&self, chain: &[CertificateDer<'_>]) -> bool {
        let Some(leaf) = chain.first() else {
            return false;
        };
        webpki::anchor_from_trusted_cert(leaf).is_ok_and(|leaf| {
            self.roots.anchors().iter().any(|anchor| {
                anchor.subject == leaf.subject
                    && anchor.subject_public_key_info == leaf.subject_public_key_info
            })
        })
    }

    /// Whether an issuer's key cannot be used at all, such as an RSA key that is too short. The
    /// signature check itself reports only that it failed.
    fn has_unusable_issuer_key(&self, chain: &[CertificateDer<'_>]) -> bool {
        let unusable = |key: &[u8]| PublicKey::from_spki(key).is_err();
        // Each certificate is parsed once: the anchors may be hundreds.
        let certificates: Vec<_> =
            chain.iter().filter_map(|der| Certificate::parse(der).ok()).collect();
        let issuers: BTreeSet<_> = certificates.iter().map(|below| below.issuer).collect();
        // Only few keys are examined, because a peer may send many.
        let keys = certificates.iter().skip(1).take(MOST_KEYS_EXAMINED);
        keys.map(|issuer| issuer.subject_public_key_info).any(unusable)
            || self
                .roots
                .anchors()
                .iter()
                .filter(|anchor| issuers.contains(&*anchor.subject))
                .any(|anchor| unusable(&der::sequence(&anchor.subject_public_key_info)))
    }
}

/// Checks the validity of a pinned leaf, for which no path is built. RFC 5280 4.1.2.5
fn check_validity(leaf: &Certificate<'_>, now: UnixTime) -> Result<(), RefusalReason> {
    if now < leaf.not_before {
        return Err(RefusalReason::NotYetValid { not_before: leaf.not_before });
    }
    if now > leaf.not_after {
        return Err(RefusalReason::Expired { not_after: leaf.not_after });
    }
    Ok(())
}

/// The maximum number of a peer's keys that are parsed to explain a wrong signature.
const MOST_KEYS_EXAMINED: usize = 8;
