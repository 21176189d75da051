//! Parsing of OCSP responses; nothing is verified here. RFC 6960 4.2.1
//!
//! Everything is parsed once and completely, so that later reads cannot fail.

use pki_types::{CertificateDer, UnixTime};

use crate::der::{self, Malformed, Reader};
use crate::time;

/// A parsed OCSP response.
pub(super) enum Response<'a> {
    /// A response with the status of certificates.
    Basic(BasicResponse<'a>),
    /// A responseStatus other than "successful".
    Unsuccessful,
}

/// A BasicOCSPResponse.
#[derive(Clone, Copy)]
pub(super) struct BasicResponse<'a> {
    /// The encoded ResponseData, tag and length included: the signed bytes.
    pub(super) signed: &'a [u8],
    pub(super) responder: Responder<'a>,
    /// The content of the SEQUENCE of an AlgorithmIdentifier.
    pub(super) signature_algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    /// The content of the SEQUENCE OF Certificate.
    certificates: &'a [u8],
    /// The content of the SEQUENCE OF SingleResponse.
    responses: &'a [u8],
}

/// The responder id of a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Responder<'a> {
    /// The content of the SEQUENCE of a Name.
    Name(&'a [u8]),
    /// The SHA-1 digest of the responder's key.
    Key(&'a [u8]),
}

/// The status of one certificate.
pub(super) struct SingleResponse<'a> {
    pub(super) certificate: CertificateId<'a>,
    pub(super) status: Status,
    pub(super) this_update: UnixTime,
    pub(super) next_update: Option<UnixTime>,
}

/// The id of a certificate: its serial number, and its issuer by two digests. RFC 6960 4.1.1
pub(super) struct CertificateId<'a> {
    /// The content of the OBJECT IDENTIFIER.
    pub(super) hash: &'a [u8],
    pub(super) issuer_name_hash: &'a [u8],
    pub(super) issuer_key_hash: &'a [u8],
    /// The content of the INTEGER.
    pub(super) serial_number: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Good,
    Revoked,
    Unknown,
}

impl<'a> Response<'a> {
    pub(super) fn parse(response: &'a [u8]) -> Result<Self, Malformed> {
        let mut outer = Reader::new(der::single(response, der::SEQUENCE)?);
        let status = outer.expect(der::ENUMERATED)?;
        if status != SUCCESSFUL {
            return Ok(Self::Unsuccessful);
        }
        let bytes = outer.expect(der::context_constructed(0))?;
        outer.finish()?;
        let mut bytes = Reader::new(der::single(bytes, der::SEQUENCE)?);
        // Only this type is supported; all clients must support it. RFC 6960 4.2.1
        if bytes.expect(der::OBJECT_IDENTIFIER)? != BASIC {
            return Err(Malformed);
        }
        let basic = bytes.expect(der::OCTET_STRING)?;
        bytes.finish()?;
        BasicResponse::parse(basic).map(Self::Basic)
    }
}

impl<'a> BasicResponse<'a> {
    fn parse(basic: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(der::single(basic, der::SEQUENCE)?);
        let data = fields.element()?;
        let signature_algorithm = fields.expect(der::SEQUENCE)?;
        let Some((0, signature)) = fields.expect(der::BIT_STRING)?.split_first() else {
            return Err(Malformed);
        };
        let certificates = match fields.optional(der::context_constructed(0))? {
            Some(explicit) => der::single(explicit, der::SEQUENCE)?,
            None => &[],
        };
        fields.finish()?;
        if data.tag != der::SEQUENCE {
            return Err(Malformed);
        }

        let mut fields = Reader::new(data.content);
        // The default version is not encoded, so a version field is an unknown version.
        let responder = fields.element()?;
        let responder = match responder.tag {
            NAME => Responder::Name(der::single(responder.content, der::SEQUENCE)?),
            KEY => Responder::Key(der::single(responder.content, der::OCTET_STRING)?),
            _ => return Err(Malformed),
        };
        moment(&mut fields)?; // producedAt
        let responses = fields.expect(der::SEQUENCE)?;
        check_extensions(&mut fields)?;
        fields.finish()?;

        let parsed = Self {
            signed: data.whole,
            responder,
            signature_algorithm,
            signature,
            certificates,
            responses,
        };
        let mut all = Reader::new(responses);
        while !all.is_empty() {
            SingleResponse::parse(all.expect(der::SEQUENCE)?)?;
        }
        let mut all = Reader::new(certificates);
        while !all.is_empty() {
            all.expect(der::SEQUENCE)?;
        }
        Ok(parsed)
    }

    /// The status of each certificate.
    pub(super) fn responses(&self) -> impl Iterator<Item = SingleResponse<'a>> {
        let all = Reader::new(self.responses).elements();
        all.filter_map(|one| SingleResponse::parse(one.content).ok())
    }

    /// The attached certificates.
    pub(super) fn certificates(&self) -> impl Iterator<Item = CertificateDer<'a>> {
        Reader::new(self.certificates).elements().map(|one| CertificateDer::from(one.whole))
    }
}

impl<'a> SingleResponse<'a> {
    fn parse(content: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(content);
        let certificate = CertificateId::parse(fields.expect(der::SEQUENCE)?)?;
        let status = fields.element()?;
        let status = match status.tag {
            GOOD if status.content.is_empty() => Status::Good,
            REVOKED => {
                let mut revoked = Reader::new(status.content);
                moment(&mut revoked)?;
                if let Some(reason) = revoked.optional(der::context_constructed(0))? {
                    der::single(reason, der::ENUMERATED)?;
                }
                revoked.finish()?;
                Status::Revoked
            }
            UNKNOWN if status.content.is_empty() => Status::Unknown,
            _ => return Err(Malformed),
        };
        let this_update = moment(&mut fields)?;
        let next_update = fields.optional(der::context_constructed(0))?;
        let next_update = next_update.map(only_moment).transpose()?;
        check_extensions(&mut fields)?;
        fields.finish()?;
        Ok(Self { certificate, status, this_update, next_update })
    }
}

impl<'a> CertificateId<'a> {
    fn parse(content: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(content);
        let mut algorithm = Reader::new(fields.expect(der::SEQUENCE)?);
        let hash = algorithm.expect(der::OBJECT_IDENTIFIER)?;
        // NULL parameters are equivalent to absent ones. RFC 4055 2.1
        if algorithm.optional(der::NULL)?.is_some_and(|content| !content.is_empty()) {
            return Err(Malformed);
        }
        algorithm.finish()?;
        let issuer_name_hash = fields.expect(der::OCTET_STRING)?;
        let issuer_key_hash = fields.expect(der::OCTET_STRING)?;
        let serial_number = fields.expect(der::INTEGER)?;
        fields.finish()?;
        Ok(Self { hash, issuer_name_hash, issuer_key_hash, serial_number })
    }
}

/// Parses a GeneralizedTime, the only form of time in OCSP. RFC 6960 4.2.2.1
fn moment(reader: &mut Reader<'_>) -> Result<UnixTime, Malformed> {
    let element = reader.element()?;
    if element.tag != der::GENERALIZED_TIME {
        return Err(Malformed);
    }
    time::from_der(element)
}

/// Parses a GeneralizedTime that is the only element.
fn only_moment(bytes: &[u8]) -> Result<UnixTime, Malformed> {
    let mut reader = Reader::new(bytes);
    let moment = moment(&mut reader)?;
    reader.finish()?;
    Ok(moment)
}

/// Skips `[1] EXPLICIT Extensions`, because none is needed. A critical extension is refused.
/// RFC 6960 4.4
fn check_extensions(fields: &mut Reader<'_>) -> Result<(), Malformed> {
    let Some(explicit) = fields.optional(der::context_constructed(1))? else { return Ok(()) };
    let mut extensions = Reader::new(der::single(explicit, der::SEQUENCE)?);
    while !extensions.is_empty() {
        let mut extension = Reader::new(extensions.expect(der::SEQUENCE)?);
        extension.expect(der::OBJECT_IDENTIFIER)?;
        let critical = extension.optional(der::BOOLEAN)?;
        extension.expect(der::OCTET_STRING)?;
        extension.finish()?;
        if critical.is_some_and(|critical| critical != [0]) {
            return Err(Malformed);
        }
    }
    Ok(())
}

/// OCSPResponseStatus: the response has valid confirmations. RFC 6960 4.2.1
const SUCCESSFUL: &[u8] = &[0];

/// id-pkix-ocsp-basic, 1.3.6.1.5.5.7.48.1.1
const BASIC: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01];

/// The choices of ResponderID.
const NAME: u8 = der::context_constructed(1);
const KEY: u8 = der::context_constructed(2);

/// The choices of CertStatus.
const GOOD: u8 = der::context(0);
const REVOKED: u8 = der::context_constructed(1);
const UNKNOWN: u8 = der::context(2);
