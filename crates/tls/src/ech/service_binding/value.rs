//! The values of parameters. RFC 9460 7, 8, RFC 9848 3

use core::fmt::{self, Write as _};
use core::net::{Ipv4Addr, Ipv6Addr};

use super::super::{ConfigList, base64};
use super::ServiceBindingError as Error;
use super::ServiceParameter as Key;
use super::characters;

/// Checks that a value has the form of its key. RFC 9460 2.2
pub(super) fn check(key: Key, value: &[u8]) -> Result<(), Error> {
    let addresses =
        |size: usize| !value.is_empty() && value.chunks_exact(size).remainder().is_empty();
    let well_formed = match key {
        Key::MANDATORY => {
            let all: Vec<_> = keys(value).collect();
            // Sorted, without repetition, and without the key itself. RFC 9460 8
            let sorted = all.iter().zip(all.iter().skip(1)).all(|(first, second)| first < second);
            value.chunks_exact(2).remainder().is_empty()
                && sorted
                && all.first().is_some_and(|key| key.0 != 0)
        }
        Key::ALPN => names(value).is_some_and(|names| !names.is_empty()),
        Key::NO_DEFAULT_ALPN => value.is_empty(),
        Key::PORT => value.len() == 2,
        Key::IPV4HINT => addresses(4),
        Key::ECH => return ConfigList::parse(value).map(|_| ()).map_err(Error::Ech),
        Key::IPV6HINT => addresses(16),
        _ => true,
    };
    if well_formed { Ok(()) } else { Err(Error::Value(key)) }
}

/// The keys in `mandatory`.
pub(super) fn keys(value: &[u8]) -> impl Iterator<Item = Key> {
    value
        .chunks_exact(2)
        .map(|two| Key(two.iter().fold(0, |key, byte| key << 8 | u16::from(*byte))))
}

/// The names in `alpn`, none of them empty.
pub(super) fn names(mut value: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    while let Some((length @ 1.., rest)) = value.split_first().map(|(first, rest)| (*first, rest)) {
        let (name, rest) = rest.split_at_checked(usize::from(length))?;
        all.push(name.to_vec());
        value = rest;
    }
    value.is_empty().then_some(all)
}

/// The bytes of `alpn`.
pub(super) fn alpn(names: Vec<Vec<u8>>) -> Result<Vec<u8>, Error> {
    let mut value = Vec::new();
    for name in names {
        let length = u8::try_from(name.len()).ok().filter(|length| *length > 0);
        value.push(length.ok_or(Error::Value(Key::ALPN))?);
        value.extend_from_slice(&name);
    }
    Ok(value)
}

/// The bytes of a value in text, without the quotation marks. RFC 9460 2.1, 7, 8, RFC 9848 3
pub(super) fn parse(key: Key, value: Option<&[u8]>) -> Result<Vec<u8>, Error> {
    let malformed = || Error::Value(key);
    let bytes = value.unwrap_or_default();
    let plain = || core::str::from_utf8(bytes).map_err(|_| malformed());
    match key {
        // Each name must be known, so a missing value would be reported as an unknown name.
        Key::MANDATORY if bytes.is_empty() => Err(malformed()),
        Key::MANDATORY => {
            let named =
                plain()?.split(',').map(characters::parameter).collect::<Result<Vec<_>, _>>();
            let mut keys = named?;
            // Any order is allowed in text, but no repetition. RFC 9460 8
            keys.sort_unstable();
            Ok(keys.into_iter().flat_map(|key| key.0.to_be_bytes()).collect())
        }
        Key::ALPN => alpn(characters::list(bytes).ok_or_else(malformed)?),
        Key::PORT => {
            let digits = plain()?;
            let port = digits.parse::<u16>().ok().filter(|_| !digits.starts_with('+'));
            Ok(port.ok_or_else(malformed)?.to_be_bytes().to_vec())
        }
        Key::IPV4HINT => {
            let mut all = Vec::new();
            for address in plain()?.split(',') {
                all.extend(address.parse::<Ipv4Addr>().map_err(|_| malformed())?.octets());
            }
            Ok(all)
        }
        Key::IPV6HINT => {
            let mut all = Vec::new();
            for address in plain()?.split(',') {
                all.extend(address.parse::<Ipv6Addr>().map_err(|_| malformed())?.octets());
            }
            Ok(all)
        }
        Key::ECH => base64::decode(plain()?).ok_or_else(malformed),
        // No value has been defined, and a value of no bytes has none. RFC 9460 7.1.1
        _ => Ok(bytes.to_vec()),
    }
}

/// Writes a value of the right form as text, with its equals sign.
pub(super) fn write(key: Key, value: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut out = String::new();
    let quoted = match key {
        _ if value.is_empty() => return Ok(()),
        Key::MANDATORY => join(keys(value), &mut out)?,
        Key::ALPN => {
            out = characters::quoted(&characters::joined(&names(value).unwrap_or_default()));
            true
        }
        Key::PORT => join(keys(value).map(|port| port.0), &mut out)?,
        Key::IPV4HINT => join(addresses::<4>(value).map(Ipv4Addr::from), &mut out)?,
        Key::ECH => {
            base64::encode(value, &mut out);
            true
        }
        Key::IPV6HINT => join(addresses::<16>(value).map(Ipv6Addr::from), &mut out)?,
        _ => {
            out = characters::quoted(value);
            true
        }
    };
    if quoted { write!(f, "=\"{out}\"") } else { write!(f, "={out}") }
}

fn addresses<const N: usize>(value: &[u8]) -> impl Iterator<Item = [u8; N]> {
    value.chunks_exact(N).filter_map(|bytes| bytes.try_into().ok())
}

/// Appends the items with commas. No item needs quotation marks.
fn join<T: fmt::Display>(
    items: impl Iterator<Item = T>,
    out: &mut String,
) -> Result<bool, fmt::Error> {
    for (place, item) in items.enumerate() {
        write!(out, "{}{item}", if place > 0 { "," } else { "" })?;
    }
    Ok(false)
}
