//! The search for a path from a leaf to a trust anchor, and its validation. RFC 5280 6, RFC 4158
//!
//! Each certificate is parsed once. Those that, by names, are on no way from the leaf to an anchor
//! take no part. The search goes from the leaf upwards, depth first. At each certificate it tries
//! the anchors and the certificates of the issuer's name in the order of [`ways`] (RFC 4158 3.5).
//! An issuer is followed if it may certify and if its key made the signature. A path that reaches
//! an anchor is validated as a whole ([`Search::validate`]); if it is refused, the search
//! continues.
//!
//! The shape of a chain has one limit, [`MAX_INTERMEDIATES`]; the work is limited by
//! [`Budget`](crate::budget::Budget).

mod anchor_keys;
mod candidates;
mod name_constraints;
mod policies;
mod ways;

use std::sync::Arc;

use pki_types::{CertificateDer, TrustAnchor, UnixTime};
use tercel_crypto::{SignatureCache, SignatureDigest};

use crate::algorithms::{self, CertificateAlgorithm};
use crate::certificate::{Certificate, PathCertificate, Usage, bad_encoding, read_key};
use crate::der;
use crate::reason::RefusalReason;
use crate::revocation::{Revocation, Signer, Work};
use crate::roots::Roots;
use anchor_keys::AnchorKeys;
use candidates::{Candidate, candidates};
use name_constraints::NameConstraints;
use ways::Way;

/// The trust anchors, and how signatures are verified.
pub(crate) struct Trusted {
    pub(crate) roots: Arc<Roots>,
    /// The indices of the roots' anchors, sorted by name.
    anchors_by_name: Vec<usize>,
    anchor_keys: AnchorKeys,
    pub(crate) check_anchor_validity: bool,
    pub(crate) algorithms: Vec<&'static CertificateAlgorithm>,
    /// The signatures of accepted chains. Nothing else of a result is stored: dates, names, usages,
    /// constraints, revocation and staples are checked each time, by the same code. A chain that is
    /// refused stores nothing, so that an attacker cannot fill the cache.
    signature_cache: Option<SignatureCache>,
    pub(crate) revocation: Revocation,
}

impl Trusted {
    pub(crate) fn new(
        roots: Arc<Roots>,
        check_anchor_validity: bool,
        algorithms: Vec<&'static CertificateAlgorithm>,
        cache_signatures: bool,
        revocation: Revocation,
    ) -> Self {
        let anchors = roots.anchors();
        let mut anchors_by_name: Vec<usize> = (0..anchors.len()).collect();
        // Stable: anchors with one name stay in order.
        anchors_by_name.sort_by_key(|index| anchors.get(*index).map(|anchor| &*anchor.subject));
        Self {
            anchors_by_name,
            anchor_keys: AnchorKeys::default(),
            check_anchor_validity,
            algorithms,
            signature_cache: cache_signatures
                .then(|| SignatureCache::new(CACHED_SIGNATURES).ok())
                .flatten(),
            revocation,
            roots,
        }
    }

    /// Stores the signatures of a path that was accepted.
    pub(crate) fn remember(&self, path: &Path<'_>) {
        if let Some(cache) = &self.signature_cache {
            let verified = path.signatures.iter().filter_map(|signature| signature.digest.as_ref());
            verified.for_each(|digest| cache.insert(digest));
        }
    }

    /// The indices of the anchors with this name (the content of its SEQUENCE).
    pub(crate) fn anchors_named(&self, name: &[u8]) -> &[usize] {
        let subject =
            |index: &usize| self.roots.anchors().get(*index).map(|anchor| anchor.subject.as_ref());
        let from = self.anchors_by_name.partition_point(|index| subject(index) < Some(name));
        let rest = self.anchors_by_name.get(from..).unwrap_or_default();
        // There is rarely more than one. Many are not counted: this work is not paid for.
        let has_this_name = |index: &usize| subject(index) == Some(name);
        let count = match rest.get(..2) {
            Some(two) if two.iter().all(has_this_name) => rest.partition_point(has_this_name),
            _ => usize::from(rest.first().is_some_and(has_this_name)),
        };
        rest.get(..count).unwrap_or_default()
    }
}

/// A validated path.
#[derive(Debug)]
pub(crate) struct Path<'a> {
    /// The name (the content of its SEQUENCE) and the key (SubjectPublicKeyInfo, the content of its
    /// SEQUENCE) of the leaf's issuer.
    pub(crate) issuer: (&'a [u8], &'a [u8]),
    /// The signatures of the path.
    signatures: Vec<Signature<'a>>,
}

/// Finds a path and validates it. The error is the reason of the best candidate path.
pub(crate) fn find<'a>(
    trusted: &'a Trusted,
    usage: Usage,
    leaf: &PathCertificate<'a>,
    sent: &'a [CertificateDer<'_>],
    now: UnixTime,
    work: &mut Work<'a>,
) -> Result<Path<'a>, RefusalReason> {
    // The leaf may be an authority's certificate, as for OpenSSL and Go: its issuer states its
    // names and usages like those of any other leaf.
    check_validity(leaf, now)?;
    // RFC 5280 4.2.1.12
    if !leaf.purposes.name(usage) {
        return Err(RefusalReason::NotForThisUsage);
    }
    let (issuers, refused) = candidates(trusted, leaf, sent);
    Search::new(trusted, usage, now, (&issuers, refused), work).run(leaf)
}

/// Checks the validity, first and last second included. RFC 5280 4.1.2.5, 6.1.3 (a) (2)
pub(crate) fn check_validity(
    certificate: &PathCertificate<'_>,
    now: UnixTime,
) -> Result<(), RefusalReason> {
    let Certificate { not_before, not_after, .. } = certificate.fields;
    if not_before > not_after {
        return Err(RefusalReason::InvalidValidity);
    }
    if now < not_before {
        return Err(RefusalReason::NotYetValid { not_before });
    }
    if now > not_after {
        return Err(RefusalReason::Expired { not_after });
    }
    Ok(())
}

/// How near a refused path came to an anchor. The reason of the nearest path is reported, and of
/// several the first, because the best path is tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    Nowhere,
    TooDeep,
    /// The signature is not by the issuer of this name.
    NotSigned,
    /// The issuer may not certify.
    NotIssuer,
    /// The path reached an anchor.
    Complete,
}

/// The position of a certificate in the search: the leaf, or one of the candidates plus one.
type Position = usize;
const LEAF: Position = 0;

/// A path, by its last certificate.
struct Step<'p, 'a> {
    position: Position,
    certificate: &'p PathCertificate<'a>,
    /// The path without the last certificate; `None` for the leaf alone.
    below: Option<&'p Step<'p, 'a>>,
    /// The number of certificates.
    length: usize,
}

impl<'p, 'a> Step<'p, 'a> {
    /// The steps of the path, the last certificate first.
    fn downwards(&'p self) -> impl Iterator<Item = &'p Step<'p, 'a>> {
        std::iter::successors(Some(self), |step| step.below)
    }
}

/// An issuer of a certificate.
#[derive(Clone, Copy)]
enum Issuer<'p, 'a> {
    Anchor(usize),
    Sent(&'p PathCertificate<'a>),
}

/// The content of the SEQUENCE of an AlgorithmIdentifier, and the bits of a key.
type Key<'a> = (&'a [u8], &'a [u8]);

/// A signature that was verified, or refused. Several certificates may have the same key.
#[derive(Debug)]
struct Signature<'a> {
    of: Position,
    by: Key<'a>,
    result: Result<(), RefusalReason>,
    /// The digest of a valid signature that was not in the cache.
    digest: Option<SignatureDigest>,
    /// Whether it is of the accepted path.
    is_accepted: bool,
}

/// The result of the lists about a certificate. Several paths may have the same certificates.
struct Status<'a> {
    of: Position,
    by: Signer<'a>,
    result: Result<(), RefusalReason>,
}

struct Search<'s, 'a> {
    trusted: &'a Trusted,
    usage: Usage,
    now: UnixTime,
    issuers: &'s [Candidate<'a>],
    work: &'s mut Work<'a>,
    signatures: Vec<Signature<'a>>,
    statuses: Vec<Status<'a>>,
    refused: (Nearness, RefusalReason),
}

impl<'s, 'a> Search<'s, 'a> {
    /// A search among these candidates. `refused` is the reason if no path comes near an anchor.
    fn new(
        trusted: &'a Trusted,
        usage: Usage,
        now: UnixTime,
        (issuers, refused): (&'s [Candidate<'a>], RefusalReason),
        work: &'s mut Work<'a>,
    ) -> Self {
        Self {
            trusted,
            usage,
            now,
            issuers,
            work,
            signatures: Vec::with_capacity(2),
            statuses: Vec::new(),
            refused: (Nearness::Nowhere, refused),
        }
    }

    fn run(&mut self, leaf: &PathCertificate<'a>) -> Result<Path<'a>, RefusalReason> {
        let leaf = Step { position: LEAF, certificate: leaf, below: None, length: 1 };
        self.extend(&leaf)?.ok_or(self.refused.1)
    }

    /// Extends a path to an anchor. `None` if there is no way; an error if the budget is exhausted.
    fn extend(&mut self, path: &Step<'_, 'a>) -> Result<Option<Path<'a>>, RefusalReason> {
        let mut anchors = self.trusted.anchors_named(path.certificate.fields.issuer);
        // One anchor needs no order.
        if let [anchor] = anchors {
            if let Some(found) = self.end_at(path, *anchor)? {
                return Ok(Some(found));
            }
            anchors = &[];
        }
        let (first, others) = self.ways(path.certificate, anchors)?;
        for way in first.into_iter().chain(others) {
            let found = match way {
                Way::Anchor(index) => self.end_at(path, index)?,
                Way::Candidate(_) if path.length > MAX_INTERMEDIATES => {
                    self.refuse(Nearness::TooDeep, RefusalReason::PathTooDeep)?;
                    None
                }
                Way::Candidate(position) => self.extend_by(path, position)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Ends a path at an anchor with the issuer's name, if its key made the signature.
    fn end_at(
        &mut self,
        path: &Step<'_, 'a>,
        index: usize,
    ) -> Result<Option<Path<'a>>, RefusalReason> {
        self.work.budget.pay(1)?;
        if let Err(reason) = self.check_signature(path, Issuer::Anchor(index)) {
            return self.refuse(Nearness::NotSigned, reason).map(|()| None);
        }
        match self.validate(path, index) {
            Ok(()) => self.found(path, index).map(Some),
            Err(reason) => self.refuse(Nearness::Complete, reason).map(|()| None),
        }
    }

    /// Extends a path by the candidate at a position, if it is an issuer, and on to an anchor.
    fn extend_by(
        &mut self,
        path: &Step<'_, 'a>,
        position: Position,
    ) -> Result<Option<Path<'a>>, RefusalReason> {
        self.work.budget.pay(path.length)?;
        let issuer = match self.issuer_at(position) {
            Ok(issuer) if is_in(path, issuer) => return Ok(None),
            Ok(issuer) => issuer,
            Err(reason) => return self.refuse(Nearness::NotIssuer, reason).map(|()| None),
        };
        if let Err(reason) = self.check_issuer(issuer) {
            return self.refuse(Nearness::NotIssuer, reason).map(|()| None);
        }
        if let Err(reason) = self.check_signature(path, Issuer::Sent(issuer)) {
            return self.refuse(Nearness::NotSigned, reason).map(|()| None);
        }
        let length = path.length.saturating_add(1);
        self.extend(&Step { position, certificate: issuer, below: Some(path), length })
    }

    /// The candidate at a position, or the reason why it is no issuer.
    fn issuer_at(&self, position: Position) -> Result<&'s PathCertificate<'a>, RefusalReason> {
        let candidate = position.checked_sub(1).and_then(|index| self.issuers.get(index));
        let read = candidate.ok_or(RefusalReason::UnknownIssuer)?.read.as_ref();
        read.map_err(|reason| *reason)
    }

    /// Checks what does not depend on the path: whether a certificate may issue others now, for
    /// this usage.
    fn check_issuer(&self, issuer: &PathCertificate<'_>) -> Result<(), RefusalReason> {
        check_validity(issuer, self.now)?;
        // RFC 5280 4.2.1.9, 6.1.4 (k)
        if !issuer.is_ca {
            return Err(RefusalReason::EndEntityUsedAsCa);
        }
        // RFC 5280 4.2.1.3, 6.1.4 (n)
        if !issuer.may_certify() {
            return Err(RefusalReason::IssuerMayNotCertify);
        }
        // The purposes of an authority limit those of what it issues, as for OpenSSL and Go.
        if !issuer.purposes.name(self.usage) {
            return Err(RefusalReason::NotForThisUsage);
        }
        Ok(())
    }

    /// Notes why a path was refused. An exhausted budget ends the search.
    fn refuse(&mut self, nearness: Nearness, reason: RefusalReason) -> Result<(), RefusalReason> {
        if reason == RefusalReason::PathLimits {
            return Err(reason);
        }
        if nearness > self.refused.0 {
            self.refused = (nearness, reason);
        }
        Ok(())
    }

    /// Checks the signature of a path's last certificate by an issuer. RFC 5280 6.1.3 (a) (1)
    fn check_signature(
        &mut self,
        path: &Step<'_, 'a>,
        by: Issuer<'_, 'a>,
    ) -> Result<(), RefusalReason> {
        let (of, key) = (path.position, self.key(by)?);
        // All known signatures are compared.
        self.work.budget.pay(self.signatures.len() / 8)?;
        if let Some(known) = self.signatures.iter().find(|one| one.of == of && one.by == key) {
            return known.result;
        }
        let (result, digest) = match self.verify_signature(path.certificate, by, key) {
            Ok(digest) => (Ok(()), digest),
            Err(RefusalReason::PathLimits) => return Err(RefusalReason::PathLimits),
            Err(reason) => (Err(reason), None),
        };
        self.signatures.push(Signature { of, by: key, result, digest, is_accepted: false });
        result
    }

    fn key(&self, of: Issuer<'_, 'a>) -> Result<Key<'a>, RefusalReason> {
        match of {
            Issuer::Anchor(index) => {
                let key = &anchor(self.trusted, index)?.subject_public_key_info;
                read_key(key).map_err(|_| RefusalReason::InvalidKey)
            }
            Issuer::Sent(issuer) => Ok((issuer.key_algorithm, issuer.key)),
        }
    }

    /// Verifies a signature, and returns its digest if it was not in the cache.
    fn verify_signature(
        &mut self,
        below: &PathCertificate<'a>,
        by: Issuer<'_, 'a>,
        (key_algorithm, key): Key<'a>,
    ) -> Result<Option<SignatureDigest>, RefusalReason> {
        let trusted = self.trusted;
        let Certificate { signature_algorithm, signed, .. } = below.fields;
        let algorithm = algorithms::find(&trusted.algorithms, signature_algorithm, key_algorithm)?;
        // The message is hashed, for the cache and for the signature, and a key is compared with
        // those of other signatures.
        self.work.budget.pay(signed.len() / 4)?;
        let cache = trusted.signature_cache.as_ref();
        let digest = cache.map(|cache| {
            cache.digest([key_algorithm, key, signature_algorithm, signed, below.signature])
        });
        if let (Some(cache), Some(digest)) = (cache, &digest) {
            if cache.contains(digest) {
                return Ok(None);
            }
        }
        self.work.budget.pay_signature(algorithm.key())?;
        let verified = match by {
            Issuer::Anchor(index) => {
                let key = trusted.anchor_keys.key(trusted.roots.anchors(), index, algorithm, key);
                let key = key.ok_or(RefusalReason::InvalidKey)?;
                algorithm.verify_by(key, signed, below.signature)
            }
            Issuer::Sent(_) => {
                let key = algorithm.parse_key(key).map_err(|_| RefusalReason::InvalidKey)?;
                algorithm.verify_by(&key, signed, below.signature)
            }
        };
        verified.map_err(|_| RefusalReason::BadSignature)?;
        Ok(digest)
    }

    /// Validates a path whose signatures are valid, from the anchor down. RFC 5280 6.1
    fn validate(&mut self, path: &Step<'_, 'a>, anchor_index: usize) -> Result<(), RefusalReason> {
        self.work.budget.pay(path.length)?;
        let trusted = self.trusted;
        let limits = trusted.roots.limits(anchor_index);
        limits.check(self.usage, trusted.check_anchor_validity.then_some(self.now))?;

        // RFC 5280 6.1.4 (l), (m)
        let mut most_below = limits.path_length();
        for issuer in path.downwards().filter(|step| step.below.is_some()) {
            let issuer = issuer.certificate;
            if !issuer.is_self_issued() {
                let left = most_below.map(|most| most.checked_sub(1));
                most_below = left.map(|left| left.ok_or(RefusalReason::PathTooLong)).transpose()?;
            }
            most_below = match (most_below, issuer.path_length) {
                (Some(most), Some(own)) => Some(most.min(own)),
                (most, own) => most.or(own),
            };
        }

        // RFC 5280 6.1.3 (b), (c), 6.1.4 (g), 6.2
        let of_anchor = anchor(trusted, anchor_index)?.name_constraints.as_deref();
        if let Some(constraints) = of_anchor {
            self.check_names(constraints, path)?;
        }
        for step in path.downwards() {
            let of_issuer = step.certificate.extensions.name_constraints;
            if let (Some(below), Some(value)) = (step.below, of_issuer) {
                let constraints = der::single(value, der::SEQUENCE);
                self.check_names(constraints.map_err(bad_encoding)?, below)?;
            }
        }

        if path.downwards().any(|step| policies::apply_to(step.certificate)) {
            let certificates = path.downwards().map(|step| step.certificate);
            policies::check(path.length, certificates, &mut self.work.budget)?;
        }
        self.check_revocation(path, anchor_index)
    }

    /// Checks the names of the certificates below a constrained authority. Those of self-issued
    /// issuers are not checked. RFC 5280 6.1.3
    fn check_names(
        &mut self,
        constraints: &[u8],
        below: &Step<'_, 'a>,
    ) -> Result<(), RefusalReason> {
        self.work.budget.pay(constraints.len() / 16)?;
        let constraints = NameConstraints::read(constraints).map_err(bad_encoding)?;
        for step in below.downwards() {
            if step.below.is_none() || !step.certificate.is_self_issued() {
                constraints.check(step.certificate, &mut self.work.budget)?;
            }
            if step.below.is_none() && self.usage == Usage::Client {
                self.check_common_names(&constraints, step.certificate)?;
            }
        }
        Ok(())
    }

    /// Holds the commonNames of a client against constraints on DNS names, as OpenSSL does: servers
    /// take the commonName for the client's identity, and an authority that is limited to a domain
    /// must not name the hosts of others in it. The commonName of a server is not used.
    fn check_common_names(
        &mut self,
        constraints: &NameConstraints<'_>,
        leaf: &PathCertificate<'_>,
    ) -> Result<(), RefusalReason> {
        if !constraints.has_dns_names() {
            return Ok(());
        }
        let Some(names) = leaf.common_dns_names().map_err(bad_encoding)? else { return Ok(()) };
        let mut named = *leaf;
        named.extensions.subject_alt_name = Some(&names);
        constraints.check(&named, &mut self.work.budget)
    }

    /// Checks the certificates of a path, or the leaf, against the revocation lists. RFC 5280 6.3
    fn check_revocation(
        &mut self,
        path: &Step<'_, 'a>,
        anchor_index: usize,
    ) -> Result<(), RefusalReason> {
        let revocation = &self.trusted.revocation;
        if revocation.is_empty() {
            return Ok(());
        }
        let mut issuer = None;
        for step in path.downwards() {
            let (key, may_sign_lists) = match issuer.replace(step.certificate) {
                Some(issuer) => (self.key(Issuer::Sent(issuer))?, issuer.may_sign_lists()),
                None => {
                    let limits = self.trusted.roots.limits(anchor_index);
                    (self.key(Issuer::Anchor(anchor_index))?, limits.may_sign_lists())
                }
            };
            if revocation.policy.end_entity_only && step.below.is_some() {
                continue;
            }
            self.check_status(step, Signer { key, may_sign_lists })?;
        }
        Ok(())
    }

    /// Checks a certificate against the revocation lists of its issuer, once for each issuer's key.
    fn check_status(&mut self, step: &Step<'_, 'a>, by: Signer<'a>) -> Result<(), RefusalReason> {
        // All known results are compared.
        self.work.budget.pay(self.statuses.len() / 8)?;
        let of = step.position;
        if let Some(known) = self.statuses.iter().find(|one| one.of == of && one.by == by) {
            return known.result;
        }
        let Trusted { revocation, algorithms, .. } = self.trusted;
        let result = revocation.check(step.certificate, by, algorithms, self.now, self.work);
        // An exhausted budget ends the search.
        if result != Err(RefusalReason::PathLimits) {
            self.statuses.push(Status { of, by, result });
        }
        result
    }

    /// The result for an accepted path.
    fn found(
        &mut self,
        path: &Step<'_, 'a>,
        anchor_index: usize,
    ) -> Result<Path<'a>, RefusalReason> {
        let mut signatures = std::mem::take(&mut self.signatures);
        // Otherwise there is one for each certificate of the path, and no other.
        if signatures.len() > path.length {
            let mut key = self.key(Issuer::Anchor(anchor_index))?;
            for step in path.downwards() {
                // The signatures of other paths are valid as well, but this path was accepted.
                for one in &mut signatures {
                    one.is_accepted |= one.of == step.position && one.by == key;
                }
                key = self.key(Issuer::Sent(step.certificate))?;
            }
            signatures.retain(|one| one.is_accepted);
        }
        let issuers = path.downwards().take_while(|step| step.below.is_some());
        let issuer = match issuers.last() {
            Some(step) => {
                let fields = step.certificate.fields;
                let key = der::single(fields.subject_public_key_info, der::SEQUENCE);
                (fields.subject, key.map_err(bad_encoding)?)
            }
            None => {
                let anchor = anchor(self.trusted, anchor_index)?;
                (&*anchor.subject, &*anchor.subject_public_key_info)
            }
        };
        Ok(Path { issuer, signatures })
    }
}

/// Whether the path has a certificate of this name and key already. RFC 4158 2.4.2
fn is_in(path: &Step<'_, '_>, issuer: &PathCertificate<'_>) -> bool {
    path.downwards().any(|step| {
        let known = &step.certificate.fields;
        known.subject == issuer.fields.subject
            && known.subject_public_key_info == issuer.fields.subject_public_key_info
    })
}

fn anchor(trusted: &Trusted, index: usize) -> Result<&TrustAnchor<'static>, RefusalReason> {
    trusted.roots.anchors().get(index).ok_or(RefusalReason::Other)
}

/// The maximum number of intermediates in a path. Hierarchies have up to five or so.
pub(crate) const MAX_INTERMEDIATES: usize = 32;

/// The number of signatures in the cache, 32 KiB. A chain has two or three.
const CACHED_SIGNATURES: usize = 1024;

#[cfg(test)]
mod cached_chains;
#[cfg(test)]
mod tests;
