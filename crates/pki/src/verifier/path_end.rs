//! The search for the end of a refused chain, by names. The search runs only after a refusal, takes
//! a bounded number of steps, and verifies a signature only of the path's end.

use std::collections::{HashMap, HashSet};

use pki_types::{CertificateDer, SignatureVerificationAlgorithm};

use crate::algorithms::{self, CertificateAlgorithm};
use crate::certificate::{Certificate, KeyFit, read_key};
use crate::chain_end::{ChainEnd, NearestAnchor};
use crate::der;
use crate::roots::Roots;

/// Finds where the best candidate path of a chain ends. `None` if the leaf cannot be parsed, or if
/// the path reaches a trust anchor, so that the chain was refused for something else.
pub(super) fn find(chain: &[CertificateDer<'_>], roots: &Roots) -> Option<ChainEnd> {
    let parsed: Vec<_> =
        chain.iter().take(MAX_CERTIFICATES).map(|der| Certificate::parse(der).ok()).collect();
    let named = AnchorsByName::new(&parsed, roots);
    let mut search = Search { parsed: &parsed, named: &named, steps: 0, best: None };
    search.follow(0, &mut Vec::new());
    let (_, _, position) = search.best?;
    let last = parsed.get(position)?.as_ref()?;
    let nearest = named.nearest(last)?;
    Some(ChainEnd {
        position,
        subject: shortened(last.subject_text()),
        issuer: shortened(last.issuer_text()),
        nearest,
    })
}

/// The keys (`SubjectPublicKeyInfo`, its content) of the anchors whose names occur in the chain,
/// each with its identifier.
struct AnchorsByName<'a>(HashMap<&'a [u8], Vec<AnchorKey<'a>>>);

type AnchorKey<'a> = (&'a [u8], Option<&'a [u8]>);

impl<'a> AnchorsByName<'a> {
    /// Looks up each anchor once, so that the work does not grow with the product.
    fn new(parsed: &[Option<Certificate<'a>>], roots: &'a Roots) -> Self {
        let names: HashSet<_> = parsed.iter().flatten().map(|known| known.issuer).collect();
        let mut found: HashMap<&[u8], Vec<_>> = HashMap::new();
        for (index, anchor) in roots.anchors().iter().enumerate() {
            if names.contains(&*anchor.subject) {
                let key = (&*anchor.subject_public_key_info, roots.key_identifier(index));
                found.entry(&*anchor.subject).or_default().push(key);
            }
        }
        Self(found)
    }

    /// What the anchors have for the issuer of the last certificate. `None` if they have the issuer
    /// itself.
    fn nearest(&self, last: &Certificate<'_>) -> Option<NearestAnchor> {
        let Some(keys) = self.0.get(last.issuer) else { return Some(NearestAnchor::None) };
        if last.issuer == last.subject {
            let own = der::single(last.subject_public_key_info, der::SEQUENCE).ok();
            let is_known = keys.iter().any(|(key, _)| Some(*key) == own);
            return (!is_known).then_some(NearestAnchor::OtherKey);
        }
        // As in the search, the keys whose identifier fits are tried first. RFC 5280 4.2.1.1
        let stated = last.issuer_key_identifier();
        let mut keys: Vec<_> =
            keys.iter().map(|(key, own)| (KeyFit::new(stated, *own), *key)).collect();
        keys.sort_by_key(|(fit, _)| *fit);
        let mut keys = keys.into_iter().take(MAX_SIGNATURES);
        let is_signed = keys.any(|(_, key)| has_signed(key, last));
        (!is_signed).then_some(NearestAnchor::OtherSigner)
    }
}

/// Whether this key (`SubjectPublicKeyInfo`, its content) has signed the certificate. RFC 5280
/// 4.1.1
fn has_signed(key: &[u8], certificate: &Certificate<'_>) -> bool {
    let signed = || {
        let (key_algorithm, key) = read_key(key).ok()?;
        let algorithms = CertificateAlgorithm::ALL;
        let fitting = algorithms::find(algorithms, certificate.signature_algorithm, key_algorithm);
        let signature = certificate.signature_bits().ok()?;
        fitting.ok()?.verify_signature(key, certificate.signed, signature).ok()
    };
    signed().is_some()
}

/// A search by names, from the leaf on.
struct Search<'s, 'a> {
    parsed: &'s [Option<Certificate<'a>>],
    named: &'s AnchorsByName<'a>,
    steps: usize,
    /// Whether an anchor has the name at the end of the best path, the path's length, and the
    /// position of its last certificate.
    best: Option<(bool, usize, usize)>,
}

impl Search<'_, '_> {
    fn follow(&mut self, position: usize, path: &mut Vec<usize>) {
        self.steps = self.steps.saturating_add(1);
        let parsed = self.parsed;
        let Some(Some(last)) = parsed.get(position) else { return };
        path.push(position);
        let is_named = self.named.0.contains_key(last.issuer);
        let is_better =
            self.best.is_none_or(|(named, length, _)| (is_named, path.len()) > (named, length));
        if is_better {
            self.best = Some((is_named, path.len(), position));
        }
        if last.issuer != last.subject {
            for (at, issuer) in parsed.iter().enumerate() {
                let issued = issuer.as_ref().is_some_and(|issuer| issuer.subject == last.issuer);
                if issued && !path.contains(&at) && self.steps < MAX_STEPS {
                    self.follow(at, path);
                }
            }
        }
        path.pop();
    }
}

/// A name of at most [`MAX_NAME`] characters.
fn shortened(name: String) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or_default()),
        None => name,
    }
}

/// The maximum number of certificates that are looked at.
const MAX_CERTIFICATES: usize = 64;
/// The maximum number of certificates that are visited, some of them several times.
const MAX_STEPS: usize = 256;
/// The maximum number of anchors with one name whose keys are tried.
const MAX_SIGNATURES: usize = 4;
/// The maximum number of characters of a name in the explanation. RFC 5280 limits an attribute to
/// 64 characters, but a peer need not.
const MAX_NAME: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_shortened() {
        let name = "\u{e9}".repeat(MAX_NAME);
        assert_eq!(shortened(name.clone()), name);
        assert_eq!(shortened(name.clone() + "x"), name + "...");
    }
}
