//! key_share: the public values of the key exchange. RFC 9846 4.3.8
//!
//! The caller checks whether a value is valid for its group, and whether the group was offered.

use crate::code_points::NamedGroup;
use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::{Reader, not_empty};
use crate::unique::first_missing;
use crate::writer::Writer;

/// A key share: a group and a public value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShareEntry<'a> {
    /// The group.
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

/// The contents of a server's key_share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKeyShare<'a> {
    /// The server's key share, in a ServerHello.
    Entry(KeyShareEntry<'a>),
    /// The selected group, in a HelloRetryRequest.
    SelectedGroup(NamedGroup),
}

/// The first group that has a key share but is not in `groups`; neither list needs to be sorted.
/// RFC 9846 4.3.8
pub(super) fn unlisted(
    shares: List<'_, KeyShareEntry<'_>>,
    groups: List<'_, NamedGroup>,
) -> Option<NamedGroup> {
    let groups = groups.iter().map(|group| group.0);
    first_missing(shares.iter().map(|share| share.group.0), groups).map(NamedGroup)
}

/// The client's key shares; an empty list requests a HelloRetryRequest.
pub(super) mod client {
    use super::KeyShareEntry;
    use crate::code_points::NamedGroup;
    use crate::error::DecodeError;
    use crate::list::List;
    use crate::reader::Reader;
    use crate::unique::first_duplicate;
    use crate::writer::Writer;

    type Shares<'a> = List<'a, KeyShareEntry<'a>>;

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<Shares<'a>, DecodeError> {
        let shares = Shares::read16(reader)?;
        // Each group has at most one share. RFC 9846 4.3.8
        match first_duplicate(shares.iter().map(|share| share.group.0)) {
            Some(twice) => Err(DecodeError::DuplicateKeyShare(NamedGroup(twice))),
            None => Ok(shares),
        }
    }

    pub(in crate::extension) fn write(shares: &Shares<'_>, w: &mut Writer<'_>) {
        shares.write16(w);
    }
}

/// The server's key share, or its selected group.
pub(super) mod server {
    use super::{KeyShareEntry, ServerKeyShare};
    use crate::code_points::NamedGroup;
    use crate::error::DecodeError;
    use crate::list::Element;
    use crate::reader::Reader;
    use crate::writer::Writer;

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<ServerKeyShare<'a>, DecodeError> {
        // A share has at least five bytes, so the length distinguishes a share from a group.
        // `ServerHello` checks that the message may contain this form.
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
        assert!(Reader::parse_all(&[0, 0], client::read).unwrap().is_empty());
        assert_eq!(
            Reader::parse_all(&[0, 4, 0, 0x1d, 0, 0], client::read),
            Err(DecodeError::InvalidLength)
        );
    }

    #[test]
    fn two_shares_for_one_group_are_refused() {
        let twice = [0, 10, 0, 0x1d, 0, 1, 7, 0, 0x1d, 0, 1, 8];
        let error = Reader::parse_all(&twice, client::read).unwrap_err();
        assert_eq!(error, DecodeError::DuplicateKeyShare(NamedGroup::X25519));
        assert_eq!(error.alert(), crate::AlertDescription::ILLEGAL_PARAMETER);
    }

    #[test]
    fn a_server_sends_a_share_or_a_group() {
        assert_eq!(
            Reader::parse_all(&[0, 0x1d], server::read),
            Ok(ServerKeyShare::SelectedGroup(NamedGroup::X25519))
        );
        assert_eq!(Reader::parse_all(&[0, 0x1d, 0], server::read), Err(DecodeError::Truncated));
        assert_eq!(
            Reader::parse_all(&[0, 0x1d, 0, 1, 2, 3], server::read),
            Err(DecodeError::TrailingData)
        );
    }
}
