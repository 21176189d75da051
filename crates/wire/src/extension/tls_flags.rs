//! tls_flags: extensions that say nothing but yes, one bit each. draft-ietf-tls-tlsflags 2
//!
//! Which flag may stand in which message is for the protocol. Next: [`crate::NewSessionTicket`].

use crate::{DecodeError, Reader, Writer};

/// A set of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsFlags<'a>(&'a [u8]);

impl TlsFlags<'_> {
    /// The ticket is good for every name of the server's certificate. draft-ietf-tls-cross-sni-resumption
    pub const RESUMPTION_ACROSS_NAMES: u16 = 8;

    /// A set with this flag alone.
    pub const ONLY_RESUMPTION_ACROSS_NAMES: TlsFlags<'static> = TlsFlags(&[0, 1]);

    /// Whether the set has the flag of this number, 0 to 2039.
    #[must_use]
    pub fn has(&self, flag: u16) -> bool {
        let byte = self.0.get(usize::from(flag / 8));
        byte.is_some_and(|byte| byte >> (flag % 8) & 1 != 0)
    }
}

pub(super) fn read<'a>(reader: &mut Reader<'a>) -> Result<TlsFlags<'a>, DecodeError> {
    let flags = reader.opaque8()?;
    match flags.last() {
        // A set without flags is not sent.
        None => Err(DecodeError::InvalidLength),
        // Nor are bytes behind the last flag.
        Some(0) => Err(DecodeError::PaddedFlags),
        Some(_) => Ok(TlsFlags(flags)),
    }
}

pub(super) fn write(flags: &TlsFlags<'_>, w: &mut Writer<'_>) {
    w.opaque8(flags.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AlertDescription;

    #[test]
    fn flags_are_counted_from_the_lowest_bit_of_the_first_byte() {
        let flags = Reader::all(&[2, 0b0000_0010, 0b1000_0001], read).unwrap();
        let set: Vec<u16> = (0..2040).filter(|flag| flags.has(*flag)).collect();
        assert_eq!(set, [1, 8, 15]);
        let alone = TlsFlags::ONLY_RESUMPTION_ACROSS_NAMES;
        let set: Vec<u16> = (0..2040).filter(|flag| alone.has(*flag)).collect();
        assert_eq!(set, [TlsFlags::RESUMPTION_ACROSS_NAMES]);
    }

    #[test]
    fn a_set_is_not_empty_and_not_padded() {
        let alert = |body: &[u8]| Reader::all(body, read).unwrap_err().alert();
        assert_eq!(alert(&[0]), AlertDescription::DECODE_ERROR);
        assert_eq!(alert(&[2, 1, 0]), AlertDescription::ILLEGAL_PARAMETER);
    }
}
