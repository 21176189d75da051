//! The search for a path from a leaf to a trust anchor, and its validation. RFC 5280 6, RFC 4158
//!
//! Each certificate is parsed once. Those that, by names, are on no way from the leaf to an anchor
//! take no part. The search goes from the leaf upwards, depth first. At each certificate it tries
//! the anchors first, then the certificates of the issuer's name in the order of
//! [`Search::issuers`] (RFC 4158 3.5). An issuer is followed if it may certify and if its key made
//! the signature. A path that reaches an anchor is validated as a whole ([`Search::validate`]); if
//! it is refused, the search continues.
//!
//! The shape of a chain has one limit, [`MAX_INTERMEDIATES`]; the work is limited by
//! [`budget::Budget`].

mod anchor_keys;
mod budget;
mod name_constraints;
mod policies;
mod signature_cache;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use pki_types::{CertificateDer, TrustAnchor, UnixTime};

use crate::algorithms::{self, CertificateAlgorithm};
use crate::certificate::{Certificate, PathCertificate, Usage, bad_encoding, read_key};
use crate::reason::RefusalReason;
use crate::refusal::MAX_CERTIFICATE_LENGTH;
use crate::revocation::{Revocation, Signer};
use crate::roots::Roots;
use anchor_keys::AnchorKeys;
use budget::Budget;
use name_constraints::NameConstraints;
use signature_cache::{Digest, SignatureCache};

/// What is trusted, and how signatures are verified.
pub(crate) struct Trusted {
    pub(crate) roots: Arc<Roots>,
    /// The indices of the roots' anchors, sorted by name.
    anchors_by_name: Vec<usize>,
    anchor_keys: AnchorKeys,
    pub(crate) check_anchor_validity: bool,
    pub(crate) algorithms: Vec<&'static CertificateAlgorithm>,
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
            signature_cache: cache_signatures.then(SignatureCache::new).flatten(),
            revocation,
            roots,
        }
    }

    /// Stores the signatures of a path that was accepted.
    pub(crate) fn remember(&self, path: &Path<'_>) {
        if let Some(cache) = &self.signature_cache {
            path.verified.iter().for_each(|digest| cache.insert(digest));
        }
    }

    /// The indices of the anchors with this name (the content of its SEQUENCE).
    pub(crate) fn anchors_named(&self, name: &[u8]) -> &[usize] {
        let order = |index: &usize| {
            let anchor = self.roots.anchors().get(*index);
            anchor.map_or(Ordering::Less, |anchor| anchor.subject.as_ref().cmp(name))
        };
        let from = self.anchors_by_name.partition_point(|index| order(index) == Ordering::Less);
        let rest = self.anchors_by_name.get(from..).unwrap_or_default();
        let count = rest.iter().take_while(|index| order(index) == Ordering::Equal).count();
        rest.get(..count).unwrap_or_default()
    }
}

/// A validated path.
#[derive(Debug)]
pub(crate) struct Path<'a> {
    /// The name (the content of its SEQUENCE) and the key (SubjectPublicKeyInfo, the content of its
    /// SEQUENCE) of the leaf's issuer.
    pub(crate) issuer: (&'a [u8], &'a [u8]),
    /// The digests of the path's signatures that were not in the cache.
    verified: Vec<Digest>,
}

/// Finds a path and validates it. The error is the reason of the best candidate path.
pub(crate) fn find<'a>(
    trusted: &'a Trusted,
    usage: Usage,
    leaf: &PathCertificate<'a>,
    sent: &'a [CertificateDer<'_>],
    now: UnixTime,
) -> Result<Path<'a>, RefusalReason> {
    check_validity(leaf, now)?;
    // RFC 5280 4.2.1.9
    if leaf.is_ca {
        return Err(RefusalReason::CaUsedAsEndEntity);
    }
    // RFC 5280 4.2.1.12
    if !leaf.purposes.name(usage) {
        return Err(RefusalReason::NotForThisUsage);
    }
    let (issuers, refused) = candidates(trusted, leaf, sent);
    let issuers = &issuers;
    let mut search = Search {
        trusted,
        usage,
        now,
        leaf,
        issuers,
        budget: Budget::new(),
        signatures: Vec::new(),
        refused: (Nearness::Nowhere, refused),
    };
    let mut path = Vec::with_capacity(4);
    path.push(LEAF);
    match search.extend(&mut path)? {
        Some(anchor) => Ok(search.found(&path, anchor)),
        None => Err(search.refused.1),
    }
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

/// A certificate that may be an issuer.
struct Candidate<'a> {
    fields: Certificate<'a>,
    /// Whether an anchor has its issuer's name.
    is_below_anchor: bool,
    /// The certificate, or the reason why it cannot be an issuer.
    read: Result<PathCertificate<'a>, RefusalReason>,
}

/// The sent certificates that lie, by names, on a way from the leaf to an anchor, and the reason to
/// refuse the chain if there is no such way.
fn candidates<'a>(
    trusted: &Trusted,
    leaf: &PathCertificate<'a>,
    sent: &'a [CertificateDer<'_>],
) -> (Vec<Candidate<'a>>, RefusalReason) {
    let mut refused = RefusalReason::UnknownIssuer;
    let mut candidates: Vec<Candidate<'a>> = Vec::with_capacity(sent.len());
    for der in sent {
        if der.len() > MAX_CERTIFICATE_LENGTH {
            refused = RefusalReason::CertificateTooLarge;
        } else if let Ok(fields) = Certificate::parse(der) {
            candidates.push(Candidate {
                fields,
                is_below_anchor: !trusted.anchors_named(fields.issuer).is_empty(),
                read: PathCertificate::of(fields),
            });
        } else if refused == RefusalReason::UnknownIssuer {
            refused = RefusalReason::BadEncoding;
        }
    }
    if candidates.len() > FEW {
        keep_reachable(&mut candidates, leaf.fields.issuer);
    }
    keep_leading(&mut candidates);
    (candidates, refused)
}

/// Keeps the certificates whose subject is this name, or the issuer of a kept one. The first
/// of equal ones is kept.
fn keep_reachable<'a>(certificates: &mut Vec<Candidate<'a>>, name: &'a [u8]) {
    let mut by_subject: Vec<_> = certificates
        .iter()
        .enumerate()
        .map(|(index, Candidate { fields, .. })| {
            (fields.subject, fields.signed, fields.signature_bits().ok(), index)
        })
        .collect();
    by_subject.sort_unstable();
    by_subject.dedup_by_key(|(subject, signed, signature, _)| (*subject, *signed, *signature));
    let mut is_kept = vec![false; certificates.len()];
    let mut names = vec![name];
    while let Some(name) = names.pop() {
        let start = by_subject.partition_point(|(subject, ..)| *subject < name);
        let same = by_subject.iter().skip(start).take_while(|(subject, ..)| *subject == name);
        for &(.., index) in same {
            let Some(kept) = is_kept.get_mut(index) else { continue };
            // All certificates with one subject are found together.
            if std::mem::replace(kept, true) {
                break;
            }
            names.extend(certificates.get(index).map(|one| one.fields.issuer));
        }
    }
    let mut is_kept = is_kept.into_iter();
    certificates.retain(|_| is_kept.next().unwrap_or(false));
}

/// Keeps the certificates whose issuer is an anchor, or a kept certificate. A certificate that
/// cannot be an issuer leads nowhere, but its reason is kept.
fn keep_leading(candidates: &mut Vec<Candidate<'_>>) {
    if candidates.iter().all(|one| one.is_below_anchor) {
        return;
    }
    let mut is_kept: Vec<bool> =
        candidates.iter().map(|one| one.is_below_anchor || one.read.is_err()).collect();
    let mut by_issuer = Vec::with_capacity(candidates.len());
    for (index, one) in candidates.iter().enumerate() {
        by_issuer.extend(one.read.as_ref().ok().map(|read| (read.fields.issuer, index)));
    }
    by_issuer.sort_unstable();
    let below_anchors = candidates.iter().filter(|one| one.is_below_anchor);
    let mut names: Vec<&[u8]> = below_anchors.map(|one| one.fields.subject).collect();
    let mut known = BTreeSet::new();
    while let Some(name) = names.pop() {
        if !known.insert(name) {
            continue;
        }
        let start = by_issuer.partition_point(|(issuer, _)| *issuer < name);
        for &(_, index) in by_issuer.iter().skip(start).take_while(|(issuer, _)| *issuer == name) {
            if let Some(kept) = is_kept.get_mut(index) {
                *kept = true;
            }
            names.extend(candidates.get(index).map(|one| one.fields.subject));
        }
    }
    let mut is_kept = is_kept.into_iter();
    candidates.retain(|_| is_kept.next().unwrap_or(false));
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

/// An issuer of a certificate.
#[derive(Clone, Copy)]
enum Issuer {
    Anchor(usize),
    Sent(Position),
}

/// The content of the SEQUENCE of an AlgorithmIdentifier, and the bits of a key.
type Key<'a> = (&'a [u8], &'a [u8]);

/// A signature that was verified, or refused. Several certificates may have the same key.
struct Signature<'a> {
    of: Position,
    by: Key<'a>,
    result: Result<(), RefusalReason>,
    /// The digest of a valid signature that was not in the cache.
    digest: Option<Digest>,
}

struct Search<'s, 'a> {
    trusted: &'a Trusted,
    usage: Usage,
    now: UnixTime,
    leaf: &'s PathCertificate<'a>,
    issuers: &'s [Candidate<'a>],
    budget: Budget,
    signatures: Vec<Signature<'a>>,
    refused: (Nearness, RefusalReason),
}

impl<'s, 'a> Search<'s, 'a> {
    /// Extends a path to an anchor, whose index is returned. `None` if there is no way; an error if
    /// the budget is exhausted.
    fn extend(&mut self, path: &mut Vec<Position>) -> Result<Option<usize>, RefusalReason> {
        let Some(&last) = path.last() else { return Ok(None) };
        let Some(below) = self.certificate(last) else { return Ok(None) };
        let name = below.fields.issuer;
        for &anchor in self.trusted.anchors_named(name) {
            self.budget.pay(1)?;
            if let Err(reason) = self.check_signature(last, Issuer::Anchor(anchor)) {
                self.refuse(Nearness::NotSigned, reason)?;
                continue;
            }
            match self.validate(path, anchor) {
                Ok(()) => return Ok(Some(anchor)),
                Err(reason) => self.refuse(Nearness::Complete, reason)?,
            }
        }
        let issuers = self.issuers(below)?;
        if path.len() > MAX_INTERMEDIATES && !issuers.is_empty() {
            self.refuse(Nearness::TooDeep, RefusalReason::PathTooDeep)?;
            return Ok(None);
        }
        for issuer in issuers {
            self.budget.pay(path.len())?;
            if self.is_in(path, issuer) {
                continue;
            }
            if let Err(reason) = self.check_issuer(issuer) {
                self.refuse(Nearness::NotIssuer, reason)?;
                continue;
            }
            if let Err(reason) = self.check_signature(last, Issuer::Sent(issuer)) {
                self.refuse(Nearness::NotSigned, reason)?;
                continue;
            }
            path.push(issuer);
            if let Some(anchor) = self.extend(path)? {
                return Ok(Some(anchor));
            }
            path.pop();
        }
        Ok(None)
    }

    fn certificate(&self, position: Position) -> Option<&'s PathCertificate<'a>> {
        match position.checked_sub(1) {
            None => Some(self.leaf),
            Some(index) => self.issuers.get(index)?.read.as_ref().ok(),
        }
    }

    /// The candidates with the name of this certificate's issuer, the best first: its key
    /// identifier fits, it is valid now, its issuer is an anchor, it was sent earlier. RFC 4158 3.5
    fn issuers(&mut self, below: &PathCertificate<'a>) -> Result<Vec<Position>, RefusalReason> {
        self.budget.pay(self.issuers.len())?;
        let mut found: Vec<(u8, Position)> = Vec::new();
        for (index, candidate) in self.issuers.iter().enumerate() {
            if candidate.fields.subject == below.fields.issuer {
                found.push((0, index.saturating_add(1)));
            }
        }
        if found.len() > 1 {
            for (order, position) in &mut found {
                let index = position.saturating_sub(1);
                *order = self.issuers.get(index).map_or(u8::MAX, |one| self.order(below, one));
            }
            found.sort_unstable();
        }
        Ok(found.into_iter().map(|(_, position)| position).collect())
    }

    fn order(&self, below: &PathCertificate<'a>, candidate: &Candidate<'a>) -> u8 {
        let Ok(issuer) = &candidate.read else { return u8::MAX };
        let other_key = match below.is_signed_by_key_of(issuer) {
            Some(true) => 0,
            None => 4,
            Some(false) => 8,
        };
        let invalid = u8::from(check_validity(issuer, self.now).is_err());
        other_key + 2 * invalid + u8::from(!candidate.is_below_anchor)
    }

    /// Whether the path has a certificate of this name and key already. RFC 4158 2.4.2
    fn is_in(&self, path: &[Position], issuer: Position) -> bool {
        let fields = |position| {
            let PathCertificate { fields, .. } = self.certificate(position)?;
            Some((fields.subject, fields.subject_public_key_info))
        };
        let own = fields(issuer);
        own.is_some() && path.iter().any(|position| fields(*position) == own)
    }

    /// Checks what does not depend on the path: whether a certificate may issue others now, for
    /// this usage.
    fn check_issuer(&self, position: Position) -> Result<(), RefusalReason> {
        let candidate = position.checked_sub(1).and_then(|index| self.issuers.get(index));
        let issuer = candidate.ok_or(RefusalReason::UnknownIssuer)?.read.as_ref();
        let issuer = issuer.map_err(|reason| *reason)?;
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

    /// Checks a certificate's signature by an issuer. RFC 5280 6.1.3 (a) (1)
    fn check_signature(&mut self, of: Position, by: Issuer) -> Result<(), RefusalReason> {
        let key = self.key(by)?;
        if let Some(known) = self.signatures.iter().find(|one| one.of == of && one.by == key) {
            return known.result;
        }
        let below = self.certificate(of).ok_or(RefusalReason::Other)?;
        let (result, digest) = match self.verify_signature(below, by, key) {
            Ok(digest) => (Ok(()), digest),
            Err(RefusalReason::PathLimits) => return Err(RefusalReason::PathLimits),
            Err(reason) => (Err(reason), None),
        };
        self.signatures.push(Signature { of, by: key, result, digest });
        result
    }

    fn key(&self, of: Issuer) -> Result<Key<'a>, RefusalReason> {
        match of {
            Issuer::Anchor(index) => {
                let key = &anchor(self.trusted, index)?.subject_public_key_info;
                read_key(key).map_err(|_| RefusalReason::InvalidKey)
            }
            Issuer::Sent(position) => {
                let issuer = self.certificate(position).ok_or(RefusalReason::Other)?;
                Ok((issuer.key_algorithm, issuer.key))
            }
        }
    }

    /// Verifies a signature, and returns its digest if it was not in the cache.
    fn verify_signature(
        &mut self,
        below: &PathCertificate<'a>,
        by: Issuer,
        (key_algorithm, key): Key<'a>,
    ) -> Result<Option<Digest>, RefusalReason> {
        let trusted = self.trusted;
        let Certificate { signature_algorithm, signed, .. } = below.fields;
        let algorithm = algorithms::find(&trusted.algorithms, signature_algorithm, key_algorithm)?;
        // The message is hashed in any case, and a key is compared with those of other signatures.
        self.budget.pay(signed.len() / 64)?;
        let cache = trusted.signature_cache.as_ref();
        let digest = cache.map(|cache| {
            cache.digest([key_algorithm, key, signature_algorithm, signed, below.signature])
        });
        if let (Some(cache), Some(digest)) = (cache, &digest) {
            if cache.contains(digest) {
                return Ok(None);
            }
        }
        self.budget.pay_signature(algorithm.key())?;
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
    fn validate(&mut self, path: &[Position], anchor_index: usize) -> Result<(), RefusalReason> {
        self.budget.pay(path.len())?;
        let trusted = self.trusted;
        let limits = trusted.roots.limits(anchor_index);
        limits.check(self.usage, trusted.check_anchor_validity.then_some(self.now))?;
        let certificates: Vec<&PathCertificate<'a>> =
            path.iter().filter_map(|position| self.certificate(*position)).collect();
        let Some((leaf, issuers)) = certificates.split_first() else {
            return Err(RefusalReason::Other);
        };

        // RFC 5280 6.1.4 (l), (m)
        let mut most_below = limits.path_length();
        for issuer in issuers.iter().rev() {
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
            self.check_names(constraints, leaf, issuers)?;
        }
        for (index, issuer) in issuers.iter().enumerate().rev() {
            if let Some(value) = issuer.extensions.name_constraints {
                let constraints = crate::der::single(value, crate::der::SEQUENCE);
                let below = issuers.get(..index).unwrap_or_default();
                self.check_names(constraints.map_err(bad_encoding)?, leaf, below)?;
            }
        }

        if certificates.iter().any(|one| policies::apply_to(one)) {
            policies::check(certificates.iter().rev().copied(), &mut self.budget)?;
        }
        self.check_revocation(&certificates, anchor_index)
    }

    /// Checks the names of the certificates below a constrained authority. Those of self-issued
    /// issuers are not checked. RFC 5280 6.1.3
    fn check_names(
        &mut self,
        constraints: &[u8],
        leaf: &PathCertificate<'_>,
        issuers: &[&PathCertificate<'_>],
    ) -> Result<(), RefusalReason> {
        self.budget.pay(constraints.len() / 16)?;
        let constraints = NameConstraints::read(constraints).map_err(bad_encoding)?;
        let issuers = issuers.iter().filter(|issuer| !issuer.is_self_issued());
        for certificate in std::iter::once(leaf).chain(issuers.copied()) {
            constraints.check(certificate, &mut self.budget)?;
        }
        Ok(())
    }

    /// Checks the certificates of a path, or the leaf, against the revocation lists. RFC 5280 6.3
    fn check_revocation(
        &mut self,
        path: &[&PathCertificate<'a>],
        anchor_index: usize,
    ) -> Result<(), RefusalReason> {
        let revocation = &self.trusted.revocation;
        if revocation.is_empty() {
            return Ok(());
        }
        let checked = if revocation.policy.end_entity_only { 1 } else { path.len() };
        for (index, certificate) in path.iter().take(checked).enumerate() {
            let (key, may_sign_lists) = match path.get(index.saturating_add(1)) {
                Some(issuer) => ((issuer.key_algorithm, issuer.key), issuer.may_sign_lists()),
                None => {
                    let limits = self.trusted.roots.limits(anchor_index);
                    (self.key(Issuer::Anchor(anchor_index))?, limits.may_sign_lists())
                }
            };
            let by = Signer { key, may_sign_lists };
            let algorithms = &self.trusted.algorithms;
            let mut pay = |kind| self.budget.pay_signature(kind);
            revocation.check(certificate, &by, algorithms, self.now, &mut pay)?;
        }
        Ok(())
    }

    /// The result for an accepted path.
    fn found(self, path: &[Position], anchor_index: usize) -> Path<'a> {
        let issuer_of = |index: usize| match path.get(index) {
            Some(position) => Issuer::Sent(*position),
            None => Issuer::Anchor(anchor_index),
        };
        let mut verified = Vec::new();
        for (index, position) in path.iter().enumerate() {
            let Ok(by) = self.key(issuer_of(index.saturating_add(1))) else { continue };
            let mut known = self.signatures.iter();
            let signature = known.find(|one| one.of == *position && one.by == by);
            verified.extend(signature.and_then(|one| one.digest));
        }
        let sent = path.get(1).and_then(|position| self.certificate(*position));
        let issuer = match (sent, self.trusted.roots.anchors().get(anchor_index)) {
            (Some(issuer), _) => {
                let key = issuer.fields.subject_public_key_info;
                let key = crate::der::single(key, crate::der::SEQUENCE).unwrap_or_default();
                (issuer.fields.subject, key)
            }
            (None, Some(anchor)) => (&*anchor.subject, &*anchor.subject_public_key_info),
            (None, None) => (&[][..], &[][..]),
        };
        Path { issuer, verified }
    }
}

fn anchor(trusted: &Trusted, index: usize) -> Result<&TrustAnchor<'static>, RefusalReason> {
    trusted.roots.anchors().get(index).ok_or(RefusalReason::Other)
}

/// The maximum number of intermediates in a path. Hierarchies have up to five or so.
pub(crate) const MAX_INTERMEDIATES: usize = 32;

/// The number of certificates that may take part without being reachable.
const FEW: usize = 8;
