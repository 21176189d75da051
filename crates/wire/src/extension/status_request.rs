//! status_request: requests and carries a stapled OCSP response. RFC 6066 8, RFC 9846 4.5.1.1
//!
//! Responses are DER and are not parsed here.

use crate::code_points::CertificateStatusType;
use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::{Reader, not_empty};
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

/// An OCSP responder in DER; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponderId<'a>(pub &'a [u8]);

impl<'a> Element<'a> for ResponderId<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self(not_empty(reader.opaque16()?)?))
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque16(self.0);
    }
}

/// An OCSP response in DER: stapled to a TLS 1.3 certificate, or the body of a TLS 1.2
/// CertificateStatus message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateStatus<'a> {
    /// The response; never empty.
    pub ocsp_response: &'a [u8],
}

/// The client's request.
pub(super) mod client {
    use super::CertificateStatusRequest;
    use crate::code_points::CertificateStatusType;
    use crate::error::DecodeError;
    use crate::list::List;
    use crate::reader::Reader;
    use crate::writer::Writer;

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<CertificateStatusRequest<'a>, DecodeError> {
        let status_type = CertificateStatusType(reader.u8()?);
        if status_type != CertificateStatusType::OCSP {
            reader.rest();
            return Ok(CertificateStatusRequest::Other(status_type));
        }
        Ok(CertificateStatusRequest::Ocsp {
            responder_ids: List::read16(reader)?,
            request_extensions: reader.opaque16()?,
        })
    }

    pub(in crate::extension) fn write(request: &CertificateStatusRequest<'_>, w: &mut Writer<'_>) {
        match request {
            CertificateStatusRequest::Ocsp { responder_ids, request_extensions } => {
                w.u8(CertificateStatusType::OCSP.0);
                responder_ids.write16(w);
                w.opaque16(request_extensions);
            }
            CertificateStatusRequest::Other(status_type) => w.u8(status_type.0),
        }
    }
}

/// The stapled response.
pub(crate) mod status {
    use super::CertificateStatus;
    use crate::code_points::CertificateStatusType;
    use crate::error::DecodeError;
    use crate::reader::{Reader, not_empty};
    use crate::writer::Writer;

    pub(crate) fn read<'a>(reader: &mut Reader<'a>) -> Result<CertificateStatus<'a>, DecodeError> {
        let status_type = CertificateStatusType(reader.u8()?);
        // OCSP is the only type that can have been requested. RFC 6066 8
        if status_type != CertificateStatusType::OCSP {
            return Err(DecodeError::InvalidCertificateStatusType);
        }
        Ok(CertificateStatus { ocsp_response: not_empty(reader.opaque24()?)? })
    }

    pub(crate) fn write(status: &CertificateStatus<'_>, w: &mut Writer<'_>) {
        w.u8(CertificateStatusType::OCSP.0);
        w.opaque24(status.ocsp_response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_of_request_is_skipped_and_of_status_refused() {
        assert_eq!(
            Reader::parse_all(&[9, 1, 2, 3], client::read),
            Ok(CertificateStatusRequest::Other(CertificateStatusType(9)))
        );
        assert_eq!(
            Reader::parse_all(&[9, 0, 0, 1, 7], status::read),
            Err(DecodeError::InvalidCertificateStatusType)
        );
    }

    #[test]
    fn requests_and_responses_have_their_minima() {
        assert_eq!(
            Reader::parse_all(&[1, 0, 0, 0, 0], client::read),
            Ok(CertificateStatusRequest::OCSP)
        );
        assert_eq!(
            Reader::parse_all(&[1, 0, 2, 0, 0, 0, 0], client::read),
            Err(DecodeError::InvalidLength)
        );
        assert_eq!(Reader::parse_all(&[1, 0, 0, 0], status::read), Err(DecodeError::InvalidLength));
    }
}
