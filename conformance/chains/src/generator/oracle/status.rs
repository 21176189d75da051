//! The status of certificates by the lists of their issuers. RFC 5280 6.3.3

use super::super::certificate::{CRL_SIGN, Content, Value};
use super::super::lists::{Kind, List, MadeList};
use super::super::world::{LookedUp, NOW};
use super::names::is_same_name;
use super::{Path, Rule, find, is_ca, key_usage, moment};

/// A list with the certificate decides, whatever its age is: a revocation is not taken back.
/// Otherwise a current list is required. A list counts if the issuer has signed it, and if the
/// certificate is within its scope. The anchor is trusted, and looked up in no list.
pub(super) fn check_status(
    path: &Path<'_>,
    lists: &[MadeList],
    looked_up: LookedUp,
    rules: &mut Vec<Rule>,
) {
    let count = match looked_up {
        LookedUp::None => 0,
        LookedUp::Leaf => 1,
        LookedUp::All => path.certificates.len(),
    };
    let issuers = path.certificates[1..].iter().copied().chain(path.anchor);
    for (below, issuer) in path.certificates.iter().zip(issuers).take(count) {
        let is_valid = |list: &&List| {
            // RFC 5280 6.3.3 (f), (g)
            let may_sign = key_usage(&issuer.content).is_none_or(|bits| bits & CRL_SIGN != 0);
            may_sign && !list.wrong_signature && list.signer == issuer.key
        };
        let lists = lists.iter().map(|list| &list.content);
        let of_issuer = lists.filter(|list| is_same_name(&list.issuer, &below.content.issuer));
        let valid: Vec<_> =
            of_issuer.filter(is_valid).filter(|list| covers(list, &below.content)).collect();
        if valid.iter().any(|list| list.revoked.contains(&below.content.serial)) {
            rules.push("a revoked certificate");
        } else if !valid.iter().any(|list| is_current(list)) {
            rules.push("no valid revocation list");
        }
    }
}

/// RFC 5280 5.2.5, 6.3.3 (b) (2)
fn covers(list: &List, certificate: &Content) -> bool {
    let is_kind = match list.kind {
        Kind::All => true,
        Kind::Users => !is_ca(certificate),
        Kind::Authorities => is_ca(certificate),
    };
    let points = find(certificate, |value| match value {
        Value::DistributionPoints(points) => Some(points.as_slice()),
        _ => None,
    });
    is_kind && list.point.is_none_or(|point| points.unwrap_or_default().contains(&point))
}

/// RFC 5280 5.1.2.4, 5.1.2.5
fn is_current(list: &List) -> bool {
    let (this, next) = (moment(&list.this_update), moment(&list.next_update));
    this.is_some_and(|this| *this <= *NOW) && next.is_some_and(|next| *next >= *NOW)
}
