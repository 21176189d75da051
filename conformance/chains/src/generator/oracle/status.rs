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

#[cfg(test)]
mod tests {
    use super::super::super::certificate::{KEY_CERT_SIGN, Time};
    use super::super::super::lists::POINTS;
    use super::super::super::world::{Keys, World};
    use super::super::Given;
    use super::*;

    const REVOKED: &[Rule] = &["a revoked certificate"];
    const UNKNOWN: &[Rule] = &["no valid revocation list"];

    /// The rules that the only path violates, with a list of the root and one of the authority.
    fn violated(
        looked_up: LookedUp,
        of_certificate: impl Fn(&str, &mut Content),
        of_list: impl Fn(&str, &mut List),
    ) -> Vec<Rule> {
        let keys = Keys::generate();
        let mut world = World::of_three(&keys, of_certificate);
        let issuers = [("Root", &world.roots[0]), ("Authority", &world.sent[0])];
        let list = |(name, issuer)| MadeList::changed(issuer, &keys, |list| of_list(name, list));
        world.lists = issuers.map(list).to_vec();
        world.looked_up = looked_up;
        let mut paths = Given::new(&world, 0).paths();
        assert_eq!(paths.len(), 1);
        paths.remove(0).violations
    }

    /// RFC 5280 5.2.5, 6.3.3
    #[test]
    fn one_fault_of_a_list_violates_one_rule() {
        type Case = (&'static str, fn(&mut List), &'static [Rule]);
        let cases: &[Case] = &[
            ("Authority", |_| {}, &[]),
            ("Authority", |it| it.revoked.push(vec![1, 2]), REVOKED),
            ("Root", |it| it.revoked.push(vec![1, 1]), REVOKED),
            ("Root", |it| it.revoked.push(vec![1, 2]), &[]),
            ("Authority", |it| it.next_update = Time::utc("260501000000Z"), UNKNOWN),
            ("Authority", |it| it.this_update = Time::utc("260601000000Z"), UNKNOWN),
            (
                "Authority",
                |it| {
                    it.next_update = Time::utc("260501000000Z");
                    it.revoked.push(vec![1, 2]);
                },
                REVOKED,
            ),
            ("Authority", |it| it.wrong_signature = true, UNKNOWN),
            ("Authority", |it| it.signer = 3, UNKNOWN),
            ("Authority", |it| it.kind = Kind::Users, &[]),
            ("Authority", |it| it.kind = Kind::Authorities, UNKNOWN),
            ("Root", |it| it.kind = Kind::Users, UNKNOWN),
            ("Authority", |it| it.point = Some(POINTS[0]), UNKNOWN),
            ("Authority", |it| it.issuer.text.make_ascii_uppercase(), &[]),
            ("Authority", |it| it.issuer.text.push('x'), UNKNOWN),
        ];
        for (index, (name, change, rules)) in cases.iter().enumerate() {
            let of_list = |issuer: &str, list: &mut List| {
                if issuer == *name {
                    change(list);
                }
            };
            let of = |looked_up| violated(looked_up, |_, _| {}, of_list);
            assert_eq!(of(LookedUp::All), *rules, "case {index}");
            assert_eq!(of(LookedUp::None), [] as [Rule; 0], "case {index}");
            let of_leaf = of(LookedUp::Leaf);
            assert_eq!(of_leaf, if *name == "Root" { &[] } else { *rules }, "case {index}");
        }
    }

    /// RFC 5280 4.2.1.3, 4.2.1.13
    #[test]
    fn certificates_decide_on_their_lists() {
        let at_point = |_: &str, list: &mut List| list.point = Some(POINTS[0]);
        let with = |points: &'static [&'static str]| {
            move |_: &str, content: &mut Content| {
                content.set(false, Value::DistributionPoints(points.to_vec()));
            }
        };
        assert_eq!(violated(LookedUp::All, with(&POINTS), at_point), [] as [Rule; 0]);
        assert_eq!(violated(LookedUp::All, with(&POINTS[1..]), at_point), UNKNOWN);
        let without_usage = |name: &str, content: &mut Content| {
            if name == "Root" {
                content.set(true, Value::KeyUsage(KEY_CERT_SIGN));
            }
        };
        assert_eq!(violated(LookedUp::All, without_usage, |_, _| {}), UNKNOWN);
        assert_eq!(violated(LookedUp::Leaf, without_usage, |_, _| {}), [] as [Rule; 0]);
    }
}
