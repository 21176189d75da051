//! key_share: the public values of the key exchange. RFC 9846 4.3.8
//!
//! The caller checks whether a value is valid for its group, and whether the group was offered.

use crate::code_points::NamedGroup;
use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::Reader;
use crate::structure::{Encoding, Vector, structure};
use crate::unique::first_duplicate;
use crate::writer::Writer;

structure! {
    /// A key share: a group and a public value.
    KeyShareEntry {
        /// The group.
        group: NamedGroup,
        /// The public value; never empty.
        key_exchange: &'a [u8] as Vector<2, 1>,
    }
}

/// The contents of a server's key_share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKeyShare<'a> {
    /// The server's key share, in a ServerHello.
    Entry(KeyShareEntry<'a>),
    /// The selected group, in a HelloRetryRequest.
    SelectedGroup(NamedGroup),
}

impl<'a> Element<'a> for ServerKeyShare<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        // A share has at least five bytes, so the length distinguishes a share from a group.
        // `ServerHello` checks that the message may contain this form.
        if reader.remaining() == 2 {
            return Element::read(reader).map(Self::SelectedGroup);
        }
        Element::read(reader).map(Self::Entry)
    }

    fn write(&self, w: &mut Writer<'_>) {
        match self {
            Self::Entry(entry) => Element::write(entry, w),
            Self::SelectedGroup(group) => Element::write(group, w),
        }
    }
}

/// The encoding of a client's key shares; an empty list requests a HelloRetryRequest.
pub(super) struct ClientShares;

impl<'a> Encoding<'a, List<'a, KeyShareEntry<'a>>> for ClientShares {
    fn read(reader: &mut Reader<'a>) -> Result<List<'a, KeyShareEntry<'a>>, DecodeError> {
        let shares = List::<KeyShareEntry<'_>>::read16(reader)?;
        // Each group has at most one share. RFC 9846 4.3.8
        match first_duplicate(shares.iter().map(|share| share.group.0)) {
            Some(twice) => Err(DecodeError::DuplicateKeyShare(NamedGroup(twice))),
            None => Ok(shares),
        }
    }

    fn write(shares: &List<'a, KeyShareEntry<'a>>, w: &mut Writer<'_>) {
        shares.write16(w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_offer_no_share_but_not_an_empty_one() {
        assert!(Reader::parse_all(&[0, 0], ClientShares::read).unwrap().is_empty());
        assert_eq!(
            Reader::parse_all(&[0, 4, 0, 0x1d, 0, 0], ClientShares::read),
            Err(DecodeError::InvalidLength)
        );
    }

    #[test]
    fn two_shares_for_one_group_are_refused() {
        let twice = [0, 10, 0, 0x1d, 0, 1, 7, 0, 0x1d, 0, 1, 8];
        let error = Reader::parse_all(&twice, ClientShares::read).unwrap_err();
        assert_eq!(error, DecodeError::DuplicateKeyShare(NamedGroup::X25519));
        assert_eq!(error.alert(), crate::AlertDescription::ILLEGAL_PARAMETER);
    }

    #[test]
    fn a_server_sends_a_share_or_a_group() {
        assert_eq!(
            Reader::parse_all(&[0, 0x1d], <ServerKeyShare<'_> as Element>::read),
            Ok(ServerKeyShare::SelectedGroup(NamedGroup::X25519))
        );
        assert_eq!(
            Reader::parse_all(&[0, 0x1d, 0], <ServerKeyShare<'_> as Element>::read),
            Err(DecodeError::Truncated)
        );
        assert_eq!(
            Reader::parse_all(&[0, 0x1d, 0, 1, 2, 3], <ServerKeyShare<'_> as Element>::read),
            Err(DecodeError::TrailingData)
        );
    }
}
