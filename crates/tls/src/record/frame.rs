//! Record framing: checks the header of the next record and finds where the record ends.
//!
//! An invalid record is refused after its five header bytes, before its fragment is received.

use tercel_wire::{ContentType, ProtocolVersion, RecordHeader};

use super::limits;
use crate::error::{Error, PeerError};

/// The content type and length of a completely received record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) content_type: ContentType,
    /// The length of header and fragment.
    pub(crate) total: usize,
}

/// The negotiated version, which determines the allowed header versions and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordVersion {
    /// No version is negotiated yet: any 3.x is accepted. RFC 9846 5.1 and appendix E
    AnyVersion,
    /// TLS 1.2 is negotiated: the header has to contain 3.3.
    Tls12,
    /// TLS 1.3 is negotiated: the header's version is ignored. RFC 9846 5.1
    Tls13,
}

/// Returns the first record in `bytes`, or `None` if more bytes are needed.
#[inline(always)]
pub(crate) fn first(
    bytes: &[u8],
    version: RecordVersion,
    protected: bool,
) -> Result<Option<Frame>, Error> {
    let Some(header) = bytes.first_chunk::<{ limits::HEADER }>() else {
        return Ok(None);
    };
    let header = RecordHeader::parse(header);
    let length = usize::from(header.length);
    match header.content_type {
        ContentType::CHANGE_CIPHER_SPEC
        | ContentType::ALERT
        | ContentType::HANDSHAKE
        | ContentType::APPLICATION_DATA => {}
        _ if version == RecordVersion::AnyVersion && looks_like_http(bytes) => {
            return Err(PeerError::PlainHttp.into());
        }
        _ => return Err(PeerError::UnknownContentType.into()),
    }
    let version_fits = match version {
        RecordVersion::AnyVersion => header.legacy_record_version.0 >> 8 == 3,
        RecordVersion::Tls12 => header.legacy_record_version == ProtocolVersion::TLS1_2,
        RecordVersion::Tls13 => true,
    };
    if !version_fits {
        return Err(PeerError::WrongRecordVersion.into());
    }
    let longest = match (protected, version) {
        // This may be rejected early data, which may precede a second ClientHello. RFC 9846 4.3.10
        (false, RecordVersion::Tls13) if header.content_type == ContentType::APPLICATION_DATA => {
            limits::MAX_PROTECTED_TLS13
        }
        (false, _) => limits::MAX_FRAGMENT,
        (true, RecordVersion::Tls13) => limits::MAX_PROTECTED_TLS13,
        (true, _) => limits::MAX_PROTECTED_TLS12,
    };
    if length > longest {
        return Err(PeerError::RecordTooLong.into());
    }
    let total = length.saturating_add(limits::HEADER);
    if bytes.len() < total {
        return Ok(None);
    }
    Ok(Some(Frame { content_type: header.content_type, total }))
}

#[cold]
fn looks_like_http(bytes: &[u8]) -> bool {
    [&b"GET "[..], b"POST", b"HEAD", b"PUT ", b"HTTP", b"CONN"]
        .iter()
        .any(|method| bytes.starts_with(method))
}
