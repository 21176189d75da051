//! A cursor over received bytes, which neither copies nor panics.
//!
//! The cursor reads the types of the presentation language: integers and length-prefixed vectors.
//! RFC 9846 3

use crate::error::DecodeError;

/// A cursor over borrowed bytes. Each method consumes what it returns, or fails.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Runs `read` over all of `bytes`; fails if `read` fails or leaves bytes unread.
    #[inline]
    pub fn parse_all<T>(
        bytes: &'a [u8],
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut reader = Self::new(bytes);
        let value = read(&mut reader)?;
        reader.expect_end()?;
        Ok(value)
    }

    /// The number of bytes left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no bytes are left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Fails unless all bytes were consumed.
    pub const fn expect_end(&self) -> Result<(), DecodeError> {
        if self.is_empty() { Ok(()) } else { Err(DecodeError::TrailingData) }
    }

    /// Reads the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(DecodeError::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Reads the next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], DecodeError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Reads all remaining bytes.
    pub const fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes;
        self.bytes = &[];
        rest
    }

    /// Reads a one-byte integer.
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|&[byte]| byte)
    }

    /// Reads a two-byte integer.
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().copied().map(u16::from_be_bytes)
    }

    /// Reads a three-byte integer.
    pub fn u24(&mut self) -> Result<u32, DecodeError> {
        self.array().map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    /// Reads a four-byte integer.
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().copied().map(u32::from_be_bytes)
    }

    /// Reads an eight-byte integer.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().copied().map(u64::from_be_bytes)
    }

    /// The contents of a vector with a one-byte length.
    pub fn opaque8(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.u8()?;
        self.take(usize::from(length))
    }

    /// The contents of a vector with a two-byte length.
    pub fn opaque16(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }

    /// The contents of a vector with a three-byte length.
    pub fn opaque24(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.u24()?;
        // A u24 that does not fit a usize exceeds the length of any buffer.
        self.take(usize::try_from(length).map_err(|_| DecodeError::Truncated)?)
    }

    /// The contents of a vector with a length of `width` bytes, at most three.
    #[inline]
    pub(crate) fn opaque(&mut self, width: usize) -> Result<&'a [u8], DecodeError> {
        match width {
            1 => self.opaque8(),
            2 => self.opaque16(),
            _ => self.opaque24(),
        }
    }

    /// Reads a vector with a one-byte length, and returns a reader of its contents.
    pub fn vec8(&mut self) -> Result<Self, DecodeError> {
        self.opaque8().map(Self::new)
    }

    /// Reads a vector with a two-byte length, and returns a reader of its contents.
    pub fn vec16(&mut self) -> Result<Self, DecodeError> {
        self.opaque16().map(Self::new)
    }

    /// Reads a vector with a three-byte length, and returns a reader of its contents.
    pub fn vec24(&mut self) -> Result<Self, DecodeError> {
        self.opaque24().map(Self::new)
    }
}

/// Refuses an empty vector where the RFC requires at least one byte.
pub(crate) const fn not_empty(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    if bytes.is_empty() { Err(DecodeError::InvalidLength) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9846 3
    #[test]
    fn integers_are_big_endian_and_consumed() {
        let bytes = [1, 0, 2, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5];
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.u16(), Ok(2));
        assert_eq!(reader.u24(), Ok(3));
        assert_eq!(reader.u32(), Ok(4));
        assert_eq!(reader.u64(), Ok(5));
        assert_eq!(reader.expect_end(), Ok(()));
    }

    #[test]
    fn a_failed_read_consumes_nothing() {
        let mut reader = Reader::new(&[7]);
        assert_eq!(reader.u16(), Err(DecodeError::Truncated));
        assert_eq!(reader.rest(), [7]);
    }

    #[test]
    fn vectors_are_bounded_by_their_length() {
        let bytes = [1, 9, 0, 1, 8, 0, 0, 1, 7, 6];
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.opaque8(), Ok(&[9][..]));
        assert_eq!(reader.opaque16(), Ok(&[8][..]));
        assert_eq!(reader.opaque24(), Ok(&[7][..]));
        assert_eq!(reader.expect_end(), Err(DecodeError::TrailingData));
        assert_eq!(Reader::new(&[2, 0]).opaque8(), Err(DecodeError::Truncated));
    }
}
