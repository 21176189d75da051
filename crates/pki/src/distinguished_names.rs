//! The comparison of distinguished names with a base, and with each other. RFC 5280 4.2.1.10, 7.1

use crate::budget::Budget;
use crate::certificate::string;
use crate::der::{self, Element, Malformed, Reader};
use crate::reason::RefusalReason;

/// A name that cannot be held against another one, or against a constraint of its form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Incomparable;

impl From<Incomparable> for RefusalReason {
    fn from(Incomparable: Incomparable) -> Self {
        Self::UnsupportedNameConstraint
    }
}

/// An attribute of a distinguished name.
pub(crate) struct Attribute<'a> {
    pub(crate) kind: &'a [u8],
    pub(crate) value: Element<'a>,
}

/// Reads a RelativeDistinguishedName (the content of the SET). RFC 5280 4.1.2.4
pub(crate) fn read_set(set: &[u8]) -> Result<Vec<Attribute<'_>>, Malformed> {
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
pub(crate) fn is_prefix(
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
    use super::*;

    fn set(attributes: &[(u8, u8, &str)]) -> Vec<u8> {
        let one = |(kind, tag, text): &(u8, u8, &str)| {
            let kind = der::encoded(der::OBJECT_IDENTIFIER, &[0x55, 4, *kind]);
            der::sequence(&[kind, der::encoded(*tag, text.as_bytes())].concat())
        };
        der::encoded(der::SET, &attributes.iter().flat_map(one).collect::<Vec<_>>())
    }

    /// RFC 5280 7.1, RFC 4518 2
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
}
