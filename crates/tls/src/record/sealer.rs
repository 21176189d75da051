//! The writing direction: plaintext in, records out. RFC 9846 5.1, 5.2, 5.4
//!
//! Must not know: what a handshake is. Reads straight from the caller's bytes and writes straight into
//! the caller's buffer. Next: [`super::protection`].

use tercel_wire::ContentType;

use super::limits;
use super::protection::{Construction, Protection};
use crate::error::{Error, Local};

/// How much padding protected records of TLS 1.3 get. RFC 9846 5.4
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Padding {
    /// None.
    #[default]
    None,
    /// Up to the next multiple of this many bytes (at most 4096), as far as the record has room.
    Block(u16),
}

/// The largest block of [`Padding::Block`].
const MAX_PADDING_BLOCK: usize = 4096;

/// Seals records under the current key, or none.
pub(crate) struct Sealer {
    protection: Option<Protection>,
    /// Plaintext bytes a record may carry.
    max_fragment: u16,
    padding: Padding,
    /// The version the header shows: 3.1 in a first `ClientHello`, 3.3 ever after. RFC 9846 5.1
    version: [u8; 2],
}

impl Sealer {
    pub(crate) fn new() -> Self {
        Self { protection: None, max_fragment: 1 << 14, padding: Padding::None, version: [3, 3] }
    }

    pub(crate) fn set_header_version(&mut self, version: [u8; 2]) {
        self.version = version;
    }

    pub(crate) fn set_padding(&mut self, padding: Padding) {
        self.padding = padding;
    }

    pub(crate) fn padding(&self) -> Padding {
        self.padding
    }

    /// The most plaintext bytes a record carries from now on.
    pub(crate) fn set_max_fragment(&mut self, bytes: u16) {
        self.max_fragment = bytes.clamp(1, 1 << 14);
    }

    pub(crate) fn max_fragment(&self) -> u16 {
        self.max_fragment
    }

    pub(crate) fn install(&mut self, protection: Protection) {
        self.protection = Some(protection);
    }

    /// Has the key replaced where it is.
    pub(crate) fn replace(
        &mut self,
        with: impl FnOnce(&mut Option<Protection>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        with(&mut self.protection)
    }

    pub(crate) fn uninstall(&mut self) {
        self.protection = None;
    }

    /// Whether the key should be replaced before many more records.
    pub(crate) fn key_nearly_spent(&self) -> bool {
        self.protection.as_ref().is_some_and(Protection::nearly_spent)
    }

    /// The key and its place, to be parked and woken.
    pub(crate) fn protection_mut(&mut self) -> Option<&mut Protection> {
        self.protection.as_mut()
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.protection.as_ref().map_or(0, Protection::sequence)
    }

    /// Bytes an unpadded record with `length` bytes of plaintext takes.
    pub(crate) fn record_length(&self, length: usize) -> usize {
        length.saturating_add(self.overhead())
    }

    /// Bytes a record with `length` bytes of application data takes, padding included.
    pub(crate) fn padded_length(&self, length: usize) -> usize {
        self.record_length(length).saturating_add(self.padding_for(length))
    }

    /// Seals as much of `plaintext` as `out` has room for; (bytes consumed, bytes written).
    pub(crate) fn seal(
        &mut self,
        content_type: ContentType,
        plaintext: &[u8],
        out: &mut [u8],
    ) -> Result<(usize, usize), Error> {
        let (mut rest, mut room) = (plaintext, out);
        let (mut consumed, mut written) = (0_usize, 0_usize);
        while !rest.is_empty() {
            let fits = room.len().saturating_sub(self.overhead());
            let length = rest.len().min(usize::from(self.max_fragment)).min(fits);
            let Some((fragment, after)) = rest.split_at_checked(length) else { break };
            if length == 0 {
                break;
            }
            // Padding goes as far as there is room: for the data there is. RFC 9846 5.4
            let total = self.padded_length(length).min(room.len());
            let Some((record, left)) = room.split_at_mut_checked(total) else { break };
            self.seal_record(content_type, fragment, record)?;
            rest = after;
            room = left;
            consumed = consumed.saturating_add(length);
            written = written.saturating_add(total);
        }
        Ok((consumed, written))
    }

    /// Seals all of `plaintext` onto the end of `out`. Only application data is padded.
    pub(crate) fn seal_to(
        &mut self,
        content_type: ContentType,
        plaintext: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        for fragment in plaintext.chunks(usize::from(self.max_fragment)) {
            let total = match content_type {
                ContentType::APPLICATION_DATA => self.padded_length(fragment.len()),
                _ => self.record_length(fragment.len()),
            };
            let start = out.len();
            out.resize(start.saturating_add(total), 0);
            let record = out.get_mut(start..).ok_or(Local::Encode)?;
            self.seal_record(content_type, fragment, record)?;
        }
        Ok(())
    }

    fn overhead(&self) -> usize {
        let protection = self.protection.as_ref().map_or(0, Protection::overhead);
        protection.saturating_add(limits::HEADER)
    }

    /// One record; what `record` is longer than the fragment needs becomes padding.
    fn seal_record(
        &mut self,
        content_type: ContentType,
        fragment: &[u8],
        record: &mut [u8],
    ) -> Result<(), Error> {
        let padding = record.len().saturating_sub(self.record_length(fragment.len()));
        let body = record.len().saturating_sub(limits::HEADER);
        let length = u16::try_from(body).map_err(|_| Local::Encode)?.to_be_bytes();
        let (header, rest) =
            record.split_first_chunk_mut::<{ limits::HEADER }>().ok_or(Local::Encode)?;
        let [major, minor] = self.version;
        let [high, low] = length;
        let Some(protection) = &mut self.protection else {
            *header = [content_type.0, major, minor, high, low];
            rest.get_mut(..fragment.len()).ok_or(Local::Encode)?.copy_from_slice(fragment);
            return Ok(());
        };
        if protection.construction() != Construction::Tls13 {
            *header = [content_type.0, 3, 3, high, low];
            return protection.seal(content_type, fragment, &[], record);
        }
        *header = [ContentType::APPLICATION_DATA.0, 3, 3, high, low];
        if padding == 0 {
            return protection.seal(content_type, fragment, &[content_type.0], record);
        }
        let mut inner = [0_u8; 1 + MAX_PADDING_BLOCK];
        if let Some(first) = inner.first_mut() {
            *first = content_type.0;
        }
        let inner = inner.get(..padding.saturating_add(1)).ok_or(Local::Encode)?;
        protection.seal(content_type, fragment, inner, record)
    }

    fn padding_for(&self, length: usize) -> usize {
        let tls13 = self.protection.as_ref().map(Protection::construction);
        let (Padding::Block(block), Some(Construction::Tls13)) = (self.padding, tls13) else {
            return 0;
        };
        let block = usize::from(block).min(MAX_PADDING_BLOCK);
        let room = usize::from(self.max_fragment).saturating_sub(length);
        let over = length.checked_rem(block).unwrap_or(0);
        if over == 0 && length > 0 { 0 } else { block.saturating_sub(over).min(room) }
    }
}
