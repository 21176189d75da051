//! The ways on from a certificate to those that may have issued it, in the order in which they are
//! tried. RFC 4158 3.5

use super::candidates::Candidate;
use super::{Position, Search, check_validity};
use crate::certificate::{KeyFit, PathCertificate};
use crate::reason::RefusalReason;

/// A way on from a certificate, to one that may have issued it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// The index of an anchor.
    Anchor(usize),
    Candidate(Position),
}

/// The ways from a certificate, the best first: a way without others, and those that were ordered,
/// because there is rarely more than one.
pub(super) type Ways = (Option<Way>, Vec<Way>);

/// The rank of a way; the least is the best.
///
/// An anchor without a key identifier is tried before an intermediate whose identifier fits: it may
/// be the same authority, whose certificate many servers send, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Whether the key identifier is another one than the certificate states.
    has_other_key: bool,
    is_candidate: bool,
    fit: KeyFit,
    /// Whether the issuer is not valid now.
    is_invalid: bool,
    /// Whether the issuer's own issuer is not an anchor.
    is_far_from_anchor: bool,
}

impl Rank {
    fn of_anchor(fit: KeyFit) -> Self {
        Self {
            has_other_key: fit == KeyFit::Other,
            is_candidate: false,
            fit,
            is_invalid: false,
            is_far_from_anchor: false,
        }
    }
}

impl<'s, 'a> Search<'s, 'a> {
    /// The ways on from a certificate: to these anchors, and to the candidates with the name of its
    /// issuer. The best comes first. RFC 4158 3.5
    pub(super) fn ways(
        &mut self,
        below: &PathCertificate<'a>,
        anchors: &[usize],
    ) -> Result<Ways, RefusalReason> {
        self.work.budget.pay(self.issuers.len())?;
        let issuers = self.issuers;
        let is_named =
            |(_, one): &(usize, &Candidate<'a>)| one.fields.subject == below.fields.issuer;
        let mut named = issuers.iter().enumerate().filter(is_named);
        let (first, second) = (named.next(), named.next());
        if anchors.is_empty() && second.is_none() {
            // One way needs no order.
            let way = first.map(|(index, _)| Way::Candidate(index.saturating_add(1)));
            return Ok((way, Vec::new()));
        }
        let candidates = first.into_iter().chain(second).chain(named);
        let mut ways: Vec<_> = candidates
            .map(|(index, one)| (self.rank(below, one), Way::Candidate(index.saturating_add(1))))
            .collect();
        // Their key identifiers are read.
        self.work.budget.pay(ways.len().saturating_mul(3).saturating_add(anchors.len()))?;
        let stated = below.extensions.issuer_key_identifier();
        let roots = &self.trusted.roots;
        ways.extend(anchors.iter().map(|index| {
            let fit = KeyFit::new(stated, roots.key_identifier(*index));
            (Rank::of_anchor(fit), Way::Anchor(*index))
        }));
        ways.sort_unstable();
        Ok((None, ways.into_iter().map(|(_, way)| way).collect()))
    }

    fn rank(&self, below: &PathCertificate<'a>, candidate: &Candidate<'a>) -> Rank {
        let (fit, is_invalid) = match &candidate.read {
            Ok(issuer) => {
                let stated = below.extensions.issuer_key_identifier();
                let fit = KeyFit::new(stated, issuer.extensions.key_identifier());
                (fit, check_validity(issuer, self.now).is_err())
            }
            Err(_) => (KeyFit::Other, true),
        };
        Rank {
            has_other_key: fit == KeyFit::Other,
            is_candidate: true,
            fit,
            is_invalid,
            is_far_from_anchor: !candidate.is_below_anchor,
        }
    }
}
