//! Parsing of certificate revocation lists; nothing is verified here. RFC 5280 5
//!
//! Only complete lists of version 2 about the issuer's own certificates are supported: a list of
//! changes (delta), of other issuers' certificates (indirect) or of some reasons is refused.

use std::collections::HashSet;

use pki_types::UnixTime;

use crate::certificate::{authority_key, boolean, extension, whole_bytes};
use crate::der::{self, Malformed, Reader};
use crate::time;

/// A parsed list, which owns its bytes.
#[derive(Debug)]
pub(super) struct List {
    /// The content of the SEQUENCE of a Name.
    pub(super) issuer: Box<[u8]>,
    pub(super) this_update: UnixTime,
    pub(super) next_update: UnixTime,
    /// The TBSCertList, tag and length included: the signed bytes.
    pub(super) signed: Box<[u8]>,
    /// The content of the SEQUENCE of an AlgorithmIdentifier.
    pub(super) signature_algorithm: Box<[u8]>,
    pub(super) signature: Box<[u8]>,
    /// The identifier of the issuer's key. RFC 5280 5.2.1
    pub(super) key_identifier: Option<Box<[u8]>>,
    /// The serial numbers, each the content of an INTEGER.
    revoked: HashSet<Box<[u8]>>,
    scope: Scope,
}

/// The certificates that a list covers. RFC 5280 5.2.5
#[derive(Debug, Default)]
struct Scope {
    only_users: bool,
    only_authorities: bool,
    /// The names of its distribution point, each a whole GeneralName, sorted; empty if it has none.
    names: Vec<Box<[u8]>>,
}

impl List {
    /// Reads a CertificateList. RFC 5280 5.1
    pub(super) fn read(list: &[u8]) -> Result<Self, Malformed> {
        let mut outer = Reader::new(der::single(list, der::SEQUENCE)?);
        let signed = outer.element()?;
        let signature_algorithm = outer.expect(der::SEQUENCE)?;
        let signature = whole_bytes(outer.expect(der::BIT_STRING)?)?;
        outer.finish()?;
        if signed.tag != der::SEQUENCE {
            return Err(Malformed);
        }
        let mut fields = Reader::new(signed.content);
        // Version 1 has no extensions, and so no scope. RFC 5280 5.1.2.1
        if fields.expect(der::INTEGER)? != VERSION_2 {
            return Err(Malformed);
        }
        // RFC 5280 5.1.1.2
        if fields.expect(der::SEQUENCE)? != signature_algorithm {
            return Err(Malformed);
        }
        let issuer = fields.expect(der::SEQUENCE)?;
        let this_update = time::from_der(fields.element()?)?;
        // RFC 5280 5.1.2.5
        let next_update = time::from_der(fields.element()?)?;
        let mut revoked = HashSet::new();
        if let Some(entries) = fields.optional(der::SEQUENCE)? {
            let mut entries = Reader::new(entries);
            while !entries.is_empty() {
                revoked.insert(read_entry(entries.expect(der::SEQUENCE)?)?.into());
            }
        }
        let (scope, key_identifier) = match fields.optional(der::context_constructed(0))? {
            Some(extensions) => read_extensions(der::single(extensions, der::SEQUENCE)?)?,
            None => (Scope::default(), None),
        };
        fields.finish()?;
        Ok(Self {
            issuer: issuer.into(),
            this_update,
            next_update,
            signed: signed.whole.into(),
            signature_algorithm: signature_algorithm.into(),
            signature: signature.into(),
            key_identifier: key_identifier.map(Into::into),
            revoked,
            scope,
        })
    }

    pub(super) fn has(&self, serial_number: &[u8]) -> bool {
        self.revoked.contains(serial_number)
    }

    /// Whether the list is about certificates with this CA bit and these distribution points.
    /// RFC 5280 5.2.5, 6.3.3 (b) (2)
    ///
    /// A certificate without distribution points is covered by lists without one.
    pub(super) fn covers(&self, is_ca: bool, points: &DistributionPoints<'_>) -> bool {
        let Scope { only_users, only_authorities, names } = &self.scope;
        let is_excluded = if is_ca { *only_users } else { *only_authorities };
        let is_at = || match names.len() <= points.0.len() {
            true => names.iter().any(|name| points.0.binary_search(&&**name).is_ok()),
            false => points
                .0
                .iter()
                .any(|point| names.binary_search_by(|one| (**one).cmp(point)).is_ok()),
        };
        !is_excluded && (names.is_empty() || is_at())
    }

    /// The number of names that [`Self::covers`] looks for among others.
    pub(super) fn comparisons(&self, points: &DistributionPoints<'_>) -> usize {
        self.scope.names.len().min(points.0.len())
    }
}

/// The names of a certificate's distribution points, each a whole GeneralName, sorted.
#[derive(Default)]
pub(super) struct DistributionPoints<'a>(Vec<&'a [u8]>);

impl<'a> DistributionPoints<'a> {
    /// Reads a cRLDistributionPoints extension. RFC 5280 4.2.1.13
    pub(super) fn read(extension: &'a [u8]) -> Self {
        let mut all = Vec::new();
        let points = der::single(extension, der::SEQUENCE).unwrap_or_default();
        for point in Reader::new(points).elements() {
            // A point of another form has no list that is supported.
            let _ = add_names(point.content, &mut all);
        }
        all.sort_unstable();
        Self(all)
    }
}

/// Adds the names of a DistributionPoint. RFC 5280 4.2.1.13
fn add_names<'a>(point: &'a [u8], all: &mut Vec<&'a [u8]>) -> Result<(), Malformed> {
    let mut fields = Reader::new(point);
    let name = fields.optional(der::context_constructed(0))?;
    // With reasons or a cRLIssuer, the point is one of lists that are not supported.
    fields.finish()?;
    if let Some(name) = name {
        all.append(&mut full_names(name)?);
    }
    Ok(())
}

/// Reads one revoked certificate, and returns its serial number. RFC 5280 5.1.2.6
fn read_entry(entry: &[u8]) -> Result<&[u8], Malformed> {
    let mut fields = Reader::new(entry);
    let serial_number = fields.integer()?;
    time::from_der(fields.element()?)?;
    if let Some(extensions) = fields.optional(der::SEQUENCE)? {
        let mut extensions = Reader::new(extensions);
        while !extensions.is_empty() {
            let (oid, critical, _) = extension(&mut extensions)?;
            // certificateIssuer: the entry is about another issuer's certificate. RFC 5280 5.3.3
            if oid == CERTIFICATE_ISSUER || (critical && !OF_ENTRIES.contains(&oid)) {
                return Err(Malformed);
            }
        }
    }
    fields.finish()?;
    Ok(serial_number)
}

/// Reads the scope of a list, and the identifier of its issuer's key. RFC 5280 5.2
fn read_extensions(extensions: &[u8]) -> Result<(Scope, Option<&[u8]>), Malformed> {
    let (mut scope, mut key_identifier) = (None, None);
    let mut extensions = Reader::new(extensions);
    while !extensions.is_empty() {
        let (oid, critical, value) = extension(&mut extensions)?;
        match oid {
            DELTA_INDICATOR => return Err(Malformed),
            DISTRIBUTION_POINT if scope.is_some() => return Err(Malformed),
            DISTRIBUTION_POINT => scope = Some(read_scope(der::single(value, der::SEQUENCE)?)?),
            AUTHORITY_KEY_IDENTIFIER => key_identifier = authority_key(value),
            NUMBER => {}
            _ if critical => return Err(Malformed),
            _ => {}
        }
    }
    Ok((scope.unwrap_or_default(), key_identifier))
}

/// Reads an IssuingDistributionPoint. RFC 5280 5.2.5
fn read_scope(fields: &[u8]) -> Result<Scope, Malformed> {
    let mut fields = Reader::new(fields);
    let mut names: Vec<Box<[u8]>> = match fields.optional(der::context_constructed(0))? {
        Some(name) => full_names(name)?.into_iter().map(Into::into).collect(),
        None => Vec::new(),
    };
    names.sort_unstable();
    let flag = |value: Option<&[u8]>| value.map_or(Ok(false), boolean);
    let only_users = flag(fields.optional(der::context(1))?)?;
    let only_authorities = flag(fields.optional(der::context(2))?)?;
    let reasons = fields.optional(der::context(3))?;
    let is_indirect = flag(fields.optional(der::context(4))?)?;
    let only_attributes = flag(fields.optional(der::context(5))?)?;
    fields.finish()?;
    if reasons.is_some() || is_indirect || only_attributes || (only_users && only_authorities) {
        return Err(Malformed);
    }
    Ok(Scope { only_users, only_authorities, names })
}

/// The names in a DistributionPointName; a name relative to the issuer is not supported.
fn full_names(name: &[u8]) -> Result<Vec<&[u8]>, Malformed> {
    let mut names = Reader::new(der::single(name, der::context_constructed(0))?);
    let mut found = Vec::new();
    while !names.is_empty() {
        found.push(names.element()?.whole);
    }
    if found.is_empty() { Err(Malformed) } else { Ok(found) }
}

const VERSION_2: &[u8] = &[1];

/// id-ce-cRLReasons, id-ce-invalidityDate
const OF_ENTRIES: [&[u8]; 2] = [&[0x55, 0x1d, 21], &[0x55, 0x1d, 24]];
/// id-ce-certificateIssuer
const CERTIFICATE_ISSUER: &[u8] = &[0x55, 0x1d, 29];
/// id-ce-cRLNumber
const NUMBER: &[u8] = &[0x55, 0x1d, 20];
/// id-ce-deltaCRLIndicator
const DELTA_INDICATOR: &[u8] = &[0x55, 0x1d, 27];
/// id-ce-issuingDistributionPoint
const DISTRIBUTION_POINT: &[u8] = &[0x55, 0x1d, 28];
/// id-ce-authorityKeyIdentifier
const AUTHORITY_KEY_IDENTIFIER: &[u8] = &[0x55, 0x1d, 35];

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn extension_of(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
        let critical: &[u8] = if critical { &[1, 1, 0xff] } else { &[] };
        wrap(0x30, &[&wrap(6, oid), critical, &wrap(4, value)].concat())
    }

    /// The parts of a list: version, algorithm, issuer, thisUpdate, nextUpdate, entries.
    fn list(parts: &[Vec<u8>], algorithm: &[u8]) -> Result<List, Malformed> {
        let signed = wrap(0x30, &parts.concat());
        let signature = wrap(3, &[0, 1, 2]);
        List::read(&wrap(0x30, &[signed, wrap(0x30, algorithm), signature].concat()))
    }

    /// RFC 5280 5, 5.1, 5.1.1.2, 5.1.2.1, 5.1.2.5, 5.1.2.6
    #[test]
    fn the_fields_of_a_list() {
        let (algorithm, date) = (wrap(6, &[42]), wrap(0x17, b"200101000000Z"));
        let entry = wrap(0x30, &[wrap(2, &[5]), date.clone()].concat());
        let parts = [
            wrap(2, VERSION_2),
            wrap(0x30, &algorithm),
            wrap(0x30, b"issuer"),
            date.clone(),
            date,
            wrap(0x30, &entry),
        ];
        let read = list(&parts, &algorithm).unwrap();
        assert_eq!((&*read.issuer, &*read.signature), (&b"issuer"[..], &[1, 2][..]));
        assert!(read.has(&[5]) && !read.has(&[0, 5]) && !read.has(&[6]));
        assert!(!list(&parts[..5], &algorithm).unwrap().has(&[5]));
        // Another algorithm was signed.
        assert!(list(&parts, &wrap(6, &[43])).is_err());
        // Another version, and each part that is required.
        for place in 0..5 {
            let mut lacking = parts.to_vec();
            lacking.remove(place);
            assert!(list(&lacking, &algorithm).is_err(), "part {place}");
        }
        let mut other = parts.to_vec();
        other[0] = wrap(2, &[0]);
        assert!(list(&other, &algorithm).is_err());
        // Nothing may follow.
        assert!(list(&[&parts[..], &[wrap(5, &[])]].concat(), &algorithm).is_err());
    }

    /// RFC 5280 5.2, 5.2.4, 5.2.5
    #[test]
    fn unsupported_lists_are_refused() {
        let scope = |fields: &[u8]| {
            let value = wrap(0x30, fields);
            let extension = extension_of(DISTRIBUTION_POINT, true, &value);
            read_extensions(&extension).map(|(scope, _)| scope)
        };
        let name = wrap(0xa0, &wrap(0xa0, &wrap(0x86, b"http://a.example")));
        let of = |fields: &[u8]| scope(fields).unwrap();
        assert!(of(&[]).names.is_empty());
        assert_eq!(of(&name).names.len(), 1);
        assert!(of(&wrap(0x81, &[0xff])).only_users);
        assert!(of(&wrap(0x82, &[0xff])).only_authorities);
        for unsupported in [
            wrap(0xa0, &wrap(0xa1, &[])),
            wrap(0xa0, &wrap(0xa0, &[])),
            wrap(0x83, &[0, 1]),
            // Bit strings without a bit, and without the number of unused bits.
            wrap(0x83, &[0]),
            wrap(0x83, &[]),
            wrap(0x84, &[0xff]),
            wrap(0x85, &[0xff]),
            [wrap(0x81, &[0xff]), wrap(0x82, &[0xff])].concat(),
            [wrap(0x82, &[0xff]), wrap(0x81, &[0xff])].concat(),
        ] {
            assert!(scope(&unsupported).is_err(), "{unsupported:02x?}");
        }
        assert!(read_extensions(&extension_of(DELTA_INDICATOR, true, &[2, 1, 1])).is_err());
        assert!(read_extensions(&extension_of(DELTA_INDICATOR, false, &[2, 1, 1])).is_err());
        assert!(read_extensions(&extension_of(&[0x55, 0x1d, 99], true, &[])).is_err());
        assert!(read_extensions(&extension_of(&[0x55, 0x1d, 99], false, &[])).is_ok());
    }

    /// RFC 5280 5.2.5, 6.3.3 (b) (2)
    #[test]
    fn names_of_a_list_and_of_a_certificate_are_compared_from_the_shorter_side() {
        let (algorithm, date) = (wrap(6, &[42]), wrap(0x17, b"200101000000Z"));
        let name = |number: u8| wrap(0x86, &[number]);
        let scoped = |names: &[u8]| {
            let names: Vec<u8> = names.iter().flat_map(|number| name(*number)).collect();
            let scope = wrap(0x30, &wrap(0xa0, &wrap(0xa0, &names)));
            let extensions = wrap(0x30, &extension_of(DISTRIBUTION_POINT, true, &scope));
            let parts = [
                wrap(2, VERSION_2),
                wrap(0x30, &algorithm),
                wrap(0x30, b"issuer"),
                date.clone(),
                date.clone(),
                wrap(0xa0, &extensions),
            ];
            list(&parts, &algorithm).unwrap()
        };
        let points = |names: &[u8]| {
            let point = |number: &u8| wrap(0x30, &wrap(0xa0, &wrap(0xa0, &name(*number))));
            wrap(0x30, &names.iter().flat_map(point).collect::<Vec<u8>>())
        };
        for (of_list, of_certificate, covers, comparisons) in [
            (&[9, 3, 7, 1, 5][..], &[][..], false, 0),
            (&[9, 3, 7, 1, 5], &[2], false, 1),
            (&[9, 3, 7, 1, 5], &[1], true, 1),
            (&[9, 3, 7, 1, 5], &[8, 9], true, 2),
            (&[5], &[9, 3, 7, 1, 5], true, 1),
            (&[4], &[9, 3, 7, 1, 5], false, 1),
            (&[4, 1], &[1, 4], true, 2),
        ] {
            let (list, points) = (scoped(of_list), points(of_certificate));
            let points = DistributionPoints::read(&points);
            assert_eq!(list.covers(false, &points), covers, "{of_list:?} {of_certificate:?}");
            assert_eq!(list.comparisons(&points), comparisons);
        }
    }

    /// RFC 5280 5.3, 5.3.3
    #[test]
    fn entries_of_other_issuers_are_refused() {
        let entry = |extensions: &[u8]| {
            let extensions = wrap(0x30, extensions);
            [&[2, 1, 5][..], &wrap(0x17, b"200101000000Z"), &extensions].concat()
        };
        assert_eq!(read_entry(&entry(&[])), Ok(&[5][..]));
        let reason = extension_of(OF_ENTRIES[0], true, &[0x0a, 1, 1]);
        assert_eq!(read_entry(&entry(&reason)), Ok(&[5][..]));
        for critical in [true, false] {
            let other = extension_of(CERTIFICATE_ISSUER, critical, &[]);
            assert_eq!(read_entry(&entry(&other)), Err(Malformed));
            let unknown = extension_of(&[0x55, 0x1d, 99], critical, &[]);
            assert_eq!(read_entry(&entry(&unknown)).is_err(), critical);
        }
    }
}
