//! pre_shared_key: the keys that a client offers, and the server's selection. RFC 9846 4.3.11
//!
//! Binders are neither computed nor verified here.

use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::Reader;
use crate::structure::{Vector, structure};
use crate::writer::Writer;

/// The pre-shared keys of a ClientHello, with one binder for each identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedPsks<'a> {
    /// The identities; at least one.
    pub identities: List<'a, PskIdentity<'a>>,
    /// The binders, in the order of the identities.
    pub binders: List<'a, PskBinder<'a>>,
}

impl OfferedPsks<'_> {
    /// The length of the binder list, including the list's length prefix. The truncated ClientHello
    /// lacks these bytes. RFC 9846 4.3.11.2
    #[must_use]
    pub fn binders_length(&self) -> usize {
        let each = |binder: PskBinder<'_>| binder.0.len().saturating_add(1);
        self.binders.iter().map(each).fold(2, usize::saturating_add)
    }
}

impl<'a> Element<'a> for OfferedPsks<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let identities = List::read16(reader)?.not_empty()?;
        let binders = List::read16(reader)?.not_empty()?;
        let offered = Self { identities, binders };
        // There is exactly one binder for each identity. RFC 9846 4.3.11
        if offered.identities.len() != offered.binders.len() {
            return Err(DecodeError::PskBinderCount);
        }
        Ok(offered)
    }

    fn write(&self, w: &mut Writer<'_>) {
        self.identities.write16(w);
        self.binders.write16(w);
    }
}

structure! {
    /// The identity of a pre-shared key.
    PskIdentity {
        /// A ticket, or the identity of an external key; never empty.
        identity: &'a [u8] as Vector<2, 1>,
        /// The ticket's age in milliseconds plus the ticket's age_add. RFC 9846 4.3.11.1
        obfuscated_ticket_age: u32,
    }
}

structure! {
    /// The proof that the client has a key: 32 to 255 bytes. RFC 9846 4.3.11
    PskBinder(&'a [u8] as Vector<1, 32>)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(identities: &[&[u8]], binders: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out);
        w.vec16(|w| {
            for identity in identities {
                PskIdentity { identity, obfuscated_ticket_age: 1 }.write(w);
            }
        });
        w.vec16(|w| binders.iter().for_each(|&length| w.vec8(|w| w.zeros(length))));
        w.finish().unwrap();
        out
    }

    #[test]
    fn every_identity_needs_a_binder() {
        let read = |bytes: &[u8]| {
            Reader::parse_all(bytes, OfferedPsks::read).map(|psks| psks.binders_length())
        };
        assert_eq!(read(&offer(&[b"a", b"b"], &[32, 48])), Ok(2 + 33 + 49));
        assert_eq!(read(&offer(&[b"a", b"b"], &[32])), Err(DecodeError::PskBinderCount));
        assert_eq!(read(&offer(&[b"a"], &[32, 32])), Err(DecodeError::PskBinderCount));
    }

    #[test]
    fn empty_lists_empty_identities_and_short_binders_are_refused() {
        let error = |bytes: &[u8]| Reader::parse_all(bytes, OfferedPsks::read).unwrap_err();
        assert_eq!(error(&offer(&[], &[32])), DecodeError::EmptyList);
        assert_eq!(error(&offer(&[b"a"], &[])), DecodeError::EmptyList);
        assert_eq!(error(&offer(&[b""], &[32])), DecodeError::InvalidLength);
        assert_eq!(error(&offer(&[b"a"], &[31])), DecodeError::InvalidLength);
    }
}
