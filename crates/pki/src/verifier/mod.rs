//! The decision: is this chain one to believe, for this use and this name, at this moment?
//!
//! Builds a path by `webpki` over our signature algorithms, or recognises a pinned leaf. It reads no clock, opens no file
//! and knows no TLS. What it says when it refuses is in [`crate::refusal`].

mod anchor_keys;
mod builder;
mod limits;
mod remembered;

use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, SignatureVerificationAlgorithm, UnixTime};
use tercel_crypto::{KeyKind, PublicKey, SignatureAlgorithm};
use webpki::{EndEntityCert, KeyUsage, VerifiedPath};

use crate::algorithms::CertificateAlgorithm;
use crate::certificate::Certificate;
use crate::der::Malformed;
use crate::ocsp::{self, Issuer, OcspPolicy};
use crate::refusal::{Refusal, RefusalReason};
use crate::revocation::Revocation;
use crate::roots::{Roots, sequence};

use anchor_keys::{AnchorKeys, Anchored, Anchors, with_each};
pub use builder::{ChainVerifierBuilder, NothingTrusted};
use remembered::{Remembering, VerifiedSignatures, Visit};

/// What the leaf is used for. Its extended key usage, if it has one, must allow it, as must every authority's.
/// RFC 5280 4.2.1.12
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To authenticate a server.
    Server,
    /// To authenticate a client.
    Client,
}

/// What an accepted chain rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// A path leads from the leaf to a trust anchor.
    Anchor,
    /// The leaf is one of the pinned ones.
    Pin,
}

/// What came of asking the peer for a stapled OCSP response. RFC 6066 8
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staple<'a> {
    /// It sent none.
    Missing,
    /// It sent this one (DER).
    Response(&'a [u8]),
}

/// Verifies certificate chains. Immutable and shared; one serves any number of handshakes at once.
#[derive(Debug)]
pub struct ChainVerifier {
    roots: Arc<Roots>,
    pins: Vec<CertificateDer<'static>>,
    revocation: Revocation,
    ocsp: OcspPolicy,
    algorithms: Vec<&'static CertificateAlgorithm>,
    /// The same as `algorithms`, in the form path building takes.
    for_path_building: Vec<&'static dyn SignatureVerificationAlgorithm>,
    remembered: Option<VerifiedSignatures>,
    anchor_keys: AnchorKeys,
}

impl ChainVerifier {
    /// A verifier that trusts these anchors, and whatever the builder is told besides.
    #[must_use]
    pub fn builder(roots: Arc<Roots>) -> ChainVerifierBuilder {
        ChainVerifierBuilder::new(roots)
    }

    /// Verifies a chain: `chain` as the peer presented it, leaf first; `name` as the application asked for it, `None` to
    /// accept any (clients usually have none to check); `now` from the application's clock.
    ///
    /// `ocsp` is what came of asking for a stapled response, `None` if none was asked for; [`OcspPolicy`] says what is made
    /// of it. The refusal is boxed because it is large and rare.
    pub fn verify(
        &self,
        usage: Usage,
        chain: &[CertificateDer<'_>],
        name: Option<&ServerName<'_>>,
        ocsp: Option<Staple<'_>>,
        now: UnixTime,
    ) -> Result<Trust, Box<Refusal>> {
        self.decide(usage, chain, name, ocsp, now)
            .map_err(|reason| Box::new(Refusal::new(reason, chain, name, now)))
    }

    /// The authorities trusted.
    #[must_use]
    pub fn roots(&self) -> &Arc<Roots> {
        &self.roots
    }

    /// What a certificate may be signed with, the preferred first; a pair appears once.
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

    fn decide(
        &self,
        usage: Usage,
        chain: &[CertificateDer<'_>],
        name: Option<&ServerName<'_>>,
        ocsp: Option<Staple<'_>>,
        now: UnixTime,
    ) -> Result<Trust, RefusalReason> {
        let (leaf_der, intermediates) = chain.split_first().ok_or(RefusalReason::EmptyChain)?;
        let leaf = EndEntityCert::try_from(leaf_der)?;
        let visit = self.remembered.as_ref().map(Visit::new);
        let path = if self.pins.iter().any(|pin| pin == leaf_der) {
            check_validity(leaf_der, now)?;
            None
        } else {
            limits::check(intermediates)?;
            let path = self.build_path(usage, &leaf, intermediates, now, visit.as_ref());
            Some(path.map_err(|reason| self.sharpen(reason, chain, &leaf))?)
        };
        if let Some(name) = name {
            leaf.verify_is_valid_for_subject_name(name)?;
        }
        // A pinned leaf rests on no authority, so none is heard about it.
        let Some(path) = path else { return Ok(Trust::Pin) };
        self.check_status(&path, leaf_der, ocsp, now)?;
        if let Some(visit) = visit {
            visit.accept();
        }
        Ok(Trust::Anchor)
    }

    fn build_path<'p>(
        &'p self,
        usage: Usage,
        leaf: &'p EndEntityCert<'p>,
        intermediates: &'p [CertificateDer<'p>],
        now: UnixTime,
        visit: Option<&Visit<'_>>,
    ) -> Result<VerifiedPath<'p>, RefusalReason> {
        let usage = match usage {
            Usage::Server => KeyUsage::server_auth(),
            Usage::Client => KeyUsage::client_auth(),
        };
        let lists = self.revocation.lists();
        let build = |algorithms: &[&dyn SignatureVerificationAlgorithm]| {
            leaf.verify_for_usage(
                algorithms,
                self.roots.anchors(),
                intermediates,
                now,
                usage,
                self.revocation.options(&lists),
                None,
            )
        };
        let anchors = Anchors { anchors: self.roots.anchors(), keys: &self.anchor_keys };
        let anchored = |algorithm| Anchored { algorithm, anchors: &anchors };
        Ok(match visit {
            Some(visit) => {
                let remembering = |algorithm| Remembering { algorithm: anchored(algorithm), visit };
                with_each(&self.algorithms, remembering, build)?
            }
            None => with_each(&self.algorithms, anchored, build)?,
        })
    }

    /// What the peer stapled, against the policy and the leaf's own demand. That holds only if a response was asked for:
    /// a peer cannot know that it should have sent one unasked. RFC 7633 4.3.3
    fn check_status(
        &self,
        path: &VerifiedPath<'_>,
        leaf: &CertificateDer<'_>,
        ocsp: Option<Staple<'_>>,
        now: UnixTime,
    ) -> Result<(), RefusalReason> {
        let bad_encoding = |Malformed| RefusalReason::BadEncoding;
        if ocsp.is_none() && self.ocsp != OcspPolicy::Require {
            return Ok(());
        }
        let leaf = Certificate::parse(leaf).map_err(bad_encoding)?;
        let demanded = ocsp.is_some() && leaf.must_staple().map_err(bad_encoding)?;
        match ocsp {
            Some(Staple::Response(response)) if demanded || self.ocsp != OcspPolicy::Ignore => {
                let algorithms = ocsp::Algorithms {
                    own: &self.algorithms,
                    for_path_building: &self.for_path_building,
                };
                ocsp::check(response, &leaf, &Issuer::of(path), algorithms, now)
            }
            Some(Staple::Response(_)) => Ok(()),
            _ if demanded => Err(RefusalReason::MissingStaple),
            _ if self.ocsp == OcspPolicy::Require => Err(RefusalReason::StapleRequired),
            _ => Ok(()),
        }
    }

    /// Path building's reasons are general where the user's mistake is a well-known one: names that.
    fn sharpen(
        &self,
        reason: RefusalReason,
        chain: &[CertificateDer<'_>],
        leaf: &EndEntityCert<'_>,
    ) -> RefusalReason {
        match reason {
            RefusalReason::CaUsedAsEndEntity if self.is_anchor(chain) => {
                RefusalReason::TrustAnchorAsEndEntity
            }
            RefusalReason::UnknownIssuer if leaf.issuer() == leaf.subject() => {
                RefusalReason::SelfSigned
            }
            RefusalReason::BadSignature if self.has_unusable_issuer_key(chain) => {
                RefusalReason::InvalidKey
            }
            other => other,
        }
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

    /// Whether a key above the leaf cannot be used at all, such as an RSA key that is too short. The signature check
    /// itself can only say no.
    fn has_unusable_issuer_key(&self, chain: &[CertificateDer<'_>]) -> bool {
        let unusable = |key: &[u8]| PublicKey::from_spki(key).is_err();
        let certificates = || chain.iter().filter_map(|der| Certificate::parse(der).ok());
        let names_as_issuer = |name: &[u8]| certificates().any(|below| below.issuer == name);
        certificates().skip(1).any(|issuer| unusable(issuer.subject_public_key_info))
            || self
                .roots
                .anchors()
                .iter()
                .filter(|anchor| names_as_issuer(&anchor.subject))
                .any(|anchor| unusable(&sequence(&anchor.subject_public_key_info)))
    }
}

/// A pinned leaf has no path that would check this. RFC 5280 4.1.2.5
fn check_validity(leaf: &CertificateDer<'_>, now: UnixTime) -> Result<(), RefusalReason> {
    let leaf = Certificate::parse(leaf).map_err(|Malformed| RefusalReason::BadEncoding)?;
    if now < leaf.not_before {
        let not_before = leaf.not_before;
        return Err(RefusalReason::NotYetValid { not_before });
    }
    if now > leaf.not_after {
        let not_after = leaf.not_after;
        return Err(RefusalReason::Expired { not_after });
    }
    Ok(())
}
