//! Groups on the wire and in the cryptography.
//!
//! Must not know: which groups a configuration likes. Next: the crate `tercel-crypto`.

use tercel_crypto::KeyExchangeAlgorithm;
use tercel_wire::NamedGroup;

use crate::config::places::Places;

/// The algorithm behind a group, if we have it.
pub(crate) fn algorithm(group: NamedGroup) -> Option<KeyExchangeAlgorithm> {
    TABLE.get(usize::from(place(group)?)).map(|(_, algorithm)| *algorithm)
}

/// A peer's groups that we have: its list, or that of its key shares, read once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownGroups(Places);

impl KnownGroups {
    pub(crate) fn of(groups: impl Iterator<Item = NamedGroup>) -> Self {
        Self(Places::of(groups.map(place)))
    }

    pub(crate) fn has(&self, group: NamedGroup) -> bool {
        place(group).is_some_and(|place| self.0.has(place))
    }

    /// How many of those we have the peer likes better; `None` if it did not name this one.
    pub(crate) fn rank(&self, group: NamedGroup) -> Option<usize> {
        self.0.rank(place(group)?)
    }

    /// In the peer's order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = NamedGroup> {
        self.0.iter().filter_map(|place| TABLE.get(usize::from(place)).map(|(code, _)| *code))
    }
}

/// Where in [`TABLE`] a group stands: without a search, for a peer's list may be long.
fn place(group: NamedGroup) -> Option<u8> {
    Some(match group {
        NamedGroup::X25519MLKEM768 => 0,
        NamedGroup::X25519 => 1,
        NamedGroup::SECP256R1 => 2,
        NamedGroup::SECP384R1 => 3,
        NamedGroup::SECP521R1 => 4,
        NamedGroup::SECP256R1MLKEM768 => 5,
        NamedGroup::SECP384R1MLKEM1024 => 6,
        NamedGroup::MLKEM768 => 7,
        NamedGroup::MLKEM1024 => 8,
        _ => return None,
    })
}

/// The group of an algorithm.
pub(crate) fn code_point(algorithm: KeyExchangeAlgorithm) -> Option<NamedGroup> {
    TABLE.iter().find(|(_, known)| *known == algorithm).map(|(code, _)| *code)
}

const TABLE: [(NamedGroup, KeyExchangeAlgorithm); 9] = [
    (NamedGroup::X25519MLKEM768, KeyExchangeAlgorithm::X25519MlKem768),
    (NamedGroup::X25519, KeyExchangeAlgorithm::X25519),
    (NamedGroup::SECP256R1, KeyExchangeAlgorithm::P256),
    (NamedGroup::SECP384R1, KeyExchangeAlgorithm::P384),
    (NamedGroup::SECP521R1, KeyExchangeAlgorithm::P521),
    (NamedGroup::SECP256R1MLKEM768, KeyExchangeAlgorithm::SecP256r1MlKem768),
    (NamedGroup::SECP384R1MLKEM1024, KeyExchangeAlgorithm::SecP384r1MlKem1024),
    (NamedGroup::MLKEM768, KeyExchangeAlgorithm::MlKem768),
    (NamedGroup::MLKEM1024, KeyExchangeAlgorithm::MlKem1024),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_found_in_its_place() {
        for (place_of, (code, known)) in (0..).zip(TABLE) {
            assert_eq!(place(code), Some(place_of));
            assert_eq!((algorithm(code), code_point(known)), (Some(known), Some(code)));
        }
        let known = NamedGroup::NAMED.iter().filter(|code| place(**code).is_some()).count();
        assert_eq!(known, TABLE.len());
    }
}
