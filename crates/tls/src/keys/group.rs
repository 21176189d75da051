//! Named groups and their key exchange algorithms.

use tercel_crypto::{CryptoError, KeyExchangeAlgorithm};
use tercel_wire::NamedGroup;

use crate::error::{Error, InternalError, PeerError};
use crate::known_values::KnownValues;

/// Returns the algorithm of a group, or `None` if the group is not supported.
pub(crate) fn algorithm(group: NamedGroup) -> Option<KeyExchangeAlgorithm> {
    TABLE.get(usize::from(index(group)?)).map(|(_, algorithm)| *algorithm)
}

/// Whether a group is approved in the sense of FIPS 140-3: a NIST curve, or a hybrid, whose
/// approved half carries the security. SP 800-56C 2
pub(crate) fn is_fips_approved(group: NamedGroup) -> bool {
    matches!(
        group,
        NamedGroup::SECP256R1
            | NamedGroup::SECP384R1
            | NamedGroup::SECP521R1
            | NamedGroup::X25519MLKEM768
            | NamedGroup::SECP256R1MLKEM768
            | NamedGroup::SECP384R1MLKEM1024
    )
}

/// The supported groups among those that a peer lists or has sent key shares for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownGroups(KnownValues);

impl KnownGroups {
    pub(crate) fn of(groups: impl Iterator<Item = NamedGroup>) -> Self {
        Self(KnownValues::of(groups.map(index)))
    }

    pub(crate) fn has(&self, group: NamedGroup) -> bool {
        index(group).is_some_and(|index| self.0.has(index))
    }

    /// Returns the number of supported groups that the peer prefers to this one. `None` if the
    /// peer's list does not contain this group.
    pub(crate) fn rank(&self, group: NamedGroup) -> Option<usize> {
        self.0.rank(index(group)?)
    }

    /// Returns the groups in the peer's order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = NamedGroup> {
        self.0.iter().filter_map(|index| TABLE.get(usize::from(index)).map(|(code, _)| *code))
    }
}

/// Returns the index of a group in [`TABLE`] without a search, since a peer's list may be long.
fn index(group: NamedGroup) -> Option<u8> {
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

/// Returns the group of an algorithm.
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

/// Converts the error of a key exchange. It is an error of the peer if the share is invalid for the
/// group, and an internal error otherwise.
pub(crate) fn bad_share(error: CryptoError) -> Error {
    match error {
        CryptoError::InvalidShare => PeerError::BadKeyShare.into(),
        other => InternalError::Crypto(other).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_found_at_its_index() {
        for (expected, (code, known)) in (0..).zip(TABLE) {
            assert_eq!(index(code), Some(expected));
            assert_eq!((algorithm(code), code_point(known)), (Some(known), Some(code)));
        }
        let known = NamedGroup::NAMED.iter().filter(|code| index(**code).is_some()).count();
        assert_eq!(known, TABLE.len());
    }
}
