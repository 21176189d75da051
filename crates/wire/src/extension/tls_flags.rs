//! tls_flags: extensions without contents, as one bit each. draft-ietf-tls-tlsflags 2
//!
//! The caller checks whether a flag is allowed in a message.

use crate::error::DecodeError;
use crate::list::Element;
use crate::reader::Reader;
use crate::writer::Writer;

/// A set of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsFlags<'a>(&'a [u8]);

impl TlsFlags<'_> {
    /// The ticket is valid for every name in the server's certificate.
    /// draft-ietf-tls-cross-sni-resumption
    pub const RESUMPTION_ACROSS_NAMES: u16 = 8;

    /// A set with only this flag.
    pub const ONLY_RESUMPTION_ACROSS_NAMES: TlsFlags<'static> = TlsFlags(&[0, 1]);

    /// Whether the set has the flag with this number, 0 to 2039.
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        let byte = self.0.get(usize::from(flag / 8));
        byte.is_some_and(|byte| byte >> (flag % 8) & 1 != 0)
    }
}

impl<'a> Element<'a> for TlsFlags<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let flags = reader.opaque8()?;
        match flags.last() {
            // An empty set must not be sent.
            None => Err(DecodeError::InvalidLength),
            // The last byte must not be zero.
            Some(0) => Err(DecodeError::PaddedFlags),
            Some(_) => Ok(Self(flags)),
        }
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque8(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlertDescription;

    #[test]
    fn flags_are_counted_from_the_lowest_bit_of_the_first_byte() {
        let flags = Reader::parse_all(&[2, 0b0000_0010, 0b1000_0001], TlsFlags::read).unwrap();
        let set: Vec<u16> = (0..2040).filter(|flag| flags.has(*flag)).collect();
        assert_eq!(set, [1, 8, 15]);
        let alone = TlsFlags::ONLY_RESUMPTION_ACROSS_NAMES;
        let set: Vec<u16> = (0..2040).filter(|flag| alone.has(*flag)).collect();
        assert_eq!(set, [TlsFlags::RESUMPTION_ACROSS_NAMES]);
    }

    #[test]
    fn a_set_is_not_empty_and_not_padded() {
        let alert = |body: &[u8]| Reader::parse_all(body, TlsFlags::read).unwrap_err().alert();
        assert_eq!(alert(&[0]), AlertDescription::DECODE_ERROR);
        assert_eq!(alert(&[2, 1, 0]), AlertDescription::ILLEGAL_PARAMETER);
    }
}
