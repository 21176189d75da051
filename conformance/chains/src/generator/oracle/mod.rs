//! The oracle: every path of a chain, judged by a simple statement of the rules.
//!
//! All paths from a leaf are tried, by the names of issuers. For each, all violated rules are
//! listed. A path without a violation is valid, and a chain is to be accepted exactly if it has a
//! valid path. The oracle reads [`Content`], what the generator has put into each certificate: it
//! has neither code nor a parser in common with the builder that it judges.
//!
//! The rules are those of RFC 5280 6.1 and 6.3; of the application (purposes, RFC 5280 4.2.1.12;
//! the server's name, RFC 9525 6.3; a key that may sign handshakes, RFC 9846 4.5.1); and the forms
//! of RFC 5280 4.1 and 4.2 that a reader depends on. An anchor is an authority whose certificate
//! states restrictions (RFC 5280 6.2), or it is the leaf itself.
//!
//! Where an RFC leaves a choice, the rule is the stricter one. No rule reads what RFC 5280 demands
//! of issuers only: serial numbers, the criticality of known extensions, a UTCTime before 2050, no
//! path length without the CA bit, an entry in a subjectAltName, the syntax of names that nothing
//! compares.

mod names;
mod status;

use tercel_pki::Usage;

use super::certificate::{
    Content, DIGITAL_SIGNATURE, GeneralName, KEY_CERT_SIGN, KeyForm, Purpose, Time, Value,
};
use super::lists::MadeList;
use super::world::{LookedUp, Made, NOW, World};
use names::{check_name, is_net, is_same_name, is_valid_for};
use status::check_status;

/// A leaf and what it is verified with.
pub(crate) struct Given<'w> {
    anchors: Vec<&'w Made>,
    sent: Vec<&'w Made>,
    leaf: &'w Made,
    lists: &'w [MadeList],
    looked_up: LookedUp,
    name: Option<&'w str>,
    usage: Usage,
}

/// A path: the leaf first, and the anchor. A leaf that is an anchor itself is both.
pub(crate) struct Path<'w> {
    pub(crate) certificates: Vec<&'w Made>,
    /// `None` if no certificate has the issuer's name.
    pub(crate) anchor: Option<&'w Made>,
    /// The rules that the path violates.
    pub(crate) violations: Vec<Rule>,
}

/// The name of a rule, for lines of `differences/generated.txt`.
pub(crate) type Rule = &'static str;

impl<'w> Path<'w> {
    pub(crate) fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }

    fn is_pin(&self) -> bool {
        self.anchor.is_some_and(|anchor| anchor.der == self.certificates[0].der)
    }

    /// All certificates, the leaf first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'w Made> + '_ {
        let anchor = self.anchor.filter(|_| !self.is_pin());
        self.certificates.iter().copied().chain(anchor)
    }
}

impl<'w> Given<'w> {
    pub(crate) fn new(world: &'w World, leaf: usize) -> Self {
        Self {
            anchors: each_once(&world.roots),
            sent: each_once(&world.sent),
            leaf: &world.leaves[leaf],
            lists: &world.lists,
            looked_up: world.looked_up,
            name: world.name.as_deref(),
            usage: world.usage,
        }
    }

    /// The same leaf with the certificates of one path only.
    pub(crate) fn only(&self, path: &Path<'w>) -> Self {
        let anchors = path.anchor.into_iter().collect();
        Self { anchors, sent: path.certificates[1..].to_vec(), ..*self }
    }

    /// Every path from the leaf, by names, to an anchor or to where no issuer has the name.
    pub(crate) fn paths(&self) -> Vec<Path<'w>> {
        let mut found = Vec::new();
        let pin = self.anchors.iter().find(|anchor| anchor.der == self.leaf.der);
        found.extend(pin.map(|pin| self.judge(&[self.leaf], Some(*pin))));
        self.extend(&mut vec![self.leaf], &mut found);
        found
    }

    fn extend(&self, path: &mut Vec<&'w Made>, found: &mut Vec<Path<'w>>) {
        let issuer = &path[path.len() - 1].content.issuer;
        let is_issuer = |one: &&'w Made| is_same_name(&one.content.subject, issuer);
        let before = found.len();
        for anchor in self.anchors.iter().copied().filter(is_issuer) {
            found.push(self.judge(path, Some(anchor)));
        }
        for next in self.sent.iter().copied().filter(is_issuer) {
            // A certificate occurs once in a path. RFC 5280 6.1
            if path.iter().all(|one| one.der != next.der) {
                path.push(next);
                self.extend(path, found);
                path.pop();
            }
        }
        if found.len() == before {
            found.push(self.judge(path, None));
        }
    }

    fn judge(&self, certificates: &[&'w Made], anchor: Option<&'w Made>) -> Path<'w> {
        let mut path = Path { certificates: certificates.to_vec(), anchor, violations: vec![] };
        let mut rules = Vec::new();
        self.check_leaf(path.is_pin(), &mut rules);
        if !path.is_pin() {
            for issuer in &certificates[1..] {
                self.check_issuer(&issuer.content, &mut rules);
            }
            check_signatures(&path, &mut rules);
            let contents: Vec<_> = path.all().map(|one| &one.content).collect();
            check_path_lengths(&contents, &mut rules);
            check_names(&contents, &mut rules);
            if let Some(anchor) = anchor {
                self.check_anchor(&anchor.content, &mut rules);
                check_policies(&contents, &mut rules);
                check_status(&path, self.lists, self.looked_up, &mut rules);
            }
        }
        rules.sort_unstable();
        rules.dedup();
        path.violations = rules;
        path
    }

    fn check_leaf(&self, is_pin: bool, rules: &mut Vec<Rule>) {
        let leaf = &self.leaf.content;
        check_form(leaf, rules);
        check_validity(leaf, rules);
        self.check_purposes(leaf, is_pin, rules);
        // RFC 9846 4.5.1, RFC 5246 7.4.2
        if key_usage(leaf).is_some_and(|bits| bits & DIGITAL_SIGNATURE == 0) {
            rules.push("the leaf's key may not sign");
        }
        // RFC 9525 6.3
        if self.name.is_some_and(|name| !names(leaf).iter().any(|one| is_valid_for(one, name))) {
            rules.push("the leaf has another name");
        }
    }

    fn check_issuer(&self, issuer: &Content, rules: &mut Vec<Rule>) {
        check_form(issuer, rules);
        check_validity(issuer, rules);
        self.check_purposes(issuer, false, rules);
        // RFC 5280 6.1.4 (k)
        if !is_ca(issuer) {
            rules.push("an issuer is no CA");
        }
        // RFC 5280 6.1.4 (n)
        if key_usage(issuer).is_some_and(|bits| bits & KEY_CERT_SIGN == 0) {
            rules.push("an issuer may not sign certificates");
        }
    }

    /// An anchor is checked like an issuer, but any purpose is enough, and an old root, which is of
    /// version 1, is known to be a CA because it is trusted. RFC 5280 6.1.4 (k), 6.2
    fn check_anchor(&self, anchor: &Content, rules: &mut Vec<Rule>) {
        check_form(anchor, rules);
        check_validity(anchor, rules);
        self.check_purposes(anchor, true, rules);
        let is_old_root = anchor.version == 1 && is_self_issued(anchor);
        if !is_old_root && !is_ca(anchor) {
            rules.push("an anchor is no CA");
        }
        if key_usage(anchor).is_some_and(|bits| bits & KEY_CERT_SIGN == 0) {
            rules.push("an anchor may not sign certificates");
        }
    }

    /// RFC 5280 4.2.1.12; an application may ask for its purpose by name.
    fn check_purposes(&self, of: &Content, is_any_enough: bool, rules: &mut Vec<Rule>) {
        let wanted = match self.usage {
            Usage::Server => Purpose::Server,
            Usage::Client => Purpose::Client,
        };
        let list =
            find(of, |value| if let Value::Purposes(list) = value { Some(list) } else { None });
        let Some(list) = list.filter(|list| !list.is_empty() && !list.contains(&wanted)) else {
            return;
        };
        match (list.contains(&Purpose::Any), is_any_enough) {
            (true, true) => {}
            (true, false) => rules.push("any purpose instead of this one"),
            (false, _) => rules.push("for other purposes"),
        }
    }
}

fn each_once(certificates: &[Made]) -> Vec<&Made> {
    let mut all: Vec<&Made> = Vec::new();
    for one in certificates {
        if all.iter().all(|other| other.der != one.der) {
            all.push(one);
        }
    }
    all
}

/// The rules that a reader of the certificate alone can check.
fn check_form(content: &Content, rules: &mut Vec<Rule>) {
    // RFC 5280 4.1.2.5
    if moment(&content.not_before).is_none() || moment(&content.not_after).is_none() {
        rules.push("a malformed time");
    }
    // RFC 5480 2.1.1
    if content.key_form == KeyForm::Explicit {
        rules.push("a key with an explicit curve");
    }
    let extensions = content.written();
    for (index, extension) in extensions.iter().enumerate() {
        // RFC 5280 4.2
        if extensions[..index].iter().any(|other| other.value.is_like(&extension.value)) {
            rules.push("a repeated extension");
        }
        match &extension.value {
            // RFC 5280 4.2, 6.1.4 (o), 6.1.5 (f)
            Value::Unknown if extension.critical => rules.push("an unknown critical extension"),
            // RFC 5280 4.2.1.9
            Value::BasicConstraints { path_length: Some(..0), .. } => {
                rules.push("a negative path length");
            }
            // RFC 5280 4.2.1.12
            Value::Purposes(list) if list.is_empty() => rules.push("an empty list of purposes"),
            Value::NameConstraints { permitted, excluded } => {
                // RFC 5280 4.2.1.10
                if permitted.is_empty() && excluded.is_empty() {
                    rules.push("empty name constraints");
                }
                let mut bases = permitted.iter().chain(excluded);
                if bases.any(|base| matches!(base, GeneralName::Address(net) if !is_net(net))) {
                    rules.push("a malformed range of addresses");
                }
            }
            _ => {}
        }
    }
}

/// RFC 5280 6.1.3 (a) (2)
fn check_validity(content: &Content, rules: &mut Vec<Rule>) {
    if moment(&content.not_before).is_some_and(|from| from.as_str() > NOW) {
        rules.push("not yet valid");
    }
    if moment(&content.not_after).is_some_and(|until| until.as_str() < NOW) {
        rules.push("expired");
    }
}

/// RFC 5280 6.1.3 (a) (1), (4)
fn check_signatures(path: &Path<'_>, rules: &mut Vec<Rule>) {
    let issuers = path.certificates[1..].iter().copied().chain(path.anchor);
    for (below, issuer) in path.certificates.iter().zip(issuers) {
        if below.content.wrong_signature || below.signer != issuer.key {
            rules.push("a wrong signature");
        }
    }
    if path.anchor.is_none() {
        rules.push("no issuer");
    }
}

/// RFC 5280 6.1.4 (l), (m). The anchor is the last.
fn check_path_lengths(path: &[&Content], rules: &mut Vec<Rule>) {
    for (index, issuer) in path.iter().enumerate().skip(1) {
        let Some(most) = path_length(issuer) else { continue };
        // The issuers below count, except for those that are self-issued. RFC 5280 4.2.1.9
        let below = path[1..index].iter().filter(|one| !is_self_issued(one)).count();
        if i64::try_from(below).expect("a short path") > i64::from(most) {
            rules.push("a path longer than its length permits");
        }
    }
}

/// RFC 5280 6.1.2 (d), 6.1.3 (e), (f), 6.1.4 (h), (i), 6.1.5 (a), (b), (g). All policies are the
/// same one, so a path has a valid policy exactly if each certificate below the anchor names it.
fn check_policies(path: &[&Content], rules: &mut Vec<Rule>) {
    let below_anchor: Vec<_> = path[..path.len() - 1].iter().rev().collect();
    let mut skipped = below_anchor.len() + 1;
    let mut has_policy = true;
    for (index, content) in below_anchor.iter().enumerate() {
        has_policy &= content.written().iter().any(|one| matches!(one.value, Value::Policies));
        let mut is_required = skipped == 0;
        let is_leaf = index + 1 == below_anchor.len();
        if is_leaf || !is_self_issued(content) {
            skipped = skipped.saturating_sub(1);
        }
        let own = find(content, |value| match value {
            Value::RequireExplicitPolicy(own) => Some(own),
            _ => None,
        });
        match own {
            Some(0) if is_leaf => skipped = 0,
            Some(own) if !is_leaf => skipped = skipped.min(usize::from(*own)),
            _ => {}
        }
        is_required |= is_leaf && skipped == 0;
        if is_required && !has_policy {
            rules.push("no valid policy");
        }
    }
}

/// RFC 5280 4.2.1.10, 6.1.3 (b), (c). The constraints of each authority hold for all certificates
/// below it, except for issuers that are self-issued.
fn check_names(path: &[&Content], rules: &mut Vec<Rule>) {
    for (index, issuer) in path.iter().enumerate().skip(1) {
        let constraints = find(issuer, |value| match value {
            Value::NameConstraints { permitted, excluded } => Some((permitted, excluded)),
            _ => None,
        });
        let Some((permitted, excluded)) = constraints else { continue };
        for (position, below) in path[..index].iter().enumerate() {
            if position > 0 && is_self_issued(below) {
                continue;
            }
            let subject = GeneralName::Directory(below.subject.clone());
            let subject = Some(&subject).filter(|_| !below.subject.text.is_empty());
            for name in names(below).iter().chain(subject) {
                check_name(name, permitted, excluded, rules);
            }
        }
    }
}

/// The first extension of a kind.
fn find<'c, T>(content: &'c Content, choose: impl Fn(&'c Value) -> Option<T>) -> Option<T> {
    content.written().iter().find_map(|extension| choose(&extension.value))
}

fn is_ca(content: &Content) -> bool {
    find(content, |value| match value {
        Value::BasicConstraints { ca, .. } => Some(*ca),
        _ => None,
    })
    .unwrap_or(false)
}

/// A negative number is malformed, and limits nothing.
fn path_length(content: &Content) -> Option<i16> {
    find(content, |value| match value {
        Value::BasicConstraints { path_length, .. } => path_length.filter(|most| *most >= 0),
        _ => None,
    })
}

fn key_usage(content: &Content) -> Option<u8> {
    find(content, |value| if let Value::KeyUsage(bits) = value { Some(*bits) } else { None })
}

/// The names of the subjectAltName.
fn names(content: &Content) -> &[GeneralName] {
    find(content, |value| match value {
        Value::Names(names) => Some(names.as_slice()),
        _ => None,
    })
    .unwrap_or_default()
}

fn is_self_issued(content: &Content) -> bool {
    is_same_name(&content.subject, &content.issuer)
}

/// A time as 14 digits from the year on; `None` if it is malformed. RFC 5280 4.1.2.5
fn moment(time: &Time) -> Option<String> {
    let digits = time.text.strip_suffix('Z')?;
    let digits = match time.is_generalized {
        true => digits.to_owned(),
        // RFC 5280 4.1.2.5.1
        false if digits < "5" => format!("20{digits}"),
        false => format!("19{digits}"),
    };
    let is_digits = digits.len() == 14 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let in_range = |from: usize, range: std::ops::RangeInclusive<&str>| {
        digits.get(from..from + 2).is_some_and(|two| range.contains(&two))
    };
    // The generator's days exist in every month.
    (is_digits && in_range(4, "01"..="12")).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::super::faults::{authority, purposes};
    use super::super::world::Keys;
    use super::*;

    type Change = fn(&mut Content);

    /// RFC 5280 4.1, 4.2, 6.1
    #[test]
    fn one_fault_violates_one_rule() {
        let cases: &[(&str, Change, &[Rule])] = &[
            ("Leaf", |_| {}, &[]),
            ("Leaf", |it| it.not_after = Time::utc("600101000000Z"), &["expired"]),
            ("Leaf", |it| it.not_before = Time::utc("260529000000Z"), &["not yet valid"]),
            ("Root", |it| it.not_before = Time::utc("201301000000Z"), &["a malformed time"]),
            ("Leaf", |it| it.wrong_signature = true, &["a wrong signature"]),
            ("Root", |it| it.wrong_signature = true, &[]),
            ("Leaf", |it| it.serial = vec![0x80], &[]),
            ("Leaf", |it| it.issuer.text.make_ascii_uppercase(), &[]),
            ("Authority", |it| it.issuer.text.clear(), &["no issuer"]),
            ("Leaf", |it| it.set(true, Value::Unknown), &["an unknown critical extension"]),
            ("Leaf", |it| it.set(false, Value::Unknown), &[]),
            ("Authority", |it| it.extensions.extend_from_within(..1), &["a repeated extension"]),
            ("Authority", |it| it.version = 1, &["an issuer is no CA"]),
            ("Authority", |it| it.set(true, authority(false, None)), &["an issuer is no CA"]),
            ("Root", |it| it.set(true, authority(false, None)), &["an anchor is no CA"]),
            ("Root", |it| it.version = 1, &[]),
            (
                "Authority",
                |it| it.set(true, Value::KeyUsage(DIGITAL_SIGNATURE)),
                &["an issuer may not sign certificates"],
            ),
            (
                "Leaf",
                |it| it.set(true, Value::KeyUsage(KEY_CERT_SIGN)),
                &["the leaf's key may not sign"],
            ),
            (
                "Root",
                |it| it.set(true, authority(true, Some(0))),
                &["a path longer than its length permits"],
            ),
            ("Authority", |it| it.set(true, authority(true, Some(0))), &[]),
            (
                "Authority",
                |it| it.set(false, purposes(&[Purpose::Client])),
                &["for other purposes"],
            ),
            (
                "Leaf",
                |it| it.set(false, purposes(&[Purpose::Any])),
                &["any purpose instead of this one"],
            ),
            ("Root", |it| it.set(false, purposes(&[Purpose::Any])), &[]),
            ("Root", |it| it.set(true, Value::RequireExplicitPolicy(0)), &[]),
            ("Authority", |it| it.set(true, Value::RequireExplicitPolicy(0)), &["no valid policy"]),
            ("Authority", |it| it.set(true, Value::RequireExplicitPolicy(1)), &["no valid policy"]),
            ("Authority", |it| it.set(true, Value::RequireExplicitPolicy(2)), &[]),
        ];
        let keys = Keys::generate();
        for (index, (name, change, rules)) in cases.iter().enumerate() {
            let world = World::of_three(&keys, |subject, content| {
                if subject == *name {
                    change(content);
                }
            });
            let paths = Given::new(&world, 0).paths();
            let [path] = paths.as_slice() else { panic!("{} paths of case {index}", paths.len()) };
            assert_eq!(path.violations, *rules, "case {index}");
        }
    }

    /// A leaf among the anchors is trusted as itself, by a path without an issuer.
    #[test]
    fn each_path_is_found_once() {
        let keys = Keys::generate();
        let mut world = World::of_three(&keys, |_, _| {});
        world.roots.push(world.leaves[0].clone());
        world.roots.push(world.sent[0].clone());
        world.sent.push(world.sent[0].clone());
        world.sent.push(world.roots[0].clone());
        let paths = Given::new(&world, 0).paths();
        let lengths: Vec<_> = paths.iter().map(|path| path.all().count()).collect();
        // The leaf; the trusted authority; the root; the root as sent, below itself.
        assert_eq!(lengths, [1, 2, 3, 4]);
        assert!(paths.iter().all(Path::is_valid));
    }
}
