//! The sending side of record protection: turns plaintext into records. RFC 9846 5.1, 5.2, 5.4
//!
//! [`Sealer::seal`] and [`Sealer::seal_to`] seal the caller's bytes into the caller's buffer,
//! without an intermediate buffer. With ChaCha20-Poly1305 in TLS 1.3, the bytes are copied into
//! that buffer and then sealed in place.

use tercel_wire::ContentType;

use super::limits;
use super::protection::{Construction, Protection};
use crate::error::{Error, InternalError};

/// The padding of protected records in TLS 1.3. RFC 9846 5.4
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Padding {
    /// No padding.
    #[default]
    None,
    /// Pads each record to a multiple of this many bytes (at most 4096), if the record has space
    /// for it.
    Block(u16),
}

/// The largest block of [`Padding::Block`].
const MAX_PADDING_BLOCK: usize = 4096;

/// Seals records with the current key, or writes plaintext records while no key is installed.
pub(crate) struct Sealer {
    /// The current protection, whose key may be freed and restored. `None` before the first key.
    pub(crate) protection: Option<Protection>,
    /// The number of plaintext bytes that a record may carry.
    max_fragment: u16,
    pub(crate) padding: Padding,
    /// The version in the header: 3.1 in a first `ClientHello`, 3.3 afterwards. RFC 9846 5.1
    pub(crate) version: [u8; 2],
}

impl Sealer {
    pub(crate) fn new() -> Self {
        Self { protection: None, max_fragment: 1 << 14, padding: Padding::None, version: [3, 3] }
    }

    /// Limits the plaintext bytes of later records.
    pub(crate) fn set_max_fragment(&mut self, bytes: u16) {
        self.max_fragment = bytes.clamp(1, 1 << 14);
    }

    pub(crate) fn max_fragment(&self) -> u16 {
        self.max_fragment
    }

    /// Whether the key is close to its usage limit and should be updated.
    pub(crate) fn key_nearly_spent(&self) -> bool {
        self.protection.as_ref().is_some_and(Protection::nearly_spent)
    }

    /// Whether a key is installed, not parked, and not close to its usage limit.
    pub(crate) fn is_ready(&self) -> bool {
        self.protection.as_ref().is_some_and(Protection::is_ready)
    }

    pub(crate) fn sequence(&self) -> u64 {
        self.protection.as_ref().map_or(0, Protection::sequence)
    }

    /// Returns the number of bytes of an unpadded record with `length` bytes of plaintext.
    pub(crate) fn record_length(&self, length: usize) -> usize {
        length.saturating_add(self.overhead())
    }

    /// Returns the number of bytes of a record with `length` bytes of application data, padding
    /// included.
    pub(crate) fn padded_length(&self, length: usize) -> usize {
        self.record_length(length).saturating_add(self.padding_for(length))
    }

    /// Seals as much of `plaintext` as fits in `out`. Returns (bytes consumed, bytes written).
    pub(crate) fn seal(
        &mut self,
        content_type: ContentType,
        plaintext: &[u8],
        out: &mut [u8],
    ) -> Result<(usize, usize), Error> {
        let (overhead, most) = (self.overhead(), usize::from(self.max_fragment));
        let (mut rest, mut room) = (plaintext, out);
        let mut written = 0_usize;
        loop {
            let fits = room.len().saturating_sub(overhead);
            let length = rest.len().min(most).min(fits);
            if length == 0 {
                break;
            }
            // If `out` is too small for data and padding, data takes precedence. RFC 9846 5.4
            let padding = self.padding_for(length).min(fits.saturating_sub(length));
            let total = overhead.saturating_add(length).saturating_add(padding);
            let Some((fragment, after)) = rest.split_at_checked(length) else { break };
            let Some((record, left)) = room.split_at_mut_checked(total) else { break };
            self.seal_record(content_type, fragment, padding, record)?;
            (rest, room) = (after, left);
            written = written.saturating_add(total);
        }
        Ok((plaintext.len().saturating_sub(rest.len()), written))
    }

    /// Seals all of `plaintext`, and appends the records to `out`. Only application data is padded.
    pub(crate) fn seal_to(
        &mut self,
        content_type: ContentType,
        plaintext: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        for fragment in plaintext.chunks(usize::from(self.max_fragment)) {
            let padding = match content_type {
                ContentType::APPLICATION_DATA => self.padding_for(fragment.len()),
                _ => 0,
            };
            let total = self.record_length(fragment.len()).saturating_add(padding);
            let start = out.len();
            out.resize(start.saturating_add(total), 0);
            let record = out.get_mut(start..).ok_or(InternalError::Encode)?;
            self.seal_record(content_type, fragment, padding, record)?;
        }
        Ok(())
    }

    /// Reserves space at the end of `out` for the part of a record before its plaintext. The caller
    /// then appends the plaintext in pieces. Returns the position at which the record begins.
    pub(crate) fn begin_record(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.resize(start.saturating_add(self.prefix_length()), 0);
        start
    }

    /// Seals the plaintext that was appended since [`Self::begin_record`], in place if it fits in
    /// one record. Writes no record if the plaintext is empty. After an error the caller has to
    /// truncate `out`.
    pub(crate) fn finish_record(
        &mut self,
        content_type: ContentType,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let body = start.saturating_add(self.prefix_length());
        let length = out.len().saturating_sub(body);
        if length > usize::from(self.max_fragment) {
            let plaintext = out.split_off(body);
            out.truncate(start);
            return self.seal_to(content_type, &plaintext, out);
        }
        if length == 0 {
            out.truncate(start);
            return Ok(());
        }
        out.resize(start.saturating_add(self.record_length(length)), 0);
        let record = out.get_mut(start..).ok_or(InternalError::Encode)?;
        self.seal_in_place(content_type, length, record)
    }

    /// Returns the number of bytes of a record before its plaintext or ciphertext.
    fn prefix_length(&self) -> usize {
        let protection = self.protection.as_ref().map_or(0, Protection::explicit_length);
        protection.saturating_add(limits::HEADER)
    }

    fn overhead(&self) -> usize {
        let protection = self.protection.as_ref().map_or(0, Protection::overhead);
        protection.saturating_add(limits::HEADER)
    }

    /// Seals one record into `record`, which has exactly the length of the record.
    #[inline(always)]
    fn seal_record(
        &mut self,
        content_type: ContentType,
        fragment: &[u8],
        padding: usize,
        record: &mut [u8],
    ) -> Result<(), Error> {
        let body = record.len().saturating_sub(limits::HEADER);
        let length = u16::try_from(body).map_err(|_| InternalError::Encode)?.to_be_bytes();
        let (header, rest) =
            record.split_first_chunk_mut::<{ limits::HEADER }>().ok_or(InternalError::Encode)?;
        let [major, minor] = self.version;
        let [high, low] = length;
        let Some(protection) = &mut self.protection else {
            *header = [content_type.0, major, minor, high, low];
            rest.get_mut(..fragment.len()).ok_or(InternalError::Encode)?.copy_from_slice(fragment);
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
        seal_padded(protection, content_type, fragment, padding, record)
    }

    /// Seals one unpadded record in place. `record` has exactly the length of the record, and
    /// already contains the plaintext.
    fn seal_in_place(
        &mut self,
        content_type: ContentType,
        length: usize,
        record: &mut [u8],
    ) -> Result<(), Error> {
        let body = record.len().saturating_sub(limits::HEADER);
        let [high, low] = u16::try_from(body).map_err(|_| InternalError::Encode)?.to_be_bytes();
        let header = record.first_chunk_mut::<{ limits::HEADER }>().ok_or(InternalError::Encode)?;
        let Some(protection) = &mut self.protection else {
            let [major, minor] = self.version;
            *header = [content_type.0, major, minor, high, low];
            return Ok(());
        };
        if protection.construction() != Construction::Tls13 {
            *header = [content_type.0, 3, 3, high, low];
            return protection.seal_in_place(content_type, length, &[], record);
        }
        *header = [ContentType::APPLICATION_DATA.0, 3, 3, high, low];
        protection.seal_in_place(content_type, length, &[content_type.0], record)
    }

    fn padding_for(&self, length: usize) -> usize {
        let Padding::Block(block) = self.padding else { return 0 };
        if self.protection.as_ref().map(Protection::construction) != Some(Construction::Tls13) {
            return 0;
        }
        let block = usize::from(block).min(MAX_PADDING_BLOCK);
        let room = usize::from(self.max_fragment).saturating_sub(length);
        let over = length.checked_rem(block).unwrap_or(0);
        if over == 0 && length > 0 { 0 } else { block.saturating_sub(over).min(room) }
    }
}

/// Seals a padded record. This is a separate function, so that only padded records need the stack
/// space.
#[cold]
#[inline(never)]
fn seal_padded(
    protection: &mut Protection,
    content_type: ContentType,
    fragment: &[u8],
    padding: usize,
    record: &mut [u8],
) -> Result<(), Error> {
    let mut inner = [0_u8; 1 + MAX_PADDING_BLOCK];
    if let Some(first) = inner.first_mut() {
        *first = content_type.0;
    }
    let inner = inner.get(..padding.saturating_add(1)).ok_or(InternalError::Encode)?;
    protection.seal(content_type, fragment, inner, record)
}

#[cfg(test)]
mod tests {
    use tercel_crypto::AeadAlgorithm;

    use super::*;

    #[test]
    fn sealing_in_place_gives_the_same_records_as_sealing_a_copy() {
        const GCM: AeadAlgorithm = AeadAlgorithm::Aes128Gcm;
        const CHACHA: AeadAlgorithm = AeadAlgorithm::ChaCha20Poly1305;
        let protections: [fn() -> Option<Protection>; 4] = [
            || None,
            || Protection::new(GCM, Construction::Tls13, &[1; 16], &[2; 12]).ok(),
            || Protection::new(GCM, Construction::Tls12Gcm, &[1; 16], &[2; 4]).ok(),
            || Protection::new(CHACHA, Construction::Tls12ChaCha, &[1; 32], &[2; 12]).ok(),
        ];
        for protection in protections {
            let [mut one, mut other] = [(); 2].map(|()| Sealer {
                protection: protection(),
                max_fragment: 100,
                ..Sealer::new()
            });
            let (mut expected, mut out) = (vec![7], vec![7]);
            // 101 and 250 bytes do not fit in one record.
            for length in [0, 1, 99, 100, 101, 250] {
                let content: Vec<u8> = (0..length).collect();
                one.seal_to(ContentType::HANDSHAKE, &content, &mut expected).unwrap();
                let start = other.begin_record(&mut out);
                content.chunks(3).for_each(|piece| out.extend_from_slice(piece));
                other.finish_record(ContentType::HANDSHAKE, start, &mut out).unwrap();
                assert_eq!(out, expected, "{length} bytes");
            }
        }
    }
}
