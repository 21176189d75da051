//! Name constraints of authorities. RFC 5280 4.2.1.10, 6.1.3 (b), (c), 6.1.4 (g)
//!
//! Each constrained authority is held against each certificate below it, which is the same as the
//! intersections and unions of RFC 5280. A name is refused if it cannot be compared with a base of
//! its form, or if such a base is no name. A base that is no name has no effect on other forms.
//!
//! [`crate::distinguished_names`] compares directoryNames.

#[cfg(test)]
mod distinguished_names;

use std::net::IpAddr;

use tercel_wire::is_dns_name;

use crate::budget::Budget;
use crate::certificate::{PathCertificate, is_general_name, string};
use crate::der::{self, Element, Malformed, Reader};
use crate::distinguished_names::{Incomparable, is_prefix, read_set};
use crate::reason::RefusalReason;

/// The constraints of one authority.
#[derive(Debug)]
pub(crate) struct NameConstraints<'a> {
    permitted: Vec<Base<'a>>,
    excluded: Vec<Base<'a>>,
}

/// The base of a subtree of names.
#[derive(Debug)]
enum Base<'a> {
    Dns(Domain<'a>),
    Email(Mailboxes<'a>),
    Uri(Host<'a>),
    Address {
        address: &'a [u8],
        mask: &'a [u8],
    },
    /// The content of the SEQUENCE of a Name.
    Directory(&'a [u8]),
    /// The tag of a form that is not supported, or of a base that is no name.
    Unknown(u8),
}

/// A base of dNSNames: the domain itself, if the base has no first dot, and all names below it.
/// RFC 5280 has no form with a first dot; OpenSSL and Go read it thus.
#[derive(Debug)]
struct Domain<'a> {
    domain: &'a [u8],
    only_below: bool,
}

/// A base of rfc822Names.
#[derive(Debug)]
enum Mailboxes<'a> {
    One { local: &'a [u8], host: &'a [u8] },
    All(Host<'a>),
}

/// A base of URIs and of hosts in mailboxes: one host, or all below a domain if the base has a
/// first dot.
#[derive(Debug)]
enum Host<'a> {
    Is(&'a [u8]),
    IsBelow(&'a [u8]),
}

/// The list in which a base is: permitted or excluded names. Where a comparison may err, it errs
/// towards a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Permitted,
    Excluded,
}

impl<'a> NameConstraints<'a> {
    /// Reads the content of a NameConstraints. It has at least one subtree, and lists of subtrees
    /// are not empty. RFC 5280 4.2.1.10
    pub(crate) fn read(constraints: &'a [u8]) -> Result<Self, Malformed> {
        let mut lists = Reader::new(constraints);
        let permitted = lists.optional(der::context_constructed(0))?;
        let excluded = lists.optional(der::context_constructed(1))?;
        lists.finish()?;
        if permitted.is_none() && excluded.is_none() {
            return Err(Malformed);
        }
        let read = |list: Option<&'a [u8]>| list.map_or(Ok(Vec::new()), read_subtrees);
        Ok(Self { permitted: read(permitted)?, excluded: read(excluded)? })
    }

    /// Refuses a certificate with a name outside of the constraints: its subject, if it has one,
    /// the e-mail addresses in the subject, and the subjectAltName. RFC 5280 4.2.1.10
    pub(crate) fn check(
        &self,
        certificate: &PathCertificate<'_>,
        budget: &mut Budget,
    ) -> Result<(), RefusalReason> {
        let subject = certificate.fields.subject;
        let names = certificate.extensions.subject_alt_name;
        budget.pay(1 + subject.len() / 16 + names.map_or(0, <[u8]>::len) / 16)?;
        if !subject.is_empty() {
            self.check_name(DIRECTORY, subject, budget)?;
            if self.has_form(EMAIL) {
                self.check_addresses_in(subject, budget)?;
            }
        }
        let Some(names) = names else { return Ok(()) };
        let bad = |Malformed| RefusalReason::BadEncoding;
        let mut names = Reader::new(der::single(names, der::SEQUENCE).map_err(bad)?);
        while !names.is_empty() {
            let name = names.element().map_err(bad)?;
            let content = match name.tag {
                DIRECTORY => der::single(name.content, der::SEQUENCE).map_err(bad)?,
                _ => name.content,
            };
            self.check_name(name.tag, content, budget)?;
            if name.tag == OTHER_NAME && self.has_form(EMAIL) {
                if let Some(mailbox) = utf8_mailbox(name.content).map_err(bad)? {
                    self.check_name(EMAIL, mailbox, budget)?;
                }
            }
        }
        Ok(())
    }

    /// The attributes of type emailAddress in a subject. RFC 5280 4.2.1.10
    fn check_addresses_in(&self, subject: &[u8], budget: &mut Budget) -> Result<(), RefusalReason> {
        let mut addresses = Vec::new();
        let mut sets = Reader::new(subject);
        let mut read = || {
            while !sets.is_empty() {
                for attribute in read_set(sets.expect(der::SET)?)? {
                    if attribute.kind == EMAIL_ADDRESS {
                        addresses.push(string(attribute.value).ok_or(Malformed)?);
                    }
                }
            }
            Ok(())
        };
        read().map_err(|Malformed| RefusalReason::BadEncoding)?;
        addresses.iter().try_for_each(|one| self.check_name(EMAIL, one.as_bytes(), budget))
    }

    /// Whether a DNS name is permitted or excluded.
    pub(crate) fn has_dns_names(&self) -> bool {
        self.has_form(DNS)
    }

    fn has_form(&self, tag: u8) -> bool {
        self.permitted.iter().chain(&self.excluded).any(|base| base.tag() == tag)
    }

    fn check_name(
        &self,
        tag: u8,
        content: &[u8],
        budget: &mut Budget,
    ) -> Result<(), RefusalReason> {
        budget.pay(self.permitted.len().saturating_add(self.excluded.len()))?;
        if !self.has_form(tag) {
            return Ok(());
        }
        let name = Name::read(tag, content)?;
        let mut contains = |base: &Base<'_>, list| {
            if tag == DIRECTORY {
                budget.pay(8 + content.len() / 2)?;
            }
            base.contains(&name, list, budget)
        };
        let mut is_constrained = false;
        let mut is_permitted = false;
        for base in self.permitted.iter().filter(|base| base.tag() == tag) {
            is_constrained = true;
            is_permitted = contains(base, List::Permitted)?;
            if is_permitted {
                break;
            }
        }
        // RFC 5280 6.1.3 (b)
        if is_constrained && !is_permitted {
            return Err(RefusalReason::NameConstraint);
        }
        // RFC 5280 6.1.3 (c)
        for base in self.excluded.iter().filter(|base| base.tag() == tag) {
            if contains(base, List::Excluded)? {
                return Err(RefusalReason::NameConstraint);
            }
        }
        Ok(())
    }
}

/// A name that can be held against constraints.
enum Name<'n> {
    /// A name of a host, or what follows the `*.` of a wildcard.
    Dns {
        name: &'n [u8],
        wild: Option<&'n [u8]>,
    },
    Email {
        local: &'n [u8],
        host: &'n [u8],
    },
    /// The host of a URI.
    Uri(&'n [u8]),
    Address(&'n [u8]),
    /// The content of the SEQUENCE of a Name.
    Directory(&'n [u8]),
}

impl<'n> Name<'n> {
    fn read(tag: u8, content: &'n [u8]) -> Result<Self, Incomparable> {
        Ok(match tag {
            DNS => {
                let wild = content.strip_prefix(b"*.");
                if !is_dns_name(wild.unwrap_or(content)) {
                    return Err(Incomparable);
                }
                Self::Dns { name: content, wild }
            }
            EMAIL => {
                let (local, host) = split_mailbox(content).ok_or(Incomparable)?;
                if !is_plain_local_part(local) || !is_dns_name(host) {
                    return Err(Incomparable);
                }
                Self::Email { local, host }
            }
            URI => Self::Uri(host_of(content).ok_or(Incomparable)?),
            ADDRESS if matches!(content.len(), 4 | 16) => Self::Address(content),
            DIRECTORY => Self::Directory(content),
            _ => return Err(Incomparable),
        })
    }
}

fn read_subtrees(list: &[u8]) -> Result<Vec<Base<'_>>, Malformed> {
    let mut bases = Vec::new();
    let mut subtrees = Reader::new(list);
    if subtrees.is_empty() {
        return Err(Malformed);
    }
    while !subtrees.is_empty() {
        let mut subtree = Reader::new(subtrees.expect(der::SEQUENCE)?);
        let name = subtree.element()?;
        if !is_general_name(name.tag) {
            return Err(Malformed);
        }
        // The minimum is 0, which DER does not encode, but OpenSSL and Go accept; there is no
        // maximum.
        if subtree.optional(der::context(0))?.is_some_and(|minimum| minimum != [0]) {
            return Err(Malformed);
        }
        subtree.finish()?;
        bases.push(Base::read(name)?);
    }
    Ok(bases)
}

impl<'a> Base<'a> {
    fn read(name: Element<'a>) -> Result<Self, Malformed> {
        let content = name.content;
        Ok(match name.tag {
            DNS => {
                let (only_below, domain) = match content.strip_prefix(b".") {
                    Some(domain) => (true, domain),
                    None => (false, content),
                };
                // All names are below the empty domain.
                if !content.is_empty() && !is_dns_name(domain) {
                    return Ok(Self::Unknown(DNS));
                }
                Self::Dns(Domain { domain, only_below })
            }
            EMAIL => match (split_mailbox(content), Host::read(content)) {
                (Some((local, host)), _) if is_dns_name(host) && is_plain_local_part(local) => {
                    Self::Email(Mailboxes::One { local, host })
                }
                (None, Some(host)) => Self::Email(Mailboxes::All(host)),
                _ => Self::Unknown(EMAIL),
            },
            URI => Host::read(content).map_or(Self::Unknown(URI), Self::Uri),
            ADDRESS => match content.len() {
                8 | 32 => {
                    let (address, mask) = content.split_at(content.len() / 2);
                    if !is_mask(mask) {
                        return Err(Malformed);
                    }
                    Self::Address { address, mask }
                }
                _ => return Err(Malformed),
            },
            DIRECTORY => Self::Directory(der::single(content, der::SEQUENCE)?),
            tag => Self::Unknown(tag),
        })
    }

    fn tag(&self) -> u8 {
        match self {
            Self::Dns(_) => DNS,
            Self::Email(_) => EMAIL,
            Self::Uri(_) => URI,
            Self::Address { .. } => ADDRESS,
            Self::Directory(_) => DIRECTORY,
            Self::Unknown(tag) => *tag,
        }
    }

    /// Whether the subtree contains a name of its form.
    fn contains(
        &self,
        name: &Name<'_>,
        list: List,
        budget: &mut Budget,
    ) -> Result<bool, RefusalReason> {
        match (self, name) {
            (Self::Dns(base), Name::Dns { name, wild }) => Ok(base.contains(name, *wild, list)),
            (Self::Email(base), Name::Email { local, host }) => Ok(base.contain(local, host, list)),
            (Self::Uri(base), Name::Uri(host)) => Ok(base.contains(host)),
            (Self::Address { address, mask }, Name::Address(name)) => {
                Ok(address_in(address, mask, name, list))
            }
            (Self::Directory(base), Name::Directory(name)) => is_prefix(base, name, budget),
            _ => Err(Incomparable.into()),
        }
    }
}

impl Domain<'_> {
    /// A wildcard is every name with one label more. RFC 9525 6.3
    fn contains(&self, name: &[u8], wild: Option<&[u8]>, list: List) -> bool {
        if is_below(name, self.domain) || (!self.only_below && eq(name, self.domain)) {
            return true;
        }
        let Some(rest) = wild.filter(|_| list == List::Excluded && !self.only_below) else {
            return false;
        };
        // One of the names that the wildcard stands for is the base.
        let parent = self.domain.iter().position(|byte| *byte == b'.');
        let parent = parent.and_then(|dot| self.domain.get(dot.saturating_add(1)..));
        parent.is_some_and(|parent| eq(parent, rest))
    }
}

impl Mailboxes<'_> {
    fn contain(&self, local: &[u8], host: &[u8], list: List) -> bool {
        match self {
            Self::One { local: own, host: of } => {
                let is_local = match list {
                    List::Permitted => *own == local,
                    List::Excluded => eq(own, local),
                };
                is_local && eq(of, host)
            }
            Self::All(base) => base.contains(host),
        }
    }
}

impl<'a> Host<'a> {
    fn read(base: &'a [u8]) -> Option<Self> {
        let host = match base.strip_prefix(b".") {
            Some(domain) => Self::IsBelow(domain),
            None => Self::Is(base),
        };
        let (Self::Is(name) | Self::IsBelow(name)) = host;
        is_dns_name(name).then_some(host)
    }

    fn contains(&self, host: &[u8]) -> bool {
        match self {
            Self::Is(own) => eq(own, host),
            Self::IsBelow(domain) => is_below(host, domain),
        }
    }
}

/// Whether the name has more labels than the domain and ends with it. Every name is below the empty
/// domain.
fn is_below(name: &[u8], domain: &[u8]) -> bool {
    if domain.is_empty() {
        return true;
    }
    let Some(above) = name.len().checked_sub(domain.len()) else { return false };
    let Some((above, end)) = name.split_at_checked(above) else { return false };
    above.ends_with(b".") && eq(end, domain)
}

/// Names of hosts do not depend on case. RFC 4343 3
fn eq(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// The mailbox of a SmtpUTF8Mailbox; `None` if an otherName (its content) has another form.
/// Constraints on rfc822Names apply to it. RFC 9598 3, 6
fn utf8_mailbox(other_name: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let mut fields = Reader::new(other_name);
    if fields.expect(der::OBJECT_IDENTIFIER)? != SMTP_UTF8_MAILBOX {
        return Ok(None);
    }
    let value = fields.expect(der::context_constructed(0))?;
    fields.finish()?;
    der::single(value, der::UTF8_STRING).map(Some)
}

/// Whether a local part has one spelling: it is not empty and not quoted. RFC 5321 4.1.2,
/// RFC 6531 3.3
fn is_plain_local_part(local: &[u8]) -> bool {
    let is_plain = |byte: &u8| {
        !byte.is_ascii() || byte.is_ascii_graphic() && !b"\"\\()<>,;:@[]".contains(byte)
    };
    !local.is_empty() && local.iter().all(is_plain)
}

/// The parts of a mailbox before and after its last `@`.
fn split_mailbox(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().rposition(|byte| *byte == b'@')?;
    Some((text.get(..at)?, text.get(at.checked_add(1)?..)?))
}

/// The host of a URI, which must be a name. RFC 5280 4.2.1.10, RFC 3986 3.2
fn host_of(uri: &[u8]) -> Option<&[u8]> {
    let find = |text: &[u8], end| text.iter().position(|byte| *byte == end);
    let (scheme, after) = uri.split_at_checked(find(uri, b':')?)?;
    let in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let after = after.strip_prefix(b"://")?;
    let authority = after.split(|byte| b"/?#".contains(byte)).next()?;
    let (user, host) = match find(authority, b'@') {
        Some(at) => (authority.get(..at)?, authority.get(at.checked_add(1)?..)?),
        None => (&[][..], authority),
    };
    let (host, port) = host.split_at_checked(find(host, b':').unwrap_or(host.len()))?;
    // Another reader may see another host in a malformed URI.
    let in_user = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:".contains(byte);
    let in_port = |(index, byte): (usize, &u8)| index == 0 || byte.is_ascii_digit();
    if !scheme.first()?.is_ascii_alphabetic()
        || !scheme.iter().all(in_scheme)
        || !user.iter().all(in_user)
        || !port.iter().enumerate().all(in_port)
    {
        return None;
    }
    let is_address = std::str::from_utf8(host).is_ok_and(|host| host.parse::<IpAddr>().is_ok());
    (is_dns_name(host) && !is_address).then_some(host)
}

/// Whether the bits of a mask are ones followed by zeros. RFC 4632 3.1
fn is_mask(mask: &[u8]) -> bool {
    let mut bytes = mask.iter().skip_while(|byte| **byte == 0xff);
    let first = bytes.next().is_none_or(|byte| byte.leading_ones() + byte.trailing_zeros() >= 8);
    first && bytes.all(|byte| *byte == 0)
}

fn address_in(address: &[u8], mask: &[u8], name: &[u8], list: List) -> bool {
    let is_in = |name: &[u8]| {
        let mut bits = address.iter().zip(mask).zip(name);
        name.len() == address.len() && bits.all(|((of, mask), byte)| of & mask == byte & mask)
    };
    // ::ffff:a.b.c.d is the IPv4 address, too. RFC 4291 2.5.5.2
    let mapped = name.strip_prefix(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    is_in(name) || (list == List::Excluded && mapped.is_some_and(is_in))
}

/// The tags of GeneralName that are compared. RFC 5280 4.2.1.6
const OTHER_NAME: u8 = der::context_constructed(0);
const EMAIL: u8 = der::context(1);
const DNS: u8 = der::context(2);
const DIRECTORY: u8 = der::context_constructed(4);
const URI: u8 = der::context(6);
const ADDRESS: u8 = der::context(7);

/// id-on-SmtpUTF8Mailbox, 1.3.6.1.5.5.7.8.9
const SMTP_UTF8_MAILBOX: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 8, 9];

/// id-emailAddress, 1.2.840.113549.1.9.1
const EMAIL_ADDRESS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1];

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, u8::try_from(content.len()).unwrap()], content].concat()
    }

    /// Whether the subtrees of one base permit a name, and whether they do not exclude it.
    pub(super) fn judge(tag: u8, base: &[u8], name: &[u8]) -> [Result<(), RefusalReason>; 2] {
        [0xa0, 0xa1].map(|list| {
            let constraints = wrap(list, &wrap(0x30, &wrap(tag, base)));
            let constraints = NameConstraints::read(&constraints).unwrap();
            let name = if tag == DIRECTORY { &name[2..] } else { name };
            constraints.check_name(tag, name, &mut Budget::new())
        })
    }

    const OUT: Result<(), RefusalReason> = Err(RefusalReason::NameConstraint);
    pub(super) const WITHIN: [Result<(), RefusalReason>; 2] = [Ok(()), OUT];
    pub(super) const OUTSIDE: [Result<(), RefusalReason>; 2] = [OUT, Ok(())];
    const PARTLY: [Result<(), RefusalReason>; 2] = [OUT, OUT];
    pub(super) const UNKNOWN: [Result<(), RefusalReason>; 2] =
        [Err(RefusalReason::UnsupportedNameConstraint); 2];

    /// RFC 5280 4.2.1.10
    #[test]
    fn dns_names() {
        for (base, name, expected) in [
            ("a.example", "a.example", WITHIN),
            ("A.example", "b.a.EXAMPLE", WITHIN),
            ("a.example", "ba.example", OUTSIDE),
            ("a.example", "example", OUTSIDE),
            (".a.example", "b.a.example", WITHIN),
            (".a.example", "a.example", OUTSIDE),
            ("", "a.example", WITHIN),
            ("a.example", "*.a.example", WITHIN),
            ("example", "*.a.example", WITHIN),
            // Some names of the wildcard are in the subtree.
            ("b.a.example", "*.a.example", PARTLY),
            ("B.a.example", "*.A.Example", PARTLY),
            ("a.Example", "*.A.example", WITHIN),
            (".b.a.example", "*.a.example", OUTSIDE),
            (".a.example", "*.a.example", WITHIN),
            ("c.b.a.example", "*.a.example", OUTSIDE),
            ("b.example", "*.a.example", OUTSIDE),
            ("a.example", "a.example.", UNKNOWN),
            ("a.example", "a..example", UNKNOWN),
            ("a.example", "b*.a.example", UNKNOWN),
            ("a.example", "*.*.a.example", UNKNOWN),
            ("a.example", "", UNKNOWN),
            ("a.example", "a\0.a.example", UNKNOWN),
            ("a.example", "\u{e4}.a.example", UNKNOWN),
        ] {
            assert_eq!(judge(DNS, base.as_bytes(), name.as_bytes()), expected, "{base} {name}");
        }
    }

    /// RFC 5280 4.2.1.10, RFC 5321 4.1.2
    #[test]
    fn mailboxes() {
        for (base, name, expected) in [
            ("a.example", "x@a.example", WITHIN),
            ("a.example", "x@A.example", WITHIN),
            ("a.example", "x@b.a.example", OUTSIDE),
            (".a.example", "x@b.a.example", WITHIN),
            (".a.example", "x@a.example", OUTSIDE),
            ("x@a.example", "x@A.EXAMPLE", WITHIN),
            ("x@a.example", "X@a.example", PARTLY),
            ("x@a.example", "y@a.example", OUTSIDE),
            ("a.example", "\"x\"@a.example", UNKNOWN),
            ("a.example", "a.example", UNKNOWN),
            ("a.example", "@a.example", UNKNOWN),
            ("a.example", "x@[127.0.0.1]", UNKNOWN),
            ("a.example", "x@b.example@a.example", UNKNOWN),
            ("\"x\"@a.example", "x@a.example", UNKNOWN),
        ] {
            assert_eq!(judge(EMAIL, base.as_bytes(), name.as_bytes()), expected, "{base} {name}");
        }
    }

    /// RFC 5280 4.2.1.10
    #[test]
    fn each_of_several_bases_counts() {
        for (tag, [first, second, other]) in [
            (EMAIL, ["x@a.example", "x@b.example", "x@c.example"]),
            (DNS, ["a.example", "b.example", "c.example"]),
        ] {
            let [first, second, other] = [first, second, other].map(str::as_bytes);
            let subtrees = [first, second].map(|base| wrap(0x30, &wrap(tag, base))).concat();
            for (list, listed, unlisted) in [(0xa0, Ok(()), OUT), (0xa1, OUT, Ok(()))] {
                let constraints = wrap(list, &subtrees);
                let constraints = NameConstraints::read(&constraints).unwrap();
                let check = |name| constraints.check_name(tag, name, &mut Budget::new());
                assert_eq!([first, second, other].map(check), [listed, listed, unlisted]);
            }
        }
    }

    /// RFC 5280 4.2.1.10, RFC 3986 3.2
    #[test]
    fn uris() {
        for (base, name, expected) in [
            ("a.example", "https://a.example/b", WITHIN),
            ("a.example", "spiffe://A.EXAMPLE", WITHIN),
            ("a.example", "https://b.a.example/", OUTSIDE),
            (".a.example", "https://b.a.example/", WITHIN),
            (".a.example", "https://a.example/", OUTSIDE),
            ("a.example", "https://user@a.example:443?q#f", WITHIN),
            ("a.example", "https://a.example@b.example/", OUTSIDE),
            ("a.example", "https://b.example/@a.example", OUTSIDE),
            ("a.example", "https://b.example?@a.example", OUTSIDE),
            ("a.example", "urn:a.example", UNKNOWN),
            ("a.example", "https://127.0.0.1/", UNKNOWN),
            ("a.example", "https://[::1]/", UNKNOWN),
            // An address with a zone ends like a name of the domain. RFC 6874 2
            ("a.example", "https://[fe80::1%25a.example]/", UNKNOWN),
            (".a.example", "https://[fe80::1%25b.a.example]/", UNKNOWN),
            (".a.example", "https://[fe80::1%25b.a.example]:443/", UNKNOWN),
            ("a.example", "https:///", UNKNOWN),
            ("a.example", "a.example", UNKNOWN),
            ("a.example", "https://%61.example/", UNKNOWN),
            ("a.example", "https://a.example\\@b.example/", UNKNOWN),
            ("b.example", "https://a.example\\@b.example/", UNKNOWN),
            ("b.example", "https://a@a.example@b.example/", UNKNOWN),
            ("a.example", "https://a.example:b.example/", UNKNOWN),
            ("a.example", "https://a.example:/", WITHIN),
            ("a.example", "https://a:%40b@a.example:80/", WITHIN),
            ("a.example", "://a.example/", UNKNOWN),
            ("a.example", "a b://a.example/", UNKNOWN),
        ] {
            assert_eq!(judge(URI, base.as_bytes(), name.as_bytes()), expected, "{base} {name}");
        }
    }

    /// RFC 5280 4.2.1.10, RFC 4291 2.5.5.2, RFC 4632 3.1
    #[test]
    fn addresses() {
        let net = [127, 0, 0, 0, 255, 0, 0, 0];
        assert_eq!(judge(ADDRESS, &net, &[127, 1, 2, 3]), WITHIN);
        assert_eq!(judge(ADDRESS, &net, &[128, 1, 2, 3]), OUTSIDE);
        assert_eq!(judge(ADDRESS, &net, &[0; 16]), OUTSIDE);
        assert_eq!(judge(ADDRESS, &net, &[127, 0, 0, 1, 1]), UNKNOWN);
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1];
        assert_eq!(judge(ADDRESS, &net, &mapped), PARTLY);
        assert_eq!(judge(ADDRESS, &[0; 8], &[127, 1, 2, 3]), WITHIN);
        assert_eq!(judge(ADDRESS, &[0; 32], &[5; 16]), WITHIN);
        for mask in [[255, 0, 255, 0], [254, 1, 0, 0], [0, 255, 255, 255], [253, 0, 0, 0]] {
            assert!(!is_mask(&mask));
        }
        for mask in [[0; 4], [255; 4], [255, 128, 0, 0], [254, 0, 0, 0]] {
            assert!(is_mask(&mask));
        }
    }

    /// RFC 5280 4.2.1.10
    #[test]
    fn other_forms_are_refused_if_they_are_constrained() {
        // otherName, x400Address, ediPartyName, registeredID
        for tag in [OTHER_NAME, 0xa3, 0xa5, 0x88] {
            assert_eq!(judge(tag, &[], &[]), UNKNOWN);
            let constraints = wrap(0xa0, &wrap(0x30, &wrap(tag, &[])));
            let constraints = NameConstraints::read(&constraints).unwrap();
            assert_eq!(constraints.check_name(DNS, b"a.example", &mut Budget::new()), Ok(()));
        }
    }

    /// RFC 5280 4.2.1.10
    #[test]
    fn malformed_constraints_are_refused() {
        let subtree = wrap(0x30, &wrap(DNS, b"a.example"));
        let with = |tag, number| wrap(0x30, &[wrap(DNS, b"a.example"), wrap(tag, number)].concat());
        let minimum = with(0x80, &[1]);
        let maximum = with(0x81, &[0]);
        for malformed in [
            vec![],
            vec![0xa0, 0],
            vec![0xa0, 0, 0xa1, 0],
            [wrap(0xa1, &subtree), wrap(0xa0, &subtree)].concat(),
            [wrap(0xa0, &subtree), wrap(0xa0, &subtree)].concat(),
            wrap(0xa0, &wrap(0x30, &wrap(0x89, b"a"))),
            wrap(0xa0, &wrap(0x30, &[])),
            wrap(0xa0, &minimum),
            wrap(0xa0, &maximum),
            wrap(0xa0, &wrap(0x30, &wrap(ADDRESS, &[127, 0, 0, 1]))),
            wrap(0xa0, &wrap(0x30, &wrap(ADDRESS, &[127, 0, 0, 1, 255, 0, 255, 0]))),
        ] {
            assert!(NameConstraints::read(&malformed).is_err(), "{malformed:02x?}");
        }
        assert!(NameConstraints::read(&wrap(0xa1, &subtree)).is_ok());
    }

    /// RFC 5280 4.2.1.10
    #[test]
    fn a_base_that_is_no_name_is_refused_if_a_name_of_its_form_occurs() {
        let bases: [(u8, &[u8], &[u8]); 7] = [
            (DNS, b"a.example.", b"a.example"),
            (DNS, b"*.a.example", b"b.a.example"),
            (DNS, b".", b"a.example"),
            (DNS, b"..a", b"a"),
            (EMAIL, b"@a.example", b"x@a.example"),
            (EMAIL, b"", b"x@a.example"),
            (URI, b"https://a.example", b"https://a.example"),
        ];
        for (tag, base, name) in bases {
            for list in [0xa0, 0xa1] {
                let constraints = wrap(list, &wrap(0x30, &wrap(tag, base)));
                let constraints = NameConstraints::read(&constraints).unwrap();
                let check = |tag, name| constraints.check_name(tag, name, &mut Budget::new());
                assert_eq!(check(tag, name), UNKNOWN[0], "{base:02x?}");
                assert_eq!(check(DIRECTORY, &[]), Ok(()));
            }
        }
    }
}
