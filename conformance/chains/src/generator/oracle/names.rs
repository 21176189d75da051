//! Names: constraints on them, and their comparison. RFC 5280 4.2.1.10, 7.1, RFC 9525 6.3

use super::super::certificate::{GeneralName, Name};
use super::Rule;

/// A name outside of the constraints, or a constraint that cannot be applied to it. RFC 5280
/// 4.2.1.10: one that cannot be processed is a reason to reject.
pub(super) fn check_name(
    name: &GeneralName,
    permitted: &[GeneralName],
    excluded: &[GeneralName],
    rules: &mut Vec<Rule>,
) {
    let of_form = |list: &[GeneralName]| -> Vec<Relation> {
        let same = list.iter().filter(|base| form(base) == form(name));
        same.map(|base| relation(base, name)).collect()
    };
    let (permitted, excluded) = (of_form(permitted), of_form(excluded));
    for relation in permitted.iter().chain(&excluded) {
        match relation {
            Relation::NoBase => rules.push("a base that is no name of its form"),
            Relation::NoName => rules.push("a constrained name that is no name of its form"),
            Relation::Within | Relation::Outside | Relation::Partly => {}
        }
    }
    let is_outside = |one: &Relation| matches!(one, Relation::Outside | Relation::Partly);
    if !permitted.is_empty() && permitted.iter().all(is_outside) {
        rules.push(match form(name) {
            Form::Email => "an e-mail address that is not permitted",
            Form::Dns => "a DNS name that is not permitted",
            Form::Directory => "a directory name that is not permitted",
            Form::Uri => "a URI that is not permitted",
            Form::Address => "an address that is not permitted",
        });
    }
    if excluded.iter().any(|one| matches!(one, Relation::Within | Relation::Partly)) {
        rules.push(match form(name) {
            Form::Email => "an excluded e-mail address",
            Form::Dns => "an excluded DNS name",
            Form::Directory => "an excluded directory name",
            Form::Uri => "an excluded URI",
            Form::Address => "an excluded address",
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Email,
    Dns,
    Directory,
    Uri,
    Address,
}

fn form(name: &GeneralName) -> Form {
    match name {
        GeneralName::Email(_) => Form::Email,
        GeneralName::Dns(_) => Form::Dns,
        GeneralName::Directory(_) => Form::Directory,
        GeneralName::Uri(_) => Form::Uri,
        GeneralName::Address(_) => Form::Address,
    }
}

/// The relation of a name to the base of a subtree of its form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Within,
    Outside,
    /// Some names of a wildcard are within, others are not.
    Partly,
    NoBase,
    NoName,
}

/// RFC 5280 4.2.1.10
fn relation(base: &GeneralName, name: &GeneralName) -> Relation {
    let within = |is_within| if is_within { Relation::Within } else { Relation::Outside };
    match (base, name) {
        (GeneralName::Dns(base), GeneralName::Dns(name)) => dns_relation(&text(base), &text(name)),
        (GeneralName::Email(base), GeneralName::Email(name)) => {
            let (base, name) = (text(base), text(name));
            let (local, host) = mailbox(&name).expect("an e-mail address");
            match mailbox(&base) {
                // The part before the @ depends on case; all here are in lower case.
                Some(base) => within(base == (local, host)),
                None => within(is_host_within(&base, host)),
            }
        }
        (GeneralName::Uri(base), GeneralName::Uri(name)) => {
            let (base, name) = (text(base), text(name));
            let host = name.split('/').nth(2).expect("a URI with a host");
            match is_host(base.strip_prefix('.').unwrap_or(&base)) {
                true => within(is_host_within(&base, host)),
                false => Relation::NoBase,
            }
        }
        (GeneralName::Address(net), GeneralName::Address(address)) => match address.len() {
            4 | 16 => {
                let (base, mask) = net.split_at(net.len() / 2);
                let mut bytes = base.iter().zip(mask).zip(address.iter());
                let is_equal = bytes.all(|((base, mask), byte)| base & mask == byte & mask);
                within(base.len() == address.len() && is_equal)
            }
            _ => Relation::NoName,
        },
        (GeneralName::Directory(base), GeneralName::Directory(name)) => {
            within(is_same_name(base, name))
        }
        _ => unreachable!("names of one form"),
    }
}

/// The local part, without quotes, and the host of a mailbox. RFC 5321 4.1.2
fn mailbox(text: &str) -> Option<(String, &str)> {
    let (local, host) = text.rsplit_once('@')?;
    let quoted = local.strip_prefix('"').and_then(|local| local.strip_suffix('"'));
    // No backslash here stands for itself.
    let local = quoted.map_or(local.to_owned(), |quoted| quoted.replace('\\', ""));
    Some((local, host))
}

/// Labels may be added on the left. A base with a first dot needs one more label at least. A
/// wildcard stands for each name with one label in its place. RFC 5280 4.2.1.10, RFC 9525 6.3
fn dns_relation(base: &str, name: &str) -> Relation {
    if !base.is_empty() && !is_host(base.strip_prefix('.').unwrap_or(base)) {
        return Relation::NoBase;
    }
    let is_within = |name: &str| {
        let with_dot = format!(".{}", base.strip_prefix('.').unwrap_or(base));
        base.is_empty() || name == base || name.ends_with(&with_dot)
    };
    match name.strip_prefix("*.") {
        Some(rest) if is_host(rest) => {
            // The label may be one that no base has, or the base's own.
            let own = base.split('.').next().unwrap_or_default();
            match (is_within(&format!("another.{rest}")), is_within(&format!("{own}.{rest}"))) {
                (true, _) => Relation::Within,
                (false, true) => Relation::Partly,
                (false, false) => Relation::Outside,
            }
        }
        None if is_host(name) => {
            if is_within(name) {
                Relation::Within
            } else {
                Relation::Outside
            }
        }
        _ => Relation::NoName,
    }
}

/// A base of mailboxes or URIs is one host, or all below it if it has a first dot. RFC 5280
/// 4.2.1.10
fn is_host_within(base: &str, host: &str) -> bool {
    match base.strip_prefix('.') {
        Some(_) => host.ends_with(base),
        None => host == base,
    }
}

/// Labels of letters, digits, hyphens and, as many hosts have them, underscores. RFC 1123 2.1
fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..64).contains(&label.len())
            && label.chars().all(|one| one.is_ascii_alphanumeric() || "-_".contains(one))
    };
    name.len() < 254 && name.split('.').all(is_label)
}

/// An address and a mask of ones before zeros. RFC 5280 4.2.1.10, RFC 4632 3.1
pub(super) fn is_net(net: &[u8]) -> bool {
    let mask = &net[net.len() / 2..];
    let bits: String = mask.iter().map(|byte| format!("{byte:08b}")).collect();
    matches!(net.len(), 8 | 32) && !bits.contains("01")
}

/// Host names do not depend on case. Bytes that are no text become a character of no host.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_lowercase()
}

/// A wildcard is the whole first label, above a domain of two labels. RFC 9525 6.3
pub(super) fn is_valid_for(presented: &GeneralName, name: &str) -> bool {
    match (presented, name.parse::<std::net::Ipv4Addr>()) {
        (GeneralName::Address(address), Ok(name)) => *address == name.octets(),
        (GeneralName::Dns(presented), Err(_)) => {
            let presented = text(presented);
            let (_, parent) = name.split_once('.').expect("a name with a domain");
            let is_wildcard = |rest: &str| rest == parent && parent.contains('.');
            presented == name || presented.strip_prefix("*.").is_some_and(is_wildcard)
        }
        _ => false,
    }
}

/// Names are compared without regard to case and to the type of their strings. RFC 5280 7.1
pub(super) fn is_same_name(one: &Name, other: &Name) -> bool {
    one.text.to_lowercase() == other.text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::super::super::faults::dns_name;
    use super::*;

    /// RFC 5280 4.2.1.10, RFC 9525 6.3
    #[test]
    fn names_are_within_constraints_or_not() {
        const NOT_PERMITTED: Rule = "a DNS name that is not permitted";
        const EXCLUDED: Rule = "an excluded DNS name";
        const NO_BASE: Rule = "a base that is no name of its form";
        const NO_NAME: Rule = "a constrained name that is no name of its form";
        let cases = [
            ("a.service.example", "service.example", None, Some(EXCLUDED)),
            ("a.service.example", "A.Service.example", None, Some(EXCLUDED)),
            ("a.service.example", "", None, Some(EXCLUDED)),
            ("a.service.example", "b.service.example", Some(NOT_PERMITTED), None),
            ("a.service.example", "ervice.example", Some(NOT_PERMITTED), None),
            ("service.example", ".service.example", Some(NOT_PERMITTED), None),
            ("*.service.example", "service.example", None, Some(EXCLUDED)),
            ("*.service.example", ".service.example", None, Some(EXCLUDED)),
            ("*.service.example", "b.service.example", Some(NOT_PERMITTED), Some(EXCLUDED)),
            ("*.service.example", ".b.service.example", Some(NOT_PERMITTED), None),
            ("*.service.example", "other.example", Some(NOT_PERMITTED), None),
            ("a.service.example", "service.example.", Some(NO_BASE), Some(NO_BASE)),
            ("a..b", "service.example", Some(NO_NAME), Some(NO_NAME)),
        ];
        for (index, (name, base, permitted, excluded)) in cases.into_iter().enumerate() {
            let (name, base) = (dns_name(name.as_bytes()), [dns_name(base.as_bytes())]);
            for (permitted, excluded, expected) in
                [(&base[..], &[][..], permitted), (&[], &base, excluded)]
            {
                let mut rules = Vec::new();
                check_name(&name, permitted, excluded, &mut rules);
                assert_eq!(rules.is_empty(), expected.is_none(), "case {index}: {rules:?}");
                assert!(expected.is_none_or(|rule| rules.contains(&rule)), "case {index}");
            }
        }
    }

    /// RFC 5321 4.1.2
    #[test]
    fn a_quoted_local_part_has_several_spellings() {
        let relation = |base, name| relation(&GeneralName::Email(base), &GeneralName::Email(name));
        let is_within = |base, name| relation(base, name) == Relation::Within;
        assert!(is_within(b"a@h.example", br#""a"@h.example"#));
        assert!(is_within(br#""\a"@h.example"#, b"a@h.example"));
        assert!(is_within(b"h.example", br#""a@b"@h.example"#));
        assert!(!is_within(b"b@h.example", br#""a@b"@h.example"#));
        assert!(!is_within(b"a@h.example", br#""a "@h.example"#));
    }
}
