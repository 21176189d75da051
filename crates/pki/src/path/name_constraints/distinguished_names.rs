//! The comparison of distinguished names with a base, and with each other. RFC 5280 4.2.1.10, 7.1

use super::Incomparable;
use crate::budget::Budget;
use crate::certificate::string;
use crate::der::{self, Element, Malformed, Reader};
use crate::reason::RefusalReason;

/// An attribute of a distinguished name.
pub(super) struct Attribute<'a> {
    pub(super) kind: &'a [u8],
    pub(super) value: Element<'a>,
}

/// Reads a RelativeDistinguishedName (the content of the SET). RFC 5280 4.1.2.4
pub(super) fn read_set(set: &[u8]) -> Result<Vec<Attribute<'_>>, Malformed> {
    let mut attributes = Vec::new();
    let mut reader = Reader::new(set);
    while !reader.is_empty() {
        let mut attribute = Reader::new(reader.expect(der::SEQUENCE)?);
        let kind = attribute.expect(der::OBJECT_IDENTIFIER)?;
        let value = attribute.element()?;
        attribute.finish()?;
        attributes.push(Attribute { kind, value });
    }
    if attributes.is_empty() { Err(Malformed) } else { Ok(attributes) }
}

/// Whether a distinguished name begins with all parts of the base. RFC 5280 4.2.1.10, 7.1
pub(super) fn is_prefix(
    base: &[u8],
    name: &[u8],
    budget: &mut Budget,
) -> Result<bool, RefusalReason> {
    let (mut base, mut name) = (Reader::new(base), Reader::new(name));
    while !base.is_empty() {
        let own = base.expect(der::SET).map_err(|Malformed| Incomparable)?;
        if name.is_empty() {
            return Ok(false);
        }
        let other = name.expect(der::SET).map_err(|Malformed| Incomparable)?;
        if own != other && !is_equal_set(own, other, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An encoding of a distinguished name (the content of its SEQUENCE) that is the same for all
/// spellings of the name: it depends on no order within a set, and for strings on no type, case or
/// additional space. RFC 5280 7.1
pub(crate) fn canonical(name: &[u8]) -> Vec<u8> {
    let read = || {
        let (mut sets, mut encoded) = (Reader::new(name), Vec::new());
        while !sets.is_empty() {
            let set = read_set(sets.expect(der::SET)?)?;
            let mut attributes: Vec<_> = set.iter().map(canonical_attribute).collect();
            attributes.sort_unstable();
            encoded.extend(der::encoded(der::SET, &attributes.concat()));
        }
        Ok::<_, Malformed>(encoded)
    };
    read().unwrap_or_else(|Malformed| name.to_vec())
}

fn canonical_attribute(attribute: &Attribute<'_>) -> Vec<u8> {
    let kind = der::encoded(der::OBJECT_IDENTIFIER, attribute.kind);
    let value = match prepared(attribute.value) {
        Ok(Some(text)) => der::encoded(der::UTF8_STRING, text.as_bytes()),
        Ok(None) | Err(Incomparable) => attribute.value.whole.to_vec(),
    };
    der::sequence(&[kind, value].concat())
}

/// Whether two sets have the same attributes, in any order.
fn is_equal_set(one: &[u8], other: &[u8], budget: &mut Budget) -> Result<bool, RefusalReason> {
    let read = |set| read_set(set).map_err(|Malformed| Incomparable);
    budget.pay(one.len().saturating_add(other.len()) / 16)?;
    let (one, mut other) = (read(one)?, read(other)?);
    // Sets are small; a large one would be costly to compare.
    if one.len() > MOST_ATTRIBUTES || other.len() > MOST_ATTRIBUTES {
        return Err(Incomparable.into());
    }
    if one.len() != other.len() {
        return Ok(false);
    }
    for attribute in one {
        let mut found = None;
        for (index, same) in other.iter().enumerate() {
            if is_equal(&attribute, same, budget)? {
                found = Some(index);
                break;
            }
        }
        match found {
            Some(index) => drop(other.swap_remove(index)),
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Whether two attributes are equal: strings without regard to their type, to case and to
/// additional spaces, other values byte by byte. RFC 5280 7.1
fn is_equal(
    one: &Attribute<'_>,
    other: &Attribute<'_>,
    budget: &mut Budget,
) -> Result<bool, RefusalReason> {
    if one.kind != other.kind {
        return Ok(false);
    }
    if one.value.whole == other.value.whole {
        return Ok(true);
    }
    // Both are prepared for each comparison, however long they are.
    budget.pay(one.value.content.len().saturating_add(other.value.content.len()) / 4)?;
    Ok(match (prepared(one.value)?, prepared(other.value)?) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    })
}

/// A string in lower case, with single spaces. `None` if the value is no string. RFC 4518 2
///
/// A value of another type, such as a string in several parts, may be a string for others.
fn prepared(value: Element<'_>) -> Result<Option<String>, Incomparable> {
    if NO_STRINGS.contains(&value.tag) {
        return Ok(None);
    }
    let text = string(value).ok_or(Incomparable)?.to_lowercase();
    Ok(Some(text.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// The types of attributes that are no strings. RFC 5280 4.1.2.4
const NO_STRINGS: [u8; 7] = [
    der::BOOLEAN,
    der::INTEGER,
    der::BIT_STRING,
    der::OBJECT_IDENTIFIER,
    der::UTC_TIME,
    der::GENERALIZED_TIME,
    der::SEQUENCE,
];

const MOST_ATTRIBUTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::super::tests::{OUTSIDE, UNKNOWN, WITHIN, judge, wrap};
    use super::super::{Base, DIRECTORY, NameConstraints};
    use super::*;

    fn set(attributes: &[(u8, u8, &str)]) -> Vec<u8> {
        let one = |(kind, tag, text): &(u8, u8, &str)| {
            wrap(0x30, &[wrap(6, &[0x55, 4, *kind]), wrap(*tag, text.as_bytes())].concat())
        };
        wrap(0x31, &attributes.iter().flat_map(one).collect::<Vec<_>>())
    }

    fn name(sets: &[Vec<u8>]) -> Vec<u8> {
        wrap(0x30, &sets.concat())
    }

    /// RFC 5280 4.2.1.10, 7.1, RFC 4518 2
    #[test]
    fn directory_names() {
        const UTF8: u8 = der::UTF8_STRING;
        const PRINTABLE: u8 = der::PRINTABLE_STRING;
        let nl = || set(&[(6, PRINTABLE, "NL")]);
        let org = |tag, text| set(&[(10, tag, text)]);
        let base = name(&[nl(), org(UTF8, "Example Org")]);
        let unit = || set(&[(11, UTF8, "Unit")]);
        for (other, expected) in [
            (name(&[nl(), org(UTF8, "Example Org")]), WITHIN),
            (name(&[nl(), org(UTF8, "Example Org"), unit()]), WITHIN),
            (name(&[nl(), org(PRINTABLE, " example  ORG ")]), WITHIN),
            (name(&[nl()]), OUTSIDE),
            (name(&[org(UTF8, "Example Org"), nl()]), OUTSIDE),
            (name(&[nl(), org(UTF8, "Example Org 2")]), OUTSIDE),
            (name(&[nl(), unit()]), OUTSIDE),
            (name(&[nl(), org(der::INTEGER, "Example Org")]), OUTSIDE),
            (name(&[nl(), set(&[(10, UTF8, "Example Org"), (11, UTF8, "x")])]), OUTSIDE),
        ] {
            assert_eq!(judge(DIRECTORY, &base, &other), expected, "{other:02x?}");
        }
        let mut broken = name(&[nl(), org(UTF8, "Example Orh")]);
        *broken.last_mut().unwrap() = 0xff;
        assert_eq!(judge(DIRECTORY, &base, &broken), UNKNOWN);
        // The order within a set has no meaning.
        let one = name(&[set(&[(10, UTF8, "a"), (11, UTF8, "b")])]);
        let other = name(&[set(&[(11, UTF8, "B"), (10, UTF8, "A")])]);
        assert_eq!(judge(DIRECTORY, &one, &other), WITHIN);
        assert_eq!(judge(DIRECTORY, &name(&[]), &one), WITHIN);
    }

    /// RFC 5280 7.1
    #[test]
    fn a_name_has_one_canonical_encoding() {
        const UTF8: u8 = der::UTF8_STRING;
        let of = |sets: &[Vec<u8>]| canonical(&sets.concat());
        let one = of(&[set(&[(6, UTF8, "NL"), (10, UTF8, "\u{cb}xample Org")])]);
        for other in [
            set(&[(10, UTF8, " \u{eb}xample  ORG "), (6, der::PRINTABLE_STRING, "nl")]),
            set(&[(6, der::IA5_STRING, "NL"), (10, UTF8, "\u{eb}xample org")]),
        ] {
            assert_eq!(of(&[other]), one);
        }
        for other in [
            set(&[(6, UTF8, "NL")]),
            set(&[(6, UTF8, "NL"), (11, UTF8, "\u{cb}xample Org")]),
            set(&[(6, der::INTEGER, "NL"), (10, UTF8, "\u{cb}xample Org")]),
        ] {
            assert_ne!(of(&[other]), one);
        }
        let two = [set(&[(6, UTF8, "NL")]), set(&[(10, UTF8, "\u{cb}xample Org")])];
        assert_ne!(of(&two), one);
        // What is no name is compared byte by byte.
        assert_eq!(canonical(b"no name"), b"no name");
    }

    /// A long value in a base is compared with each of many short names.
    #[test]
    fn comparisons_of_long_values_are_paid_for() {
        const UTF8: u8 = der::UTF8_STRING;
        let long = "\u{c4}".repeat(25_000);
        let attribute = |kind: u8, text: &str| {
            let kind = [6, 3, 0x55, 4, kind];
            let length = u16::try_from(text.len()).unwrap().to_be_bytes();
            let value = [&[UTF8, 0x82, length[0], length[1]][..], text.as_bytes()].concat();
            crate::der::sequence(&[&kind[..], &value].concat())
        };
        let set_of = |attributes: &[Vec<u8>]| {
            let mut set = crate::der::sequence(&attributes.concat());
            set[0] = der::SET;
            set
        };
        let mut base: Vec<_> = vec![attribute(10, &long)];
        base.extend((0..15).map(|_| attribute(10, &"y".repeat(300))));
        let base = set_of(&base);
        let name = set_of(&vec![wrap(0x30, &[6, 3, 0x55, 4, 10, UTF8, 1, b'x']); 16]);
        let mut budget = Budget::new();
        let base = Base::Directory(&base);
        let constraints = NameConstraints { permitted: vec![], excluded: vec![base] };
        let mut result = Ok(());
        let mut count = 0;
        while result.is_ok() && count < 1000 {
            result = constraints.check_name(DIRECTORY, &name, &mut budget);
            count += 1;
        }
        assert_eq!(result, Err(RefusalReason::PathLimits));
        assert!(count < 100, "{count}");
    }

    /// The types of strings that others compare as strings. RFC 5280 7.1
    #[test]
    fn every_type_of_string_is_compared() {
        let base = name(&[set(&[(10, der::UTF8_STRING, "1 2")])]);
        for tag in [0x12, 0x1a, der::PRINTABLE_STRING, der::IA5_STRING, der::TELETEX_STRING] {
            let other = name(&[set(&[(10, tag, "1 2")])]);
            assert_eq!(judge(DIRECTORY, &base, &other), WITHIN, "{tag}");
        }
        // Not in DER, or not for names: OpenSSL and Go read no certificate with the last four, and
        // OpenSSL reads the first two as strings.
        for (tag, text) in [
            (0x2c, "\x0c\x031 2"),
            (0x33, "\x13\x031 2"),
            (4, "1 2"),
            (0x15, "1 2"),
            (0x1b, "1 2"),
            (0x19, "1 2"),
        ] {
            let other = name(&[set(&[(10, tag, text)])]);
            assert_eq!(judge(DIRECTORY, &base, &other), UNKNOWN, "{tag}");
        }
    }
}
