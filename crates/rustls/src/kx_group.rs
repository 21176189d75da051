//! The groups of key exchange, each as a constant.
//!
//! ```
//! use tercel_rustls::{default_provider, kx_group::X25519};
//!
//! let mut provider = default_provider();
//! provider.kx_groups = vec![X25519];
//! ```

use rustls::NamedGroup;
use rustls::crypto::SupportedKxGroup;
use tercel_crypto::KeyExchangeAlgorithm;

use crate::key_exchange::Group;

/// X25519. RFC 7748
pub static X25519: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::X25519, KeyExchangeAlgorithm::X25519);

/// ECDH on P-256.
pub static SECP256R1: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::secp256r1, KeyExchangeAlgorithm::P256);

/// ECDH on P-384.
pub static SECP384R1: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::secp384r1, KeyExchangeAlgorithm::P384);

/// ECDH on P-521, which no rustls provider of its own has.
pub static SECP521R1: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::secp521r1, KeyExchangeAlgorithm::P521);

/// ML-KEM-768 with X25519. draft-ietf-tls-ecdhe-mlkem
pub static X25519MLKEM768: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::X25519MLKEM768, KeyExchangeAlgorithm::X25519MlKem768)
        .hybrid_with(NamedGroup::X25519);

/// ECDH on P-256 with ML-KEM-768. draft-ietf-tls-ecdhe-mlkem
pub static SECP256R1MLKEM768: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::secp256r1MLKEM768, KeyExchangeAlgorithm::SecP256r1MlKem768)
        .hybrid_with(NamedGroup::secp256r1);

/// ECDH on P-384 with ML-KEM-1024, for which rustls has no name: 0x11ed.
/// draft-ietf-tls-ecdhe-mlkem
pub static SECP384R1MLKEM1024: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::Unknown(0x11ed), KeyExchangeAlgorithm::SecP384r1MlKem1024)
        .hybrid_with(NamedGroup::secp384r1);

/// ML-KEM-768 alone. draft-ietf-tls-mlkem
pub static MLKEM768: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::MLKEM768, KeyExchangeAlgorithm::MlKem768).only_tls13();

/// ML-KEM-1024 alone. draft-ietf-tls-mlkem
pub static MLKEM1024: &dyn SupportedKxGroup =
    &Group::new(NamedGroup::MLKEM1024, KeyExchangeAlgorithm::MlKem1024).only_tls13();

/// The groups of [`default_provider`](crate::default_provider), in its order of preference.
///
/// X25519MLKEM768 is the first, also if rustls' feature `prefer-post-quantum` is off. A client
/// sends a share of it, and one of X25519 at no further cost.
pub static DEFAULT_KX_GROUPS: &[&dyn SupportedKxGroup] =
    &[X25519MLKEM768, X25519, SECP256R1, SECP384R1];

/// All groups.
pub static ALL_KX_GROUPS: &[&dyn SupportedKxGroup] = &[
    X25519MLKEM768,
    SECP256R1MLKEM768,
    SECP384R1MLKEM1024,
    X25519,
    SECP256R1,
    SECP384R1,
    SECP521R1,
    MLKEM768,
    MLKEM1024,
];
