//! The sent certificates that may be issuers, chosen by names before the search.

use std::collections::BTreeSet;

use pki_types::CertificateDer;

use super::Trusted;
use crate::certificate::{Certificate, PathCertificate};
use crate::reason::RefusalReason;
use crate::refusal::MAX_CERTIFICATE_LENGTH;

/// A certificate that may be an issuer.
pub(super) struct Candidate<'a> {
    der: &'a [u8],
    pub(super) fields: Certificate<'a>,
    /// Whether an anchor has its issuer's name.
    pub(super) is_below_anchor: bool,
    /// The certificate, or the reason why it cannot be an issuer.
    pub(super) read: Result<PathCertificate<'a>, RefusalReason>,
}

/// The sent certificates that lie, by names, on a way from the leaf to an anchor, and the reason to
/// refuse the chain if there is no such way.
pub(super) fn candidates<'a>(
    trusted: &Trusted,
    leaf: &PathCertificate<'a>,
    sent: &'a [CertificateDer<'_>],
) -> (Vec<Candidate<'a>>, RefusalReason) {
    let mut refused = RefusalReason::UnknownIssuer;
    let mut candidates: Vec<Candidate<'a>> = Vec::with_capacity(sent.len());
    for der in sent {
        // Equal certificates are searched once. `keep_reachable` removes them if there are many.
        if candidates.len() <= FEW && candidates.iter().any(|one| one.der == der.as_ref()) {
            continue;
        }
        if der.len() > MAX_CERTIFICATE_LENGTH {
            refused = RefusalReason::CertificateTooLarge;
        } else if let Ok(fields) = Certificate::parse(der) {
            candidates.push(Candidate {
                der,
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
        .map(|(index, one)| (one.fields.subject, one.der, index))
        .collect();
    by_subject.sort_unstable();
    by_subject.dedup_by_key(|(_, der, _)| *der);
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

/// The number of certificates that may take part without being reachable.
const FEW: usize = 8;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;
    use crate::{ChainVerifier, Roots};

    #[test]
    fn equal_certificates_are_searched_once() {
        let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateDer::from(params.self_signed(&key).unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertificateDer::from(params.self_signed(&key).unwrap());
        let mut roots = Roots::new();
        roots.add_der(&authority).unwrap();
        let verifier = ChainVerifier::builder(Arc::new(roots)).build().unwrap();
        let leaf = PathCertificate::of(Certificate::parse(&leaf).unwrap()).unwrap();
        for count in [1, 2, FEW, FEW + 1, 100] {
            let sent = vec![authority.clone(); count];
            assert_eq!(candidates(&verifier.trusted, &leaf, &sent).0.len(), 1, "{count}");
            // What is no certificate changes nothing.
            let mut sent = sent;
            sent.extend(vec![CertificateDer::from(vec![1]); FEW]);
            assert_eq!(candidates(&verifier.trusted, &leaf, &sent).0.len(), 1, "{count}");
        }
    }
}
