//! status_request: requests and carries a stapled OCSP response. RFC 6066 8, RFC 9846 4.5.1.1
//!
//! In TLS 1.2 the response is a message of its own, CertificateStatus, with the same structure.
//! Responses are DER and are not parsed here.

use crate::code_points::CertificateStatusType;
use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::{Reader, not_empty};
use crate::structure::{Vector, structure};
use crate::writer::Writer;

/// A client's request for the status of the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateStatusRequest<'a> {
    /// A request for an OCSP response.
    Ocsp {
        /// The responders that the client trusts. An empty list means that the server knows them
        /// already.
        responder_ids: List<'a, ResponderId<'a>>,
        /// OCSP request extensions in DER.
        request_extensions: &'a [u8],
    },
    /// A request of an unknown type; its body is skipped.
    Other(CertificateStatusType),
}

impl CertificateStatusRequest<'_> {
    /// The usual request: OCSP, without responders and extensions.
    pub const OCSP: Self = Self::Ocsp { responder_ids: List::new(&[]), request_extensions: &[] };
}

impl<'a> Element<'a> for CertificateStatusRequest<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let status_type = CertificateStatusType(reader.u8()?);
        if status_type != CertificateStatusType::OCSP {
            reader.rest();
            return Ok(Self::Other(status_type));
        }
        Ok(Self::Ocsp {
            responder_ids: List::read16(reader)?,
            request_extensions: reader.opaque16()?,
        })
    }

    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Ocsp { responder_ids, request_extensions } => {
                w.u8(CertificateStatusType::OCSP.0);
                responder_ids.write16(w);
                w.opaque16(request_extensions);
            }
            Self::Other(status_type) => w.u8(status_type.0),
        }
    }
}

structure! {
    /// An OCSP responder in DER; never empty.
    ResponderId(&'a [u8] as Vector<2, 1>)
}

/// An OCSP response in DER: stapled to a TLS 1.3 certificate, or the body of a TLS 1.2
/// CertificateStatus message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateStatus<'a> {
    /// The response; never empty.
    pub ocsp_response: &'a [u8],
}

impl<'a> Element<'a> for CertificateStatus<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        // OCSP is the only type that can have been requested. RFC 6066 8
        if CertificateStatusType(reader.u8()?) != CertificateStatusType::OCSP {
            return Err(DecodeError::InvalidCertificateStatusType);
        }
        Ok(Self { ocsp_response: not_empty(reader.opaque24()?)? })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.u8(CertificateStatusType::OCSP.0);
        w.opaque24(self.ocsp_response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_of_request_is_skipped_and_of_status_refused() {
        assert_eq!(
            Reader::parse_all(&[9, 1, 2, 3], CertificateStatusRequest::read),
            Ok(CertificateStatusRequest::Other(CertificateStatusType(9)))
        );
        assert_eq!(
            Reader::parse_all(&[9, 0, 0, 1, 7], CertificateStatus::read),
            Err(DecodeError::InvalidCertificateStatusType)
        );
    }

    #[test]
    fn requests_and_responses_have_their_minima() {
        assert_eq!(
            Reader::parse_all(&[1, 0, 0, 0, 0], CertificateStatusRequest::read),
            Ok(CertificateStatusRequest::OCSP)
        );
        assert_eq!(
            Reader::parse_all(&[1, 0, 2, 0, 0, 0, 0], CertificateStatusRequest::read),
            Err(DecodeError::InvalidLength)
        );
        assert_eq!(
            Reader::parse_all(&[1, 0, 0, 0], CertificateStatus::read),
            Err(DecodeError::InvalidLength)
        );
    }
}
