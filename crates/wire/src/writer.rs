//! Appends messages to a byte vector, with nested length prefixes.
//!
//! The writer appends integers, length-prefixed vectors and the four-byte handshake header.

use crate::code_points::{ExtensionType, HandshakeType};
use crate::error::EncodeError;

/// Writes into a borrowed vector. A value that does not fit its length prefix is recorded, and
/// reported by [`Writer::finish`].
#[derive(Debug)]
pub struct Writer<'v> {
    out: &'v mut Vec<u8>,
    start: usize,
    overflow: bool,
}

impl<'v> Writer<'v> {
    /// A writer that appends to `out`.
    pub fn new(out: &'v mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start, overflow: false }
    }

    /// Ends the writing. After an overflow, `out` is restored, so that no partial message can be
    /// sent.
    pub fn finish(self) -> Result<(), EncodeError> {
        if self.overflow {
            self.out.truncate(self.start);
            return Err(EncodeError::TooLong);
        }
        Ok(())
    }

    /// The number of bytes written so far.
    #[must_use]
    pub fn written(&self) -> usize {
        self.out.len().saturating_sub(self.start)
    }

    /// Appends bytes unchanged.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends `count` zero bytes.
    pub fn zeros(&mut self, count: usize) {
        self.out.resize(self.out.len().saturating_add(count), 0);
    }

    /// Appends a one-byte integer.
    pub fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    /// Appends a two-byte integer.
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    /// Appends a three-byte integer. A larger value counts as overflow.
    pub fn u24(&mut self, value: u32) {
        let [high, rest @ ..] = value.to_be_bytes();
        self.overflow |= high != 0;
        self.bytes(&rest);
    }

    /// Appends a four-byte integer.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    /// Appends an eight-byte integer.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_be_bytes());
    }

    /// Writes `body` with a one-byte length prefix.
    pub fn vec8(&mut self, body: impl FnOnce(&mut Self)) {
        self.prefixed(1, body);
    }

    /// Writes `body` with a two-byte length prefix.
    pub fn vec16(&mut self, body: impl FnOnce(&mut Self)) {
        self.prefixed(2, body);
    }

    /// Writes `body` with a three-byte length prefix.
    pub fn vec24(&mut self, body: impl FnOnce(&mut Self)) {
        self.prefixed(3, body);
    }

    /// Writes `bytes` with a one-byte length prefix.
    pub fn opaque8(&mut self, bytes: &[u8]) {
        self.vec8(|w| w.bytes(bytes));
    }

    /// Writes `bytes` with a two-byte length prefix.
    pub fn opaque16(&mut self, bytes: &[u8]) {
        self.vec16(|w| w.bytes(bytes));
    }

    /// Writes `bytes` with a three-byte length prefix.
    pub fn opaque24(&mut self, bytes: &[u8]) {
        self.vec24(|w| w.bytes(bytes));
    }

    /// Appends a handshake message: type, three-byte length, body. RFC 9846 4
    pub fn handshake(&mut self, handshake_type: HandshakeType, body: impl FnOnce(&mut Self)) {
        self.u8(handshake_type.0);
        self.vec24(body);
    }

    /// Appends an extension: type, two-byte length, body. RFC 9846 4.3
    pub fn extension(&mut self, extension_type: ExtensionType, body: impl FnOnce(&mut Self)) {
        self.u16(extension_type.0);
        self.vec16(body);
    }

    /// Lets `body` append to the vector directly.
    pub(crate) fn appended(&mut self, body: impl FnOnce(&mut Vec<u8>)) {
        body(self.out);
    }

    /// Writes `body` with a length prefix of `width` bytes.
    pub(crate) fn prefixed(&mut self, width: usize, body: impl FnOnce(&mut Self)) {
        let prefix_at = self.out.len();
        self.zeros(width);
        let body_at = self.out.len();
        body(self);

        let length = self.out.len().saturating_sub(body_at).to_be_bytes();
        let (excess, length) = length.split_at(length.len().saturating_sub(width));
        self.overflow |= excess.iter().any(|&byte| byte != 0);
        if let Some(prefix) = self.out.get_mut(prefix_at..body_at) {
            prefix.copy_from_slice(length); // both are `width` long
        }
    }
}

/// Appends a handshake message that ends with a signature, which `sign` appends in place. On an
/// error, `out` is restored.
pub(crate) fn encode_signed<E: From<EncodeError>>(
    handshake_type: HandshakeType,
    before: impl FnOnce(&mut Writer<'_>),
    sign: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    out: &mut Vec<u8>,
) -> Result<(), E> {
    let start = out.len();
    let mut signed = Ok(());
    let mut w = Writer::new(out);
    w.handshake(handshake_type, |w| {
        before(w);
        w.vec16(|w| w.appended(|out| signed = sign(out)));
    });
    let written = w.finish();
    if signed.is_err() {
        out.truncate(start);
    }
    signed?;
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_nest() {
        let mut out = vec![0xee];
        let mut w = Writer::new(&mut out);
        w.handshake(HandshakeType::FINISHED, |w| w.vec16(|w| w.opaque8(&[5, 6])));
        assert_eq!(w.written(), 9);
        assert_eq!(w.finish(), Ok(()));
        assert_eq!(out, [0xee, 20, 0, 0, 5, 0, 3, 2, 5, 6]);
    }

    #[test]
    fn a_prefix_overflow_is_an_error_and_restores_the_buffer() {
        for (prefix, limit) in [(1, 0xff), (2, 0xffff), (3, 0xff_ffff)] {
            for (length, fits) in [(limit, true), (limit + 1, false)] {
                let mut out = vec![1];
                let mut w = Writer::new(&mut out);
                w.prefixed(prefix, |w| w.zeros(length));
                assert_eq!(w.finish().is_ok(), fits);
                assert_eq!(out.len(), if fits { 1 + prefix + length } else { 1 });
            }
        }
    }

    #[test]
    fn a_large_u24_is_an_overflow() {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out);
        w.u24(0x0100_0000);
        assert_eq!(w.finish(), Err(EncodeError::TooLong));
    }
}
