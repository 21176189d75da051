//! Where one record ends and the next begins.
//!
//! Must not know: keys, messages. It sees five bytes and decides whether the rest may come.
//! Next: [`super::opener`], which opens what was framed here.

use tercel_wire::{ContentType, ProtocolVersion, RecordHeader};

use super::limits;
use crate::error::{Error, Peer};

/// The header of a record that is wholly there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) content_type: ContentType,
    /// Header and fragment.
    pub(crate) total: usize,
}

/// How strictly the header's version and length are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Nothing is negotiated: any 3.x. RFC 9846 5.1 and appendix E
    AnyVersion,
    /// TLS 1.2 is negotiated.
    Tls12,
    /// TLS 1.3 is negotiated: the version is ignored. RFC 9846 5.1
    Tls13,
}

/// The first record in `bytes`, or `None` if more bytes are needed.
#[inline(always)]
pub(crate) fn first(bytes: &[u8], expect: Expect, protected: bool) -> Result<Option<Frame>, Error> {
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
        _ if expect == Expect::AnyVersion && looks_like_http(bytes) => {
            return Err(Peer::PlainHttp.into());
        }
        _ => return Err(Peer::UnknownContentType.into()),
    }
    let version_fits = match expect {
        Expect::AnyVersion => header.legacy_record_version.0 >> 8 == 3,
        Expect::Tls12 => header.legacy_record_version == ProtocolVersion::TLS1_2,
        Expect::Tls13 => true,
    };
    if !version_fits {
        return Err(Peer::WrongRecordVersion.into());
    }
    let longest = match (protected, expect) {
        // Early data ahead of a second ClientHello is protected, though not for us. RFC 9846 4.3.10
        (false, Expect::Tls13) if header.content_type == ContentType::APPLICATION_DATA => {
            limits::MAX_PROTECTED_TLS13
        }
        (false, _) => limits::MAX_FRAGMENT,
        (true, Expect::Tls13) => limits::MAX_PROTECTED_TLS13,
        (true, _) => limits::MAX_PROTECTED_TLS12,
    };
    if length > longest {
        return Err(Peer::RecordTooLong.into());
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
