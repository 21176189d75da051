//! What path building cannot process in a certificate, for the explanation of a refusal.

use super::Certificate;
use super::identifiers::dotted;
use super::names::SUBJECT_ALT_NAME;
use crate::der::{self, Malformed, Reader};

impl Certificate<'_> {
    /// The name of the first critical extension that path building does not process.
    /// RFC 5280 4.2
    pub(crate) fn unsupported_extension(&self) -> Option<String> {
        let first = self.unsupported_extensions().next()?;
        Some(extension_name(first).map_or_else(|| dotted(first), ToOwned::to_owned))
    }

    /// Whether a critical extension is not processed. RFC 5280 4.2
    pub(crate) fn has_unknown_critical_extension(&self) -> bool {
        self.unsupported_extensions().next().is_some()
    }

    /// The critical extensions that path building does not process.
    fn unsupported_extensions(&self) -> impl Iterator<Item = &[u8]> {
        let extensions = Reader::new(self.extensions).elements();
        extensions.filter_map(|extension| {
            let mut fields = Reader::new(extension.content);
            let oid = fields.expect(der::OBJECT_IDENTIFIER).ok()?;
            let critical = fields.optional(der::BOOLEAN).ok()?;
            let is_critical = critical.is_some_and(|value| value != [0]);
            (is_critical && !PROCESSED.contains(&oid)).then_some(oid)
        })
    }

    /// The content of the nameConstraints extension. RFC 5280 4.2.1.10
    pub(crate) fn name_constraints(&self) -> Result<Option<&[u8]>, Malformed> {
        let value = self.extension(NAME_CONSTRAINTS)?;
        value.map(|value| der::single(value, der::SEQUENCE)).transpose()
    }

    /// The form of a name of this certificate for which these constraints, the content of an
    /// extension, cannot be checked. RFC 5280 4.2.1.10
    pub(crate) fn unsupported_form(&self, constraints: &[u8]) -> Option<&'static str> {
        let names = self.extension(SUBJECT_ALT_NAME).ok().flatten();
        let names = names.and_then(|value| der::single(value, der::SEQUENCE).ok());
        // The names are read once, not once for each base.
        let names = Reader::new(names.unwrap_or_default()).elements();
        let own = names.fold(0_u32, |forms, name| forms | 1 << form(name.tag));
        let subtrees = Reader::new(constraints).elements();
        let bases = subtrees.flat_map(|list| Reader::new(list.content).elements());
        let forms = bases.filter_map(|one| Reader::new(one.content).element().ok());
        let mut unsupported = forms.filter_map(|base| {
            let (number, name) = *FORMS.iter().find(|(number, _)| *number == form(base.tag))?;
            (own & 1 << number != 0).then_some(name)
        });
        unsupported.next()
    }
}

/// The number of a GeneralName's form, from its tag.
fn form(tag: u8) -> u8 {
    tag & 0x1f
}

/// The forms of names whose constraints are not supported. RFC 5280 4.2.1.6
const FORMS: [(u8, &str); 4] =
    [(0, "otherName"), (3, "x400Address"), (5, "ediPartyName"), (8, "registeredID")];

/// id-ce-nameConstraints, 2.5.29.30
const NAME_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x1e];

/// The extensions that path building processes: keyUsage, subjectAltName, basicConstraints,
/// nameConstraints, cRLDistributionPoints, certificatePolicies, policyMappings, policyConstraints,
/// extKeyUsage, inhibitAnyPolicy.
const PROCESSED: [&[u8]; 10] = [
    &[0x55, 0x1d, 0x0f],
    SUBJECT_ALT_NAME,
    &[0x55, 0x1d, 0x13],
    NAME_CONSTRAINTS,
    &[0x55, 0x1d, 0x1f],
    &[0x55, 0x1d, 32],
    &[0x55, 0x1d, 33],
    &[0x55, 0x1d, 36],
    &[0x55, 0x1d, 37],
    &[0x55, 0x1d, 54],
];

/// The name of an extension. RFC 5280 4.2
fn extension_name(oid: &[u8]) -> Option<&'static str> {
    Some(match oid {
        [0x55, 0x1d, standard] => match standard {
            9 => "subjectDirectoryAttributes",
            14 => "subjectKeyIdentifier",
            18 => "issuerAltName",
            32 => "certificatePolicies",
            33 => "policyMappings",
            35 => "authorityKeyIdentifier",
            36 => "policyConstraints",
            46 => "freshestCRL",
            54 => "inhibitAnyPolicy",
            _ => return None,
        },
        [0x2b, 6, 1, 5, 5, 7, 1, private] => match private {
            1 => "authorityInfoAccess",
            3 => "qcStatements",
            7 => "ipAddrBlocks",
            11 => "subjectInfoAccess",
            24 => "TLS feature",
            _ => return None,
        },
        [0x2b, 6, 1, 4, 1, 0xd6, 0x79, 2, 4, 3] => "precertificate poison",
        _ => return None,
    })
}
