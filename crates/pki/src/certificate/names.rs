//! Names of a certificate as text: distinguished names by RFC 4514, and the subjectAltName.
//!
//! Most of the text is only for people to read: path verification does not use it. In this text,
//! characters from a peer are escaped, so that a peer cannot send control sequences to a terminal.

use std::fmt::Write as _;
use std::net::IpAddr;

use tercel_wire::is_dns_name;

use super::Certificate;
use super::identifiers::{attribute_name, dotted};
use crate::der::{self, Element, Malformed, Reader};

impl Certificate<'_> {
    /// The dNSNames of the subjectAltName. RFC 5280 4.2.1.6
    pub(super) fn dns_names(&self) -> Vec<String> {
        self.printable_names(der::context(2))
    }

    /// The uniformResourceIdentifiers of the subjectAltName, to print. RFC 5280 4.2.1.6
    pub(super) fn printable_uris(&self) -> Vec<String> {
        self.printable_names(der::context(6))
    }

    /// The rfc822Names of the subjectAltName, to print. RFC 5280 4.2.1.6
    pub(super) fn printable_email_addresses(&self) -> Vec<String> {
        self.printable_names(der::context(1))
    }

    /// The names with this tag, escaped, up to the first that is malformed.
    fn printable_names(&self, tag: u8) -> Vec<String> {
        self.general_names()
            .filter(|name| name.tag == tag)
            .map(|name| escape_untrusted(&latin(name.content)))
            .collect()
    }

    /// The uniformResourceIdentifiers of the subjectAltName. RFC 5280 4.2.1.6
    pub(super) fn uri_names(&self) -> Result<Vec<String>, Malformed> {
        self.ascii_names(der::context(6))
    }

    /// The rfc822Names of the subjectAltName. RFC 5280 4.2.1.6
    pub(super) fn email_names(&self) -> Result<Vec<String>, Malformed> {
        self.ascii_names(der::context(1))
    }

    /// The names with this tag. A malformed extension or name is an error, because programs use
    /// these names.
    fn ascii_names(&self, tag: u8) -> Result<Vec<String>, Malformed> {
        let Some(value) = self.extension(SUBJECT_ALT_NAME)? else { return Ok(Vec::new()) };
        let mut reader = Reader::new(der::single(value, der::SEQUENCE)?);
        let mut names = Vec::new();
        while !reader.is_empty() {
            let name = reader.element()?;
            if name.tag == tag {
                let is_visible = name.content.iter().all(u8::is_ascii_graphic);
                let text = std::str::from_utf8(name.content).ok().filter(|_| is_visible);
                names.push(text.ok_or(Malformed)?.to_owned());
            }
        }
        Ok(names)
    }

    /// The iPAddresses of the subjectAltName. RFC 5280 4.2.1.6
    pub(super) fn ip_addresses(&self) -> Vec<IpAddr> {
        self.general_names()
            .filter(|name| name.tag == der::context(7))
            .filter_map(|name| ip_address(name.content))
            .collect()
    }

    /// Every name of the subjectAltName as tag and content, sorted and without duplicates; DNS
    /// names in lower case. RFC 5280 4.2.1.6
    pub(super) fn subject_names(&self) -> Vec<(u8, Vec<u8>)> {
        let normalized = |name: Element<'_>| match name.tag {
            tag if tag == der::context(2) => (tag, name.content.to_ascii_lowercase()),
            tag => (tag, name.content.to_vec()),
        };
        let mut names: Vec<_> = self.general_names().map(normalized).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn general_names(&self) -> impl Iterator<Item = Element<'_>> {
        let names = self
            .extension(SUBJECT_ALT_NAME)
            .ok()
            .flatten()
            .and_then(|value| der::single(value, der::SEQUENCE).ok())
            .unwrap_or_default();
        Reader::new(names).elements()
    }
}

/// A distinguished name as `CN=leaf,O=Example,C=NL`: the most specific part first. RFC 4514 2
///
/// `name` is the content of the SEQUENCE. A part that cannot be parsed ends the text with `?`.
pub(super) fn distinguished_name(name: &[u8]) -> String {
    let mut sets = Vec::new();
    let mut reader = Reader::new(name);
    while !reader.is_empty() {
        match reader.expect(der::SET).and_then(relative_name) {
            Ok(text) => sets.push(text),
            Err(Malformed) => {
                sets.insert(0, "?".to_owned());
                break;
            }
        }
    }
    sets.reverse();
    sets.join(",")
}

/// The commonNames of a distinguished name that have the form of a DNS name, as a subjectAltName of
/// dNSNames. `None` if there are none.
///
/// An error if others may read a DNS name that is not seen here: a text with a NUL, which ends it
/// for programs in C, or a value of an unknown type.
pub(super) fn common_dns_names(name: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    let mut found = Vec::new();
    let mut is_readable = true;
    for_each_common_name(name, |value| match string(value) {
        Some(text) if has_form_of_dns_name(&text) => {
            found.extend(der::encoded(der::context(2), text.as_bytes()));
        }
        text => is_readable &= text.is_some_and(|text| !text.contains('\0')),
    })?;
    if !is_readable {
        return Err(Malformed);
    }
    Ok((!found.is_empty()).then(|| der::sequence(&found)))
}

/// Whether constraints on DNS names apply to a commonName: it has the form of a DNS name with
/// several labels. OpenSSL has the same rule.
pub(super) fn has_form_of_dns_name(name: &str) -> bool {
    name.contains('.') && is_dns_name(name.as_bytes())
}

/// Whether a program may read a commonName as the name of a host: a DNS name in any spelling, such
/// as one with a final dot, a wildcard, or white space around it. All names of
/// [`has_form_of_dns_name`] are among these.
pub(super) fn may_name_host(name: &str) -> bool {
    let bare = bare(name);
    let bare = bare.strip_prefix("*.").unwrap_or(bare);
    name.contains('.') && is_dns_name(bare.as_bytes())
}

/// The address of a host as which a program may read a commonName, also in brackets.
pub(super) fn may_be_address(name: &str) -> Option<IpAddr> {
    bare(name).trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// A name without what programs may ignore around it.
fn bare(name: &str) -> &str {
    name.trim_matches(|around: char| around == '.' || around.is_whitespace())
}

/// The most specific commonName of a distinguished name. It is for programs, so it is not escaped.
/// `None` if there is none, or if it contains control characters.
pub(super) fn common_name(name: &[u8]) -> Result<Option<String>, Malformed> {
    let mut found = None;
    for_each_common_name(name, |value| {
        found = string(value).filter(|name| !name.chars().any(char::is_control));
    })?;
    Ok(found)
}

/// Calls `body` with the value of each commonName, the most specific one last.
fn for_each_common_name(name: &[u8], mut body: impl FnMut(Element<'_>)) -> Result<(), Malformed> {
    let mut sets = Reader::new(name);
    while !sets.is_empty() {
        let mut attributes = Reader::new(sets.expect(der::SET)?);
        while !attributes.is_empty() {
            let mut attribute = Reader::new(attributes.expect(der::SEQUENCE)?);
            let kind = attribute.expect(der::OBJECT_IDENTIFIER)?;
            let value = attribute.element()?;
            if kind == COMMON_NAME {
                body(value);
            }
        }
    }
    Ok(())
}

fn relative_name(set: &[u8]) -> Result<String, Malformed> {
    let mut text = String::new();
    let mut attributes = Reader::new(set);
    while !attributes.is_empty() {
        let mut attribute = Reader::new(attributes.expect(der::SEQUENCE)?);
        let kind = attribute.expect(der::OBJECT_IDENTIFIER)?;
        let value = attribute.element()?;
        if !text.is_empty() {
            text.push('+');
        }
        match attribute_name(kind) {
            Some(name) => text.push_str(name),
            None => text.push_str(&dotted(kind)),
        }
        text.push('=');
        match string(value) {
            Some(value) => text.push_str(&escape_value(&value)),
            None => text.push_str(&hex_value(value.whole)),
        }
    }
    Ok(text)
}

/// The text of a DirectoryString, an IA5String, a NumericString or a VisibleString. The last two
/// are not for names, but others read them, so that constraints must see them. RFC 5280 4.1.2.4
pub(crate) fn string(value: Element<'_>) -> Option<String> {
    let content = value.content;
    match value.tag {
        der::UTF8_STRING
        | der::NUMERIC_STRING
        | der::PRINTABLE_STRING
        | der::IA5_STRING
        | der::VISIBLE_STRING => std::str::from_utf8(content).ok().map(ToOwned::to_owned),
        der::TELETEX_STRING => Some(latin(content)),
        der::BMP_STRING if content.len() % 2 == 0 => {
            let units = content
                .chunks_exact(2)
                .map(|pair| pair.iter().fold(0, |unit, &byte| (unit << 8) | u16::from(byte)));
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
        }
        der::UNIVERSAL_STRING if content.len() % 4 == 0 => content
            .chunks_exact(4)
            .map(|four| four.iter().fold(0, |point, &byte| (point << 8) | u32::from(byte)))
            .map(char::from_u32)
            .collect(),
        _ => None,
    }
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

fn ip_address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(four.into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

/// Escapes characters that would end or change the value by a backslash. RFC 4514 2.4
fn escape_value(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    let last = value.chars().count().saturating_sub(1);
    for (index, character) in value.chars().enumerate() {
        let special = matches!(character, '"' | '+' | ',' | ';' | '<' | '>' | '\\')
            || (character == '#' && index == 0)
            || (character == ' ' && (index == 0 || index == last));
        if special {
            escaped.push('\\');
        }
        push_printable(&mut escaped, character);
    }
    escaped
}

/// Escapes control characters, and characters that change the direction of text.
pub(crate) fn escape_untrusted(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        push_printable(&mut escaped, character);
    }
    escaped
}

/// Appends a character, escaped as `\u{1b}` if it is a control or changes the direction of text.
fn push_printable(text: &mut String, character: char) {
    let turns_direction = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    if character.is_control() || turns_direction {
        text.extend(character.escape_unicode());
    } else {
        text.push(character);
    }
}

/// A value as `#` and its whole encoding in hexadecimal. RFC 4514 2.4
fn hex_value(encoding: &[u8]) -> String {
    let mut text = String::from("#");
    for byte in encoding {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// id-ce-subjectAltName, 2.5.29.17
pub(super) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// id-at-commonName, 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 4, 3];

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(oid: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, content: &[u8]| {
            let mut bytes = vec![tag, u8::try_from(content.len()).unwrap()];
            bytes.extend_from_slice(content);
            bytes
        };
        let mut content = wrap(der::OBJECT_IDENTIFIER, oid);
        content.extend(wrap(tag, value));
        wrap(der::SET, &wrap(der::SEQUENCE, &content))
    }

    #[test]
    fn the_most_specific_common_name_is_given_as_it_is() {
        let mut name = attribute(COMMON_NAME, der::UTF8_STRING, b"less");
        name.extend(attribute(COMMON_NAME, der::UTF8_STRING, b"a,b"));
        name.extend(attribute(&[0x55, 4, 6], der::PRINTABLE_STRING, b"NL"));
        assert_eq!(common_name(&name).unwrap().as_deref(), Some("a,b"));
        name.extend(attribute(COMMON_NAME, der::UTF8_STRING, b"a\0b"));
        assert_eq!(common_name(&name).unwrap(), None);
        assert_eq!(common_name(&[]).unwrap(), None);
        assert!(common_name(&name[..name.len() - 1]).is_err());
    }

    #[test]
    fn common_names_may_have_the_form_of_dns_names() {
        let mut name = Vec::new();
        for other in ["a user", "user", "a..b", ".a.b", "a.b.", "a@b.c", "*.b.c"] {
            name.extend(attribute(COMMON_NAME, der::UTF8_STRING, other.as_bytes()));
        }
        name.extend(attribute(&[0x55, 4, 10], der::UTF8_STRING, b"org.example"));
        assert_eq!(common_dns_names(&name), Ok(None));
        name.extend(attribute(COMMON_NAME, der::PRINTABLE_STRING, b"a.b.c"));
        name.extend(attribute(COMMON_NAME, der::BMP_STRING, b"\0d\0.\0e"));
        let expected = [&[0x30, 12, 0x82, 5][..], b"a.b.c", &[0x82, 3], b"d.e"].concat();
        assert_eq!(common_dns_names(&name), Ok(Some(expected)));
        assert!(common_dns_names(&name[..name.len() - 1]).is_err());
        const CONSTRUCTED: u8 = 0x20;
        for (tag, value) in [
            (der::UTF8_STRING, &b"a.b\0"[..]),
            (der::UTF8_STRING, b"a.b\0.c"),
            (der::UTF8_STRING | CONSTRUCTED, b"\x0c\x03a.b"),
            (der::OCTET_STRING, b"a.b"),
        ] {
            let other = attribute(COMMON_NAME, tag, value);
            assert_eq!(common_dns_names(&[name.clone(), other].concat()), Err(Malformed));
        }
    }

    #[test]
    fn programs_may_read_more_names_as_hosts_than_constraints_see() {
        for seen in ["a.b", "192.0.2.1", "a-_.B"] {
            assert!(has_form_of_dns_name(seen) && may_name_host(seen), "{seen}");
        }
        for unseen in ["a.b.", "a.b..", "*.a.b", "*.a.b.", ".a.b", " a.b", "a.b "] {
            assert!(!has_form_of_dns_name(unseen) && may_name_host(unseen), "{unseen}");
        }
        for address in ["192.0.2.1", " 192.0.2.1.", "::ffff:1.2.3.4", "::1", "[2001:db8::1]"] {
            assert!(may_be_address(address).is_some(), "{address}");
        }
        for other in ["Alice", "Alice B. Example", "alice@b.example", "a/b.example", "", "."] {
            assert!(!has_form_of_dns_name(other) && !may_name_host(other), "{other}");
            assert_eq!(may_be_address(other), None, "{other}");
        }
    }

    /// RFC 4514 2, 3
    #[test]
    fn the_most_specific_part_comes_first() {
        let mut name = attribute(&[0x55, 4, 6], der::PRINTABLE_STRING, b"NL");
        name.extend(attribute(COMMON_NAME, der::UTF8_STRING, b"leaf"));
        assert_eq!(distinguished_name(&name), "CN=leaf,C=NL");
    }

    /// RFC 4514 2.4
    #[test]
    fn special_characters_are_escaped() {
        let text = |value: &str| {
            distinguished_name(&attribute(COMMON_NAME, der::UTF8_STRING, value.as_bytes()))
        };
        assert_eq!(text("a,b+c"), "CN=a\\,b\\+c");
        assert_eq!(text(" #x "), "CN=\\ #x\\ ");
        assert_eq!(text("#x"), "CN=\\#x");
        assert_eq!(text("\u{1b}[2J"), "CN=\\u{1b}[2J");
        assert_eq!(text("\u{202e}moc"), "CN=\\u{202e}moc");
    }

    /// RFC 5280 4.1.2.4
    #[test]
    fn every_string_type_is_read() {
        let text = |tag, value: &[u8]| distinguished_name(&attribute(COMMON_NAME, tag, value));
        assert_eq!(text(der::TELETEX_STRING, b"caf\xe9"), "CN=caf\u{e9}");
        assert_eq!(text(der::BMP_STRING, &[0, b'a', 0x20, 0xac]), "CN=a\u{20ac}");
        assert_eq!(text(der::UNIVERSAL_STRING, &[0, 1, 0xf6, 0x00]), "CN=\u{1f600}");
        assert_eq!(text(der::UTF8_STRING, &[0xff]), "CN=#0c01ff");
        assert_eq!(text(der::INTEGER, &[5]), "CN=#020105");
    }

    #[test]
    fn an_unknown_attribute_is_named_by_its_number() {
        let name = attribute(&[0x2a, 3, 4], der::UTF8_STRING, b"x");
        assert_eq!(distinguished_name(&name), "1.2.3.4=x");
    }

    #[test]
    fn a_broken_end_is_marked() {
        let mut name = attribute(COMMON_NAME, der::UTF8_STRING, b"ok");
        name.push(0x31);
        assert_eq!(distinguished_name(&name), "CN=ok,?");
    }
}
