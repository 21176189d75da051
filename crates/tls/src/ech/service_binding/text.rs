//! The text of a record, as in zone files. RFC 9460 2.1, A, RFC 1035 5.1

use core::fmt;
use core::str::FromStr;

use super::characters::{Character, decode_characters, escape, next_character, number, parameter};
use super::wire::{MAX_LABEL, MAX_NAME};
use super::{ServiceBinding, ServiceBindingError as Error, ServiceParameter, value};

/// Writes the data of the record, without its owner, time to live, class and type.
impl fmt::Display for ServiceBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.priority, domain_name(&self.target))?;
        for (key, bytes) in self.parameters() {
            write!(f, " {key}")?;
            value::write(key, bytes, f)?;
        }
        Ok(())
    }
}

/// Reads the data of a record, or a whole record of type HTTPS or SVCB with its owner. The form for
/// unknown types is read as well: `\# 3 000100`. RFC 9460 2.1, RFC 3597 5
impl FromStr for ServiceBinding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let words = words(text)?;
        let data = data(&words)?;
        if let Some((Word { raw: b"\\#", .. }, rest)) = data.split_first() {
            return Self::from_rdata(&unknown_form(rest)?);
        }
        let mut rest = data.iter();
        let priority = rest.next().and_then(|word| number(word.raw)).ok_or(Error::Priority)?;
        let target = labels(rest.next().ok_or(Error::MissingTarget)?.raw)?;
        let mut parameters = Vec::new();
        for word in rest {
            let (name, given) = word.parameter()?;
            let key = parameter(name)?;
            parameters.push((key.0, value::parse(key, given.as_deref())?));
        }
        // Any order is allowed in text. RFC 9460 2.1
        parameters.sort_by_key(|(key, _)| *key);
        let following = parameters.iter().zip(parameters.iter().skip(1));
        if let Some((_, (key, _))) = { following }.find(|((first, _), (next, _))| first == next) {
            return Err(Error::Order(ServiceParameter(*key)));
        }
        Self { priority, target, parameters }.checked()
    }
}

/// A part of the text between spaces, as it is written.
struct Word<'a> {
    raw: &'a [u8],
}

impl<'a> Word<'a> {
    /// The name of a parameter, and the bytes of its value. RFC 9460 2.1
    fn parameter(&self) -> Result<(&'a str, Option<Vec<u8>>), Error> {
        let mut parts = self.raw.splitn(2, |byte| *byte == b'=');
        let name = core::str::from_utf8(parts.next().unwrap_or_default());
        let name = name.map_err(|_| Error::Syntax)?;
        Ok((name, parts.next().map(decode_characters).transpose()?))
    }
}

/// Divides text at spaces outside of quotation marks. Parentheses join lines, and a semicolon
/// begins a comment. RFC 1035 5.1
fn words(text: &str) -> Result<Vec<Word<'_>>, Error> {
    let (mut all, mut bytes) = (Vec::new(), text.as_bytes());
    let mut open = 0_usize;
    while let Some((first, rest)) = bytes.split_first() {
        match first {
            b'(' => open = open.saturating_add(1),
            b')' => open = open.checked_sub(1).ok_or(Error::Syntax)?,
            b';' => {
                let comment = rest.iter().take_while(|byte| **byte != b'\n').count();
                bytes = rest.get(comment..).unwrap_or_default();
                continue;
            }
            _ if first.is_ascii_whitespace() => {}
            _ => {
                let (raw, others) =
                    bytes.split_at_checked(word_length(bytes)?).ok_or(Error::Syntax)?;
                all.push(Word { raw });
                bytes = others;
                continue;
            }
        }
        bytes = rest;
    }
    if open == 0 { Ok(all) } else { Err(Error::Syntax) }
}

/// The number of bytes before the end of the word at the beginning.
fn word_length(bytes: &[u8]) -> Result<usize, Error> {
    let (mut quoted, mut escaped) = (false, false);
    for (place, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'(' | b')' | b';' if !quoted => return Ok(place),
            _ if byte.is_ascii_whitespace() && !quoted => return Ok(place),
            _ => {}
        }
    }
    if quoted || escaped { Err(Error::Syntax) } else { Ok(bytes.len()) }
}

/// The words behind the type of the record, if the text names one.
fn data<'a, 'w>(words: &'w [Word<'a>]) -> Result<&'w [Word<'a>], Error> {
    let is_type = |word: &Word<'_>| {
        [&b"HTTPS"[..], b"SVCB", b"TYPE65", b"TYPE64"]
            .into_iter()
            .any(|name| word.raw.eq_ignore_ascii_case(name))
    };
    // Owner, time to live and class precede the type.
    if let Some(place) = words.iter().take(4).position(is_type) {
        return Ok(words.get(place..).unwrap_or_default().split_first().map_or(&[], |(_, r)| r));
    }
    let class = words.iter().take(3).position(|word| word.raw.eq_ignore_ascii_case(b"IN"));
    match class.and_then(|place| words.iter().skip(place).nth(1)) {
        Some(other) => Err(Error::OtherType(String::from_utf8_lossy(other.raw).into_owned())),
        None => Ok(words),
    }
}

/// The bytes of the form for unknown types, behind `\#`. RFC 3597 5
fn unknown_form(words: &[Word<'_>]) -> Result<Vec<u8>, Error> {
    let (length, digits) = words.split_first().ok_or(Error::Syntax)?;
    let length: u16 = number(length.raw).ok_or(Error::Syntax)?;
    let digits: Vec<u8> = digits.iter().flat_map(|word| word.raw).copied().collect();
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for pair in digits.chunks(2) {
        let pair = core::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2);
        let byte = pair.filter(|pair| !pair.starts_with('+'));
        bytes.push(byte.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(Error::Syntax)?);
    }
    match bytes.len().cmp(&usize::from(length)) {
        core::cmp::Ordering::Less => Err(Error::Truncated),
        core::cmp::Ordering::Equal => Ok(bytes),
        core::cmp::Ordering::Greater => Err(Error::TrailingData),
    }
}

/// A domain name. RFC 1035 5.1
pub(super) fn domain_name(labels: &[u8]) -> String {
    let (mut out, mut rest) = (String::new(), labels);
    while let Some((length, others)) = rest.split_first() {
        let (label, others) = others.split_at_checked((*length).into()).unwrap_or((others, &[]));
        for byte in label {
            escape(*byte, b"\"\\.();@$ ", &mut out);
        }
        out.push('.');
        rest = others;
    }
    if out.is_empty() { ".".to_owned() } else { out }
}

/// The labels of a domain name, each with its length. A name without a dot at its end is complete,
/// too, because there is no origin. RFC 1035 5.1
pub(super) fn labels(raw: &[u8]) -> Result<Vec<u8>, Error> {
    let (mut name, mut label, mut rest) = (Vec::new(), Vec::new(), raw);
    if raw == b"." {
        return Ok(name);
    }
    loop {
        let character = next_character(&mut rest)?;
        match character {
            Some(Character::Plain(b'.')) | None => {
                let length = u8::try_from(label.len()).ok();
                let length = length.filter(|length| (1..=MAX_LABEL).contains(length));
                name.push(length.ok_or(Error::Target)?);
                name.append(&mut label);
            }
            Some(Character::Plain(b'"')) => return Err(Error::Target),
            Some(Character::Plain(byte) | Character::Escaped(byte)) => label.push(byte),
        }
        if name.len() > MAX_NAME {
            return Err(Error::Target);
        }
        if rest.is_empty() && label.is_empty() {
            return Ok(name);
        }
    }
}
