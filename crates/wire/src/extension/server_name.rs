//! server_name: the host that the client requests. RFC 6066 3

use std::net::IpAddr;

use crate::code_points::ServerNameType;
use crate::error::DecodeError;
use crate::list::Element;
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

/// The contents of a client's server_name extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerNameOffer<'a> {
    /// A host name.
    HostName(HostName<'a>),
    /// The extension has no valid host name: it has only names of unknown types, or an invalid host
    /// name. The names are not stored. This value is never sent.
    Other,
}

impl<'a> ServerNameOffer<'a> {
    /// The host name, if there is a valid one.
    #[must_use]
    pub const fn host_name(&self) -> Option<HostName<'a>> {
        match self {
            Self::HostName(name) => Some(*name),
            Self::Other => None,
        }
    }
}

/// The client's list of names; at most one of each type.
impl<'a> Element<'a> for ServerNameOffer<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut list = reader.vec16()?;
        if list.is_empty() {
            return Err(DecodeError::EmptyList);
        }
        let mut offer = Self::Other;
        let mut seen = [false; 256];
        while !list.is_empty() {
            let name_type = ServerNameType(list.u8()?);
            let name = not_empty(list.opaque16()?)?;
            // There must not be two names of one type. RFC 6066 3
            let seen = seen.get_mut(usize::from(name_type.0)); // always there: 256 types
            if seen.is_some_and(|seen| std::mem::replace(seen, true)) {
                return Err(DecodeError::DuplicateServerName);
            }
            if name_type != ServerNameType::HOST_NAME {
                continue;
            }
            // Other libraries also end the handshake if a name is too long or contains zero.
            if name.len() > 255 || name.contains(&0) {
                return Err(DecodeError::InvalidHostName);
            }
            // Other libraries accept any other name, even if it is not a DNS name, such as a name
            // with a port. This library drops such a name, so that control characters do not reach
            // logs.
            if let Ok(name) = HostName::new(name) {
                offer = Self::HostName(name);
            }
        }
        Ok(offer)
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.vec16(|w| {
            if let Some(name) = self.host_name() {
                w.u8(ServerNameType::HOST_NAME.0);
                w.opaque16(name.as_str().as_bytes());
            }
        });
    }
}

/// A DNS name without a final dot, or the text of an IP address. Clients must send neither a final
/// dot nor an IP address, but some do. RFC 6066 3
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostName<'a>(&'a str);

impl<'a> HostName<'a> {
    /// Checks that `bytes` are a valid host name, and removes a final dot: a name is the same host
    /// with it and without it.
    ///
    /// Each label has 1 to 63 letters, digits, hyphens and underscores in any order, and the name
    /// has at most 253 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
        let name = std::str::from_utf8(bytes).map_err(|_| DecodeError::InvalidHostName)?;
        if !is_dns_name(bytes) && name.parse::<IpAddr>().is_err() {
            return Err(DecodeError::InvalidHostName);
        }
        Ok(Self(name))
    }

    /// The name as sent, without a final dot; DNS names are compared without regard to case.
    #[must_use]
    pub const fn as_str(&self) -> &'a str {
        self.0
    }

    /// Whether the name is an IP address, which RFC 6066 3 does not allow as a host name.
    #[must_use]
    pub fn is_ip_address(&self) -> bool {
        // Most names need not be parsed: an address ends with a digit or contains a colon, whereas
        // few DNS names end with a digit, and none contains a colon.
        let may_be = self.0.ends_with(|end: char| end.is_ascii_digit()) || self.0.contains(':');
        may_be && self.0.parse::<IpAddr>().is_ok()
    }
}

/// Whether a name has labels of 1 to 63 letters, digits, hyphens and underscores, and at most 253
/// bytes in all. A final dot is not part of the name.
#[must_use]
pub fn is_dns_name(name: &[u8]) -> bool {
    let in_label = |byte| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_');
    let mut label = 0_usize;
    for &byte in name {
        if byte == b'.' && label > 0 {
            label = 0;
        } else if label < 63 && in_label(byte) {
            label = label.saturating_add(1);
        } else {
            return false;
        }
    }
    label > 0 && name.len() <= 253
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6066 3
    #[test]
    fn host_names_are_checked() {
        let long = "a".repeat(63);
        let longest = format!("{long}.{long}.{long}.{}", "a".repeat(61));
        for good in [
            "example.com",
            "a",
            "xn--bcher-kva.example",
            "_x.y",
            "127.0.0.1",
            "::1",
            "host9",
            "::",
            "fe80::a",
            "-a-.b",
            &longest,
        ] {
            assert!(HostName::new(good.as_bytes()).is_ok(), "{good}");
        }
        let too_long = format!("{longest}a");
        let long_label = "a".repeat(64);
        for bad in
            ["", ".", "a..", ".a", "a..b", "a b", "a\0", "ü.de", "[::1]", &too_long, &long_label]
        {
            assert_eq!(HostName::new(bad.as_bytes()), Err(DecodeError::InvalidHostName), "{bad}");
        }
        let with_dot = format!("{longest}.");
        for (with_dot, without) in [("a.example.", "a.example"), (&*with_dot, &*longest)] {
            assert_eq!(HostName::new(with_dot.as_bytes()).unwrap().as_str(), without);
        }
        assert_eq!(HostName::new(&[0xff]), Err(DecodeError::InvalidHostName));
        for address in ["::1", "::", "fe80::a", "::ffff:1.2.3.4", "127.0.0.1"] {
            assert!(HostName::new(address.as_bytes()).unwrap().is_ip_address(), "{address}");
        }
        for name in ["example.com", "host9", "1.2.3", "1.2.3.4.5", "1.2.3.256"] {
            assert!(!HostName::new(name.as_bytes()).unwrap().is_ip_address(), "{name}");
        }
    }

    #[test]
    fn a_list_has_names_of_distinct_types() {
        let read =
            |bytes: &[u8]| Reader::parse_all(bytes, |r| ServerNameOffer::read(r).map(|_| ()));
        assert_eq!(read(&[0, 0]), Err(DecodeError::EmptyList));
        assert_eq!(read(&[0, 3, 0, 0, 0]), Err(DecodeError::InvalidLength));
        assert_eq!(
            read(&[0, 8, 0, 0, 1, b'a', 0, 0, 1, b'b']),
            Err(DecodeError::DuplicateServerName)
        );
        assert_eq!(
            read(&[0, 8, 9, 0, 1, b'a', 9, 0, 1, b'b']),
            Err(DecodeError::DuplicateServerName)
        );
        assert_eq!(read(&[0, 8, 9, 0, 1, b'a', 0, 0, 1, b'b']), Ok(()));
    }

    #[test]
    fn invalid_host_names_are_dropped_or_refused() {
        let read = |name: &[u8]| {
            let [high, low] = u16::try_from(name.len()).unwrap().to_be_bytes();
            let [list_high, list_low] = u16::try_from(name.len() + 3).unwrap().to_be_bytes();
            let body = [&[list_high, list_low, 0, high, low], name].concat();
            Reader::parse_all(&body, |reader| {
                ServerNameOffer::read(reader).map(|offer| offer.host_name().is_some())
            })
        };
        assert_eq!(read(b"a.example"), Ok(true));
        assert_eq!(read(b"a.example."), Ok(true));
        for name in
            [&b"a.example:443"[..], b"a b", b"a..b", "\u{fc}.de".as_bytes(), b"a\nb", &[0xff]]
        {
            assert_eq!(read(name), Ok(false), "{name:?}");
        }
        for name in [&b"a\0b"[..], &[b'a'; 256]] {
            assert_eq!(read(name), Err(DecodeError::InvalidHostName), "{name:?}");
        }
        assert_eq!(read(&[b'a'; 255]), Ok(false));
    }

    #[test]
    fn names_of_unknown_types_are_skipped() {
        let offer = Reader::parse_all(&[0, 4, 9, 0, 1, 0xff], ServerNameOffer::read).unwrap();
        assert_eq!(offer, ServerNameOffer::Other);
        assert_eq!(offer.host_name(), None);
    }
}
