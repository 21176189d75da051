//! Cryptographic primitives for Tercel: a small, concrete facade over AWS-LC.
//!
//! The crate has every primitive of TLS 1.2 and 1.3, as types that prevent wrong lengths and wrong
//! order of calls, at no more cost than that of the foreign call. Code points, record formats and
//! labels of TLS are not part of it.
//!
//! | task | see |
//! |---|---|
//! | protect records | [`RecordKey`] in `aead.rs` |
//! | encrypt other messages | [`AeadKey`] in `aead.rs`; [`RandomNonceKey`] |
//! | protect headers of QUIC packets | [`HeaderProtectionKey`] in `header_protection.rs` |
//! | hash a transcript | [`struct@Hash`] in `hash.rs` |
//! | identify a configuration by its parts | [`PartsHash`] |
//! | identify keys and issuers as in OCSP | [`sha1_name`] in `hash.rs` |
//! | derive secrets, TLS 1.3 | [`Prk`] in `hkdf.rs`, over [`HmacKey`] in `hmac.rs` |
//! | compute independent MACs | [`mac_batch`] in `batch.rs`, over `backend/lanes` |
//! | hash a message in the lanes of dependent MACs | [`InterleavedHash`] in `interleaved_hash.rs` |
//! | derive secrets, TLS 1.2 | [`Tls12Prf`] in `prf.rs` |
//! | exchange keys | [`KeyExchange`] in `key_exchange/mod.rs` |
//! | encrypt to a public key | [`HpkeSender`], [`HpkeRecipient`] in `hpke.rs` |
//! | sign | [`SigningKey`], [`Signer`] in `signing_key.rs` |
//! | read PKCS#12 files | [`Pkcs12`] in `pkcs12.rs` |
//! | verify signatures | [`PublicKey`] in `public_key.rs` |
//! | verify a signature once | [`SignatureCache`] in `signature_cache.rs` |
//! | replace primitives of AWS-LC by faster ones | [`Kernel`] in `backend/kernels` |
//! | random bytes | [`fill_random`] in `random.rs` |
//! | share mutable data between threads | [`lock`] |
//! | store secrets | [`Secret`], [`ShortSecret`] in `backend/secret.rs` |
//! | compare and wipe secrets | [`wipe`], [`constant_time_eq`] in `memory.rs` |
//! | call AWS-LC | `backend/mod.rs`, the only module with `unsafe` |
//!
//! The crate has one trait, [`Signer`], because private keys can be outside the process.
//! Everything else is concrete: one backend per build.
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

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

#[cfg(all(
    feature = "fips",
    any(
        feature = "aes-gcm-kernel",
        feature = "chacha20-poly1305-kernel",
        feature = "hash-lanes",
        feature = "rsa-kernel"
    )
))]
compile_error!(
    "the feature `fips` excludes the kernels and `hash-lanes`, which are outside AWS-LC's FIPS \
     module: set `default-features = false`"
);

mod aead;
mod algorithm;
#[allow(unsafe_code)]
mod backend;
mod batch;
mod der;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
pub mod deterministic;
mod error;
mod fips;
mod hash;
mod header_protection;
mod hkdf;
mod hmac;
mod hpke;
mod interleaved_hash;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
pub mod kernel_checks;
mod key_exchange;
mod key_parts;
pub mod lock;
mod memory;
mod parts_hash;
mod pkcs12;
mod prf;
mod public_key;
mod random;
mod random_nonce_key;
#[cfg(any(test, all(feature = "deterministic", debug_assertions)))]
pub mod service_indicator;
mod signature;
mod signature_cache;
mod signing_key;
#[cfg(all(test, target_os = "linux"))]
mod stack_search;

pub use aead::{AeadKey, RecordKey, has_fast_aes};
pub use algorithm::{AeadAlgorithm, AnyNonces, HashAlgorithm, RecordNonces};
pub use backend::kernels::{
    Kernel, KernelState, kernel_state, rejected_rsa_signatures, use_kernel,
};
pub use backend::lanes::HashLanes;
pub use backend::secret::{Secret, SecretBytes, SharedSecret, ShortSecret};
pub use backend::self_tests::self_tests;
pub use backend::wiped_future::WipedFuture;
pub use batch::{Mac, hash_lanes, mac_batch, use_hash_lanes};
pub use error::{CryptoError, Pkcs12Error};
pub use fips::{FipsModule, fips_module};
pub use hash::{Digest, Hash, sha1_name};
pub use header_protection::HeaderProtectionKey;
pub use hkdf::{Expansion, Prk, expand_batch, hkdf_extract};
pub use hmac::HmacKey;
pub use hpke::{HpkeKey, HpkeRecipient, HpkeSender, HpkeSuite};
pub use interleaved_hash::InterleavedHash;
pub use key_exchange::{KeyExchange, KeyExchangeAlgorithm};
pub use memory::{constant_time_eq, wipe};
pub use parts_hash::PartsHash;
pub use pkcs12::Pkcs12;
pub use prf::{PrfRun, Tls12Prf};
pub use public_key::PublicKey;
pub use random::fill_random;
pub use random_nonce_key::RandomNonceKey;
pub use signature::{KeyKind, SignatureAlgorithm};
pub use signature_cache::{SignatureCache, SignatureDigest};
pub use signing_key::{Signer, SigningKey};

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
