//! Verification of a chain for a use, a name and a time.
//!
//! The verifier recognises a pinned leaf, or searches for a path ([`crate::path`]). It reads no
//! clock, opens no file and handles no TLS. See [`crate::refusal`] for the result of a failure.

mod builder;
mod path_end;

use std::fmt;
use std::sync::Arc;

use pki_types::{CertificateDer, SignatureVerificationAlgorithm, UnixTime};
use tercel_crypto::{KeyKind, PartsHash, SignatureAlgorithm};

use crate::certificate::{Certificate, PathCertificate, Usage, bad_encoding};
use crate::der;
use crate::ocsp::{self, Issuer, OcspPolicy};
use crate::path::{self, Path, Trusted};
use crate::reason::RefusalReason;
use crate::refusal::{MAX_CERTIFICATE_LENGTH, Refusal};
use crate::revocation::Work;
use crate::roots::Roots;
use crate::server_name::ServerName;

pub use builder::{ChainVerifierBuilder, NoTrustConfigured};

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
    pub(crate) trusted: Trusted,
    pins: Vec<CertificateDer<'static>>,
    ocsp: OcspPolicy,
}

/// Omits certificates and lists.
impl fmt::Debug for ChainVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainVerifier")
            .field("roots", &self.trusted.roots)
            .field("pins", &self.pins.len())
            .field("revocation", &self.trusted.revocation)
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
                refusal.chain_end = path_end::find(chain, &self.trusted.roots);
            }
            refusal
        })
    }

    /// The trust anchors.
    #[must_use]
    pub fn roots(&self) -> &Arc<Roots> {
        &self.trusted.roots
    }

    /// A digest of all settings that decide which chains are accepted: the roots, the pins, the
    /// revocation lists and their policy, the policy for OCSP responses, and the algorithms.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = PartsHash::new();
        let mut add = |part: &[u8]| hash.add(part);
        add(&self.trusted.roots.fingerprint());
        let policies =
            (self.ocsp, self.trusted.revocation.policy, self.trusted.check_anchor_validity);
        add(format!("{policies:?}").as_bytes());
        add(&self.pins.len().to_be_bytes());
        self.pins.iter().for_each(|pin| add(pin));
        add(&self.trusted.revocation.digests().len().to_be_bytes());
        self.trusted.revocation.digests().iter().for_each(|list| add(list));
        for algorithm in &self.trusted.algorithms {
            add(&algorithm.public_key_alg_id());
            add(&algorithm.signature_alg_id());
        }
        hash.finish()
    }

    /// The signature algorithms of certificates, the preferred first, without duplicates.
    #[must_use]
    pub fn signature_algorithms(&self) -> Vec<(KeyKind, SignatureAlgorithm)> {
        let mut pairs = Vec::new();
        for algorithm in &self.trusted.algorithms {
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
        let parsed = Certificate::parse_or_refuse(leaf_der)?;
        // No signature algorithm has such a key, if it is an issuer's.
        if !parsed.has_named_curve().map_err(bad_encoding)? {
            return Err(RefusalReason::UnsupportedKey);
        }
        let mut work = Work::new();
        let path = if self.pins.iter().any(|pin| pin == leaf_der) {
            check_validity(&parsed, now)?;
            None
        } else if self.trusted.roots.is_pinned(leaf_der) {
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
            let leaf = PathCertificate::of(parsed)?;
            let path = path::find(&self.trusted, usage, &leaf, intermediates, now, &mut work);
            Some(path.map_err(|reason| self.refine_reason(reason, &parsed))?)
        };
        if let Some(name) = name {
            parsed.check_server_name(name)?;
        }
        // No OCSP response is needed for a pinned leaf, because its trust does not depend on an
        // authority.
        let Some(path) = path else { return Ok(Trust::Pin) };
        self.check_status(&path, &parsed, ocsp, now, &mut work)?;
        self.trusted.remember(&path);
        Ok(Trust::Anchor)
    }

    /// Checks the stapled response against the policy and the leaf's must-staple extension. The
    /// extension applies only if a response was requested: otherwise the peer could not have sent
    /// one. RFC 7633 4.3.3
    fn check_status<'p>(
        &self,
        path: &Path<'p>,
        leaf: &Certificate<'_>,
        ocsp: Option<Staple<'_>>,
        now: UnixTime,
        work: &mut Work<'p>,
    ) -> Result<(), RefusalReason> {
        if ocsp.is_none() && self.ocsp != OcspPolicy::Require {
            return Ok(());
        }
        let required = ocsp.is_some() && leaf.must_staple().map_err(bad_encoding)?;
        match ocsp {
            Some(Staple::Response(response)) if required || self.ocsp != OcspPolicy::Ignore => {
                ocsp::check(response, leaf, &Issuer::of(path), &self.trusted, now, work)
            }
            Some(Staple::Response(_)) => Ok(()),
            _ if required => Err(RefusalReason::MissingStaple),
            _ if self.ocsp == OcspPolicy::Require => Err(RefusalReason::StapleRequired),
            _ => Ok(()),
        }
    }

    /// Replaces a general reason by a more specific one for a common mistake. The last two are the
    /// reasons if an anchor has the name of a self-signed leaf, and another key.
    fn refine_reason(&self, reason: RefusalReason, leaf: &Certificate<'_>) -> RefusalReason {
        match reason {
            RefusalReason::UnknownIssuer
            | RefusalReason::BadSignature
            | RefusalReason::UnsupportedKey
                if leaf.issuer == leaf.subject && !self.is_key_of_anchor(leaf) =>
            {
                RefusalReason::SelfSigned
            }
            other => other,
        }
    }

    /// Whether a trust anchor has the name and the key of this leaf.
    fn is_key_of_anchor(&self, leaf: &Certificate<'_>) -> bool {
        let key = der::single(leaf.subject_public_key_info, der::SEQUENCE).ok();
        let anchors = self.trusted.roots.anchors();
        let mut named = self.trusted.anchors_named(leaf.subject).iter();
        named.any(|index| anchors.get(*index).map(|one| &*one.subject_public_key_info) == key)
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
