//! Tests of constraints on distinguished names.

use super::tests::{OUTSIDE, UNKNOWN, WITHIN, judge, wrap};
use super::{Base, DIRECTORY, NameConstraints};
use crate::budget::Budget;
use crate::der;
use crate::reason::RefusalReason;

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
