//! Names, numbers, character strings and lists in the text of a record. RFC 9460 2.1, A,
//! RFC 1035 5.1

use core::fmt::Write as _;

use super::{ServiceBindingError as Error, ServiceParameter};

/// The key of a name. RFC 9460 2.1
pub(super) fn parameter(name: &str) -> Result<ServiceParameter, Error> {
    let known = ServiceParameter::NAMES.iter().position(|known| *known == name);
    if let Some(key) = known.and_then(|key| u16::try_from(key).ok()) {
        return Ok(ServiceParameter(key));
    }
    let digits = name.strip_prefix("key").map(str::as_bytes);
    // A number has no leading zeros, so each key has one name. RFC 9460 2.1
    let digits = digits.filter(|digits| *digits == b"0" || !digits.starts_with(b"0"));
    let unknown = || Error::UnknownParameter(name.to_owned());
    digits.and_then(number).map(ServiceParameter).ok_or_else(unknown)
}

pub(super) fn number(digits: &[u8]) -> Option<u16> {
    let digits = core::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'));
    digits?.parse().ok()
}

/// The bytes of a character string, with or without quotation marks. RFC 9460 A
pub(super) fn decode_characters(raw: &[u8]) -> Result<Vec<u8>, Error> {
    let quoted = raw.strip_prefix(b"\"").and_then(|raw| raw.strip_suffix(b"\""));
    let mut rest = quoted.unwrap_or(raw);
    let mut out = Vec::with_capacity(rest.len());
    while let Some(byte) = next_character(&mut rest)? {
        match byte {
            Character::Plain(b'"') => return Err(Error::Syntax),
            Character::Plain(byte) | Character::Escaped(byte) => out.push(byte),
        }
    }
    Ok(out)
}

/// One byte of text.
#[derive(Clone, Copy)]
pub(super) enum Character {
    Plain(u8),
    Escaped(u8),
}

/// Reads one byte, which may be written as `\DDD` or `\X`. RFC 1035 5.1
pub(super) fn next_character(rest: &mut &[u8]) -> Result<Option<Character>, Error> {
    let Some((first, others)) = rest.split_first() else { return Ok(None) };
    *rest = others;
    if *first != b'\\' {
        return Ok(Some(Character::Plain(*first)));
    }
    let (next, others) = rest.split_first().ok_or(Error::Syntax)?;
    if !next.is_ascii_digit() {
        *rest = others;
        return Ok(Some(Character::Escaped(*next)));
    }
    let (digits, others) = rest.split_at_checked(3).ok_or(Error::Syntax)?;
    *rest = others;
    let byte = number(digits).and_then(|number| u8::try_from(number).ok());
    byte.map(|byte| Some(Character::Escaped(byte))).ok_or(Error::Syntax)
}

/// The items of a list, which are separated by commas. A backslash escapes a comma or a backslash
/// in an item. RFC 9460 A.1
pub(super) fn list(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut all, mut item) = (Vec::new(), Vec::new());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b',' => all.push(core::mem::take(&mut item)),
            b'\\' => item.push(*rest.next().filter(|next| matches!(next, b',' | b'\\'))?),
            _ => item.push(*byte),
        }
    }
    all.push(item);
    Some(all)
}

/// The items as a list, before it is a character string. RFC 9460 A.1
pub(super) fn joined(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        for byte in item {
            if matches!(byte, b',' | b'\\') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
    }
    out
}

/// The inside of a quoted character string. RFC 9460 A
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        escape(*byte, b"\"\\", &mut out);
    }
    out
}

/// Appends a byte, which is escaped if it is one of these, or not printable.
pub(super) fn escape(byte: u8, special: &[u8], out: &mut String) {
    // Writing to a String cannot fail.
    let _ = match byte {
        _ if special.contains(&byte) => write!(out, "\\{}", char::from(byte)),
        b' '..=b'~' => write!(out, "{}", char::from(byte)),
        _ => write!(out, "\\{byte:03}"),
    };
}
