//! pre_shared_key: the keys that a client offers, and the server's selection. RFC 9846 4.3.11
//!
//! Binders are neither computed nor verified here.

use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::{Reader, not_empty};
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

/// The identity of a pre-shared key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PskIdentity<'a> {
    /// A ticket, or the identity of an external key; never empty.
    pub identity: &'a [u8],
    /// The ticket's age in milliseconds plus the ticket's age_add. RFC 9846 4.3.11.1
    pub obfuscated_ticket_age: u32,
}

impl<'a> Element<'a> for PskIdentity<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { identity: not_empty(reader.opaque16()?)?, obfuscated_ticket_age: reader.u32()? })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque16(self.identity);
        w.u32(self.obfuscated_ticket_age);
    }
}

/// The proof that the client has a key: 32 to 255 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PskBinder<'a>(pub &'a [u8]);

impl<'a> Element<'a> for PskBinder<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let binder = reader.opaque8()?;
        // RFC 9846 4.3.11: opaque PskBinderEntry<32..255>
        if binder.len() < 32 { Err(DecodeError::InvalidLength) } else { Ok(Self(binder)) }
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque8(self.0);
    }
}

/// The client's list.
pub(super) mod client {
    use super::OfferedPsks;
    use crate::error::DecodeError;
    use crate::list::List;
    use crate::reader::Reader;
    use crate::writer::Writer;

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<OfferedPsks<'a>, DecodeError> {
        let identities = List::read16(reader)?.not_empty()?;
        let binders = List::read16(reader)?.not_empty()?;
        let offered = OfferedPsks { identities, binders };
        // There is exactly one binder for each identity. RFC 9846 4.3.11
        if offered.identities.len() != offered.binders.len() {
            return Err(DecodeError::PskBinderCount);
        }
        Ok(offered)
    }

    pub(in crate::extension) fn write(offered: &OfferedPsks<'_>, w: &mut Writer<'_>) {
        offered.identities.write16(w);
        offered.binders.write16(w);
    }
}

/// The index that the server selected.
pub(super) mod server {
    use crate::error::DecodeError;
    use crate::reader::Reader;
    use crate::writer::Writer;

    pub(in crate::extension) fn read(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
        reader.u16()
    }

    pub(in crate::extension) fn write(selected_identity: &u16, w: &mut Writer<'_>) {
        w.u16(*selected_identity);
    }
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
        let read =
            |bytes: &[u8]| Reader::parse_all(bytes, client::read).map(|psks| psks.binders_length());
        assert_eq!(read(&offer(&[b"a", b"b"], &[32, 48])), Ok(2 + 33 + 49));
        assert_eq!(read(&offer(&[b"a", b"b"], &[32])), Err(DecodeError::PskBinderCount));
        assert_eq!(read(&offer(&[b"a"], &[32, 32])), Err(DecodeError::PskBinderCount));
    }

    #[test]
    fn empty_lists_empty_identities_and_short_binders_are_refused() {
        let error = |bytes: &[u8]| Reader::parse_all(bytes, client::read).unwrap_err();
        assert_eq!(error(&offer(&[], &[32])), DecodeError::EmptyList);
        assert_eq!(error(&offer(&[b"a"], &[])), DecodeError::EmptyList);
        assert_eq!(error(&offer(&[b""], &[32])), DecodeError::InvalidLength);
        assert_eq!(error(&offer(&[b"a"], &[31])), DecodeError::InvalidLength);
    }
}
