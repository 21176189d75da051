//! The number of iterations that a file asks for.
//!
//! A file states how often a hash is applied to its password: for its MAC (RFC 7292 4), and for
//! each of its encryptions (RFC 7292 C, RFC 8018 A.2, A.3). AWS-LC computes up to a hundred million
//! of each, which takes minutes; here each has a lower limit, and their sum has that one, before
//! anything is computed.
//!
//! The numbers inside of encrypted contents are not known before these are decrypted. AWS-LC's
//! limit holds for them: one key in an encrypted content, whose own encryption is inside of the
//! first one. No program writes such a key, and the MAC is verified with the password before.

use super::ber::{CONTEXT_0, Content, Element, INTEGER, OBJECT_IDENTIFIER};
use crate::error::Pkcs12Error;

/// The maximum of one number of iterations. Programs use 1 to 600,000. Ten million take some
/// seconds, and a file whose MAC is wrong costs those of its MAC only.
pub(super) const MAX_ITERATIONS: u32 = 10_000_000;
/// The maximum sum. GnuTLS encrypts each certificate of a file separately.
const MAX_SUM: u64 = 100_000_000;

/// Refuses a file that asks for too many iterations, or whose elements cannot be read.
pub(super) fn check(file: &[u8]) -> Result<(), Pkcs12Error> {
    let elements = Element::read_all(file).ok_or(Pkcs12Error::Malformed)?;
    match total(&elements, MAX_NESTED)? {
        total if total > MAX_SUM => Err(Pkcs12Error::TooManyIterations(total)),
        _ => Ok(()),
    }
}

/// The sum of the iterations in elements, and in the contents of the type data among them.
///
/// In each structure that has such a number, it follows the salt: an INTEGER after an OCTET STRING,
/// which is the first element or, in MacData, the second. The parameters of a curve have these two
/// behind other elements. RFC 3279 2.3.5
fn total(elements: &[Element<'_>], nested: usize) -> Result<u64, Pkcs12Error> {
    let mut total = 0_u64;
    for (place, pair) in elements.windows(2).enumerate() {
        let [first, second] = pair else { continue };
        let is_count = place <= 1 && first.octets().is_some();
        let count = second.bytes(INTEGER).filter(|_| is_count).map_or(0, number);
        if count > u64::from(MAX_ITERATIONS) {
            return Err(Pkcs12Error::TooManyIterations(count));
        }
        total = total.saturating_add(count);
        if let (Some(content), Some(nested)) = (data(first, second), nested.checked_sub(1)) {
            // AWS-LC may read what is not read here.
            let content = Element::read_all(&content).ok_or(Pkcs12Error::Malformed)?;
            total = total.saturating_add(self::total(&content, nested)?);
        }
    }
    for element in elements {
        if let Content::Constructed(elements) = &element.content {
            total = total.saturating_add(self::total(elements, nested)?);
        }
    }
    Ok(total)
}

/// The content of a ContentInfo of the type data, by its fields. RFC 2315 7, 8
fn data(kind: &Element<'_>, content: &Element<'_>) -> Option<Vec<u8>> {
    (kind.bytes(OBJECT_IDENTIFIER)? == DATA).then_some(())?;
    content.elements(CONTEXT_0)?.first()?.octets()
}

/// The value of an INTEGER. One that is too large for the type becomes its maximum.
fn number(bytes: &[u8]) -> u64 {
    let add = |number: u64, byte: &u8| {
        number.checked_mul(256).map_or(u64::MAX, |number| number.saturating_add(u64::from(*byte)))
    };
    bytes.iter().fold(0, add)
}

/// pkcs7-data, 1.2.840.113549.1.7.1
pub(super) const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 1];
/// The number of contents of the type data that may contain each other. AWS-LC reads two.
const MAX_NESTED: usize = 4;

#[cfg(test)]
mod tests {
    use super::super::ber::OCTET_STRING;
    use super::*;
    use crate::Pkcs12;

    const FILES: [&[u8]; 2] = [
        include_bytes!("../../tests/vectors/gnutls.p12"),
        include_bytes!("../../tests/vectors/nss.p12"),
    ];

    /// Changes each number of iterations, also in contents, by its position.
    fn change(
        elements: &mut [Element<'_>],
        position: &mut usize,
        count: &dyn Fn(usize) -> Option<Vec<u8>>,
    ) {
        for index in 1..elements.len() {
            let [first, second] = &mut elements[index - 1..=index] else { unreachable!() };
            if index <= 2 && first.octets().is_some() && second.bytes(INTEGER).is_some() {
                if let Some(count) = count(*position) {
                    *second = Element::primitive(INTEGER, count);
                }
                *position += 1;
            }
            if let Some(content) = data(first, second) {
                let mut inner = Element::read_all(&content).unwrap();
                change(&mut inner, position, count);
                let inner = Element::primitive(OCTET_STRING, Element::written(&inner));
                second.content = Content::Constructed(vec![inner]);
            }
        }
        for element in elements {
            if let Content::Constructed(elements) = &mut element.content {
                change(elements, position, count);
            }
        }
    }

    /// The file with other numbers, and how many it has.
    fn changed(file: &[u8], count: &dyn Fn(usize) -> Option<Vec<u8>>) -> (Vec<u8>, usize) {
        let mut elements = Element::read_all(file).unwrap();
        let mut position = 0;
        change(&mut elements, &mut position, count);
        (Element::written(&elements), position)
    }

    /// RFC 7292 4, C, RFC 8018 A.2, A.3
    #[test]
    fn each_number_of_iterations_is_limited() {
        for file in FILES {
            check(file).unwrap();
            let (_, numbers) = changed(file, &|_| None);
            // The MAC, the key and the certificates have one each.
            assert!(numbers >= 3, "{numbers}");
            for place in 0..numbers {
                let with = |count: u64| {
                    let bytes = count.to_be_bytes();
                    let bytes = bytes[count.leading_zeros() as usize / 8..].to_vec();
                    let of = |position| (position == place).then(|| bytes.clone());
                    changed(file, &of).0
                };
                for count in [10_000_001, 4_000_000_000, u64::MAX] {
                    let refused = Pkcs12::open(&with(count), "secret").unwrap_err();
                    assert_eq!(refused, Pkcs12Error::TooManyIterations(count));
                    assert!(refused.to_string().contains(&count.to_string()), "{refused}");
                }
            }
        }
    }

    #[test]
    fn the_sum_is_limited() {
        let of = |counts: &[u32]| {
            let fields = counts.iter().flat_map(|count| {
                let fields = [&[4, 1, 7, 2, 4][..], &count.to_be_bytes()].concat();
                [&[0x30, 9][..], &fields].concat()
            });
            check(&fields.collect::<Vec<_>>())
        };
        assert_eq!(of(&[MAX_ITERATIONS; 10]), Ok(()));
        let refused = Err(Pkcs12Error::TooManyIterations(100_000_001));
        assert_eq!(of(&[&[1][..], &[MAX_ITERATIONS; 10]].concat()), refused);
        assert_eq!(of(&[&[MAX_ITERATIONS; 10][..], &[1]].concat()), refused);
        // A file of GnuTLS with a hundred certificates
        assert_eq!(of(&[600_000; 102]), Ok(()));
    }

    /// RFC 3279 2.3.5
    #[test]
    fn parameters_of_a_curve_are_no_iterations() {
        // ECParameters: version, field, curve, base, order
        let order = [&[2, 9][..], &[0x7f; 9]].concat();
        let fields = [&[2, 1, 1, 0x30, 0, 0x30, 0, 4, 1, 4][..], &order].concat();
        assert_eq!(check(&[&[0x30, 21][..], &fields].concat()), Ok(()));
    }

    /// AWS-LC reads the first element of a content, and joins the parts of a string.
    #[test]
    fn no_form_hides_a_number() {
        let count = [&[4, 1, 7, 2, 4][..], &100_000_000_u32.to_be_bytes()].concat();
        let inner = [&[0x30, 9][..], &count].concat();
        let oid = [&[6, 9][..], DATA].concat();
        for string in [
            [&[4, 11][..], &inner].concat(),
            // In two parts, and with indefinite lengths.
            [&[0x24, 15, 4, 4][..], &inner[..4], &[4, 7], &inner[4..]].concat(),
            [&[0x24, 0x80, 4, 4][..], &inner[..4], &[4, 7], &inner[4..], &[0, 0]].concat(),
        ] {
            // With something after the string.
            let content = [&[0xa0, 0x80][..], &string, &[5, 0, 0, 0]].concat();
            let info = [&[0x30, 0x80][..], &oid, &content, &[5, 0, 0, 0]].concat();
            assert_eq!(check(&info), Err(Pkcs12Error::TooManyIterations(100_000_000)));
        }
        // A salt in parts
        let salt = [&[0x30, 11, 0x24, 3][..], &count].concat();
        assert_eq!(check(&salt), Err(Pkcs12Error::TooManyIterations(100_000_000)));
        // A content that cannot be read here
        let unread = [&[0x30, 0x80][..], &oid, &[0xa0, 4, 4, 2, 0x30, 5, 0, 0]].concat();
        assert_eq!(check(&unread), Err(Pkcs12Error::Malformed));
    }
}
