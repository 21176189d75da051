//! The cryptography Tercel stands on: a small, concrete facade over AWS-LC.
//!
//! What it is for: every primitive of TLS 1.2 and 1.3, as types that cannot be misused by length
//! or by moment, at the cost of the bare call. What it must not know: TLS. There are no code
//! points here, no record formats and no labels. Where to look next, by question:
//!
//! | question | module |
//! |---|---|
//! | protect records | [`AeadKey`] in `aead.rs` |
//! | hash a transcript | [`struct@Hash`] in `hash.rs` |
//! | name keys and issuers as OCSP does | [`sha1_name`] in `hash.rs` |
//! | derive secrets, TLS 1.3 way | [`Prk`] in `hkdf.rs`, over [`HmacKey`] in `hmac.rs` |
//! | make MACs that do not wait for each other | [`macs`] in `side_by_side.rs`, over `backend/lanes` |
//! | hash a message beside MACs that wait for each other | [`HashBeside`] in `beside.rs` |
//! | derive secrets, TLS 1.2 way | [`Tls12Prf`] in `prf.rs` |
//! | agree on a secret with a peer | [`KeyExchange`] in `key_exchange/mod.rs` |
//! | sign, verify | [`SigningKey`], [`Signer`] in `signing_key.rs`, [`PublicKey`] in `public_key.rs` |
//! | random bytes | [`fill_random`] in `random.rs` |
//! | hold what threads change, and count who waits for whom | [`lock`] |
//! | hold, compare and wipe secrets | [`Secret`], [`ShortSecret`] in `secret.rs`, [`wipe`], [`constant_time_eq`] in `memory.rs` |
//! | call AWS-LC, argue about memory safety | `backend/mod.rs`, the only home of `unsafe` |
//!
//! There is one trait, [`Signer`], because private keys can live elsewhere. Everything else is
//! concrete: one backend per build.
//!
//! ```
//! use tercel_crypto::{AeadAlgorithm, AeadKey};
//!
//! let key = AeadKey::new(AeadAlgorithm::Aes128Gcm, &[7; 16])?;
//! let mut sealed = [0; 5 + 1 + AeadAlgorithm::TAG_LEN];
//! let written = key.seal(&[0; 12], b"header", b"hello", &[23], &mut sealed)?;
//! assert_eq!(written, sealed.len());
//!
//! let mut opened = [0; 6];
//! key.open(&[0; 12], b"header", &sealed, &mut opened)?;
//! assert_eq!(&opened, b"hello\x17");
//! # Ok::<(), tercel_crypto::CryptoError>(())
//! ```

#![deny(unsafe_code)]

mod aead;
#[allow(unsafe_code)]
mod backend;
mod beside;
mod der;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
pub mod deterministic;
mod error;
mod hash;
mod hkdf;
mod hmac;
mod key_exchange;
pub mod lock;
mod memory;
mod prf;
mod prf_run;
mod public_key;
mod random;
mod secret;
mod side_by_side;
mod signature;
mod signing_key;
#[cfg(all(test, target_os = "linux"))]
mod stack_search;

pub use aead::{AeadAlgorithm, AeadKey, has_fast_aes};
pub use backend::lanes::HashLanes;
pub use backend::wiped::Wiped;
pub use beside::HashBeside;
pub use error::CryptoError;
pub use hash::{Digest, Hash, HashAlgorithm, sha1_name};
pub use hkdf::{Expansion, Prk, expand_several, hkdf_extract};
pub use hmac::HmacKey;
pub use key_exchange::{KeyExchange, KeyExchangeAlgorithm};
pub use memory::{constant_time_eq, wipe};
pub use prf::Tls12Prf;
pub use prf_run::PrfRun;
pub use public_key::PublicKey;
pub use random::fill_random;
pub use secret::{Secret, SecretBytes, SharedSecret, ShortSecret};
pub use side_by_side::{Mac, hash_lanes, macs, use_hash_lanes};
pub use signature::{KeyKind, SignatureAlgorithm};
pub use signing_key::{Signer, SigningKey};

/// The bare foreign calls, for `benches/wrappers.rs` alone.
#[cfg(feature = "bench-bare")]
#[doc(hidden)]
pub use backend::bare;
