//! The extensions that path building processes, found in one pass. RFC 5280 4.2

use super::Certificate;
use super::key_identifiers::{authority_key, subject_key};
use super::server_names::is_general_name;
use crate::der::{self, Malformed, Reader};
use crate::reason::RefusalReason;

/// The values of the extensions that path building processes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extensions<'a> {
    subject_key_identifier: Option<&'a [u8]>,
    key_usage: Option<&'a [u8]>,
    pub(crate) subject_alt_name: Option<&'a [u8]>,
    basic_constraints: Option<&'a [u8]>,
    pub(crate) name_constraints: Option<&'a [u8]>,
    pub(crate) distribution_points: Option<&'a [u8]>,
    pub(crate) policies: Option<&'a [u8]>,
    pub(crate) policy_mappings: Option<&'a [u8]>,
    authority_key_identifier: Option<&'a [u8]>,
    pub(crate) policy_constraints: Option<&'a [u8]>,
    key_purposes: Option<&'a [u8]>,
    pub(crate) inhibit_any_policy: Option<&'a [u8]>,
    tls_feature: Option<&'a [u8]>,
    /// Whether the certificatePolicies extension is critical.
    pub(crate) has_critical_policies: bool,
}

impl<'a> Extensions<'a> {
    /// Reads a SEQUENCE OF Extension (its content). An extension occurs once, and a critical one
    /// must be known. RFC 5280 4.2
    fn read(extensions: &'a [u8]) -> Result<Self, RefusalReason> {
        let mut found = Self::default();
        let mut others = Others::default();
        let mut has_unknown = false;
        let mut extensions = Reader::new(extensions);
        while !extensions.is_empty() {
            let (oid, critical, value) = extension(&mut extensions).map_err(super::bad_encoding)?;
            let place = match oid {
                [0x55, 0x1d, number] => found.place(*number),
                // Path building only ensures that there is one.
                super::TLS_FEATURE => Some(&mut found.tls_feature),
                _ => None,
            };
            let Some(place) = place else {
                has_unknown |= critical;
                others.add(oid);
                continue;
            };
            // A hint is not worth a refusal, but its criticality says that it must be understood.
            has_unknown |= critical && matches!(oid, [_, _, 14 | 35] | super::TLS_FEATURE);
            if place.replace(value).is_some() {
                return Err(RefusalReason::BadEncoding);
            }
            found.has_critical_policies |= critical && matches!(oid, [_, _, 32]);
        }
        if others.has_duplicate() {
            return Err(RefusalReason::BadEncoding);
        }
        if has_unknown { Err(RefusalReason::UnsupportedCriticalExtension) } else { Ok(found) }
    }

    /// The place of an extension, by the last number of its identifier 2.5.29.n.
    fn place(&mut self, number: u8) -> Option<&mut Option<&'a [u8]>> {
        Some(match number {
            14 => &mut self.subject_key_identifier,
            15 => &mut self.key_usage,
            17 => &mut self.subject_alt_name,
            19 => &mut self.basic_constraints,
            30 => &mut self.name_constraints,
            31 => &mut self.distribution_points,
            32 => &mut self.policies,
            33 => &mut self.policy_mappings,
            35 => &mut self.authority_key_identifier,
            36 => &mut self.policy_constraints,
            37 => &mut self.key_purposes,
            54 => &mut self.inhibit_any_policy,
            _ => return None,
        })
    }

    /// Checks the form of the lists that are searched only if something asks for them. A malformed
    /// one is refused in any case, as by OpenSSL and Go. RFC 5280 4.2.1.6, 4.2.1.13
    fn check_lists(&self) -> Result<(), Malformed> {
        if let Some(names) = self.subject_alt_name {
            let mut names = Reader::new(der::single(names, der::SEQUENCE)?);
            while !names.is_empty() {
                if !is_general_name(names.element()?.tag) {
                    return Err(Malformed);
                }
            }
        }
        if let Some(points) = self.distribution_points {
            let mut points = Reader::new(der::single(points, der::SEQUENCE)?);
            while !points.is_empty() {
                points.expect(der::SEQUENCE)?;
            }
        }
        Ok(())
    }

    /// The identifier of the certificate's key. RFC 5280 4.2.1.2
    pub(crate) fn key_identifier(&self) -> Option<&'a [u8]> {
        subject_key(self.subject_key_identifier?)
    }

    /// The identifier of the issuer's key. RFC 5280 4.2.1.1
    pub(crate) fn issuer_key_identifier(&self) -> Option<&'a [u8]> {
        authority_key(self.authority_key_identifier?)
    }
}

/// The identifiers of the extensions that are not processed. Real certificates have two or three.
#[derive(Default)]
struct Others<'a> {
    /// The first ones, which are compared with each other.
    few: [&'a [u8]; 8],
    count: usize,
    /// All others. They are sorted, so that the work does not grow with their product.
    more: Vec<&'a [u8]>,
}

impl<'a> Others<'a> {
    fn add(&mut self, oid: &'a [u8]) {
        match self.few.get_mut(self.count) {
            Some(place) => {
                *place = oid;
                self.count = self.count.saturating_add(1);
            }
            None => self.more.push(oid),
        }
    }

    /// Whether an extension occurs twice. RFC 5280 4.2
    fn has_duplicate(mut self) -> bool {
        let mut few = self.few.get(..self.count).unwrap_or_default();
        if self.more.is_empty() {
            while let [first, rest @ ..] = few {
                if rest.contains(first) {
                    return true;
                }
                few = rest;
            }
            return false;
        }
        self.more.extend_from_slice(few);
        self.more.sort_unstable();
        self.more.windows(2).any(|pair| matches!(pair, [one, other] if one == other))
    }
}

/// Reads one Extension: its identifier, whether it is critical, and its value. RFC 5280 4.1
pub(crate) fn extension<'a>(
    list: &mut Reader<'a>,
) -> Result<(&'a [u8], bool, &'a [u8]), Malformed> {
    let mut fields = Reader::new(list.expect(der::SEQUENCE)?);
    let oid = fields.expect(der::OBJECT_IDENTIFIER)?;
    let critical = fields.optional(der::BOOLEAN)?;
    // Some authorities encode the default, which DER forbids.
    let critical = critical.map_or(Ok(false), boolean)?;
    let value = fields.expect(der::OCTET_STRING)?;
    fields.finish()?;
    Ok((oid, critical, value))
}

/// The value of a BOOLEAN. X.690 11.1
pub(crate) fn boolean(content: &[u8]) -> Result<bool, Malformed> {
    match content {
        [0] => Ok(false),
        [0xff] => Ok(true),
        _ => Err(Malformed),
    }
}

/// The value of an INTEGER that is not negative. One that exceeds every length of a path becomes
/// [`usize::MAX`].
pub(crate) fn unsigned(content: &[u8]) -> Result<usize, Malformed> {
    match content {
        [] | [0x80..=0xff, ..] | [0, 0..=0x7f, ..] => Err(Malformed),
        [0, rest @ ..] | rest if rest.len() <= 4 => {
            Ok(rest.iter().fold(0, |value, byte| (value << 8) | usize::from(*byte)))
        }
        _ => Ok(usize::MAX),
    }
}

/// A certificate and what path building needs of it, read once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathCertificate<'a> {
    pub(crate) fields: Certificate<'a>,
    pub(crate) extensions: Extensions<'a>,
    /// The CA bit of basicConstraints. Without the extension, which versions 1 and 2 do not have, a
    /// certificate is no authority's. RFC 5280 4.2.1.9, 6.1.4 (k)
    pub(crate) is_ca: bool,
    pub(crate) path_length: Option<usize>,
    pub(crate) purposes: super::KeyPurposes,
    /// The content of the SEQUENCE of the key's AlgorithmIdentifier.
    pub(crate) key_algorithm: &'a [u8],
    /// The bits of the key.
    pub(crate) key: &'a [u8],
    /// The bits of the signature.
    pub(crate) signature: &'a [u8],
    usages: Option<[u8; 2]>,
}

impl<'a> PathCertificate<'a> {
    /// Reads everything that a certificate states for itself. RFC 5280 4.1, 4.2
    pub(crate) fn of(fields: Certificate<'a>) -> Result<Self, RefusalReason> {
        let bad = super::bad_encoding;
        // Only version 3 has extensions. A leaf of another version is accepted, as by OpenSSL and
        // Go: it has no name of a server, and states no restriction. RFC 5280 4.1.2.1
        match fields.version {
            3 => {}
            1 | 2 if fields.extensions.is_empty() => {}
            _ => return Err(RefusalReason::UnsupportedVersion),
        }
        // RFC 5280 4.1.1.2
        if fields.signature_algorithm != fields.outer_signature_algorithm {
            return Err(RefusalReason::BadEncoding);
        }
        let extensions = Extensions::read(fields.extensions)?;
        extensions.check_lists().map_err(bad)?;
        let (is_ca, path_length) = match extensions.basic_constraints {
            Some(value) => super::read_basic_constraints(value).map_err(bad)?,
            None => (false, None),
        };
        let purposes = match extensions.key_purposes {
            Some(value) => super::read_key_purposes(value).map_err(bad)?,
            None => super::KeyPurposes::default(),
        };
        let usages = extensions.key_usage.map(super::read_key_usage).transpose().map_err(bad)?;
        let (key_algorithm, key) = der::single(fields.subject_public_key_info, der::SEQUENCE)
            .and_then(read_key)
            .map_err(bad)?;
        let signature = whole_bytes(fields.signature).map_err(bad)?;
        Ok(Self {
            fields,
            extensions,
            is_ca,
            path_length,
            purposes,
            key_algorithm,
            key,
            signature,
            usages,
        })
    }

    /// Whether issuer and subject have one name. RFC 5280 6.1
    pub(crate) fn is_self_issued(&self) -> bool {
        self.fields.subject == self.fields.issuer
    }

    /// RFC 5280 4.2.1.3, 6.1.4 (n)
    pub(crate) fn may_certify(&self) -> bool {
        self.usages.is_none_or(|[first, _]| first & super::KEY_CERT_SIGN != 0)
    }

    /// RFC 5280 4.2.1.3, 6.3.3 (f)
    pub(crate) fn may_sign_lists(&self) -> bool {
        self.usages.is_none_or(|[first, _]| first & super::CRL_SIGN != 0)
    }

    /// The commonNames that have the form of a DNS name, as a subjectAltName, if the certificate
    /// has no dNSName.
    pub(crate) fn common_dns_names(&self) -> Result<Option<Vec<u8>>, Malformed> {
        if let Some(names) = self.extensions.subject_alt_name {
            let mut names = Reader::new(der::single(names, der::SEQUENCE)?).elements();
            if names.any(|name| name.tag == der::context(2)) {
                return Ok(None);
            }
        }
        super::names::common_dns_names(self.fields.subject)
    }
}

/// The AlgorithmIdentifier (content) and the bits of a SubjectPublicKeyInfo (content).
/// RFC 5280 4.1.2.7
pub(crate) fn read_key(info: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let mut fields = Reader::new(info);
    let algorithm = fields.expect(der::SEQUENCE)?;
    let key = whole_bytes(fields.expect(der::BIT_STRING)?)?;
    fields.finish()?;
    Ok((algorithm, key))
}

/// The bytes of a BIT STRING without unused bits.
pub(crate) fn whole_bytes(bit_string: &[u8]) -> Result<&[u8], Malformed> {
    match bit_string.split_first() {
        Some((0, bytes)) => Ok(bytes),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X.690 8.3.2, 11.1
    #[test]
    fn numbers_and_truths_are_der() {
        assert_eq!(unsigned(&[0]), Ok(0));
        assert_eq!(unsigned(&[0x7f]), Ok(127));
        assert_eq!(unsigned(&[0, 0x80]), Ok(128));
        assert_eq!(unsigned(&[1, 44]), Ok(300));
        assert_eq!(unsigned(&[1; 9]), Ok(usize::MAX));
        for malformed in [&[][..], &[0x80], &[0xff, 1], &[0, 0], &[0, 0x7f, 1]] {
            assert_eq!(unsigned(malformed), Err(Malformed), "{malformed:?}");
        }
        assert_eq!((boolean(&[0]), boolean(&[0xff])), (Ok(false), Ok(true)));
        for malformed in [&[][..], &[1], &[0xff, 0xff]] {
            assert_eq!(boolean(malformed), Err(Malformed));
        }
    }

    fn one(oid: u8, critical: &[u8]) -> Vec<u8> {
        let fields = [&[6, 3, 0x55, 0x1d, oid][..], critical, &[4, 2, 0x30, 0]].concat();
        [&[0x30, u8::try_from(fields.len()).unwrap()], fields.as_slice()].concat()
    }

    /// RFC 5280 4.2
    #[test]
    fn an_extension_occurs_once_and_a_critical_one_is_known() {
        const CRITICAL: &[u8] = &[1, 1, 0xff];
        let read = |list: &[u8]| Extensions::read(list).map(drop);
        assert_eq!(read(&one(30, CRITICAL)), Ok(()));
        assert_eq!(read(&one(30, &[1, 1, 0])), Ok(()));
        assert_eq!(read(&one(99, &[])), Ok(()));
        let unknown = Err(RefusalReason::UnsupportedCriticalExtension);
        assert_eq!(read(&one(99, CRITICAL)), unknown);
        assert_eq!(read(&one(14, CRITICAL)), unknown);
        let malformed = Err(RefusalReason::BadEncoding);
        assert_eq!(read(&one(30, &[1, 1, 1])), malformed);
        for number in [14, 15, 17, 19, 30, 31, 32, 33, 35, 36, 37, 54, 18, 99] {
            assert_eq!(read(&[one(number, &[]), one(number, &[])].concat()), malformed);
        }
    }

    /// RFC 5280 4.2
    #[test]
    fn of_extensions_that_are_not_processed_each_occurs_once() {
        for count in [1, 2, 7, 8, 9, 10, 20] {
            let different: Vec<_> = (60..60 + count).map(|number| one(number, &[])).collect();
            assert_eq!(Extensions::read(&different.concat()).map(drop), Ok(()));
            for repeated in 60..60 + count {
                let list = [different.concat(), one(repeated, &[])].concat();
                let refused = Extensions::read(&list).map(drop);
                assert_eq!(refused, Err(RefusalReason::BadEncoding), "{repeated} of {count}");
            }
        }
    }
}
