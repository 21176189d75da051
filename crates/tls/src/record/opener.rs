//! The receiving side of record protection: turns records into plaintext. RFC 9846 5.2, 5.4

use core::ops::Range;

use tercel_wire::ContentType;

use super::frame::{Frame, RecordVersion};
use super::protection::{Construction, Protection};
use super::{frame, limits};
use crate::error::{Error, PeerError};

/// Opens records with the current key, or reads plaintext records while no key is installed.
pub(crate) struct Opener {
    /// The current protection, whose key may be freed and restored. `None` before the first key.
    pub(crate) protection: Option<Protection>,
    pub(crate) version: RecordVersion,
    /// The number of plaintext bytes that a record may carry: this side's `record_size_limit`.
    /// RFC 8449 4
    pub(crate) max_plaintext: u16,
    /// The number of bytes of rejected early data that may still be skipped. With `None`, a record
    /// that cannot be opened is an error. RFC 9846 4.3.10
    pub(crate) skip: Option<u32>,
    /// Whether an unprotected alert is still accepted, although a key is installed: a client that
    /// cannot read the server's first flight has no key to protect its alert. Such an alert is no
    /// longer accepted after the next key is installed, or after the first record that can be
    /// opened: otherwise a network attacker could close the connection. RFC 9846 6.1
    pub(crate) plain_alert: bool,
    /// The number of consecutive records without content up to now.
    pub(crate) empty_records: u8,
}

/// The content of one record.
pub(crate) struct OpenedRecord {
    pub(crate) content_type: ContentType,
    /// The position of the plaintext in the record.
    pub(crate) plaintext: Range<usize>,
}

/// The result of [`Opener::open_into`].
pub(crate) enum OpenedContent {
    /// The output begins with this many bytes of plaintext of this type.
    Output(ContentType, usize),
    /// The record was not protected: the content is still in the input.
    Input(OpenedRecord),
}

impl Opener {
    pub(crate) fn new() -> Self {
        Self {
            protection: None,
            version: RecordVersion::AnyVersion,
            max_plaintext: 1 << 14,
            skip: None,
            plain_alert: false,
            empty_records: 0,
        }
    }

    pub(crate) fn install(&mut self, protection: Protection) {
        self.protection = Some(protection);
        self.plain_alert = false;
    }

    pub(crate) fn is_protected(&self) -> bool {
        self.protection.is_some()
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.protection.as_ref().map_or(0, Protection::sequence)
    }

    /// Returns the frame of the first record in `bytes`, or `None` if the record is incomplete.
    #[inline(always)]
    pub(crate) fn frame(&self, bytes: &[u8]) -> Result<Option<Frame>, Error> {
        frame::first(bytes, self.version, self.is_protected())
    }

    /// Opens `record` in place. Returns `None` if the record was skipped.
    pub(crate) fn open(
        &mut self,
        frame: Frame,
        record: &mut [u8],
    ) -> Result<Option<OpenedRecord>, Error> {
        let Some(construction) = self.construction() else {
            return self.open_plain(frame, record.len());
        };
        if construction == Construction::Tls13 {
            if let Some(plain) = self.open_plain_in_tls13(frame, record.len())? {
                return Ok(Some(plain));
            }
        }
        let Some(protection) = &mut self.protection else { return Ok(None) };
        let range = match protection.open(frame.content_type, record) {
            Ok(range) => range,
            Err(error) => return self.skip_record(error, record.len()).map(|()| None),
        };
        self.skip = None;
        self.plain_alert = false;
        let Some(plaintext) = record.get(range.clone()) else { return Ok(None) };
        let (content_type, length) = self.inner_type(construction, frame, plaintext)?;
        self.count_empty(content_type, length)?;
        let end = range.start.saturating_add(length);
        Ok(Some(OpenedRecord { content_type, plaintext: range.start..end }))
    }

    /// Opens `record` into `out`, which must have at least [`Self::room_needed`] bytes.
    pub(crate) fn open_into(
        &mut self,
        frame: Frame,
        record: &mut [u8],
        out: &mut [u8],
    ) -> Result<Option<OpenedContent>, Error> {
        let Some(construction) = self.construction() else {
            return Ok(self.open_plain(frame, record.len())?.map(OpenedContent::Input));
        };
        if construction == Construction::Tls13 {
            if let Some(plain) = self.open_plain_in_tls13(frame, record.len())? {
                return Ok(Some(OpenedContent::Input(plain)));
            }
        }
        let Some(protection) = &mut self.protection else { return Ok(None) };
        let length = protection.open_into(frame.content_type, record, out)?;
        self.plain_alert = false;
        let plaintext = out.get(..length).unwrap_or_default();
        let (content_type, length) = self.inner_type(construction, frame, plaintext)?;
        self.count_empty(content_type, length)?;
        Ok(Some(OpenedContent::Output(content_type, length)))
    }

    /// Returns the number of bytes that [`Self::open_into`] may write for a record of `total`
    /// bytes.
    pub(crate) fn room_needed(&self, total: usize) -> usize {
        let overhead = match self.construction() {
            Some(Construction::Tls13) => tercel_crypto::AeadAlgorithm::TAG_LEN,
            Some(_) => self.protection.as_ref().map_or(0, Protection::overhead),
            None => 0,
        };
        total.saturating_sub(limits::HEADER).saturating_sub(overhead)
    }

    fn construction(&self) -> Option<Construction> {
        self.protection.as_ref().map(Protection::construction)
    }

    fn open_plain(&mut self, frame: Frame, total: usize) -> Result<Option<OpenedRecord>, Error> {
        if frame.content_type == ContentType::APPLICATION_DATA {
            // This is rejected early data before a second ClientHello. RFC 9846 4.3.10
            return self.skip_record(PeerError::UnexpectedRecord.into(), total).map(|()| None);
        }
        self.count_empty(frame.content_type, total.saturating_sub(limits::HEADER))?;
        Ok(Some(OpenedRecord {
            content_type: frame.content_type,
            plaintext: limits::HEADER..total,
        }))
    }

    /// Opens an unprotected record after TLS 1.3 keys were installed. Only two kinds are allowed:
    /// the compatibility change_cipher_spec, and the alert of a client that could not read the
    /// server's first flight. A later unprotected alert could be forged, and a forged close_notify
    /// would truncate the data unnoticed. RFC 9846 6.1
    fn open_plain_in_tls13(
        &mut self,
        frame: Frame,
        total: usize,
    ) -> Result<Option<OpenedRecord>, Error> {
        match frame.content_type {
            ContentType::APPLICATION_DATA => Ok(None),
            ContentType::CHANGE_CIPHER_SPEC => self.open_plain(frame, total),
            ContentType::ALERT if self.plain_alert && total == limits::HEADER + 2 => {
                self.open_plain(frame, total)
            }
            _ => Err(PeerError::UnexpectedRecord.into()),
        }
    }

    fn skip_record(&mut self, error: Error, total: usize) -> Result<(), Error> {
        let Some(budget) = self.skip else { return Err(error) };
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        let Some(left) = budget.checked_sub(total) else {
            return Err(PeerError::TooMuchSkippedEarlyData.into());
        };
        self.skip = Some(left);
        if let Some(protection) = &mut self.protection {
            protection.rewind();
        }
        Ok(())
    }

    /// Returns the content type and the length of the content. In TLS 1.3 the type is the last byte
    /// that is not zero. RFC 9846 5.4
    fn inner_type(
        &self,
        construction: Construction,
        frame: Frame,
        plaintext: &[u8],
    ) -> Result<(ContentType, usize), Error> {
        let limit = usize::from(self.max_plaintext);
        if construction != Construction::Tls13 {
            if plaintext.len() > limit {
                return Err(PeerError::RecordTooLong.into());
            }
            return Ok((frame.content_type, plaintext.len()));
        }
        // The limit includes content, content type and padding. RFC 8449 4
        if plaintext.len() > limit.saturating_add(1) {
            return Err(PeerError::RecordTooLong.into());
        }
        let last = plaintext.iter().rposition(|byte| *byte != 0);
        let Some((length, inner)) = last.and_then(|at| Some((at, *plaintext.get(at)?))) else {
            return Err(PeerError::MissingContentType.into());
        };
        match ContentType(inner) {
            ContentType::ALERT | ContentType::HANDSHAKE | ContentType::APPLICATION_DATA => {
                Ok((ContentType(inner), length))
            }
            _ => Err(PeerError::UnexpectedRecord.into()),
        }
    }

    /// Refuses empty handshake and alert fragments in TLS 1.3, and too many consecutive empty
    /// records in any version. RFC 9846 5.1
    fn count_empty(&mut self, content_type: ContentType, length: usize) -> Result<(), Error> {
        if length > 0 {
            // An alert does not reset the count, because it carries no data either.
            if content_type != ContentType::ALERT {
                self.empty_records = 0;
            }
            return Ok(());
        }
        if self.version == RecordVersion::Tls13 && content_type != ContentType::APPLICATION_DATA {
            return Err(PeerError::UnexpectedMessage.into());
        }
        self.empty_records = self.empty_records.saturating_add(1);
        if self.empty_records > limits::MAX_EMPTY_RECORDS {
            return Err(PeerError::TooManyEmptyRecords.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_do_not_reset_the_count_of_empty_records() {
        let mut opener = Opener::new();
        let row = (0..1000).try_for_each(|_| {
            opener.count_empty(ContentType::APPLICATION_DATA, 0)?;
            opener.count_empty(ContentType::ALERT, 2)
        });
        assert_eq!(row, Err(PeerError::TooManyEmptyRecords.into()));
    }
}
