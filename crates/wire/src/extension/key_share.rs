//! key_share: the halves of the key exchange. RFC 9846 4.3.8
//!
//! Whether a key fits its group, and whether the group was offered, is for the protocol.
//! Next: `supported_groups`, `pre_shared_key`.

use crate::reader::not_empty;
use crate::unique::first_missing;
use crate::{ClientExtensions, DecodeError, Element, NamedGroup, Reader, Writer};

/// A half of a key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShareEntry<'a> {
    /// The group it is in.
    pub group: NamedGroup,
    /// The public value; never empty.
    pub key_exchange: &'a [u8],
}

impl<'a> Element<'a> for KeyShareEntry<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let group = NamedGroup::read(reader)?;
        Ok(Self { group, key_exchange: not_empty(reader.opaque16()?)? })
    }

    fn write(&self, w: &mut Writer<'_>) {
        self.group.write(w);
        w.opaque16(self.key_exchange);
    }
}

/// What stands in key_share when a server writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKeyShare<'a> {
    /// The server's half, in a ServerHello.
    Entry(KeyShareEntry<'a>),
    /// The group to retry with, in a HelloRetryRequest.
    SelectedGroup(NamedGroup),
}

impl ClientExtensions<'_> {
    /// The first group with a key share that supported_groups does not list, whatever the order of both lists.
    /// `None` also if one of the extensions is absent. RFC 9846 4.3.8
    #[must_use]
    pub fn unlisted_key_share(&self) -> Option<NamedGroup> {
        let (shares, groups) = (self.key_share?, self.supported_groups?);
        let groups = groups.iter().map(|group| group.0);
        first_missing(shares.iter().map(|share| share.group.0), groups).map(NamedGroup)
    }
}

/// The client's shares; none at all asks for a HelloRetryRequest.
pub(super) mod client {
    use super::KeyShareEntry;
    use crate::unique::first_duplicate;
    use crate::{DecodeError, List, NamedGroup, Reader, Writer};

    type Shares<'a> = List<'a, KeyShareEntry<'a>>;

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<Shares<'a>, DecodeError> {
        let shares = Shares::read16(reader)?;
        // No group has two shares. RFC 9846 4.3.8
        match first_duplicate(shares.iter().map(|share| share.group.0)) {
            Some(twice) => Err(DecodeError::DuplicateKeyShare(NamedGroup(twice))),
            None => Ok(shares),
        }
    }

    pub(in crate::extension) fn write(shares: &Shares<'_>, w: &mut Writer<'_>) {
        shares.write16(w);
    }
}

/// The server's share, or its choice of group.
pub(super) mod server {
    use super::{KeyShareEntry, ServerKeyShare};
    use crate::{DecodeError, Element, NamedGroup, Reader, Writer};

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<ServerKeyShare<'a>, DecodeError> {
        // A share takes at least five bytes, so the length tells. `ServerHello` checks that it is the right one.
        if reader.remaining() == 2 {
            return NamedGroup::read(reader).map(ServerKeyShare::SelectedGroup);
        }
        KeyShareEntry::read(reader).map(ServerKeyShare::Entry)
    }

    pub(in crate::extension) fn write(share: &ServerKeyShare<'_>, w: &mut Writer<'_>) {
        match share {
            ServerKeyShare::Entry(entry) => entry.write(w),
            ServerKeyShare::SelectedGroup(group) => group.write(w),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_offer_no_share_but_not_an_empty_one() {
        assert!(Reader::all(&[0, 0], client::read).unwrap().is_empty());
        assert_eq!(
            Reader::all(&[0, 4, 0, 0x1d, 0, 0], client::read),
            Err(DecodeError::InvalidLength)
        );
    }

    #[test]
    fn two_shares_for_one_group_are_refused() {
        let twice = [0, 10, 0, 0x1d, 0, 1, 7, 0, 0x1d, 0, 1, 8];
        let error = Reader::all(&twice, client::read).unwrap_err();
        assert_eq!(error, DecodeError::DuplicateKeyShare(NamedGroup::X25519));
        assert_eq!(error.alert(), crate::AlertDescription::ILLEGAL_PARAMETER);
    }

    #[test]
    fn a_server_sends_a_share_or_a_group() {
        assert_eq!(
            Reader::all(&[0, 0x1d], server::read),
            Ok(ServerKeyShare::SelectedGroup(NamedGroup::X25519))
        );
        assert_eq!(Reader::all(&[0, 0x1d, 0], server::read), Err(DecodeError::Truncated));
        assert_eq!(
            Reader::all(&[0, 0x1d, 0, 1, 2, 3], server::read),
            Err(DecodeError::TrailingData)
        );
    }
}
