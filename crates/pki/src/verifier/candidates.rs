//! The certificates that path building gets, chosen to bound its work.
//!
//! Path building parses every certificate at each step, and takes up to 200,000 steps: thirty
//! certificates with one subject keep it busy far longer than the rest of a handshake. So the
//! number of steps is counted here first, by names alone. A chain may have any shape; certificates
//! at its end are left out if the search would take more than [`MOST_WORK`]. Surplus certificates
//! cost nothing, because only issuers of issuers of the leaf take part.
//!
//! Path building does not know dates before 1970. A certificate with such a date is replaced by a
//! copy with the start of 1970, which is equally in the past. [`Originals`] gives the signed bytes
//! back when the signature is verified.

use std::borrow::Cow;

use pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm,
};

use crate::certificate::Certificate;
use crate::der;
use crate::reason::RefusalReason;
use crate::time;

/// The certificates for path building.
#[derive(Debug)]
pub(super) struct Candidates<'c> {
    pub(super) leaf: CertificateDer<'c>,
    pub(super) intermediates: Cow<'c, [CertificateDer<'c>]>,
    /// Those of `intermediates`, parsed, if there are few.
    parsed: [Option<Certificate<'c>>; FEW],
    pub(super) originals: Originals<'c>,
    /// Whether certificates were left out because the search would take too long.
    pub(super) is_incomplete: bool,
}

impl<'c> Candidates<'c> {
    /// Chooses from the certificates that were sent with a leaf.
    pub(super) fn choose(
        leaf: &'c CertificateDer<'c>,
        leaf_fields: &Certificate<'c>,
        sent: &'c [CertificateDer<'c>],
    ) -> Self {
        let mut originals = Originals::default();
        let leaf = originals.replace(leaf, Some(leaf_fields));
        let mut parsed = [None; FEW];
        if sent.len() <= FEW {
            // Few certificates are within the limit in any shape.
            for (place, der) in parsed.iter_mut().zip(sent) {
                *place = Certificate::parse(der).ok();
            }
            let intermediates = match parsed.iter().flatten().any(is_early) {
                true => sent
                    .iter()
                    .zip(&parsed)
                    .map(|(der, of)| originals.replace(der, of.as_ref()))
                    .collect(),
                false => Cow::Borrowed(sent),
            };
            return Self { leaf, intermediates, parsed, originals, is_incomplete: false };
        }
        let sent = sent.iter().map(Candidate::new).collect();
        let (chosen, is_incomplete) = within_limit(leaf_fields, sent);
        let intermediates =
            chosen.iter().map(|one| originals.replace(one.der, one.parsed.as_ref())).collect();
        Self { leaf, intermediates, parsed, originals, is_incomplete }
    }

    /// The fields of one of the intermediates, which is found by its address.
    pub(super) fn fields_of<'d>(
        &'d self,
        der: &'d CertificateDer<'_>,
    ) -> Result<Certificate<'d>, RefusalReason> {
        let same = |(one, _): &(&CertificateDer<'c>, _)| std::ptr::eq(one.as_ref(), der.as_ref());
        let known = self.intermediates.iter().zip(self.parsed).find(same);
        match known {
            Some((_, Some(parsed))) => Ok(parsed),
            _ => Certificate::parse_or_refuse(der),
        }
    }
}

struct Candidate<'c> {
    der: &'c CertificateDer<'c>,
    /// `None` if the certificate is malformed: path building gets it too, and reports that.
    parsed: Option<Certificate<'c>>,
}

impl<'c> Candidate<'c> {
    fn new(der: &'c CertificateDer<'c>) -> Self {
        Self { der, parsed: Certificate::parse(der).ok() }
    }
}

/// The certificates that may be part of a path, in the order in which they were sent, and whether
/// some of them were left out because of the limit.
fn within_limit<'c>(
    leaf: &Certificate<'c>,
    sent: Vec<Candidate<'c>>,
) -> (Vec<Candidate<'c>>, bool) {
    let mut reachable = reachable(leaf, sent);
    let total = reachable.len();
    while !fits(leaf, &reachable) {
        let fewer = reachable.len().saturating_sub(1 + reachable.len() / 8);
        reachable.truncate(fewer);
    }
    let is_incomplete = reachable.len() < total;
    (reachable, is_incomplete)
}

/// The certificates whose subject is the issuer of the leaf or of another one of them, and the
/// malformed ones. Repeated certificates are left out.
fn reachable<'c>(leaf: &Certificate<'c>, sent: Vec<Candidate<'c>>) -> Vec<Candidate<'c>> {
    let mut by_subject: Vec<(&[u8], usize)> = Vec::with_capacity(sent.len());
    let mut order: Vec<usize> = (0..sent.len()).collect();
    let bytes = |index: &usize| sent.get(*index).map(|one| one.der.as_ref());
    order.sort_by_key(bytes); // stable: the first of equal ones stays first
    order.dedup_by_key(|index| sent.get(*index).map(|one| one.der.as_ref()));
    for &index in &order {
        if let Some(parsed) = sent.get(index).and_then(|one| one.parsed.as_ref()) {
            by_subject.push((parsed.subject, index));
        }
    }
    by_subject.sort_unstable();
    let mut is_reachable = vec![false; sent.len()];
    let mut names = vec![leaf.issuer];
    while let Some(name) = names.pop() {
        let start = by_subject.partition_point(|(subject, _)| *subject < name);
        let same = by_subject.iter().skip(start).take_while(|(subject, _)| *subject == name);
        for &(_, index) in same {
            let Some(known) = is_reachable.get_mut(index) else { continue };
            // All certificates with one subject are found together.
            if std::mem::replace(known, true) {
                break;
            }
            let parsed = sent.get(index).and_then(|one| one.parsed.as_ref());
            names.extend(parsed.map(|parsed| parsed.issuer));
        }
    }
    for index in order {
        let is_malformed = sent.get(index).is_some_and(|one| one.parsed.is_none());
        if let (true, Some(kept)) = (is_malformed, is_reachable.get_mut(index)) {
            *kept = true;
        }
    }
    let kept = sent.into_iter().zip(is_reachable).filter(|(_, is_reachable)| *is_reachable);
    kept.map(|(one, _)| one).collect()
}

/// Whether path building with these certificates stays within the limit, if no path is accepted.
fn fits(leaf: &Certificate<'_>, certificates: &[Candidate<'_>]) -> bool {
    let parsed: Vec<&Certificate<'_>> =
        certificates.iter().filter_map(|one| one.parsed.as_ref()).collect();
    let issuers = |of: &Certificate<'_>| -> Vec<usize> {
        let is_issuer = |(_, one): &(usize, &&Certificate<'_>)| one.subject == of.issuer;
        parsed.iter().enumerate().filter(is_issuer).map(|(index, _)| index).collect()
    };
    // Comparing all names with each other is within the limit, too.
    if parsed.len().saturating_mul(parsed.len()) > MOST_WORK {
        return false;
    }
    let search = Search {
        issuers: parsed.iter().map(|one| issuers(one)).collect(),
        cost: certificates.len(),
    };
    let mut left = MOST_WORK;
    search.step(&issuers(leaf), &mut Vec::with_capacity(MOST_DEPTH), &mut left).is_some()
}

/// The search of path building, by names alone.
struct Search {
    /// For each certificate, the indices of its possible issuers.
    issuers: Vec<Vec<usize>>,
    /// The work of one step: each certificate is parsed.
    cost: usize,
}

impl Search {
    /// Counts a step and all steps that follow it. `None` if the limit is exceeded.
    fn step(&self, issuers: &[usize], path: &mut Vec<usize>, left: &mut usize) -> Option<()> {
        *left = left.checked_sub(self.cost)?;
        if path.len() >= MOST_DEPTH {
            return Some(());
        }
        for &issuer in issuers {
            // Path building also avoids loops.
            if path.contains(&issuer) {
                continue;
            }
            path.push(issuer);
            let next = self.issuers.get(issuer).map_or(&[][..], Vec::as_slice);
            self.step(next, path, left)?;
            path.pop();
        }
        Some(())
    }
}

/// The signed bytes of copies, and of the certificates that they replace.
#[derive(Debug, Default)]
pub(super) struct Originals<'c>(Vec<(Vec<u8>, &'c [u8])>);

impl<'c> Originals<'c> {
    /// The certificate, or a copy if it has a date before 1970.
    fn replace(
        &mut self,
        der: &'c CertificateDer<'c>,
        parsed: Option<&Certificate<'c>>,
    ) -> CertificateDer<'c> {
        if let Some(copy) = parsed.filter(|parsed| is_early(parsed)).and_then(|_| copy_of(der)) {
            if let (Some(signed), Some(original)) = (signed_part(&copy), signed_part(der)) {
                self.0.push((signed.to_vec(), original));
                return CertificateDer::from(copy);
            }
        }
        CertificateDer::from(der.as_ref())
    }

    fn original<'m>(&self, message: &'m [u8]) -> &'m [u8]
    where
        'c: 'm,
    {
        let found = self.0.iter().find(|(copy, _)| copy == message);
        found.map_or(message, |(_, original)| original)
    }
}

/// Whether a date is before 1970, or at its start.
fn is_early(parsed: &Certificate<'_>) -> bool {
    parsed.not_before.as_secs() == 0 || parsed.not_after.as_secs() == 0
}

/// A copy with the start of 1970 in place of dates before it. Both have the same length.
fn copy_of(der: &[u8]) -> Option<Vec<u8>> {
    let mut copy = der.to_vec();
    for element in validity(der)? {
        if time::from_der(element).ok()?.as_secs() != 0 {
            continue;
        }
        let start: &[u8] = match element.tag {
            der::UTC_TIME => b"700101000000Z",
            _ => b"19700101000000Z",
        };
        let position = element.content.as_ptr().addr().checked_sub(der.as_ptr().addr())?;
        copy.get_mut(position..)?.get_mut(..start.len())?.copy_from_slice(start);
    }
    Some(copy)
}

fn validity(der: &[u8]) -> Option<[der::Element<'_>; 2]> {
    let mut outer = der::Reader::new(der::single(der, der::SEQUENCE).ok()?);
    let mut fields = der::Reader::new(outer.expect(der::SEQUENCE).ok()?);
    fields.optional(der::context_constructed(0)).ok()?;
    fields.expect(der::INTEGER).ok()?;
    fields.expect(der::SEQUENCE).ok()?; // signature
    fields.expect(der::SEQUENCE).ok()?; // issuer
    let mut validity = der::Reader::new(fields.expect(der::SEQUENCE).ok()?);
    Some([validity.element().ok()?, validity.element().ok()?])
}

/// The TBSCertificate, tag and length included. RFC 5280 4.1
fn signed_part(der: &[u8]) -> Option<&[u8]> {
    let mut outer = der::Reader::new(der::single(der, der::SEQUENCE).ok()?);
    Some(outer.element().ok()?.whole)
}

/// A signature algorithm that verifies the original of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct OriginalAlgorithm<'v, A> {
    pub(super) algorithm: A,
    pub(super) originals: &'v Originals<'v>,
}

impl<A> SignatureVerificationAlgorithm for OriginalAlgorithm<'_, A>
where
    A: SignatureVerificationAlgorithm,
{
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        self.algorithm.verify_signature(key, self.originals.original(message), signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }
}

/// The number of certificates that need no count.
const FEW: usize = 3;

/// The maximum number of times that path building parses a certificate.
const MOST_WORK: usize = 25_000;

/// The maximum number of intermediates in a path, which path building sets.
const MOST_DEPTH: usize = 6;
