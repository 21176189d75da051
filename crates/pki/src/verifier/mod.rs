//! The decision: is this chain one to believe, for this use and this name, at this moment?
//!
//! Builds a path by `webpki` over our signature algorithms, or recognises a pinned leaf. It reads no clock, opens no file
//! and knows no TLS. What it says when it refuses is in [`crate::refusal`].

mod builder;
mod limits;

use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, SignatureVerificationAlgorithm, UnixTime};
use tercel_crypto::{KeyKind, PublicKey, SignatureAlgorithm};
use webpki::{EndEntityCert, KeyUsage};

use crate::algorithms::CertificateAlgorithm;
use crate::certificate::Certificate;
use crate::der::Malformed;
use crate::refusal::{Refusal, RefusalReason};
use crate::revocation::Revocation;
use crate::roots::{Roots, sequence};

pub use builder::{ChainVerifierBuilder, NothingTrusted};

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
    algorithms: Vec<&'static CertificateAlgorithm>,
    /// The same as `algorithms`, in the form path building takes.
    for_path_building: Vec<&'static dyn SignatureVerificationAlgorithm>,
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
    /// `ocsp` is what came of asking for a stapled response, `None` if none was asked for. A response is not looked into; a
    /// leaf that demands one ("must-staple", RFC 7633) is refused without. The refusal is boxed because it is large and rare.
    pub fn verify(
        &self,
        usage: Usage,
        chain: &[CertificateDer<'_>],
        name: Option<&ServerName<'_>>,
        ocsp: Option<Staple<'_>>,
        now: UnixTime,
    ) -> Result<Trust, Box<Refusal>> {
        self.decide(usage, chain, name, now)
            .and_then(|trust| check_staple(trust, chain, ocsp).map(|()| trust))
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
        now: UnixTime,
    ) -> Result<Trust, RefusalReason> {
        let (leaf_der, intermediates) = chain.split_first().ok_or(RefusalReason::EmptyChain)?;
        let leaf = EndEntityCert::try_from(leaf_der)?;
        let trust = if self.pins.iter().any(|pin| pin == leaf_der) {
            check_validity(leaf_der, now)?;
            Trust::Pin
        } else {
            limits::check(intermediates)?;
            self.build_path(usage, &leaf, intermediates, now)
                .map_err(|reason| self.sharpen(reason, chain, &leaf))?;
            Trust::Anchor
        };
        if let Some(name) = name {
            leaf.verify_is_valid_for_subject_name(name)?;
        }
        Ok(trust)
    }

    fn build_path(
        &self,
        usage: Usage,
        leaf: &EndEntityCert<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), RefusalReason> {
        let usage = match usage {
            Usage::Server => KeyUsage::server_auth(),
            Usage::Client => KeyUsage::client_auth(),
        };
        let lists = self.revocation.lists();
        leaf.verify_for_usage(
            &self.for_path_building,
            self.roots.anchors(),
            intermediates,
            now,
            usage,
            self.revocation.options(&lists),
            None,
        )?;
        Ok(())
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

/// Without the response that its leaf demands a chain is refused, if the response was asked for: a peer cannot know that
/// it should have sent one unasked. A pinned leaf rests on no authority, so none is heard about it. RFC 7633 4.3.3
fn check_staple(
    trust: Trust,
    chain: &[CertificateDer<'_>],
    ocsp: Option<Staple<'_>>,
) -> Result<(), RefusalReason> {
    if trust != Trust::Anchor || ocsp != Some(Staple::Missing) {
        return Ok(());
    }
    let leaf = chain.first().ok_or(RefusalReason::EmptyChain)?;
    let leaf = Certificate::parse(leaf).map_err(|Malformed| RefusalReason::BadEncoding)?;
    match leaf.must_staple() {
        Ok(true) => Err(RefusalReason::MissingStaple),
        Ok(false) => Ok(()),
        Err(Malformed) => Err(RefusalReason::BadEncoding),
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
