//! The reading direction: records in, typed plaintext out. RFC 9846 5.2, 5.4
//!
//! Must not know: what a message means. Next: [`super::joiner`] puts handshake messages together.

use core::ops::Range;

use tercel_wire::ContentType;

use super::frame::{self, Expect, Frame};
use super::limits;
use super::protection::{Construction, Protection};
use crate::error::{Error, Peer};

/// Opens records under the current key, or none.
pub(crate) struct Opener {
    protection: Option<Protection>,
    expect: Expect,
    /// Plaintext bytes a record may carry: our own `record_size_limit`. RFC 8449 4
    max_plaintext: u16,
    /// Bytes of undecryptable early data that may still be passed over. RFC 9846 4.3.10
    skip: Option<u32>,
    /// Whether a plain alert may still come although there are keys.
    plain_alert: bool,
    empty_records: u8,
}

/// What one record turned out to be.
pub(crate) struct Opened {
    pub(crate) content_type: ContentType,
    /// Where in the record the plaintext lies.
    pub(crate) plaintext: Range<usize>,
}

/// What [`Opener::open_into`] did with a record.
pub(crate) enum OpenedInto {
    /// Plaintext of this type lies at the front of the output.
    Into(ContentType, usize),
    /// The record was not protected: it is still where it was.
    Plain(Opened),
}

impl Opener {
    pub(crate) fn new() -> Self {
        Self {
            protection: None,
            expect: Expect::AnyVersion,
            max_plaintext: 1 << 14,
            skip: None,
            plain_alert: false,
            empty_records: 0,
        }
    }

    pub(crate) fn expect(&mut self, expect: Expect) {
        self.expect = expect;
    }

    pub(crate) fn set_max_plaintext(&mut self, bytes: u16) {
        self.max_plaintext = bytes;
    }

    pub(crate) fn max_plaintext(&self) -> u16 {
        self.max_plaintext
    }

    /// Records without content since the last one that had some.
    pub(crate) fn empty_records(&self) -> u8 {
        self.empty_records
    }

    pub(crate) fn set_empty_records(&mut self, count: u8) {
        self.empty_records = count;
    }

    pub(crate) fn install(&mut self, protection: Protection) {
        self.protection = Some(protection);
        self.plain_alert = false;
    }

    /// Has the key replaced where it is.
    pub(crate) fn replace(
        &mut self,
        with: impl FnOnce(&mut Option<Protection>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.plain_alert = false;
        with(&mut self.protection)
    }

    /// A server's first keys: a client that cannot read our first flight has none to say so under.
    /// Over with the first record that opens, and with the next key: else anyone on the way could
    /// close the connection. RFC 9846 6.1
    pub(crate) fn expect_plain_alert(&mut self) {
        self.plain_alert = true;
    }

    pub(crate) fn is_protected(&self) -> bool {
        self.protection.is_some()
    }

    /// The key and its place, to be parked and woken.
    pub(crate) fn protection_mut(&mut self) -> Option<&mut Protection> {
        self.protection.as_mut()
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.protection.as_ref().map_or(0, Protection::sequence)
    }

    /// Pass over early data that we do not accept.
    pub(crate) fn skip_early_data(&mut self, bytes: u32) {
        self.skip = Some(bytes);
    }

    /// After this point a record that does not open is an error again.
    pub(crate) fn stop_skipping(&mut self) {
        self.skip = None;
    }

    /// The first whole record in `bytes`.
    #[inline(always)]
    pub(crate) fn frame(&self, bytes: &[u8]) -> Result<Option<Frame>, Error> {
        frame::first(bytes, self.expect, self.is_protected())
    }

    /// Opens `record` where it lies. `None`: the record carries nothing and is to be dropped.
    pub(crate) fn open(
        &mut self,
        frame: Frame,
        record: &mut [u8],
    ) -> Result<Option<Opened>, Error> {
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
            Err(error) => return self.pass_over(error, record.len()).map(|()| None),
        };
        self.skip = None;
        self.plain_alert = false;
        let Some(plaintext) = record.get(range.clone()) else { return Ok(None) };
        let (content_type, length) = self.inner_type(construction, frame, plaintext)?;
        self.count_empty(content_type, length)?;
        let end = range.start.saturating_add(length);
        Ok(Some(Opened { content_type, plaintext: range.start..end }))
    }

    /// Opens `record` straight into `out`, which has room for [`Self::room_needed`] bytes.
    pub(crate) fn open_into(
        &mut self,
        frame: Frame,
        record: &mut [u8],
        out: &mut [u8],
    ) -> Result<Option<OpenedInto>, Error> {
        let Some(construction) = self.construction() else {
            return Ok(self.open_plain(frame, record.len())?.map(OpenedInto::Plain));
        };
        if construction == Construction::Tls13 {
            if let Some(plain) = self.open_plain_in_tls13(frame, record.len())? {
                return Ok(Some(OpenedInto::Plain(plain)));
            }
        }
        let Some(protection) = &mut self.protection else { return Ok(None) };
        let length = protection.open_into(frame.content_type, record, out)?;
        self.plain_alert = false;
        let plaintext = out.get(..length).unwrap_or_default();
        let (content_type, length) = self.inner_type(construction, frame, plaintext)?;
        self.count_empty(content_type, length)?;
        Ok(Some(OpenedInto::Into(content_type, length)))
    }

    /// Bytes that [`Self::open_into`] may write for a record of `total` bytes.
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

    fn open_plain(&mut self, frame: Frame, total: usize) -> Result<Option<Opened>, Error> {
        if frame.content_type == ContentType::APPLICATION_DATA {
            // Early data ahead of a second ClientHello. RFC 9846 4.3.10
            return self.pass_over(Peer::UnexpectedRecord.into(), total).map(|()| None);
        }
        self.count_empty(frame.content_type, total.saturating_sub(limits::HEADER))?;
        Ok(Some(Opened { content_type: frame.content_type, plaintext: limits::HEADER..total }))
    }

    /// Under TLS 1.3 keys only two kinds of record stay plain: the compatibility change_cipher_spec,
    /// and the alert of a client that could not read our first flight. A later plain alert could be
    /// anybody's, and a close_notify of anybody would cut data short unseen. RFC 9846 6.1
    fn open_plain_in_tls13(&mut self, frame: Frame, total: usize) -> Result<Option<Opened>, Error> {
        match frame.content_type {
            ContentType::APPLICATION_DATA => Ok(None),
            ContentType::CHANGE_CIPHER_SPEC => self.open_plain(frame, total),
            ContentType::ALERT if self.plain_alert && total == limits::HEADER + 2 => {
                self.open_plain(frame, total)
            }
            _ => Err(Peer::UnexpectedRecord.into()),
        }
    }

    fn pass_over(&mut self, error: Error, total: usize) -> Result<(), Error> {
        let Some(budget) = self.skip else { return Err(error) };
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        let Some(left) = budget.checked_sub(total) else {
            return Err(Peer::TooMuchSkippedEarlyData.into());
        };
        self.skip = Some(left);
        if let Some(protection) = &mut self.protection {
            protection.take_back();
        }
        Ok(())
    }

    /// The type and length of the content: in TLS 1.3 the last byte that is not zero. RFC 9846 5.4
    fn inner_type(
        &self,
        construction: Construction,
        frame: Frame,
        plaintext: &[u8],
    ) -> Result<(ContentType, usize), Error> {
        let limit = usize::from(self.max_plaintext);
        if construction != Construction::Tls13 {
            if plaintext.len() > limit {
                return Err(Peer::RecordTooLong.into());
            }
            return Ok((frame.content_type, plaintext.len()));
        }
        // Content, type and padding together are what the limit counts. RFC 8449 4
        if plaintext.len() > limit.saturating_add(1) {
            return Err(Peer::RecordTooLong.into());
        }
        let last = plaintext.iter().rposition(|byte| *byte != 0);
        let Some((length, inner)) = last.and_then(|at| Some((at, *plaintext.get(at)?))) else {
            return Err(Peer::MissingContentType.into());
        };
        match ContentType(inner) {
            ContentType::ALERT | ContentType::HANDSHAKE | ContentType::APPLICATION_DATA => {
                Ok((ContentType(inner), length))
            }
            _ => Err(Peer::UnexpectedRecord.into()),
        }
    }

    /// Zero-length handshake and alert fragments are illegal in TLS 1.3, floods of any kind always. RFC 9846 5.1
    fn count_empty(&mut self, content_type: ContentType, length: usize) -> Result<(), Error> {
        if length > 0 {
            // An alert brings nothing on, so it does not end a row of empty records.
            if content_type != ContentType::ALERT {
                self.empty_records = 0;
            }
            return Ok(());
        }
        if self.expect == Expect::Tls13 && content_type != ContentType::APPLICATION_DATA {
            return Err(Peer::UnexpectedMessage.into());
        }
        self.empty_records = self.empty_records.saturating_add(1);
        if self.empty_records > limits::MAX_EMPTY_RECORDS {
            return Err(Peer::TooManyEmptyRecords.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_do_not_end_a_row_of_empty_records() {
        let mut opener = Opener::new();
        let row = (0..1000).try_for_each(|_| {
            opener.count_empty(ContentType::APPLICATION_DATA, 0)?;
            opener.count_empty(ContentType::ALERT, 2)
        });
        assert_eq!(row, Err(Peer::TooManyEmptyRecords.into()));
    }
}
