//! The names for which a server's certificate is valid. RFC 9525 6.3

use std::net::IpAddr;

use super::names::SUBJECT_ALT_NAME;
use super::{Certificate, bad_encoding};
use crate::der::{self, Element, Malformed, Reader};
use crate::reason::RefusalReason;
use crate::server_name::ServerName;

impl Certificate<'_> {
    /// Refuses the certificate if its subjectAltName does not contain this name. The commonName is
    /// never compared. RFC 9525 6.3
    pub(crate) fn check_server_name(&self, name: &ServerName<'_>) -> Result<(), RefusalReason> {
        match self.has_server_name(name).map_err(bad_encoding)? {
            true => Ok(()),
            false => Err(RefusalReason::NameMismatch),
        }
    }

    /// Reads all names, also after the one that is searched for: a malformed extension says
    /// nothing. RFC 5280 4.2.1.6
    fn has_server_name(&self, name: &ServerName<'_>) -> Result<bool, Malformed> {
        let Some(value) = self.extension(SUBJECT_ALT_NAME)? else { return Ok(false) };
        let mut names = Reader::new(der::single(value, der::SEQUENCE)?);
        let mut is_found = false;
        while !names.is_empty() {
            let presented = names.element()?;
            if !is_general_name(presented.tag) {
                return Err(Malformed);
            }
            is_found |= is_valid_for(&presented, name);
        }
        Ok(is_found)
    }
}

fn is_valid_for(presented: &Element<'_>, name: &ServerName<'_>) -> bool {
    match name {
        ServerName::DnsName(name) => {
            presented.tag == der::context(2) && matches(presented.content, name.as_ref().as_bytes())
        }
        ServerName::IpAddress(IpAddr::V4(address)) => {
            presented.tag == der::context(7) && presented.content == address.octets()
        }
        ServerName::IpAddress(IpAddr::V6(address)) => {
            presented.tag == der::context(7) && presented.content == address.octets()
        }
    }
}

/// Whether a dNSName is this name, or has a wildcard in place of its first label. A name that is
/// equal to a host name is a host name, so its syntax needs no check. RFC 9525 6.3
///
/// A dNSName with a final dot is no name in the preferred syntax (RFC 5280 4.2.1.6, RFC 1034 3.5),
/// and matches nothing. OpenSSL and Go compare the text, so that such a certificate is valid only
/// for a name that is typed with the dot. Here both are the same host.
fn matches(presented: &[u8], name: &[u8]) -> bool {
    let Some(parent) = presented.strip_prefix(b"*.") else {
        return presented.eq_ignore_ascii_case(name);
    };
    let mut labels = name.splitn(2, |byte| *byte == b'.');
    let rest = labels.nth(1).unwrap_or_default();
    // A wildcard directly below a top-level domain is not accepted. OpenSSL requires two labels,
    // too.
    parent.contains(&b'.') && parent.eq_ignore_ascii_case(rest)
}

/// Whether an element's tag is one of GeneralName. RFC 5280 4.2.1.6
///
/// DER has strings in one part. A reader of BER, such as OpenSSL, also sees a name that consists of
/// parts, which constraints would not find here. X.690 10.2
pub(crate) fn is_general_name(tag: u8) -> bool {
    // otherName, x400Address, directoryName and ediPartyName are not strings.
    let is_constructed = |number| matches!(number, 0 | 3 | 4 | 5);
    (0..=8).any(|number| match is_constructed(number) {
        true => tag == der::context_constructed(number),
        false => tag == der::context(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9525 6.3
    #[test]
    fn a_wildcard_is_one_whole_label_above_a_domain() {
        for (presented, name, expected) in [
            ("a.example", "a.example", true),
            ("A.Example", "a.eXAMPLE", true),
            ("*.a.example", "b.a.example", true),
            ("*.a.example", "-b-.a.example", true),
            ("*.a.example", "a.example", false),
            ("*.a.example", "c.b.a.example", false),
            ("*.example", "a.example", false),
            ("*", "a", false),
            ("*.", "a.", false),
            ("b*.a.example", "bc.a.example", false),
            ("*b.a.example", "cb.a.example", false),
            ("b.*.example", "b.a.example", false),
            ("*.*.example", "b.a.example", false),
            ("a.example.", "a.example", false),
            ("*.a.example.", "b.a.example", false),
            ("a-.example", "a-.example", true),
            ("-a.example", "-a.example", true),
            ("_a.example", "_a.example", true),
            ("", "a", false),
        ] {
            let matches = matches(presented.as_bytes(), name.as_bytes());
            assert_eq!(matches, expected, "{presented} for {name}");
        }
    }

    #[test]
    fn the_tags_of_general_names() {
        for tag in 0..=u8::MAX {
            let expected = matches!(tag, 0xa0 | 0x81 | 0x82 | 0xa3..=0xa5 | 0x86..=0x88);
            assert_eq!(is_general_name(tag), expected, "{tag:#x}");
        }
    }
}
