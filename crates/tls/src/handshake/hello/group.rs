//! Groups on the wire and in the cryptography.
//!
//! Must not know: which groups a configuration likes. Next: the crate `tercel-crypto`.

use tercel_crypto::KeyExchangeAlgorithm;
use tercel_wire::NamedGroup;

/// The algorithm behind a group, if we have it.
pub(crate) fn algorithm(group: NamedGroup) -> Option<KeyExchangeAlgorithm> {
    TABLE.iter().find(|(code, _)| *code == group).map(|(_, algorithm)| *algorithm)
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
